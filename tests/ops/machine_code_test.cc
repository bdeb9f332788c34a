// Machine code for pointwise steps: gives the same bits as tiles for any length and operands, including folds down rows.
#include "ops/tiles/machine_code.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "ops/tiles/cast.h"
#include "ops/tiles/fold_code.h"
#include "ops/tiles/table.h"
#include "ops/tiles/tiles.h"

namespace graphrun {
namespace {

constexpr std::size_t kMost = 133;

std::size_t line_of(std::string_view name) {
  const auto& table = pointwise_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].name == name) return i;
  }
  throw InternalError("no such line");
}

using CodeOperand = TileOperand;
CodeOperand input(std::size_t i) { return CodeOperand::input(i); }
CodeOperand step(std::size_t i) { return CodeOperand::instruction(i); }
CodeOperand number_operand(double x) { return CodeOperand::constant(x, Type::kFloat); }

// `read`: the type of the operands (for where: of a and b), and the result of the line.
TileStep make(std::string_view name, std::vector<CodeOperand> operands, DType read = DType::kFloat32, int result = -1) {
  TileStep s;
  s.line = line_of(name);
  const PointwiseLine& line = pointwise_table()[s.line];
  s.tile = pointwise_tile(s.line, read);
  s.read = read;
  s.arity = static_cast<int>(operands.size());
  std::copy(operands.begin(), operands.end(), s.operands.begin());
  const bool truth = line.promotion == ir::Promotion::kCompare || line.promotion == ir::Promotion::kLogical;
  s.dtype = truth ? DType::kBool : read;
  s.result = result;
  return s;
}

// Numbers of every kind: ordinary, tiny, huge, infinite, NaN.
std::vector<float> floats(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> out(kMost);
  const float special[] = {0.f,
                           -0.f,
                           1.f,
                           -1.f,
                           1e-40f,
                           -3e-42f,
                           1e-30f,
                           88.f,
                           -88.f,
                           105.f,
                           -105.f,
                           3e38f,
                           std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN(),
                           0.5f,
                           0.625f,
                           0.927734375f,
                           2.5f,
                           -3.5f};
  for (std::size_t i = 0; i < kMost; ++i) {
    const auto u = static_cast<double>(random()) / 4294967296.0;
    out[i] = i % 5 == 0 ? special[random() % std::size(special)]
                        : static_cast<float>((2 * u - 1) * std::pow(10.0, static_cast<double>(random() % 4) - 2));
  }
  return out;
}

struct Data {
  std::vector<float> f;
  std::vector<std::int32_t> i;
  std::vector<std::uint8_t> b;
  const void* of(DType dtype) const {
    return dtype == DType::kFloat32 ? static_cast<const void*>(f.data())
           : dtype == DType::kInt32 ? static_cast<const void*>(i.data())
                                    : static_cast<const void*>(b.data());
  }
};

Data data(std::uint32_t seed) {
  std::mt19937 random(seed + 77);
  Data d{floats(seed), {}, {}};
  for (std::size_t i = 0; i < kMost; ++i) {
    d.i.push_back(static_cast<std::int32_t>(random() % 7) - 3);
    d.b.push_back(static_cast<std::uint8_t>(random() % 2));
  }
  d.i[3] = std::numeric_limits<std::int32_t>::min();
  return d;
}

// All steps over the whole length, one after the other.
std::vector<std::vector<char>> by_tiles(const std::vector<TileStep>& steps, const std::vector<MachineCode::Input>& inputs,
                                        const std::vector<Data>& from, std::size_t n) {
  std::vector<std::vector<char>> made;
  for (const TileStep& s : steps) {
    made.emplace_back(kMost * size_of(s.dtype));
    const void* at[3] = {};
    bool scalar[3] = {};
    std::array<char, 8> numbers[3];
    for (int k = 0; k < s.arity; ++k) {
      const CodeOperand& o = s.operands[static_cast<std::size_t>(k)];
      if (o.kind == CodeOperand::Kind::kInput) {
        at[k] = from[o.index].of(inputs[o.index].dtype), scalar[k] = inputs[o.index].scalar;
      } else if (o.kind == CodeOperand::Kind::kInstruction) {
        at[k] = made[o.index].data();
      } else {
        const auto as_float = static_cast<float>(o.number);
        const auto as_int = static_cast<std::int32_t>(o.number);
        std::memcpy(
            numbers[k].data(),
            s.operand_dtype(static_cast<std::size_t>(k)) == DType::kFloat32 ? static_cast<const void*>(&as_float) : &as_int, 4);
        at[k] = numbers[k].data(), scalar[k] = true;
      }
    }
    s.tile(at, scalar, made.back().data(), n);
  }
  return made;
}

void expect_same_bytes(const std::vector<char>& expected, const std::vector<char>& found, DType dtype, std::size_t n,
                       const std::string& what) {
  for (std::size_t i = 0; i < n * size_of(dtype); i += size_of(dtype)) {
    if (dtype == DType::kFloat32) {
      float a, b;
      std::memcpy(&a, &expected[i], 4), std::memcpy(&b, &found[i], 4);
      if (std::isnan(a) && std::isnan(b)) continue;
    }
    ASSERT_EQ(std::memcmp(&expected[i], &found[i], size_of(dtype)), 0) << what << " at " << i / size_of(dtype) << " of " << n;
  }
  for (std::size_t i = n * size_of(dtype); i < found.size(); ++i) ASSERT_EQ(found[i], 77) << what << " writes beyond " << n;
}

// Runs both ways, for lengths near multiples of the vector length, and checks every step that is a result.
void check_code(const std::vector<TileStep>& steps, const std::vector<MachineCode::Input>& inputs, const std::string& what) {
  const auto code = MachineCode::of(steps, inputs);
  ASSERT_NE(code, nullptr) << what;
  std::vector<Data> from;
  for (std::size_t k = 0; k < inputs.size(); ++k) from.push_back(data(static_cast<std::uint32_t>(k) + 1));
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{15}, std::size_t{16}, std::size_t{17},
                              std::size_t{32}, std::size_t{100}, kMost}) {
    const auto expected = by_tiles(steps, inputs, from, n);
    std::vector<const void*> in;
    std::vector<std::vector<char>> results;
    for (std::size_t k = 0; k < inputs.size(); ++k) in.push_back(from[k].of(inputs[k].dtype));
    for (const TileStep& s : steps) {
      if (s.result >= 0) results.emplace_back(kMost * size_of(s.dtype), 77);
    }
    std::vector<void*> out;
    for (auto& r : results) out.push_back(r.data());
    code->run(in.data(), out.data(), n);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (steps[s].result < 0) continue;
      expect_same_bytes(expected[s], results[static_cast<std::size_t>(steps[s].result)], steps[s].dtype, n, what);
    }
  }
}

// Queries the processor directly: missing code on a processor that supports it is a failure.
bool processor_has_avx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

class MachineCodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!processor_has_avx512()) GTEST_SKIP() << "machine code needs AVX-512, which this processor has not";
    use_machine_code(true);
    ASSERT_NE(sum(), nullptr);
  }
  static std::shared_ptr<const MachineCode> sum() {
    return MachineCode::of(std::vector<TileStep>{make("add", {input(0), input(0)}, DType::kFloat32, 0)},
                           {{DType::kFloat32, false}});
  }
};

TEST_F(MachineCodeTest, IsLeftOutWhereNobodyWantsIt) {
  use_machine_code(false);
  EXPECT_EQ(sum(), nullptr);
  use_machine_code(true);
  EXPECT_NE(sum(), nullptr);
}

// Every line of the table and every type that has tiles, with streams, scalars and numbers as operands.
TEST_F(MachineCodeTest, GivesTheBitsOfEveryLine) {
  for (const PointwiseLine& line : pointwise_table()) {
    const bool lane_by_lane = line.name == "sin" || line.name == "cos" || line.name == "pow";
    for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kBool}) {
      if (pointwise_tile(line_of(line.name), dtype) == nullptr) continue;
      for (int variant = 0; variant < (1 << line.arity); ++variant) {
        std::vector<MachineCode::Input> inputs;
        std::vector<CodeOperand> operands;
        for (int k = 0; k < line.arity; ++k) {
          const bool condition = line.arity == 3 && k == 0;
          inputs.push_back({condition ? DType::kBool : dtype, (variant >> k) % 2 == 1});
          operands.push_back(input(static_cast<std::size_t>(k)));
        }
        const std::vector<TileStep> steps = {make(line.name, operands, dtype, 0)};
        const std::string what = std::string(line.name) + " of " + std::string(name_of(dtype));
        if (lane_by_lane) {
          EXPECT_EQ(MachineCode::of(steps, inputs), nullptr) << what;
        } else {
          check_code(steps, inputs, what);
        }
        if (line.arity == 2 && dtype != DType::kBool && !lane_by_lane) {
          check_code({make(line.name, {input(0), number_operand(3)}, dtype, 0)}, {inputs[0]}, what + " and a number");
          check_code({make(line.name, {number_operand(-2), input(0)}, dtype, 0)}, {inputs[0]}, "a number and " + what);
        }
      }
    }
  }
}

TEST_F(MachineCodeTest, GivesTheBitsOfCasts) {
  for (const DType from : {DType::kFloat32, DType::kInt32, DType::kBool}) {
    for (const DType to : {DType::kFloat32, DType::kInt32, DType::kBool}) {
      TileStep s;
      s.tile = cast_tile(from, to);
      s.arity = 1;
      s.operands[0] = input(0);
      s.dtype = to, s.read = from, s.result = 0;
      if (from == DType::kFloat32 && to == DType::kInt32) {
        EXPECT_EQ(MachineCode::of(std::vector<TileStep>{s}, {{from, false}}), nullptr);
      } else {
        check_code({s}, {{from, false}}, std::string(name_of(from)) + " to " + std::string(name_of(to)));
        check_code({s}, {{from, true}}, std::string(name_of(from)) + " to " + std::string(name_of(to)));
      }
    }
  }
}

// Long programs of random lines: more values than registers.
TEST_F(MachineCodeTest, GivesTheBitsOfLongPrograms) {
  const std::string_view unary[] = {"sigmoid", "tanh", "exp", "neg", "abs", "square", "relu"},
                         binary[] = {"add", "sub", "mul", "div", "maximum"};
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    constexpr std::size_t kInputs = 9, kSteps = 60;
    std::vector<MachineCode::Input> inputs;
    for (std::size_t k = 0; k < kInputs; ++k) inputs.push_back({DType::kFloat32, random() % 4 == 0});
    std::vector<TileStep> steps;
    const auto any = [&]() -> CodeOperand {
      const auto r = random() % 8;
      if (r == 0) return number_operand(static_cast<double>(random() % 100) / 16);
      return r < 4 || steps.empty() ? input(random() % kInputs) : step(random() % steps.size());
    };
    for (std::size_t s = 0; s < kSteps; ++s) {
      const bool one = random() % 3 == 0;
      const std::string_view name = one ? unary[random() % std::size(unary)] : binary[random() % std::size(binary)];
      std::vector<CodeOperand> operands = {any()};
      if (!one) operands.push_back(any());
      steps.push_back(make(name, operands));
    }
    for (int r = 0; r < 4; ++r) steps[kSteps - 1 - 3 * static_cast<std::size_t>(r)].result = r;
    check_code(steps, inputs, "program " + std::to_string(seed));
  }
}

TEST_F(MachineCodeTest, WritesOverItsInput) {
  const std::vector<TileStep> steps = {make("add", {input(0), input(1)}, DType::kFloat32, 0),
                                       make("mul", {step(0), input(1)}, DType::kFloat32, 1)};
  const auto code = MachineCode::of(steps, {{DType::kFloat32, false}, {DType::kFloat32, false}});
  std::vector<float> a(50), b(50);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i), b[i] = 2;
  const void* in[] = {a.data(), b.data()};
  void* out[] = {a.data(), b.data()};
  code->run(in, out, a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i], static_cast<float>(i) + 2);
    EXPECT_EQ(b[i], 2 * (static_cast<float>(i) + 2));
  }
}

// Rows of 21 elements at a stride of 30, one number per row, and one row for all.
TEST_F(MachineCodeTest, RunsRowByRow) {
  const auto code = MachineCode::of(
      std::vector<TileStep>{make("mul", {input(0), input(1)}), make("add", {step(0), input(2)}, DType::kFloat32, 0)},
      {{DType::kFloat32, false}, {DType::kFloat32, true}, {DType::kFloat32, false}});
  constexpr std::size_t kRows = 4, kN = 21, kStep = 30;
  std::vector<float> x(kRows * kStep), scale(kRows), all(kN), y(kRows * kN);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (std::size_t r = 0; r < kRows; ++r) scale[r] = static_cast<float>(r + 1);
  for (std::size_t i = 0; i < kN; ++i) all[i] = static_cast<float>(100 * i);
  const void* in[] = {x.data(), scale.data(), all.data()};
  void* out[] = {y.data()};
  const std::int64_t strides[] = {4 * kStep, 4, 0, 4 * kN};
  code->run_rows(in, out, kN, kRows, strides);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t i = 0; i < kN; ++i) EXPECT_EQ(y[r * kN + i], x[r * kStep + i] * scale[r] + all[i]) << r << " " << i;
  }
}

TEST_F(MachineCodeTest, IsMadeOnceForTheSameSteps) {
  const std::vector<TileStep> steps = {make("tanh", {input(0)}), make("add", {step(0), number_operand(1)}, DType::kFloat32, 0)};
  const std::vector<MachineCode::Input> stream = {{DType::kFloat32, false}}, scalar = {{DType::kFloat32, true}};
  EXPECT_EQ(MachineCode::of(steps, stream), MachineCode::of(steps, stream));
  EXPECT_NE(MachineCode::of(steps, stream), MachineCode::of(steps, scalar));
  std::vector<TileStep> other = steps;
  other[1].operands[1].number = 2;
  EXPECT_NE(MachineCode::of(steps, stream), MachineCode::of(other, stream));
}

// There is no code for doubles, which are only used in checks.
TEST_F(MachineCodeTest, LeavesDoublesToTiles) {
  EXPECT_EQ(
      MachineCode::of(std::vector<TileStep>{make("add", {input(0), input(0)}, DType::kFloat64, 0)}, {{DType::kFloat64, false}}),
      nullptr);
}

// ---- folds down the rows

using ir::Fold;
using ir::FoldKind;
const std::vector<Fold> kEveryFold = {{FoldKind::kSum, 0},    {FoldKind::kMax, 0}, {FoldKind::kArgMin, 0}, {FoldKind::kMin, 1},
                                      {FoldKind::kArgMax, 1}, {FoldKind::kMax, 1}, {FoldKind::kSum, 1}};

// The sum of a number per row and a matrix, and twice that: rows of `kStep` elements, of which `n` are columns.
struct Folded {
  static constexpr std::size_t kStep = 150;
  std::size_t n, rows;
  std::vector<float> scale, matrix;
  std::vector<std::vector<std::int32_t>> found;  // by fold: the bits
  bool numbers = false;

  Folded(std::size_t columns, std::size_t count) : n(columns), rows(count), scale(count), matrix(count * kStep) {
    std::mt19937 random(static_cast<std::uint32_t>(7 * n + rows));
    // Few distinct values, so that many are equal.
    for (float& x : scale) x = static_cast<float>(random() % 5) - 2;
    for (float& x : matrix) x = static_cast<float>(random() % 9) / 4 - 1;
  }
  float at(std::size_t row, std::size_t column, std::size_t result) const {
    return (scale[row] + matrix[row * kStep + column]) * (result == 0 ? 1.f : 2.f);
  }
  void run(const std::vector<Fold>& folds) {
    const std::vector<TileStep> steps = {make("add", {input(0), input(1)}, DType::kFloat32, 0),
                                         make("mul", {step(0), number_operand(2)}, DType::kFloat32, 1)};
    const auto code = FoldCode::of(steps, {{DType::kFloat32, true}, {DType::kFloat32, false}}, folds);
    ASSERT_NE(code, nullptr);
    found.assign(folds.size(), std::vector<std::int32_t>(kStep, 77));
    std::vector<void*> out;
    for (auto& f : found) out.push_back(f.data());
    const void* in[] = {scale.data(), matrix.data()};
    const std::int64_t strides[] = {4, 4 * kStep};
    numbers = code->run(in, out.data(), n, rows, strides);
  }
  std::int32_t expected(const Fold& fold, std::size_t column) const {
    float best = at(0, column, fold.result), sum = 0;
    std::int32_t position = 0;
    const bool greatest = fold.kind == FoldKind::kMax || fold.kind == FoldKind::kArgMax;
    for (std::size_t row = 0; row < rows; ++row) {
      const float x = at(row, column, fold.result);
      sum += x;
      if (greatest ? x > best : x < best) best = x, position = static_cast<std::int32_t>(row);
    }
    if (fold.kind == FoldKind::kArgMax || fold.kind == FoldKind::kArgMin) return position;
    return std::bit_cast<std::int32_t>(fold.kind == FoldKind::kSum ? sum : best + 0.f);
  }
};

TEST_F(MachineCodeTest, FoldsDownTheRows) {
  for (const std::size_t n : {1, 2, 9, 15, 16, 17, 31, 32, 33, 45, 48, 63, 64, 65, 80, 128, 133}) {
    for (const std::size_t rows : {1, 2, 3, 45}) {
      Folded f(n, rows);
      f.run(kEveryFold);
      ASSERT_TRUE(f.numbers);
      for (std::size_t k = 0; k < kEveryFold.size(); ++k) {
        for (std::size_t i = 0; i < Folded::kStep; ++i) {
          std::int32_t found = f.found[k][i];
          // The sign of a zero depends on the kernel; the zeros are equal.
          if (i < n && found == std::numeric_limits<std::int32_t>::min()) found = 0;
          ASSERT_EQ(found, i < n ? f.expected(kEveryFold[k], i) : 77) << n << " x " << rows << ", fold " << k << " at " << i;
        }
      }
    }
  }
}

TEST_F(MachineCodeTest, RefusesToFoldWhatIsNotANumber) {
  for (const std::size_t n : {9, 45, 133}) {
    for (const std::size_t column : {std::size_t{0}, n / 2, n - 1, n}) {
      Folded f(n, 5);
      f.matrix[3 * Folded::kStep + column] = std::numeric_limits<float>::quiet_NaN();
      for (const FoldKind kind : {FoldKind::kMax, FoldKind::kMin, FoldKind::kArgMax, FoldKind::kArgMin}) {
        f.run({{kind, 1}});
        EXPECT_EQ(f.numbers, column == n) << n << " columns, at " << column;  // data beyond the columns must be ignored
      }
      f.run({{FoldKind::kSum, 1}});
      EXPECT_TRUE(f.numbers);
      EXPECT_EQ(std::isnan(std::bit_cast<float>(f.found[0][column])), column < n);
    }
  }
}

TEST_F(MachineCodeTest, FoldsFloatsAlone) {
  const std::vector<Fold> sum = {{FoldKind::kSum, 0}};
  for (const DType dtype : {DType::kFloat64, DType::kInt32}) {
    EXPECT_EQ(FoldCode::of(std::vector<TileStep>{make("add", {input(0), input(0)}, dtype, 0)}, {{dtype, false}}, sum), nullptr);
  }
}

}  // namespace
}  // namespace graphrun
