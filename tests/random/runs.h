// Runs of one graph, and whether two of them gave the same.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "tests/random/data.h"

namespace graphrun::random_graphs {

inline constexpr double kClose = 1e-8;   // of float64 that was computed in another order
inline constexpr double kLargest = 1e6;  // where values grow beyond, their order of computation shows too much

struct Results {
  std::vector<std::string> names;
  std::vector<Tensor> values;
  std::string refused;  // at run time: an index out of range, no memory
};

CompileOptions compile_options(std::vector<std::string> disabled = {}, Precision precision = Precision::kFloat64);

// Two runs one after the other, so that states continue; outputs of both, then what the states hold.
Results run(const ir::Graph& graph, const CompileOptions& options, const Data& data, int runs = 2, Target target = {});
// The same, but for some feeds, by name.
Results run(const ir::Graph& graph, const CompileOptions& options, const Data& data, const Feeds& others, int runs = 2,
            Target target = {});

bool well_behaved(const Results& results);

// What differs; empty: nothing does.
std::string difference(const Results& a, const Results& b, double tolerance);

// The first `count` positions along an axis.
Tensor first_along(const Tensor& tensor, std::size_t axis, std::int64_t count);

}  // namespace graphrun::random_graphs
