#include <algorithm>
#include <cmath>
#include <functional>

#include "compiler/ir/pointwise_program.h"
#include "tests/ops/reference.h"

namespace graphrun::tests {
namespace {

// The element of a broadcast operand that corresponds to an index of the result.
double element(const Array& x, const Sizes& index) {
  Sizes at(index.end() - static_cast<std::ptrdiff_t>(x.rank()), index.end());
  for (std::size_t k = 0; k < at.size(); ++k) at[k] = x.sizes[k] == 1 ? 0 : at[k];
  return x[at];
}

Reference unary(double (*f)(double)) {
  return [f](const Call& c) {
    Array y(c.output_sizes[0]);
    for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] = f(c.x().data[i]);
    return std::vector<Array>{y};
  };
}

Reference binary(double (*f)(double, double)) {
  return [f](const Call& c) {
    Array y(c.output_sizes[0]);
    for (const Sizes& i : indices_of(y.sizes)) y[i] = f(element(c.x(0), i), element(c.x(1), i));
    return std::vector<Array>{y};
  };
}

std::vector<Array> where(const Call& c) {
  Array y(c.output_sizes[0]);
  for (const Sizes& i : indices_of(y.sizes)) y[i] = element(c.x(0), i) != 0 ? element(c.x(1), i) : element(c.x(2), i);
  return {y};
}

std::vector<Array> cast(const Call& c) {
  Array y = c.x();
  const std::string& type = c.attributes.string("type");
  for (double& e : y.data) e = type == "INT32" ? std::trunc(e) : type == "BOOL" ? static_cast<double>(e != 0) : e;
  return {y};
}

// Instruction by instruction.
std::vector<Array> fused(const Call& c) {
  const ProgramOperands operands(c, ir::program_of(c.attributes).inputs());
  using Kind = ir::PointwiseProgram::Operand::Kind;
  const ir::PointwiseProgram& program = ir::program_of(c.attributes);
  std::vector<Array> made, results;
  made.reserve(program.instructions.size());
  for (const ir::PointwiseProgram::Instruction& i : program.instructions) {
    Call one;
    one.output_sizes = {c.output_sizes[0]};
    if (i.op->name == "cast") one.attributes.set("type", std::string(name_of(i.to)));
    std::vector<Array> numbers;
    for (const auto& o : i.operands) numbers.emplace_back(Sizes{}, o.number);
    for (std::size_t k = 0; k < i.operands.size(); ++k) {
      const auto& o = i.operands[k];
      one.inputs.push_back(o.kind == Kind::kInput         ? operands.inputs[o.index]
                           : o.kind == Kind::kInstruction ? &made[o.index]
                                                          : &numbers[k]);
    }
    made.push_back((*reference_of(i.op->name))(one)[0]);
  }
  for (std::size_t r : program.results) results.push_back(made[r]);
  return results;
}

std::vector<Array> filled(const Call& c, double value) { return {Array(c.output_sizes[0], value)}; }

}  // namespace

ProgramOperands::ProgramOperands(const Call& c, std::size_t count) {
  const std::vector<std::int64_t>& rows = c.attributes.integers("rows");
  selected.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    inputs.push_back(c.inputs[k]);
    if (rows.empty() || rows[k] < 0) continue;
    Call one;
    one.inputs = {c.inputs[k], c.inputs[count]};
    one.attributes.set("axis", rows[k]);
    one.output_sizes = {c.x(k).sizes};
    one.output_sizes[0][static_cast<std::size_t>(rows[k])] = c.x(count).count();
    selected.push_back((*reference_of("select_rows"))(one)[0]);
    inputs.back() = &selected.back();
  }
}

void add_pointwise_references(References& r) {
  r["neg"] = unary([](double x) { return -x; });
  r["abs"] = unary([](double x) { return std::abs(x); });
  r["sign"] = unary([](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; });
  r["square"] = unary([](double x) { return x * x; });
  r["floor"] = unary([](double x) { return std::floor(x); });
  r["exp"] = unary([](double x) { return std::exp(x); });
  r["log"] = unary([](double x) { return std::log(x); });
  r["log1p"] = unary([](double x) { return std::log1p(x); });
  r["sqrt"] = unary([](double x) { return std::sqrt(x); });
  r["rsqrt"] = unary([](double x) { return 1 / std::sqrt(x); });
  r["sin"] = unary([](double x) { return std::sin(x); });
  r["cos"] = unary([](double x) { return std::cos(x); });
  r["erf"] = unary([](double x) { return std::erf(x); });
  r["sigmoid"] = unary([](double x) { return 1 / (1 + std::exp(-x)); });
  r["tanh"] = unary([](double x) { return std::tanh(x); });
  r["relu"] = unary([](double x) { return x > 0 ? x : 0; });
  r["softplus"] = unary([](double x) { return std::log(1 + std::exp(x)); });
  r["gelu"] = unary([](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); });
  r["not"] = unary([](double x) { return x == 0 ? 1.0 : 0.0; });
  r["add"] = binary([](double a, double b) { return a + b; });
  r["sub"] = binary([](double a, double b) { return a - b; });
  r["mul"] = binary([](double a, double b) { return a * b; });
  r["div"] = binary([](double a, double b) { return a / b; });
  r["pow"] = binary([](double a, double b) { return std::pow(a, b); });
  r["minimum"] = binary([](double a, double b) { return std::min(a, b); });
  r["maximum"] = binary([](double a, double b) { return std::max(a, b); });
  r["eq"] = binary([](double a, double b) { return a == b ? 1.0 : 0.0; });
  r["ne"] = binary([](double a, double b) { return a != b ? 1.0 : 0.0; });
  r["lt"] = binary([](double a, double b) { return a < b ? 1.0 : 0.0; });
  r["le"] = binary([](double a, double b) { return a <= b ? 1.0 : 0.0; });
  r["gt"] = binary([](double a, double b) { return a > b ? 1.0 : 0.0; });
  r["ge"] = binary([](double a, double b) { return a >= b ? 1.0 : 0.0; });
  r["and"] = binary([](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; });
  r["or"] = binary([](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; });
  r["where"] = where;
  r["cast"] = cast;
  r["fused"] = fused;
}

void add_constant_references(References& r) {
  r["constant"] = [](const Call& c) { return filled(c, c.attributes.number("value")); };
  r["full"] = [](const Call& c) { return filled(c, c.attributes.number("value")); };
  r["zeros"] = [](const Call& c) { return filled(c, 0); };
  r["dim"] = [](const Call& c) { return filled(c, static_cast<double>(c.size("size"))); };
  r["range"] = [](const Call& c) {
    Array y(c.output_sizes[0]);
    for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] = static_cast<double>(i);
    return std::vector<Array>{y};
  };
}

}  // namespace graphrun::tests
