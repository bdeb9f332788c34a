// A job's `train` block as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runtime/program/program.h"
#include "tools/job/job.h"
#include "tools/train/schedule.h"

namespace graphrun {

// A pattern over names of parameters.
struct NamePattern {
  std::string text;  // `*` matches any run of characters
  Location at;
};

struct InitializeRule {
  NamePattern match;
  VariableSpec::Init init = VariableSpec::Init::kConstant;
  double amount = 0;
  // Word vectors, which overwrite rows that another rule initialized; may be empty.
  std::string vectors;  // a file
  std::string field;    // the field of the vocabulary
  bool lowercase = false;
  Location vectors_at;
};

// Parameters that begin as those of another model.
struct StartRule {
  std::string model;               // a folder
  std::vector<NamePattern> match;  // empty: all
  bool partial = false;
  Location at;
};

// When to validate, in addition to the end of the run: exactly one is above 0.
struct ValidateRule {
  std::int64_t epochs = 1, steps = 0, times_per_epoch = 0;
  Location at = {};  // location of the setting above 0
};

// The end of a run: whichever comes first of those above 0; at least one is.
struct EndRule {
  std::int64_t epochs = 0, updates = 0;
  double hours = 0;
};

// When to save, in addition to the end of each epoch; 0: not used.
struct CheckpointRule {
  std::int64_t every_steps = 0;
  double every_minutes = 0;
  int keep = 0;  // number of newest checkpoints to keep
};

struct StopRule {
  std::int64_t patience = 0;  // validations without improvement; 0: never stop early
  double margin = 0;
};

// The model is the mean of the parameters at several validations.
struct AverageRule {
  std::int64_t number = 0;  // 0: no mean
  bool best = false;        // those with the best kept reports; otherwise the last ones
};

// Parameters with a factor of the learning rate.
struct RateGroup {
  NamePattern match;
  double factor = 1;
};

// What is recorded of the network while it trains.
struct WatchRule {
  std::vector<NamePattern> match;  // empty: nothing
  std::int64_t every_steps = 0;    // updates
};

struct Recipe {
  TrainOptions options;  // options for the compiler; with_objective sets its minimize and per
  ir::SourceText minimize, per;
  std::int64_t accumulate = 1;    // batches per update: those of several windows, for a stream with parts
  std::int64_t parts = 1;         // of each window of a stream
  bool sums_by_process = false;   // several processes first add the gradients of their own batches
  bool shards_optimizer = false;  // each of several processes updates its slices of the parameters
  std::vector<InitializeRule> initialize;
  std::vector<StartRule> start;
  std::vector<NamePattern> freeze, no_decay;
  std::vector<RateGroup> groups;  // the first match counts
  double learning_rate = 0;
  ScheduleRule schedule;
  EndRule end;
  std::uint64_t seed = 0;
  ValidateRule validate;
  std::string keep;  // the report that selects the model's parameters; empty: the last parameters
  bool keep_highest = true;
  StopRule stop;
  AverageRule average;
  std::int64_t metrics_every_steps = 0;
  WatchRule watch;
  CheckpointRule checkpoint;
};

// `job` must have passed require_training.
Recipe make_recipe(const LoadedJob& job);

}  // namespace graphrun
