// Runs a graph, and compares the results of two runs.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "tests/random/data.h"

namespace graphrun::random_graphs {

inline constexpr double kClose = 1e-8;   // for float64 results computed in another order
inline constexpr double kLargest = 1e6;  // for larger values, the order of computation has too much effect

struct Results {
  std::vector<std::string> names;
  std::vector<Tensor> values;
  std::string refused;  // error at run time: an index out of range, out of memory
};

CompileOptions compile_options(std::vector<std::string> disabled = {}, Precision precision = Precision::kFloat64);

// Runs twice in a row, so that states continue; returns the outputs of both runs, then the states.
Results run(const ir::Graph& graph, const CompileOptions& options, const Data& data, int runs = 2, Target target = {});
// The same, with some feeds replaced, by name.
Results run(const ir::Graph& graph, const CompileOptions& options, const Data& data, const Feeds& others, int runs = 2,
            Target target = {});

bool well_behaved(const Results& results);

// Describes the differences; empty if there are none.
std::string difference(const Results& a, const Results& b, double tolerance);

// The first `count` positions along an axis.
Tensor first_along(const Tensor& tensor, std::size_t axis, std::int64_t count);

}  // namespace graphrun::random_graphs
