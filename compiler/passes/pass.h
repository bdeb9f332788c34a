// A pass is a function from a graph to a graph that computes the same outputs and next values. A new pass needs a header, a
// source, a test case under tests/passes/ and a line in the list in compiler/passes/passes.cc, which is in the order in which
// passes run. Each pass is linear in the size of the graph and keeps its inputs, outputs and variables. It treats regions as it
// treats the graph itself.
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

// Optimizations that are not passes but can also be disabled by name, to measure their effect or to find the cause of a wrong
// result.
inline constexpr const char* kRecompute = "recompute";                 // a loop's gradient recomputes what costs more to save
inline constexpr const char* kShareMemory = "share_memory";            // MemoryOptions::reuse
inline constexpr const char* kRecurrentKernels = "recurrent_kernels";  // Program::recurrent_kernels
// Every name that can be disabled: those of the passes, then these.
std::vector<std::string> names_to_disable();
// What an unknown name may mean: "it is now called 'parallelize_history'" for the former name of a pass, otherwise what
// did_you_mean finds in `known`.
std::string pass_hint(const std::string& name, const std::vector<std::string>& known);

// Called after each pass with its name, its result, and the seconds that it took.
using PassObserver = std::function<void(const std::string& pass, const ir::Graph& graph, double seconds)>;

// Runs every pass whose name is not in `disabled`, and verifies the graph after each pass that changed it; the verifier's error
// names the pass. Throws UserError (kUsage, E0409 unknown-pass) if a name in `disabled` is not one of names_to_disable().
ir::Graph run_passes(ir::Graph graph, const std::vector<std::string>& disabled = {}, const PassObserver& observer = nullptr);
// Runs only the early passes, on a graph that is about to be differentiated.
ir::Graph run_early_passes(ir::Graph graph, const std::vector<std::string>& disabled = {},
                           const PassObserver& observer = nullptr);

}  // namespace graphrun
