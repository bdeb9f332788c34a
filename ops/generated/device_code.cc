#include "ops/generated/device_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/tiles/table.h"
#include "runtime/base/file.h"

namespace graphrun {

std::string device_literal(double number, DType dtype) {
  const std::string type = device_type(dtype);
  if (dtype == DType::kInt32) return fmt::format("({}({}))", type, static_cast<std::int64_t>(number));
  if (dtype == DType::kBool) return number != 0 ? "(std::uint8_t(1))" : "(std::uint8_t(0))";
  if (std::isnan(number)) return fmt::format("(element::infinity({0}(0)) - element::infinity({0}(0)))", type);
  if (std::isinf(number)) return fmt::format("({}element::infinity({}(0)))", number < 0 ? "-" : "", type);
  // Every float32 is a float64 whose shortest digits give it back.
  const double exact = dtype == DType::kFloat32 ? static_cast<double>(static_cast<float>(number)) : number;
  if (std::isinf(exact)) return device_literal(exact, dtype);
  std::string digits = fmt::format("{}", exact);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return fmt::format("({}({}))", type, digits);
}

const char* device_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float";
    case DType::kFloat64: return "double";
    case DType::kInt32: return "std::int32_t";
    case DType::kBool: return "std::uint8_t";
  }
  throw InternalError("device_type");
}

DeviceText named_text(const std::string& includes, const std::string& body) {
  const std::string digest = sha256(includes + body).substr(0, 24);
  std::string text = includes;
  for (char c : body) c == '@' ? void(text += digest) : text.push_back(c);
  return {"graphrun_" + digest, std::move(text)};
}

DeviceCode::DeviceCode(const Sizes& result, std::span<const TensorView> inputs, TileSteps steps)
    : result_(result), steps_(std::move(steps)), axes_(result, inputs, false) {
  std::int64_t most = element_count(result);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    types_.push_back(inputs[k].dtype);
    forms_.push_back(inputs[k].sizes == result ? Form::kWhole : inputs[k].count() == 1 ? Form::kOne : Form::kStrided);
    inputs_.push_back(arguments_.add_address(fmt::format("x{}", k), std::string("const ") + device_type(inputs[k].dtype)));
    most = std::max(most, inputs[k].count());
  }
  small_ = most < std::int64_t{1} << 31;
  const auto size = [this](std::string name, std::int64_t value) { add_index(arguments_, std::move(name), value); };
  const bool strided = std::find(forms_.begin(), forms_.end(), Form::kStrided) != forms_.end();
  for (std::size_t a = 0; strided && a < axes_.sizes.size(); ++a) size(fmt::format("size{}", a), axes_.sizes[a]);
  for (std::size_t k = 0; k < forms_.size(); ++k) {
    for (std::size_t a = 0; forms_[k] == Form::kStrided && a + 1 < axes_.sizes.size(); ++a) {
      if (axes_.strides[a][k] != 0) size(fmt::format("stride{}_{}", k, a), axes_.strides[a][k]);
    }
  }
  for (std::size_t d = 0; d < steps_.draws.size(); ++d) {
    draw_arguments_.push_back(arguments_.add<element::DrawnTensor>(fmt::format("draw{}", d)));
  }
}

bool DeviceCode::reads_packs(std::size_t k) const {
  return forms_[k] == Form::kWhole || (forms_[k] == Form::kStrided && axes_.strides.back()[k] != 0);
}

DType DeviceCode::dtype_of_result(std::size_t r) const {
  for (const TileStep& step : steps_.steps) {
    if (step.result == static_cast<int>(r)) return step.dtype;
  }
  throw InternalError("DeviceCode: no such result");
}

std::string DeviceCode::type_of_result(std::size_t r) const { return device_type(dtype_of_result(r)); }
std::string DeviceCode::type_of_input(std::size_t k) const { return device_type(types_[k]); }

std::string DeviceCode::name_of(const TileOperand& operand) const {
  switch (operand.kind) {
    case TileOperand::Kind::kInput: return fmt::format("x{}", operand.index);
    case TileOperand::Kind::kStep: return fmt::format("t{}", operand.index);
    case TileOperand::Kind::kNumber: break;
  }
  return device_literal(operand.number, operand.dtype);
}

std::string DeviceCode::instruction(std::size_t i) const {
  const TileStep& step = steps_.steps[i];
  const std::string to = device_type(step.dtype);
  std::string value;
  if (step.line == kCastLine) {
    const std::string x = name_of(step.operands[0]);
    value = step.dtype == DType::kBool ? fmt::format("element::to_bool({})", x) : fmt::format("element::cast<{}>({})", to, x);
  } else {
    const PointwiseLine& line = pointwise_table()[step.line];
    std::vector<std::string> operands;
    for (int k = 0; k < line.arity; ++k) {
      const std::string name = name_of(step.operands[static_cast<std::size_t>(k)]);
      operands.push_back(line.arity == 3 && k == 0 ? name + " != 0" : name);
    }
    value = fmt::format("static_cast<{}>(lines::Op_{}::of<{}>({}))", to, line.name, device_type(step.read),
                        fmt::join(operands, ", "));
  }
  std::string text = fmt::format("    const {} t{} = {};\n", to, i, value);
  if (step.result >= 0) text += fmt::format("    r.r{}.v[j] = t{};\n", step.result, i);
  return text;
}

std::string DeviceCode::places() const {
  const std::size_t last = axes_.sizes.size() - 1;
  std::string text;
  // Coordinates that some operand's place depends on, the last axis first.
  const auto used = [&](std::size_t axis) {
    for (std::size_t k = 0; k < forms_.size(); ++k) {
      if (forms_[k] == Form::kStrided && axes_.strides[axis][k] != 0) return true;
    }
    return false;
  };
  std::size_t first = 0;
  while (first <= last && !used(first)) ++first;
  std::string rest = "i";
  for (std::size_t axis = last + 1; axis-- > first;) {
    if (used(axis)) {
      text += axis == 0 ? fmt::format("  const Index c0 = {};\n", rest)
                        : fmt::format("  const Index c{0} = {1} % a.size{0};\n", axis, rest);
    }
    if (axis > first) {
      text += fmt::format("  const Index rest{0} = {1} / a.size{0};\n", axis, rest);
      rest = fmt::format("rest{}", axis);
    }
  }
  for (std::size_t k = 0; k < forms_.size(); ++k) {
    if (forms_[k] != Form::kStrided) continue;
    std::string place;
    for (std::size_t axis = 0; axis <= last; ++axis) {
      if (axes_.strides[axis][k] == 0) continue;
      if (!place.empty()) place += " + ";
      place += axis == last ? fmt::format("c{}", axis) : fmt::format("c{0} * a.stride{1}_{0}", axis, k);
    }
    text += fmt::format("  const Index at{} = {};\n", k, place);
  }
  return text;
}

std::string DeviceCode::functions() const {
  const std::size_t last = axes_.sizes.size() - 1;
  std::string text = "template <int n>\nstruct Results {\n", loads, reads;
  std::size_t results = 0;
  for (const TileStep& step : steps_.steps) results = std::max(results, static_cast<std::size_t>(step.result + 1));
  for (std::size_t r = 0; r < results; ++r) text += fmt::format("  element::Pack<{}, n> r{};\n", type_of_result(r), r);
  for (std::size_t k = 0; k < forms_.size(); ++k) {
    switch (forms_[k]) {
      case Form::kWhole: loads += fmt::format("  const auto p{0} = element::load<n>(a.x{0} + i);\n", k); break;
      case Form::kOne: loads += fmt::format("  const auto p{0} = element::repeated<n>(*a.x{0});\n", k); break;
      case Form::kStrided:
        loads += axes_.strides[last][k] == 0 ? fmt::format("  const auto p{0} = element::repeated<n>(a.x{0}[at{0}]);\n", k)
                                             : fmt::format("  const auto p{0} = element::load<n>(a.x{0} + at{0});\n", k);
    }
    reads += fmt::format("    const {0} x{1} = p{1}.v[j];\n", device_type(types_[k]), k);
  }
  for (std::size_t d = 0; d < steps_.draws.size(); ++d) {
    const std::size_t k = forms_.size() + d;
    loads += fmt::format("  const auto p{} = element::stay<n>(a.draw{}, i);\n", k, d);
    reads += fmt::format("    const std::uint8_t x{0} = p{0}.v[j];\n", k);
  }
  text += "};\n\ntemplate <int n>\nGRAPHRUN_DEVICE Results<n> compute(const Arguments& a, Index i) {\n" + places() + loads;
  text += "  Results<n> r;\n  GRAPHRUN_UNROLL\n  for (int j = 0; j < n; ++j) {\n" + reads;
  for (std::size_t i = 0; i < steps_.steps.size(); ++i) text += instruction(i);
  return text + "  }\n  return r;\n}\n";
}

std::string DeviceCode::index_type() const {
  return fmt::format("typedef {} Index;  // of elements\n\n", small_ ? "std::uint32_t" : "std::uint64_t");
}

Argument DeviceCode::add_index(ArgumentLayout& to, std::string name, std::int64_t value) const {
  return small_ ? to.add_spelled(std::move(name), "Index", static_cast<std::uint32_t>(value))
                : to.add_spelled(std::move(name), "Index", static_cast<std::uint64_t>(value));
}

ElementwiseText elementwise_text(const DeviceCode& code, std::size_t results) {
  ElementwiseText made;
  made.arguments = code.arguments();
  std::string stores;
  for (std::size_t r = 0; r < results; ++r) {
    made.results.push_back(made.arguments.add_address(fmt::format("y{}", r), code.type_of_result(r)));
    stores += fmt::format("    element::store(a.y{0} + i, r.r{0});\n", r);
  }
  code.add_index(made.arguments, "elements", element_count(code.sizes()));
  made.wide = made.arguments.add<std::int32_t>("wide");
  const std::string body = kTextBegin + code.index_type() + made.arguments.text() + "\n" + code.functions() + R"x(
template <int n>
GRAPHRUN_DEVICE void run(const Arguments& a) {
  const Index pieces = a.elements / n, all = cuda::block_count() * cuda::thread_count();
  for (Index piece = cuda::block_index() * cuda::thread_count() + cuda::thread_index(); piece < pieces; piece += all) {
    const Index i = piece * n;
    const Results<n> r = compute<n>(a, i);
)x" + stores + R"x(  }
}

GRAPHRUN_ENTRY(graphrun_@, Arguments) { arguments.wide ? run<4>(arguments) : run<1>(arguments); }

}  // namespace graphrun::generated_@
)x";
  static_cast<DeviceText&>(made) = named_text(kDeviceIncludes, body);
  return made;
}

}  // namespace graphrun
