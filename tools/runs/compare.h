// Trains variants of jobs with several seeds, and compares them: means, deviations, and whether they differ by more than
// chance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/train/train.h"

namespace graphrun {

struct ComparedTask {
  std::string name;  // of its folder, and in the table
  std::string job;   // a file
};
struct ComparedVariant {
  std::string name;
  std::vector<std::string> settings;  // --set
};

struct CompareRequest {
  std::vector<ComparedTask> tasks;
  std::vector<ComparedVariant> variants;  // the others are compared with the first
  std::vector<std::uint64_t> seeds;
  std::string out;  // runs are in OUT/TASK/VARIANT/seed-N
  std::vector<std::string> settings, command;
  bool quiet = false;
  std::int64_t samples = 1000;  // of the bootstrap
  const Device* device = &cpu_device();
};

// The figures of one variant on one task.
struct ComparedCell {
  std::string task, variant;
  std::string report;              // the one that selects the model, or the first of the job
  std::string set;                 // of data: "test", or "valid" if there is none
  std::vector<double> scores;      // by seed; NaN if the run diverged or its report is NaN
  std::size_t diverged = 0;        // the number of runs that diverged
  double mean = 0, deviation = 0;  // of the other runs; the sample's deviation, NaN for one seed
  double p_value = 1;              // against the first variant; NaN if unknown
  std::int64_t parameters = 0;
  double tokens_per_second = 0;  // of training, over all runs
};

// Trains what is not finished yet, evaluates, prints a table, and writes OUT/compare.txt, .tex, .html and .json. Calling it
// again continues. Returns kDone, kDiverged if a run diverged, or 128 + N after signal N. Throws what train() throws.
ExitCode compare(const CompareRequest& request);

// What the columns mean. `seeds`: of each variant; `samples`: of the bootstrap.
std::string comparison_note(std::int64_t seeds, std::int64_t samples);
// Tables, with the note below.
std::string comparison_text(const std::vector<ComparedCell>& cells, const std::string& note);
std::string comparison_latex(const std::vector<ComparedCell>& cells, const std::string& note);

}  // namespace graphrun
