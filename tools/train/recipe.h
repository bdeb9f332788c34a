// What a job's `train` block says, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runtime/program/program.h"
#include "tools/job/job.h"
#include "tools/train/schedule.h"

namespace graphrun {

// A pattern over parameters' names.
struct NamePattern {
  std::string text;  // `*` is any run of characters
  Location at;
};

struct InitializeRule {
  NamePattern match;
  VariableSpec::Init init = VariableSpec::Init::kConstant;
  double amount = 0;
  // Word vectors: rows of their own over what another rule says. Empty: none.
  std::string vectors;  // a file
  std::string field;    // whose vocabulary
  bool lowercase = false;
  Location vectors_at;
};

// Parameters that begin as another model's.
struct StartRule {
  std::string model;               // a folder
  std::vector<NamePattern> match;  // empty: all
  bool partial = false;
  Location at;
};

// When validation happens beside the end of the run: exactly one is above 0.
struct ValidateRule {
  std::int64_t epochs = 1, steps = 0, times_per_epoch = 0;
  Location at = {};  // of what is above 0
};

// What ends a run: whichever comes first of those above 0, of which there is one at least.
struct EndRule {
  std::int64_t epochs = 0, updates = 0;
  double hours = 0;
};

// When a run saves beside the end of each epoch; 0: not by that.
struct CheckpointRule {
  std::int64_t every_steps = 0;
  double every_minutes = 0;
  int keep = 0;  // the newest so many
};

struct StopRule {
  std::int64_t patience = 0;  // validations; 0: never
  double margin = 0;
};

// The model is the mean of the parameters at several validations.
struct AverageRule {
  std::int64_t number = 0;  // 0: none
  bool best = false;        // those with the best kept reports, else the last
};

// Parameters whose learning rate is multiplied.
struct RateGroup {
  NamePattern match;
  double factor = 1;
};

struct Recipe {
  TrainOptions options;  // what the compiler adds; its minimize and per are add_objective's
  ir::SourceText minimize, per;
  std::int64_t accumulate = 1;  // batches of one update
  std::vector<InitializeRule> initialize;
  std::vector<StartRule> start;
  std::vector<NamePattern> freeze, no_decay;
  std::vector<RateGroup> groups;  // the first that matches counts
  double learning_rate = 0;
  ScheduleRule schedule;
  EndRule end;
  std::uint64_t seed = 0;
  ValidateRule validate;
  std::string keep;  // the report whose best parameters the model keeps; empty: the last ones
  bool keep_highest = true;
  StopRule stop;
  AverageRule average;
  std::int64_t metrics_every_steps = 0;
  CheckpointRule checkpoint;
};

// `job` has passed require_training.
Recipe make_recipe(const LoadedJob& job);

}  // namespace graphrun
