// The whole compiler, for the programs and for users of the library.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/request.h"
#include "compiler/ir/graph.h"
#include "compiler/tape_decision.h"
#include "runtime/program/program.h"

namespace graphrun {

// Consecutive elements of a parameter, in row-major order.
struct ParameterSlice {
  std::string parameter;
  std::int64_t begin = 0, count = 0;
  std::string name() const;  // of its variable, a vector: "W[0:4096]"
};

// What training adds to a graph.
struct TrainOptions {
  std::string minimize;  // an output, a FLOAT scalar
  // The gradient is divided by this output, a FLOAT or INT32 scalar, or its sum over the batches of one update. If empty, it is
  // not divided.
  std::string per;
  std::string optimizer = "sgd";                              // its op is sgd_update
  std::vector<std::pair<std::string, Attribute>> attributes;  // of that op, if they differ from its defaults
  std::set<std::string> undecayed;                            // parameters whose attributes l2 and weight_decay are 0
  std::map<std::string, double> rate_factors;                 // by parameter: a factor of the learning rate; absent: 1
  double clip_global_norm = 0;                                // 0: none
  double moving_average = 0;                                  // the decay of a moving average of each parameter; 0: none
  // Which part of a step the program computes. If one update uses several batches, the first program adds the gradients of each
  // batch to slots, and a second one updates the parameters from them.
  enum class Part : std::uint8_t { kWhole, kGradients, kUpdate } part = Part::kWhole;
  // With kUpdate: the program updates only these slices of parameters, each of which is a variable. The norm of all gradients
  // is then an input. Only if is_elementwise(optimizer).
  std::optional<std::vector<ParameterSlice>> slices = std::nullopt;
};
// Names of the inputs and outputs that training adds to those of the graph.
inline constexpr const char* kLearningRate = "train.learning_rate";  // input, FLOAT []
inline constexpr const char* kUpdateCount = "train.update";          // input, FLOAT []: 1 for the first update (Adam's t)
inline constexpr const char* kKeepSums = "train.keep_sums";  // input, FLOAT []: 0 begins the sums of gradients, 1 adds to them
inline constexpr const char* kSumNorm = "train.sum_norm";    // input, FLOAT [], with slices: the norm before it is divided
inline constexpr const char* kGradientNorm = "train.gradient_norm";  // output, FLOAT []: before clipping
// A slot's name is its parameter's with an ending: ".adam_m", or one of these.
inline constexpr const char* kGradientSlot = ".gradient";
inline constexpr const char* kAverageSlot = ".average";
inline constexpr const char* kPerSlot = "train.per";  // the sum of `per`

// Whether an optimizer updates each element of a parameter from the same element of the gradient and the slots alone.
bool is_elementwise(const std::string& optimizer);
// The endings of the slots that every parameter has with these options, apart from kGradientSlot. Only if the optimizer
// is_elementwise.
std::vector<std::string> slot_endings(const TrainOptions& options);

struct CompileOptions {
  Precision precision = Precision::kFloat32;
  std::vector<std::string> fetches;          // outputs, or values anywhere in the graph by name; empty: every output
  std::vector<std::string> disabled_passes;  // of names_to_disable (compiler/passes/pass.h)
  bool does(const std::string& name) const;  // whether it is not disabled
  // Called after each stage with its name and graph: graph-dump, --time-passes.
  std::function<void(const std::string& stage, const ir::Graph& graph, double seconds)> observe;
  // Receives, in training, what each loop saves for its gradient and what it recomputes; may be null.
  std::vector<TapeDecision>* tape = nullptr;
};

// load, expand, check. Throws UserError (kInvalidGraph) with every mistake found. `warnings` receives the warnings, `sources`
// the files that were read.
ir::Graph load_graph(const GraphRequest& request, std::vector<Diagnostic>* warnings = nullptr, GraphSources* sources = nullptr);

// The two stages of load_graph: from files to one typed graph (throws as load_graph does), then verification and removal of
// what nothing needs.
ir::Graph expand_graph(const GraphRequest& request, std::vector<Diagnostic>* warnings = nullptr,
                       GraphSources* sources = nullptr);
ir::Graph check_graph(ir::Graph expanded);

// differentiate (with `train`), passes, schedule, plan memory.
Program compile(const ir::Graph& checked, const CompileOptions& options = {}, const TrainOptions* train = nullptr);

}  // namespace graphrun
