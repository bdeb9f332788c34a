// A case as a graph: the op alone, or the op with its gradient.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "tests/ops/case.h"
#include "tests/ops/interpreter.h"

namespace graphrun::tests {

struct CaseGraph {
  ir::Graph graph;
  const ir::OpSchema* op = nullptr;
  std::vector<ir::ValueId> inputs;  // kNone if absent
  std::vector<ir::ValueId> outputs;
  std::vector<ir::ValueId> d_outputs;  // fed; kNone for results that are not FLOAT
  std::vector<ir::ValueId> d_inputs;   // kNone: no gradient
  SymbolValues symbols;
};

// The types of the case's inputs.
std::vector<ir::TensorType> input_types(const Case& c, SymbolValues* symbols = nullptr);

// The op applied to the graph's inputs.
CaseGraph forward_graph(const Case& c);
// The same, with the op's gradient rule applied for all FLOAT inputs, or only for input `only` if it is not negative.
CaseGraph gradient_graph(const Case& c, int only = -1);

std::map<ir::ValueId, Tensor> feeds_of(const CaseGraph& g, const std::vector<Tensor>& inputs);
std::vector<Tensor> run_forward(const Case& c, Precision precision, bool in_place = false);

// Weights for the results, to reduce them to a scalar: fixed numbers, none of them small.
std::vector<Tensor> result_weights(const CaseGraph& g);

}  // namespace graphrun::tests
