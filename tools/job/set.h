// --set: fields of a job from the command line, by path, through reflection.
//
//   train.epochs=3                               a scalar, or an enum by name; creates the messages of the path
//   train.optimizer.sgd.learning_rate=0.6        one of several: replaces the other
//   data.field.tags.vocabulary.min_count=2       a repeated message by its `name`, or by number from 0
//   train.initialize.*.uniform=0.1               one without a name by its `match`, or by number from 0
//   data.train=a.txt,b.txt                       a repeated scalar: replaces it; paths start in the current directory
//   report+=gate = mean(read.forward.i) by tags  adds to a repeated scalar
//   cell=cells/lstm.pbtxt  hidden=128            not a field of a job: an argument of its graph
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/source.h"
#include "graphs/job.pb.h"
#include "runtime/base/status.h"

namespace graphrun {

// How --set names one of the messages of a repeated field: by its `name` or `match`; by its number, from 0, if it has neither
// or another message has the same.
std::string key_of(const google::protobuf::Message& in, const google::protobuf::FieldDescriptor& field, int index);

// The arguments as lines of a pseudo file "--set", so that messages can show mistakes in them.
std::vector<ir::SourceText> set_sources(const std::vector<std::string>& arguments);

// Applies each argument to `job` and its locations; adds mistakes to `problems` (E0404 unknown-field, E0402 wrong-value). The
// args of `job` must have been split into single bindings (split_arguments).
void apply_sets(const std::vector<std::string>& arguments, Job& job, Places& places, std::vector<Diagnostic>& problems);

// Splits `arg` so that every string is one binding.
void split_arguments(Job& job, Places& places);

// Whether a field of a job contains paths of files, relative to the job: "graphrun.Job.Data.train".
bool holds_path(const google::protobuf::FieldDescriptor& field);

}  // namespace graphrun
