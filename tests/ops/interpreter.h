// Runs a graph node by node, each in its own buffers: a minimal reference for the executor.
#pragma once

#include <map>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/device/device.h"
#include "runtime/tensor/tensor.h"

namespace graphrun::tests {

struct InterpretOptions {
  Precision precision = Precision::kFloat64;
  SymbolValues symbols;
  bool in_place = false;  // a result reuses its operand's memory wherever the schema allows it (operands are copied first)
  const Device* device = &cpu_device();  // whose kernels run, on copies in its memory
};

// The values `wanted` of a graph without regions. Feeds are by value: graph inputs and variables; FLOAT ones are converted.
std::vector<Tensor> interpret(const ir::Graph& graph, const std::map<ir::ValueId, Tensor>& feeds,
                              const std::vector<ir::ValueId>& wanted, const InterpretOptions& options);

}  // namespace graphrun::tests
