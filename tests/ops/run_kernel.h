// Runs one op's CPU kernel on tensors, without a graph: shared by the tests of single kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/schema.h"
#include "runtime/device/device.h"
#include "runtime/program/kernel.h"
#include "runtime/tensor/tensor.h"

namespace graphrun::tests {

struct KernelCall {
  std::string op;
  std::vector<Tensor> inputs;  // an empty tensor is an absent input
  Attributes attributes;       // the schema's defaults are filled in
  RandomState random;
  SymbolValues symbols;
  ProductPrecision products = ProductPrecision::kFloat32;
};

// Runs it with results in `outputs`, which may share memory with inputs.
inline void run_kernel_into(KernelCall call, const std::vector<Tensor>& outputs) {
  for (const ir::AttributeSpec& spec : ir::OpRegistry::instance().get(call.op).attributes) {
    if (!call.attributes.has(spec.name) && spec.default_value) call.attributes.set(spec.name, *spec.default_value);
  }
  KernelRequest request;
  request.attributes = &call.attributes;
  request.symbols = &call.symbols;
  request.products = call.products;
  std::vector<TensorView> in, out;
  for (const Tensor& t : call.inputs) {
    in.push_back(t.view());
    request.inputs.push_back(t.view());
    request.inputs.back().data = nullptr;
    request.absent_inputs.push_back(t.empty());
  }
  for (const Tensor& t : outputs) {
    out.push_back(t.view());
    request.outputs.push_back(t.view());
    request.outputs.back().data = nullptr;
  }
  const KernelFactory* factory = cpu_device().kernels().find(call.op);
  GRAPHRUN_CHECK(factory, "no kernel for " + call.op);
  const Kernel kernel = (*factory)(request);
  // Workspaces lie next to other values in a program's memory, where no sanitizer sees what is written beyond them.
  constexpr std::size_t kGuard = 1 << 16;
  constexpr char kPattern = 0x5a;
  const Tensor workspace(DType::kBool, {static_cast<std::int64_t>(kernel.workspace + kGuard)});
  char* const guard = static_cast<char*>(workspace.raw()) + kernel.workspace;
  std::fill_n(guard, kGuard, kPattern);
  kernel.run({&call.attributes, in, out, workspace.raw(), call.random});
  GRAPHRUN_CHECK(std::count(guard, guard + kGuard, kPattern) == static_cast<std::ptrdiff_t>(kGuard),
                 call.op + " writes beyond its workspace");
}

// Runs it with the result in a new tensor.
inline Tensor run_kernel(const KernelCall& call, DType dtype, const Sizes& sizes) {
  Tensor out(dtype, sizes);
  run_kernel_into(call, {out});
  return out;
}

// Numbers in [-1, 1) that depend only on the seed.
inline Tensor sample(DType dtype, const Sizes& sizes, std::uint32_t seed) {
  Tensor t(DType::kFloat64, sizes);
  for (double& x : t.span<double>()) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<double>(seed >> 20) / 2048 - 1;
  }
  return t.converted(dtype);
}

}  // namespace graphrun::tests
