// A trained model on lines of text: what is read and written stands in the job's infer block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "tools/data/inference_reader.h"
#include "tools/model/model_folder.h"
#include "tools/text/lines.h"

namespace graphrun {

// Of an infer block that generates; what is absent is as the job says.
struct GenerateOptions {
  std::int64_t beam = 0, n_best = 0;  // 0: as the job says
  std::string prefix, force;          // files with a text for each line: its words begin so; they are these
  std::string alignments;             // the file that links go to, a line for each line that is written
  bool all_words = false;             // without the block's shortlist
  bool json = false;                  // an object for each line, also of a block that generates nothing
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<std::uint64_t> seed;

  // Whether they say how words are searched for or drawn.
  bool searches() const { return beam > 0 || n_best > 0 || temperature || top_k || seed; }
  // Whether they say anything that only words that are made can have.
  bool of_words() const { return searches() || all_words || !prefix.empty() || !force.empty() || !alignments.empty(); }
};

// Lines that are no text. Each comes out empty, with a warning on stderr; or the first ends the run.
class BadLines {
 public:
  explicit BadLines(bool stop) : stop_(stop) {}
  void read_with(ReadingOptions& reading);  // which must not outlive it
  void tell_total() const;                  // on stderr, where there were any

 private:
  const bool stop_;
  std::int64_t number_ = 0;
};

struct InferOptions {
  std::string mode;  // an infer block by name; empty: the first
  GenerateOptions generate;
  std::int64_t rows = 0;                             // lines that share a batch, at most; 0: the job's
  std::int64_t ahead = InferenceReader::kReadAhead;  // see ReadingOptions
  std::vector<std::string> fetches;                  // tensors anywhere in the graph, by name
  bool stop_at_bad_lines = false;                    // see BadLines
  bool from_stdin = false;                           // where the lines come from
  std::string fetch_file;                            // where they go, a safetensors file: "0/NAME" of the first batch
  const Device* device = &cpu_device();
  WeightForm weights = WeightForm::kFloat32;  // without an infer block, which says so itself
};

// How long a line the infer block lets in; warnings of longer ones go to stderr.
void take_limit(ReadingOptions& reading, const InferSpec& mode);

// What every infer block of a job says of its graph: names, ops, type, the scan that generates, the symbols it begins and ends
// with. `graph`: in inference. Throws UserError (kInvalidGraph, E0417 and those of cut_for_generation) with all that does not
// fit, each at its place in the job.
void check_infer(const ir::Graph& graph, const Network& network);

// One line out for each line in, in their order, flushed to stdout before more is read. Without an infer block
// only `fetches` are had and nothing is written. Throws UserError: (kUsage) E0425 unknown-mode; (kInvalidGraph) E0417 what
// `from` says does not fit the graph, E0421; (kBadData) whatever is wrong with a line, BadLines aside, after all before it
// were answered.
void infer(const Network& network, const Parameters& parameters, std::unique_ptr<LineReader> lines,
           const InferOptions& options);

}  // namespace graphrun
