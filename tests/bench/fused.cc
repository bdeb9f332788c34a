// Groups of pointwise ops as one fused kernel, as machine code and with tiles, compared with a lower bound of their time. The
// backward step of an ATR cell, 14 ops with three results, is also run op by op. Bytes are those that any kernel of the whole
// group must move.
//
// `bound` is the larger of two times, measured in the same run: that of memory, reading the group's operands and writing its
// results with one addition each; and that of arithmetic, the sum over all ops of what one more such op takes in machine code
// over elements that stay in the first-level cache.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "compiler/ir/pointwise_program.h"
#include "ops/tiles/machine_code.h"
#include "runtime/device/device.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

using ir::PointwiseProgram;

// x0: p; x1: q; x2: the state before; x3: the gradient of the state after.
constexpr const char* kAtrBackward =
    "t0 = add(x0, x1); t1 = sigmoid(t0); t2 = sub(x0, x1); t3 = sigmoid(t2); "
    "t4 = mul(x3, x0); t5 = mul(t4, t1); t6 = sub(1.0, t1); t7 = mul(t5, t6); "
    "t8 = mul(x3, x2); t9 = mul(t8, t3); t10 = sub(1.0, t3); t11 = mul(t9, t10); "
    "t12 = sub(t7, t11); t13 = mul(x3, t3); return t7, t12, t13";

// An LSTM's forward step with masks, 30 ops with five results. x0 to x3: the products; x4: the cell before; x5: the state
// before; x6: the mask.
constexpr const char* kLstmForward =
    "t0 = add(x0, 0.1); t1 = sigmoid(t0); t2 = add(x1, 1.0); t3 = sigmoid(t2); t4 = add(x2, 0.1); t5 = tanh(t4); "
    "t6 = add(x3, 0.1); t7 = sigmoid(t6); t8 = mul(t3, x4); t9 = mul(t1, t5); t10 = add(t8, t9); t11 = tanh(t10); "
    "t12 = mul(t7, t11); t13 = sub(1.0, x6); t14 = mul(t12, x6); t15 = mul(x5, t13); t16 = add(t14, t15); "
    "t17 = mul(t10, x6); t18 = mul(x4, t13); t19 = add(t17, t18); t20 = sub(1.0, t1); t21 = mul(t1, t20); "
    "t22 = sub(1.0, t3); t23 = mul(t3, t22); t24 = mul(t21, t5); t25 = mul(t23, x4); t26 = add(t24, t25); "
    "t27 = mul(t26, t7); t28 = maximum(t27, -1.0); t29 = minimum(t28, 1.0); return t16, t19, t1, t7, t29";
// A gate and its application, 6 ops with one result.
constexpr const char* kGate =
    "t0 = add(x0, x1); t1 = sigmoid(t0); t2 = sub(1.0, t1); t3 = mul(t1, x2); t4 = mul(t2, x0); t5 = add(t3, t4); return t5";

struct Launch {
  Attributes attributes;
  Kernel kernel;
  std::vector<TensorView> inputs, outputs;

  Launch(const std::string& op, Attributes given, const std::vector<Tensor>& in, const std::vector<Tensor>& out)
      : attributes(std::move(given)) {
    for (const Tensor& t : in) inputs.push_back(t.view());
    for (const Tensor& t : out) outputs.push_back(t.view());
    bind(op);
  }
  Launch(const std::string& op, Attributes given, std::vector<TensorView> in, std::vector<TensorView> out)
      : attributes(std::move(given)), inputs(std::move(in)), outputs(std::move(out)) {
    bind(op);
  }
  void bind(const std::string& op) {
    KernelRequest request;
    request.attributes = &attributes;
    request.inputs = inputs, request.outputs = outputs;
    kernel = (*cpu_device().kernels().find(op))(request);
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
  attributes.set("code", OpaqueValue(ir::parse_program(kAtrBackward)));
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
  std::deque<Launch> launches;  // a deque does not move the attributes that kernels refer to
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

// A program as a kernel on one thread. Operands and results follow one another in memory, as in an executable's arena.
class Group {
 public:
  Group(const std::string& code, const Sizes& sizes) {
    const PointwiseProgram program = ir::parse_program(code);
    const std::size_t inputs = program.inputs(), all = inputs + program.results.size();
    const std::int64_t count = (element_count(sizes) + 15) / 16 * 16 + 16 * 5;
    memory_ = Tensor(DType::kFloat32, {static_cast<std::int64_t>(all) * count});
    std::vector<TensorView> in, out;
    for (std::size_t k = 0; k < all; ++k) {
      float* at = memory_.data<float>() + static_cast<std::int64_t>(k) * count;
      std::fill_n(at, count, 0.01f * static_cast<float>(k + 1));
      (k < inputs ? in : out).push_back({at, DType::kFloat32, sizes});
    }
    Attributes attributes;
    attributes.set("code", OpaqueValue(program));
    launch_ = std::make_unique<Launch>("fused", attributes, std::move(in), std::move(out));
  }
  void run() const { launch_->run(); }
  // Seconds per run: the fastest of several batches.
  double seconds() const {
    double best = 1e9;
    run();
    for (int batch = 0; batch < 15; ++batch) {
      const auto begin = std::chrono::steady_clock::now();
      int runs = 0;
      double passed = 0;
      while (passed < 2e-3) {
        run();
        ++runs;
        passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      }
      best = std::min(best, passed / runs);
    }
    return best;
  }

 private:
  Tensor memory_;
  std::unique_ptr<Launch> launch_;
};

// Seconds per element that one more op takes, for elements in the first-level cache: measured on several independent ops whose
// results are added.
double seconds_of(const ir::OpSchema& op) {
  static std::map<std::string, double> known;
  const auto it = known.find(op.name);
  if (it != known.end()) return it->second;
  const bool binary = op.inputs.size() == 2;
  const auto several = [&](int count) {
    std::string code;
    int made = 0, sum = -1;
    const auto make = [&](const std::string& text) {
      code += "t" + std::to_string(made) + " = " + text + "; ";
      return made++;
    };
    for (int k = 0; k < count; ++k) {
      const std::string number = std::to_string(k) + ".5";
      const int operand = binary ? -1 : make("add(x0, " + number + ")");
      const int one = make(op.name + (binary ? "(x0, " + number + ")" : "(t" + std::to_string(operand) + ")"));
      sum = sum < 0 ? one : make("add(t" + std::to_string(sum) + ", t" + std::to_string(one) + ")");
    }
    return Group(code + "return t" + std::to_string(sum), {1024}).seconds() / 1024;
  };
  const double each = (several(14) - several(2)) / 12;
  if (op.name == "add") return known[op.name] = each / 2;
  const double addition = seconds_of(*ir::OpRegistry::instance().find("add"));
  return known[op.name] = std::max(0.0, each - (binary ? 1 : 2) * addition);
}

double bound_of(const std::string& code, const Sizes& sizes) {
  const PointwiseProgram program = ir::parse_program(code);
  double arithmetic = 0;
  for (const PointwiseProgram::Instruction& i : program.instructions) arithmetic += seconds_of(*i.op);
  std::string streams;
  for (std::size_t k = 1; k < program.inputs(); ++k) {
    streams += "t" + std::to_string(k - 1) + " = add(" + (k == 1 ? "x0" : "t" + std::to_string(k - 2)) + ", x" +
               std::to_string(k) + "); ";
  }
  std::string results;
  for (std::size_t r = 0; r < program.results.size(); ++r) {
    const std::size_t t = program.inputs() - 1 + r;
    streams += "t" + std::to_string(t) + " = add(t" + std::to_string(program.inputs() - 2) + ", " + std::to_string(r) + ".5); ";
    results += (r > 0 ? ", t" : " t") + std::to_string(t);
  }
  const double memory = Group(streams + "return" + results, sizes).seconds();
  return std::max(memory, arithmetic * static_cast<double>(element_count(sizes)));
}

// As machine code or with tiles, and the ratio to the bound.
void against_bound(benchmark::State& state, const char* code, bool machine_code) {
  set_threads(1);
  const Sizes sizes = {state.range(0), 650};
  use_machine_code(true);
  const double bound = bound_of(code, sizes);
  use_machine_code(machine_code);
  const Group group(code, sizes);
  const double seconds = group.seconds();
  for (auto _ : state) group.run();
  use_machine_code(true);
  state.counters["bound_us"] = bound * 1e6;
  state.counters["over_bound"] = seconds / bound;
}

void both(const char* name, const char* code) {
  for (const bool machine_code : {true, false}) {
    const std::string title = std::string(name) + (machine_code ? "/machine_code" : "/tiles");
    benchmark::RegisterBenchmark(title.c_str(), against_bound, code, machine_code)->ArgName("rows")->Arg(20)->Arg(700);
  }
}
const int registered = (both("gate_6_ops", kGate), both("atr_14_ops", kAtrBackward), both("lstm_30_ops", kLstmForward), 0);

BENCHMARK(fused)->ArgNames({"rows", "threads"})->ArgsProduct({{20, 700}, {1, 2}})->UseRealTime();
BENCHMARK(op_by_op)->ArgNames({"rows", "threads"})->ArgsProduct({{20, 700}, {1, 2}})->UseRealTime();

}  // namespace
}  // namespace graphrun
