#include "tests/ops/case.h"

#include <numeric>
#include <utility>

#include "runtime/base/random.h"

namespace graphrun::tests {
namespace {

std::uint32_t bits(std::uint64_t seed, std::int64_t i) { return philox(seed, static_cast<std::uint32_t>(i), 0, 0, 0).v[0]; }

}  // namespace

Case::Case() = default;
Case::Case(const Case&) = default;
Case::Case(Case&&) noexcept = default;
Case& Case::operator=(const Case&) = default;
Case::~Case() = default;
std::string Case::full_name() const { return op + "/" + name; }

CaseBuilder::CaseBuilder(std::string op, std::string name) {
  case_.op = std::move(op);
  case_.name = std::move(name);
}
CaseBuilder& CaseBuilder::in(Tensor tensor) {
  case_.inputs.push_back(std::move(tensor));
  return *this;
}
CaseBuilder& CaseBuilder::absent() { return in(Tensor()); }
CaseBuilder& CaseBuilder::with(const char* attribute, Attribute value) {
  case_.attributes.emplace_back(attribute, std::move(value));
  return *this;
}
CaseBuilder& CaseBuilder::axis(std::int64_t axis) { return with("axis", axis); }
CaseBuilder& CaseBuilder::axes(std::vector<std::int64_t> axes) { return with("axis", std::move(axes)); }
CaseBuilder& CaseBuilder::shapes(std::vector<std::string> shapes) {
  case_.shapes = std::move(shapes);
  return *this;
}
CaseBuilder& CaseBuilder::zero_gradient(std::size_t input) {
  case_.zero_gradient.insert(input);
  return *this;
}
CaseBuilder& CaseBuilder::not_differenced(std::size_t input) {
  case_.not_differenced.insert(input);
  return *this;
}
CaseBuilder& CaseBuilder::large() {
  case_.large = true;
  return *this;
}
CaseBuilder& CaseBuilder::tolerance(double of32, double of64) {
  case_.tolerance32 = of32, case_.tolerance64 = of64;
  return *this;
}
CaseBuilder::operator Case() const { return case_; }

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    add_reduce_cases(all);
    add_index_cases(all);
    add_shape_cases(all);
    add_pointwise_cases(all);
    add_constant_cases(all);
    add_algebra_cases(all);
    return all;
  }();
  return cases;
}

Tensor uniform(const Sizes& sizes, double low, double high, std::uint64_t seed) {
  Tensor t(DType::kFloat64, sizes);
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<double>()[i] = low + (high - low) * unit_float(bits(seed, i));
  return t;
}

Tensor distinct(const Sizes& sizes, std::uint64_t seed) {
  Tensor t(DType::kFloat64, sizes);
  std::vector<std::int64_t> order(static_cast<std::size_t>(t.count()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[bits(seed, static_cast<std::int64_t>(i)) % i]);
  for (std::int64_t i = 0; i < t.count(); ++i) {
    t.data<double>()[i] = 0.0625 * static_cast<double>(order[static_cast<std::size_t>(i)] - t.count() / 2);
  }
  return t;
}

Tensor integers(const Sizes& sizes, const std::vector<std::int32_t>& values) { return Tensor::of<std::int32_t>(sizes, values); }

Tensor random_integers(const Sizes& sizes, std::int32_t below, std::uint64_t seed) {
  Tensor t(DType::kInt32, sizes);
  for (std::int64_t i = 0; i < t.count(); ++i) {
    t.data<std::int32_t>()[i] = static_cast<std::int32_t>(bits(seed, i) % static_cast<std::uint32_t>(below));
  }
  return t;
}

Tensor bools(const Sizes& sizes, const std::vector<std::uint8_t>& values) { return Tensor::of<std::uint8_t>(sizes, values); }

Tensor floats(const Sizes& sizes, const std::vector<double>& values) { return Tensor::of<double>(sizes, values); }

}  // namespace graphrun::tests
