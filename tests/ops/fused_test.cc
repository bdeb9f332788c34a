// Random programs compared bit for bit with their ops run one by one: on threads, by columns, in place; and the text of
// programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "compiler/ir/pointwise_program.h"
#include "compiler/ir/printer.h"
#include "runtime/threads/threads.h"
#include "tests/ops/run_kernel.h"

namespace graphrun {
namespace {

using ir::PointwiseProgram;
using Operand = PointwiseProgram::Operand;
using ::testing::HasSubstr;
using tests::run_kernel;
using tests::run_kernel_into;

Tensor random_tensor(DType dtype, const Sizes& sizes, std::mt19937& random) {
  Tensor t(DType::kFloat64, sizes);
  for (double& x : t.span<double>()) {
    x = dtype == DType::kBool ? static_cast<double>(random() % 2) : std::uniform_real_distribution<>(-3, 3)(random);
  }
  return t.converted(dtype);
}

struct Sample {
  PointwiseProgram program;
  std::vector<Tensor> inputs;
  Sizes sizes;
  Precision precision = Precision::kFloat32;
  std::vector<Type> types;  // of the instructions

  Type type_of(const Operand& o) const {
    if (o.kind == Operand::Kind::kNumber) return o.type;
    if (o.kind == Operand::Kind::kInstruction) return types[o.index];
    const DType dtype = inputs[o.index].dtype();
    return dtype == DType::kInt32 ? Type::kInt32 : dtype == DType::kBool ? Type::kBool : Type::kFloat;
  }
};

// Grows a program instruction by instruction from operands that fit.
class Generator {
 public:
  Generator(unsigned seed, Sizes sizes, Precision precision) : random_(seed) {
    s_.sizes = std::move(sizes);
    s_.precision = precision;
  }

  Sample make(int instructions) {
    for (Type type : {Type::kFloat, Type::kFloat, Type::kInt32, Type::kBool}) input(type, s_.sizes);
    const int more = static_cast<int>(random_() % 5);
    for (int i = 0; i < more; ++i) input(any_type(), smaller());
    while (static_cast<int>(s_.program.instructions.size()) < instructions) instruction();
    const std::size_t last = s_.program.instructions.size() - 1;
    for (std::size_t i = 0; i < last && s_.program.results.size() < 4; ++i) {
      if (random_() % 5 == 0) s_.program.results.push_back(i);
    }
    s_.program.results.push_back(last);
    std::shuffle(s_.program.results.begin(), s_.program.results.end(), random_);
    return std::move(s_);
  }

 private:
  Type any_type() {
    static constexpr Type kTypes[] = {Type::kFloat, Type::kFloat, Type::kFloat, Type::kInt32, Type::kBool};
    return kTypes[random_() % 5];
  }
  Sizes smaller() {
    Sizes sizes = s_.sizes;
    for (std::int64_t& n : sizes) n = random_() % 2 ? 1 : n;
    while (!sizes.empty() && random_() % 3 == 0) sizes.erase(sizes.begin());
    return sizes;
  }
  void input(Type type, const Sizes& sizes) {
    s_.inputs.push_back(random_tensor(concrete(type, s_.precision), sizes, random_));
  }

  // An operand of this type; `whole`: of the result's sizes.
  Operand operand(Type type, bool whole) {
    std::vector<Operand> fits;
    for (std::size_t i = 0; i < s_.inputs.size(); ++i) {
      const Operand o = Operand::input(i);
      if (s_.type_of(o) == type && (!whole || s_.inputs[i].sizes() == s_.sizes)) fits.push_back(o);
    }
    for (std::size_t i = 0; i < s_.types.size(); ++i) {
      if (s_.types[i] == type) fits.insert(fits.end(), 3, Operand::instruction(i));
    }
    if (!whole) fits.push_back(Operand::constant(type == Type::kFloat ? 0.1 : 1, type));
    return fits[random_() % fits.size()];
  }

  void draw(const ir::OpSchema* op) {
    if (++draws_ > PointwiseProgram::kMostDraws) return;
    const double rate = static_cast<double>(random_() % 10) / 10;
    s_.program.instructions.push_back(
        {op, {operand(Type::kFloat, true)}, Type::kFloat, rate, "x#" + std::to_string(random_() % 3)});
    s_.types.push_back(Type::kFloat);
  }

  void instruction() {
    const std::vector<const ir::OpSchema*> all = ir::OpRegistry::instance().all();
    const ir::OpSchema* op = all[random_() % all.size()];
    if (!ir::is_program_op(*op)) return;
    if (ir::is_draw(*op)) return draw(op);
    PointwiseProgram::Instruction made{op, {}, Type::kFloat, 0, ""};
    const std::size_t whole = op->inputs.size() == 1 ? 0 : random_() % op->inputs.size();
    Type type = any_type(), result = type;
    switch (op->promotion) {
      case ir::Promotion::kNone: result = made.to = any_type(); break;
      case ir::Promotion::kArithmetic:
        if (type == Type::kBool) return;
        break;
      case ir::Promotion::kFloat: type = result = Type::kFloat; break;
      case ir::Promotion::kLogical: type = result = Type::kBool; break;
      case ir::Promotion::kCompare: result = Type::kBool; break;
      case ir::Promotion::kSelect: break;
    }
    for (std::size_t k = 0; k < op->inputs.size(); ++k) {
      const bool condition = op->promotion == ir::Promotion::kSelect && k == 0;
      made.operands.push_back(operand(condition ? Type::kBool : type, k == whole));
    }
    s_.program.instructions.push_back(made);
    s_.types.push_back(result);
  }

  std::mt19937 random_;
  Sample s_;
  std::size_t draws_ = 0;
};

constexpr std::int64_t kScanStep = 5;
RandomState random_state() { return {7, 11, std::span(&kScanStep, 1)}; }

// The result of each instruction, computed by the ops' own kernels.
std::vector<Tensor> one_by_one(const Sample& s) {
  std::vector<Tensor> made;
  for (std::size_t i = 0; i < s.program.instructions.size(); ++i) {
    std::vector<Tensor> in;
    for (const Operand& o : s.program.instructions[i].operands) {
      if (o.kind == Operand::Kind::kInput) in.push_back(s.inputs[o.index]);
      if (o.kind == Operand::Kind::kInstruction) in.push_back(made[o.index]);
      if (o.kind == Operand::Kind::kNumber) {
        in.push_back(Tensor::of<double>({}, {o.number}).converted(concrete(o.type, s.precision)));
      }
    }
    const PointwiseProgram::Instruction& instruction = s.program.instructions[i];
    tests::KernelCall call{instruction.op->name, in, {}, random_state(), {}};
    if (ir::is_draw(*instruction.op)) {
      call.attributes.set("rate", instruction.rate);
      call.attributes.set("key", instruction.key);
    }
    made.push_back(run_kernel(call, concrete(s.types[i], s.precision), s.sizes));
  }
  std::vector<Tensor> results;
  for (std::size_t r : s.program.results) results.push_back(made[r]);
  return results;
}

tests::KernelCall call_of(const Sample& s, const std::vector<Tensor>& inputs) {
  tests::KernelCall call{"fused", inputs, {}, random_state(), {}};
  call.inputs.resize(s.program.inputs());
  call.attributes.set("code", OpaqueValue(s.program));
  call.attributes.set("rows", std::vector<std::int64_t>{});
  return call;
}

std::vector<Tensor> outputs_of(const Sample& s) {
  std::vector<Tensor> outputs;
  for (std::size_t r : s.program.results) {
    outputs.emplace_back(concrete(s.types[r], s.precision), s.sizes);
    if (outputs.back().bytes() > 0) std::memset(outputs.back().raw(), 0xA5, outputs.back().bytes());
  }
  return outputs;
}

// The same bits, except that NaNs may differ in sign: the compiler chooses which operand's NaN is returned.
bool same_numbers(const Tensor& a, const Tensor& b) {
  const bool is_float = a.dtype() == DType::kFloat32 || a.dtype() == DType::kFloat64;
  const std::size_t size = size_of(a.dtype());
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const auto at = static_cast<std::size_t>(i) * size;
    const bool same = std::memcmp(static_cast<const char*>(a.raw()) + at, static_cast<const char*>(b.raw()) + at, size) == 0;
    if (!same && !(is_float && std::isnan(a.at(i)) && std::isnan(b.at(i)))) return false;
  }
  return true;
}

void expect_same(const std::vector<Tensor>& expected, const std::vector<Tensor>& found, const std::string& what) {
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t r = 0; r < expected.size(); ++r) {
    ASSERT_EQ(expected[r].dtype(), found[r].dtype());
    ASSERT_TRUE(same_numbers(expected[r], found[r])) << "result " << r << " " << what;
  }
}

// Runs the call on one thread and on two.
void expect_same_on_threads(const Sample& s, const tests::KernelCall& call, const std::vector<Tensor>& expected) {
  const int before = threads();
  for (int t = 1; t <= std::min(2, core_count()); ++t) {
    set_threads(t);
    const std::vector<Tensor> found = outputs_of(s);
    run_kernel_into(call, found);
    expect_same(expected, found, "on " + std::to_string(t) + " threads");
  }
  set_threads(before);
}

void run_columns(const tests::KernelCall& call, const std::vector<Tensor>& outputs, std::int64_t width) {
  KernelRequest request;
  request.attributes = &call.attributes;
  std::vector<TensorView> in, out;
  for (const Tensor& t : call.inputs) in.push_back(t.view());
  for (const Tensor& t : outputs) out.push_back(t.view());
  request.inputs = in, request.outputs = out;
  const Kernel kernel = (*cpu_device().kernels().find(call.op))(request);
  ASSERT_NE(kernel.by_columns, nullptr);
  ASSERT_EQ(kernel.by_columns->columns, outputs[0].sizes().back());
  const KernelContext context{&call.attributes, in, out, nullptr, call.random};
  for (std::int64_t begin = 0; begin < kernel.by_columns->columns; begin += width) {
    kernel.by_columns->run(context, begin, std::min(begin + width, kernel.by_columns->columns));
  }
}

// Runs the program with its results over its inputs, wherever it allows that.
void expect_same_in_place(const Sample& s, const std::vector<Tensor>& expected) {
  std::vector<Tensor> inputs, outputs = outputs_of(s);
  for (const Tensor& t : s.inputs) inputs.push_back(t.clone());
  std::vector<bool> result_taken(outputs.size()), input_taken(inputs.size());
  for (const auto& [result, input] : in_place_pairs(s.program)) {
    const auto r = static_cast<std::size_t>(result), i = static_cast<std::size_t>(input);
    if (result_taken[r] || input_taken[i] || inputs[i].dtype() != outputs[r].dtype() || inputs[i].sizes() != s.sizes) continue;
    result_taken[r] = input_taken[i] = true;
    outputs[r] = inputs[i];
  }
  run_kernel_into(call_of(s, inputs), outputs);
  expect_same(expected, outputs, "in place");
}

TEST(Fused, RandomProgramsGiveTheBitsOfTheirOps) {
  const int before = threads();
  const std::vector<Sizes> sizes = {{3, 70}, {20, 650}, {7, 3, 5}, {}, {2, 3, 130}, {1}, {700, 65}, {0, 4}, {9, 1}, {5000, 3}};
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Precision precision = seed % 3 ? Precision::kFloat32 : Precision::kFloat64;
    const Sample s = Generator(seed, sizes[seed % sizes.size()], precision).make(1 + static_cast<int>(seed % 30));
    SCOPED_TRACE(std::to_string(seed) + ": " + print(s.program) + " of " + str(s.sizes));
    set_threads(1);
    const std::vector<Tensor> expected = one_by_one(s);
    const tests::KernelCall call = call_of(s, s.inputs);
    expect_same_on_threads(s, call, expected);
    set_threads(before);
    expect_same_in_place(s, expected);
    for (std::int64_t width : {16, 48, 10000}) {
      if (s.sizes.empty()) continue;
      const std::vector<Tensor> found = outputs_of(s);
      run_columns(call, found, width);
      expect_same(expected, found, "by " + std::to_string(width) + " columns");
    }
    if (HasFatalFailure()) return;
  }
}

// Operands that are read by row number give the bits of operands whose rows were selected before.
TEST(Fused, RandomProgramsReadRowsByNumber) {
  const int before = threads();
  const std::vector<Sizes> sizes = {{3, 5, 70}, {6, 33}, {2, 7, 3, 5}, {4, 1, 130}, {5, 9, 1}, {3, 200, 65}, {30, 20, 700}};
  int read = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Precision precision = seed % 3 ? Precision::kFloat32 : Precision::kFloat64;
    Sample s = Generator(seed, sizes[seed % sizes.size()], precision).make(1 + static_cast<int>(seed % 20));
    std::mt19937 random(seed);
    const std::size_t rank = s.sizes.size(), axis = random() % (rank - 1);
    const auto table_rows = static_cast<std::int64_t>(1 + random() % 4);
    Tensor list(DType::kInt32, {s.sizes[axis]});
    for (std::int32_t& number : list.span<std::int32_t>())
      number = static_cast<std::int32_t>(random() % static_cast<unsigned>(table_rows));
    if (seed % 2) std::sort(list.span<std::int32_t>().begin(), list.span<std::int32_t>().end());
    std::vector<Tensor> inputs = s.inputs;
    std::vector<std::int64_t> axes(s.program.inputs(), -1);
    for (std::size_t k = 0; k < axes.size(); ++k) {
      Sizes own = inputs[k].sizes();
      if (own.size() + axis < rank || own[own.size() + axis - rank] != s.sizes[axis] || random() % 3 == 0) continue;
      const std::size_t at = own.size() + axis - rank;
      own[at] = table_rows;
      inputs[k] = random_tensor(inputs[k].dtype(), own, random);
      axes[k] = static_cast<std::int64_t>(at);
      tests::KernelCall select{"select_rows", {inputs[k], list}, {}, {}, {}};
      select.attributes.set("axis", axes[k]);
      s.inputs[k] = run_kernel(select, s.inputs[k].dtype(), s.inputs[k].sizes());
    }
    if (std::count(axes.begin(), axes.end(), -1) == static_cast<std::ptrdiff_t>(axes.size())) continue;
    ++read;
    SCOPED_TRACE(std::to_string(seed) + ": " + print(s.program) + " of " + str(s.sizes));
    const std::vector<Tensor> expected = outputs_of(s);
    set_threads(1);
    run_kernel_into(call_of(s, s.inputs), expected);
    tests::KernelCall call = call_of(s, inputs);
    call.attributes.set("rows", axes);
    call.inputs.push_back(list);
    expect_same_on_threads(s, call, expected);
    set_threads(before);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(read, 100);
}

TEST(Fused, TheLargestProgramRuns) {
  for (Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    Sample s;
    s.sizes = {70, 3};  // gathered; in double, with the widest temporaries
    s.precision = precision;
    std::mt19937 random(1);
    for (std::size_t i = 0; i < PointwiseProgram::kMostInputs; ++i) {
      s.inputs.push_back(random_tensor(concrete(Type::kFloat, precision), i ? Sizes{3} : s.sizes, random));
    }
    // All temporaries live to the end: first computed, then summed.
    const ir::OpSchema& mul = ir::OpRegistry::instance().get("mul");
    const std::size_t half = PointwiseProgram::kMostInstructions / 2;
    for (std::size_t i = 0; i < half; ++i) {
      s.program.instructions.push_back({&mul, {Operand::input(0), Operand::input(i % s.inputs.size())}, Type::kFloat, 0, ""});
    }
    for (std::size_t i = half; i < PointwiseProgram::kMostInstructions; ++i) {
      const Operand sum = Operand::instruction(i == half ? 0 : i - 1);
      s.program.instructions.push_back(
          {&mul, {sum, Operand::instruction(PointwiseProgram::kMostInstructions - 1 - i)}, Type::kFloat, 0, ""});
    }
    s.program.results = {PointwiseProgram::kMostInstructions - 1};
    s.types.assign(PointwiseProgram::kMostInstructions, Type::kFloat);
    const std::vector<Tensor> found = outputs_of(s);
    run_kernel_into(call_of(s, s.inputs), found);
    expect_same(one_by_one(s), found, "");
  }
}

TEST(Pointwise, ColumnsGiveTheBitsOfTheWhole) {
  std::mt19937 random(2);
  const Tensor x = random_tensor(DType::kFloat32, {9, 50}, random);
  for (const Sizes& sizes : std::vector<Sizes>{{9, 50}, {50}, {9, 1}, {}}) {
    const tests::KernelCall call{"sub", {x, random_tensor(DType::kFloat32, sizes, random)}, {}, {}, {}};
    const Tensor whole = run_kernel(call, DType::kFloat32, {9, 50}), found(DType::kFloat32, {9, 50});
    run_columns(call, {found}, 16);
    expect_same({whole}, {found}, str(sizes));
  }
}

TEST(PointwiseProgram, ReadsWhatItPrints) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const PointwiseProgram program = Generator(seed, {2, 3}, Precision::kFloat32).make(1 + static_cast<int>(seed % 30)).program;
    EXPECT_EQ(ir::parse_program(print(program)), program) << print(program);
  }
  for (double x : {0.1, -0.0, 1e300, 5e-324, 3.0, -2.5e-7, 1.0 / 3, std::numeric_limits<double>::infinity(),
                   -std::numeric_limits<double>::infinity()}) {
    const PointwiseProgram program{{{&ir::OpRegistry::instance().get("mul"),
                                     {Operand::input(0), Operand::constant(x, Type::kFloat)},
                                     Type::kFloat,
                                     0,
                                     ""}},
                                   {0}};
    const Operand read = ir::parse_program(print(program)).instructions[0].operands[1];
    EXPECT_EQ(std::memcmp(&read.number, &x, sizeof x), 0) << print(program);
    EXPECT_EQ(read.type, Type::kFloat);
  }
  for (Type type : {Type::kInt32, Type::kBool}) {
    const PointwiseProgram program{
        {{&ir::OpRegistry::instance().get("eq"), {Operand::input(0), Operand::constant(1, type)}, Type::kFloat, 0, ""}}, {0}};
    EXPECT_EQ(ir::parse_program(print(program)), program);
  }
}

TEST(PointwiseProgram, ReadsReductions) {
  const std::string text = "t0 = add(x0, x1); t1 = exp(t0); return argmin(t1), sum(t0), logsumexp(t1)";
  const PointwiseProgram program = ir::parse_program(text);
  EXPECT_EQ(program.results, (std::vector<std::size_t>{1, 0}));
  using ir::FoldKind;
  EXPECT_EQ(program.folds, (std::vector<ir::Fold>{{FoldKind::kArgMin, 0}, {FoldKind::kSum, 1}, {FoldKind::kLogSumExp, 0}}));
  EXPECT_EQ(print(program), text);
}

struct OtherValue {
  bool operator==(const OtherValue&) const = default;
};
std::string print(const OtherValue&) { return "other"; }

TEST(PointwiseProgram, IsAnAttributeThatKnowsItsType) {
  const auto number = [](double x) { return ir::parse_program("t0 = mul(x0, " + ir::print(x) + "); return t0"); };
  Attributes attributes;
  attributes.set("code", OpaqueValue(number(0.0)));
  EXPECT_EQ(ir::program_of(attributes), number(0.0));
  EXPECT_EQ(attributes.opaque("code").text(), "t0 = mul(x0, 0.0); return t0");
  EXPECT_EQ(OpaqueValue(number(0.5)), OpaqueValue(number(0.5)));
  EXPECT_FALSE(OpaqueValue(number(0.0)) == OpaqueValue(number(-0.0)));
  EXPECT_THROW(attributes.opaque("code").as<OtherValue>(), InternalError);
  EXPECT_EQ(OpaqueValue(OtherValue{}).text(), "other");
  EXPECT_FALSE(OpaqueValue(OtherValue{}) == OpaqueValue(number(0.0)));
  EXPECT_THROW(attributes.string("code"), InternalError);
}

TEST(PointwiseProgram, RefusesWhatIsNone) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"", "expected a name or a number"},
      {"t0 = tanh(x0)", "expected ';'"},
      {"t1 = tanh(x0); return t1", "expected t0 or return, found 't1'"},
      {"t0 = matmul(x0, x1); return t0", "expected a pointwise op, found 'matmul'"},
      {"t0 = no_such(x0); return t0", "expected a pointwise op, found 'no_such'"},
      {"t0 = add(x0); return t0", "expected ','"},
      {"t0 = tanh(x0, x1); return t0", "expected ')'"},
      {"t0 = tanh(t0); return t0", "expected an instruction above, found 't0'"},
      {"t0 = tanh(y); return t0", "expected an input, an instruction or a number, found 'y'"},
      {"t0 = tanh(1.0.0); return t0", "expected an input, an instruction or a number"},
      {"t0 = tanh(x24); return t0", "too many inputs"},
      {"t0 = cast(x0, REAL); return t0", "expected FLOAT, INT32 or BOOL, found 'REAL'"},
      {"t0 = dropout(x0, x1, \"k\"); return t0", "expected a rate, found 'x1'"},
      {"t0 = dropout(x0, 0.5, k); return t0", "expected a name in quotes"},
      {"t0 = tanh(x0); return x0", "expected an instruction, found 'x0'"},
      {"t0 = tanh(x0); return t0, t0", "expected each once"},
      {"t0 = tanh(x0); return t0 t0", "expected the end"},
      {"t0 = tanh(x0); return sum(t0), t0", "expected a reduction, found 't0'"},
      {"t0 = tanh(x0); t1 = exp(t0); return t0, sum(t1)", "expected an instruction, found 'sum'"},
      {"t0 = tanh(x0); return sum(x0)", "expected an instruction, found 'x0'"},
      {"t0 = tanh(x0); return sum(t0", "expected ')'"},
  };
  for (const auto& [text, message] : faults) {
    try {
      ir::parse_program(text);
      ADD_FAILURE() << text;
    } catch (const InternalError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message)) << text;
    }
  }
}

TEST(PointwiseProgram, WritesOverAnInputOnceNothingReadsItAnyMore) {
  const auto pairs = [](const char* text) { return in_place_pairs(ir::parse_program(text)); };
  using Pairs = std::vector<std::pair<int, int>>;
  EXPECT_EQ(pairs("t0 = add(x0, x1); t1 = mul(t0, x0); return t0, t1"), (Pairs{{0, 1}, {1, 0}, {1, 1}}));
}

}  // namespace
}  // namespace graphrun
