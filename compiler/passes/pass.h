// What a pass is: a function from a graph to a graph that computes the same outputs and next values. Adding one adds a header,
// a source, a test case under tests/passes/ and one line in the list in compiler/passes/passes.cc, whose order is the order in
// which they run. Each pass is linear in the size of the graph and keeps its inputs, outputs and variables; it works on regions
// as on the graph itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

struct PassResult {
  ir::Graph graph;
  bool changed = false;
};

struct Pass {
  std::string name;
  std::string doc;  // one line
  PassResult (*run)(ir::Graph graph);
  bool early = false;  // runs before differentiation too
};

// In the order in which they run.
const std::vector<Pass>& all_passes();

// What the compiler does beside its passes and can leave out by name as well: to see what that brings, or whether a wrong
// result comes of it.
inline constexpr const char* kRecompute = "recompute";                 // a loop's gradient recomputes what costs more to save
inline constexpr const char* kShareMemory = "share_memory";            // MemoryOptions::reuse
inline constexpr const char* kRecurrentKernels = "recurrent_kernels";  // Program::recurrent_kernels
// Every name that can be disabled: the passes', then those.
std::vector<std::string> names_to_disable();
// What a name that is none of `known` may mean: "it is now called 'parallelize_history'" for a pass's former name, else what
// did_you_mean finds.
std::string pass_hint(const std::string& name, const std::vector<std::string>& known);

// Called after each pass with its name, what it made, and the seconds that it took.
using PassObserver = std::function<void(const std::string& pass, const ir::Graph& graph, double seconds)>;

// Runs every pass whose name is not in `disabled`, and verifies what each changed; the verifier's error names the pass. Throws
// UserError (kUsage, E0409 unknown-pass) where `disabled` holds none of names_to_disable.
ir::Graph run_passes(ir::Graph graph, const std::vector<std::string>& disabled = {}, const PassObserver& observer = nullptr);
// Those of them that are early, on a graph that is about to be differentiated.
ir::Graph run_early_passes(ir::Graph graph, const std::vector<std::string>& disabled = {},
                           const PassObserver& observer = nullptr);

}  // namespace graphrun
