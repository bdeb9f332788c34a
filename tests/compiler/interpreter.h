// What a graph means, word by word: every value in memory of its own, scans step by step. Knows neither schedule nor memory
// plan.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "runtime/program/kernel.h"
#include "runtime/tensor/tensor.h"

namespace graphrun::test {

class Interpreter {
 public:
  Interpreter(Precision precision, SymbolValues symbols, std::uint64_t seed = 0, std::uint64_t step = 0)
      : precision_(precision), symbols_(std::move(symbols)), seed_(seed), step_(step) {}

  // All values of the graph. `given`: by value; the inputs and variables.
  std::vector<Tensor> values(const ir::Graph& graph, std::vector<Tensor> given) {
    given.resize(graph.values.size());
    for (const ir::Node& node : graph.nodes) {
      std::vector<Tensor> operands;
      for (ir::ValueId v : node.inputs)
        operands.push_back(v == ir::kNone ? Tensor() : given[static_cast<std::size_t>(v)].clone());
      std::vector<Tensor> results;
      for (ir::ValueId v : node.outputs) results.push_back(make(graph.type(v)));
      if (ir::is_scan(node)) {
        run_scan(node, operands, results);
      } else if (node.op->view) {
        std::memcpy(results[0].raw(), operands[0].raw(), operands[0].bytes());
      } else {
        run_kernel(node, operands, results);
      }
      for (std::size_t i = 0; i < results.size(); ++i) given[static_cast<std::size_t>(node.outputs[i])] = results[i];
    }
    return given;
  }

 private:
  Tensor make(const ir::TensorType& type) const { return {concrete(type.type, precision_), evaluate(type.shape, symbols_)}; }

  void run_kernel(const ir::Node& node, const std::vector<Tensor>& operands, const std::vector<Tensor>& results) {
    KernelRequest request;
    request.attributes = &node.attributes;
    std::vector<TensorView> in, out;
    for (const Tensor& t : operands) {
      in.push_back(t.empty() ? TensorView{} : t.view());
      request.absent_inputs.push_back(t.empty());
    }
    for (const Tensor& t : results) out.push_back(t.view());
    request.inputs = in;
    request.outputs = out;
    for (TensorView& view : request.inputs) view.data = nullptr;
    for (TensorView& view : request.outputs) view.data = nullptr;
    request.symbols = &symbols_;
    const Kernel kernel = (*cpu_device().kernels().find(node.op->name))(request);
    const Tensor workspace(DType::kBool, {static_cast<std::int64_t>(kernel.workspace)});
    kernel.run({&node.attributes, in, out, workspace.raw(), {seed_, step_, positions_}});
  }

  void run_scan(const ir::Node& node, std::vector<Tensor> operands, std::vector<Tensor>& results) {
    const ir::ScanLayout layout = ir::scan_layout(node);
    const ir::Graph& body = node.regions[0];
    const std::int64_t steps = node.attributes.dim("steps").evaluate(symbols_);
    for (std::int64_t k = 0; k < steps; ++k) {
      const std::int64_t t = node.attributes.boolean("reverse") ? steps - 1 - k : k;
      std::vector<Tensor> given(body.values.size());
      for (std::size_t i = 0; i < body.inputs.size(); ++i) {
        Tensor& input = given[static_cast<std::size_t>(body.inputs[i].value)];
        input = make(body.type(body.inputs[i].value));
        if (i == layout.step()) {
          *input.data<std::int32_t>() = static_cast<std::int32_t>(t);
        } else {
          const bool slice = i >= layout.each_begin() && i < layout.invariant_begin();
          const std::size_t offset = slice ? static_cast<std::size_t>(t) * input.bytes() : 0;
          std::memcpy(input.raw(), operands[i].data<char>() + offset, input.bytes());
        }
      }
      positions_.push_back(t);
      const std::vector<Tensor> all = values(body, std::move(given));
      positions_.pop_back();
      for (std::size_t o = 0; o < body.outputs.size(); ++o) {
        const Tensor& value = all[static_cast<std::size_t>(body.outputs[o].value)];
        if (o < layout.states) {
          operands[o] = value;
        } else {
          std::memcpy(results[o].data<char>() + static_cast<std::size_t>(t) * value.bytes(), value.raw(), value.bytes());
        }
      }
    }
    for (std::size_t s = 0; s < layout.states; ++s) results[s] = operands[s].clone();
  }

  Precision precision_;
  SymbolValues symbols_;
  std::uint64_t seed_, step_;
  std::vector<std::int64_t> positions_;
};

}  // namespace graphrun::test
