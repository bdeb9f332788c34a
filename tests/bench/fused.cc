// The backward step of an ATR cell, 14 pointwise ops with three results: as one fused kernel and op by op. Bytes are those that
// any kernel of the whole group must move.
#include <benchmark/benchmark.h>

#include <deque>

#include "compiler/ir/pointwise_program.h"
#include "runtime/kernel.h"
#include "runtime/threads.h"

namespace graphrun {
namespace {

using ir::PointwiseProgram;

// x0 p, x1 q, x2 the state before, x3 the gradient of the state after it.
constexpr const char* kAtrBackward =
    "t0 = add(x0, x1); t1 = sigmoid(t0); t2 = sub(x0, x1); t3 = sigmoid(t2); "
    "t4 = mul(x3, x0); t5 = mul(t4, t1); t6 = sub(1.0, t1); t7 = mul(t5, t6); "
    "t8 = mul(x3, x2); t9 = mul(t8, t3); t10 = sub(1.0, t3); t11 = mul(t9, t10); "
    "t12 = sub(t7, t11); t13 = mul(x3, t3); return t7, t12, t13";

struct Launch {
  Attributes attributes;
  Kernel kernel;
  std::vector<TensorView> inputs, outputs;

  Launch(const std::string& op, Attributes given, const std::vector<Tensor>& in, const std::vector<Tensor>& out)
      : attributes(std::move(given)) {
    for (const Tensor& t : in) inputs.push_back(t.view());
    for (const Tensor& t : out) outputs.push_back(t.view());
    KernelRequest request;
    request.attributes = &attributes;
    request.inputs = inputs, request.outputs = outputs;
    kernel = (*KernelRegistry::instance().find(op, Device::kCpu))(request);
  }
  void run() const { kernel.run({&attributes, inputs, outputs, nullptr, {}}); }
};

std::vector<Tensor> operands(const Sizes& sizes) {
  std::vector<Tensor> all;
  for (int k = 0; k < 4; ++k) {
    all.emplace_back(DType::kFloat32, sizes);
    for (float& x : all.back().span<float>()) x = 0.01f * static_cast<float>(k + 1);
  }
  return all;
}

void report(benchmark::State& state, const Sizes& sizes) {
  state.SetBytesProcessed(state.iterations() * element_count(sizes) * 4 * 7);
  state.SetItemsProcessed(state.iterations() * element_count(sizes) * 14);
}

void fused(benchmark::State& state) {
  set_threads(static_cast<int>(state.range(1)));
  const Sizes sizes = {state.range(0), 650};
  std::vector<Tensor> results;
  for (int r = 0; r < 3; ++r) results.emplace_back(DType::kFloat32, sizes);
  Attributes attributes;
  attributes.set("code", std::string(kAtrBackward));
  const std::vector<Tensor> in = operands(sizes);
  const Launch launch("fused", attributes, in, results);
  for (auto _ : state) launch.run();
  report(state, sizes);
}

void op_by_op(benchmark::State& state) {
  set_threads(static_cast<int>(state.range(1)));
  const Sizes sizes = {state.range(0), 650};
  const PointwiseProgram program = ir::parse_program(kAtrBackward);
  const std::vector<Tensor> in = operands(sizes);
  std::vector<Tensor> made, numbers;
  std::deque<Launch> launches;  // a kernel's attributes stay where they are
  for (const PointwiseProgram::Instruction& instruction : program.instructions) {
    std::vector<Tensor> read;
    for (const PointwiseProgram::Operand& o : instruction.operands) {
      if (o.kind == PointwiseProgram::Operand::Kind::kInput) read.push_back(in[o.index]);
      if (o.kind == PointwiseProgram::Operand::Kind::kInstruction) read.push_back(made[o.index]);
      if (o.kind == PointwiseProgram::Operand::Kind::kNumber) {
        numbers.push_back(Tensor::of<float>({}, {static_cast<float>(o.number)}));
        read.push_back(numbers.back());
      }
    }
    made.emplace_back(DType::kFloat32, sizes);
    launches.emplace_back(instruction.op->name, Attributes(), read, std::vector<Tensor>{made.back()});
  }
  for (auto _ : state) {
    for (const Launch& launch : launches) launch.run();
  }
  report(state, sizes);
}

BENCHMARK(fused)->ArgNames({"rows", "threads"})->ArgsProduct({{20, 700}, {1, 2}})->UseRealTime();
BENCHMARK(op_by_op)->ArgNames({"rows", "threads"})->ArgsProduct({{20, 700}, {1, 2}})->UseRealTime();

}  // namespace
}  // namespace graphrun
