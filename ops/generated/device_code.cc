#include "ops/generated/device_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  if (dtype == DType::kFloat32 && std::isinf(static_cast<float>(number)))
    return device_literal(static_cast<float>(number), dtype);
  // The shortest digits that parse back to the same number.
  std::string digits = dtype == DType::kFloat32 ? fmt::format("{}", static_cast<float>(number)) : fmt::format("{}", number);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  if (dtype == DType::kFloat32) digits += "f";
  return digits[0] == '-' ? "(" + digits + ")" : digits;
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

namespace {

// Replaces an "@" in a quoted equation, which must not become a digest; no quoted text contains this character.
constexpr char kAt = '\x01';

std::string digest_of(const std::string& includes, const std::string& body) { return sha256(includes + body).substr(0, 24); }

std::string with_digest(const std::string& includes, const std::string& body, const std::string& digest) {
  std::string text = includes;
  for (char c : body) c == '@' ? void(text += digest) : text.push_back(c == kAt ? '@' : c);
  return text;
}

}  // namespace

DeviceText named_text(const std::string& includes, const std::string& body) {
  const std::string digest = digest_of(includes, body);
  return {"graphrun_" + digest, with_digest(includes, body, digest)};
}

std::string commented_text(const std::string& includes, const std::string& body, const std::string& commented) {
  return with_digest(includes, commented, digest_of(includes, body));
}

std::string equation_comment(const Location& at, const std::string& indent, Comments comments) {
  if (comments == Comments::kNone || !at.known()) return "";
  std::string equation = text_at(at);
  std::replace(equation.begin(), equation.end(), '@', kAt);
  return fmt::format("{}// {}:{}{}{}\n", indent, *at.file, at.line, equation.empty() ? "" : ": ", equation);
}

CodeNames code_names(const KernelRequest& request) {
  CodeNames names;
  const std::size_t inputs = std::min(request.names.size(), request.inputs.size());
  names.inputs.assign(request.names.begin(), request.names.begin() + static_cast<std::ptrdiff_t>(inputs));
  names.instructions.assign(request.origins.begin(), request.origins.end());
  return names;
}

DeviceCode::DeviceCode(const Sizes& result, std::span<const TensorView> inputs, TileSteps steps, const CodeNames& names,
                       RowReads rows)
    : result_(result), steps_(std::move(steps)), rows_(std::move(rows)), axes_(result, inputs, false, {}, rows_) {
  std::int64_t most = element_count(result);
  for (const TensorView& input : inputs) {
    types_.push_back(input.dtype);
    const bool whole = input.sizes == result && !rows_.reads(types_.size() - 1);
    forms_.push_back(whole ? Form::kWhole : input.count() == 1 ? Form::kOne : Form::kStrided);
    most = std::max(most, input.count());
  }
  find_names(names);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    inputs_.push_back(arguments_.add_address(input_names_[k], std::string("const ") + device_type(types_[k])));
  if (rows_.any()) list_ = arguments_.add_address("numbers", "const std::int32_t");
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
    draw_arguments_.push_back(arguments_.add<element::DrawnTensor>(draw_name(d)));
  }
}

// Reserves the text's own names first, so that no value takes one of them.
void DeviceCode::find_names(const CodeNames& names) {
  for (const char* own :
       {"arguments", "first", "lane", "width", "results", "Arguments", "Results", "Index", "compute", "run",    "one",
        "elements",  "wide",  "view", "grid",  "parts",   "joins",     "start",   "join",  "write",   "numbers"})
    names_.take(own);
  for (std::size_t a = 0; a < axes_.sizes.size(); ++a) {
    for (const char* of_axis : {"size", "rest", "along", "row"}) names_.take(fmt::format("{}{}", of_axis, a));
    for (std::size_t k = 0; k < types_.size(); ++k) names_.take(fmt::format("stride{}_{}", k, a));
  }
  for (std::size_t d = 0; d < steps_.draws.size(); ++d) names_.take(draw_name(d));
  for (std::size_t k = 0; k < types_.size(); ++k) {
    const bool known = k < names.inputs.size() && !names.inputs[k].empty();
    input_names_.push_back(names_.of(known ? names.inputs[k] : fmt::format("x{}", k)));
  }
  for (std::size_t d = 0; d < steps_.draws.size(); ++d) input_names_.push_back(names_.take(fmt::format("stays{}", d)));
  for (const std::string& input : input_names_) {
    pack_names_.push_back(names_.take(input + "_pack"));
    place_names_.push_back(names_.take(input + "_at"));
  }
  const std::vector<TileStep>& steps = steps_.steps;
  step_names_.resize(steps.size()), places_.resize(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool known = steps[i].instruction < names.instructions.size();
    const bool last = i + 1 == steps.size() || steps[i + 1].instruction != steps[i].instruction;
    if (known) places_[i] = names.instructions[steps[i].instruction].at;
    const std::string name = known ? identifier(names.instructions[steps[i].instruction].name) : fmt::format("t{}", i);
    step_names_[i] = names_.take(last ? name : name + "_scaled");
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].result < 0) continue;
    const auto r = static_cast<std::size_t>(steps[i].result);
    result_names_.resize(std::max(result_names_.size(), r + 1)), target_names_.resize(result_names_.size());
    result_names_[r] = step_names_[i], target_names_[r] = names_.take("to_" + step_names_[i]);
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

std::string DeviceCode::operand_text(const TileStep& step, std::size_t k) const {
  const TileOperand& operand = step.operands[k];
  switch (operand.kind) {
    case TileOperand::Kind::kInput: return input_names_[operand.index];
    case TileOperand::Kind::kInstruction: return step_names_[operand.index];
    case TileOperand::Kind::kNumber: break;
  }
  return device_literal(operand.number, step.operand_dtype(k));
}

// The expression in plain C if possible (arithmetic, functions of one element); otherwise a call of the table's line.
std::string DeviceCode::expression(std::size_t i) const {
  const TileStep& step = steps_.steps[i];
  const std::string to = device_type(step.dtype), x = operand_text(step, 0);
  if (step.line == kCastLine)
    return step.dtype == DType::kBool ? fmt::format("element::to_bool({})", x) : fmt::format("element::cast<{}>({})", to, x);
  const PointwiseLine& line = pointwise_table()[step.line];
  const bool same = step.read == step.dtype && step.dtype != DType::kBool;
  if (same && line.arity == 2 && std::string_view("+-*/").find(line.infix) != std::string_view::npos && !line.infix.empty())
    return fmt::format("{} {} {}", x, line.infix, operand_text(step, 1));
  if (same && line.arity == 1 && line.infix == "-") return "-" + x;
  if (same && line.arity == 1 && line.expression == std::string(line.name) + "(x)")
    return fmt::format("element::{}({})", line.name, x);
  constexpr auto kCompare = std::to_array<std::string_view>({"<", "<=", ">", ">=", "==", "!="});
  if (std::find(kCompare.begin(), kCompare.end(), line.infix) != kCompare.end())
    return fmt::format("static_cast<{}>({} {} {})", to, x, line.infix, operand_text(step, 1));
  if (line.arity == 3 && step.read == step.dtype)
    return fmt::format("{} != 0 ? {} : {}", x, operand_text(step, 1), operand_text(step, 2));
  std::vector<std::string> operands;
  for (int k = 0; k < line.arity; ++k) {
    const std::string name = operand_text(step, static_cast<std::size_t>(k));
    operands.push_back(line.arity == 3 && k == 0 ? name + " != 0" : name);
  }
  return fmt::format("static_cast<{}>(lines::Op_{}::of<{}>({}))", to, line.name, device_type(step.read),
                     fmt::join(operands, ", "));
}

std::string DeviceCode::instruction(std::size_t i) const {
  const TileStep& step = steps_.steps[i];
  std::string text = fmt::format("    const {} {} = {};\n", device_type(step.dtype), step_names_[i], expression(i));
  if (step.result >= 0) text += fmt::format("    results.{0}.v[lane] = {0};\n", step_names_[i]);
  return text;
}

std::string DeviceCode::places() const {
  const std::size_t last = axes_.sizes.size() - 1;
  std::string text;
  // Computes the coordinates that the address of some operand depends on, last axis first.
  const auto used = [&](std::size_t axis) {
    for (std::size_t k = 0; k < forms_.size(); ++k) {
      if (forms_[k] == Form::kStrided && axes_.strides[axis][k] != 0) return true;
    }
    return false;
  };
  std::size_t first = 0;
  while (first <= last && !used(first)) ++first;
  std::string rest = "first";
  for (std::size_t axis = last + 1; axis-- > first;) {
    if (used(axis)) {
      text += axis == 0 ? fmt::format("  const Index along0 = {};\n", rest)
                        : fmt::format("  const Index along{0} = {1} % arguments.size{0};\n", axis, rest);
    }
    if (axis > first) {
      text += fmt::format("  const Index rest{0} = {1} / arguments.size{0};\n", axis, rest);
      rest = fmt::format("rest{}", axis);
    }
  }
  for (std::size_t axis = 0; axis < last; ++axis) {
    bool is_listed = false;
    for (std::size_t k = 0; k < forms_.size(); ++k) is_listed |= forms_[k] == Form::kStrided && axes_.listed[k] == axis;
    if (is_listed) text += fmt::format("  const Index row{0} = static_cast<Index>(arguments.numbers[along{0}]);\n", axis);
  }
  for (std::size_t k = 0; k < forms_.size(); ++k) {
    if (forms_[k] != Form::kStrided) continue;
    std::string place;
    for (std::size_t axis = 0; axis <= last; ++axis) {
      if (axes_.strides[axis][k] == 0) continue;
      if (!place.empty()) place += " + ";
      const char* const index = axes_.listed[k] == axis ? "row" : "along";
      place += axis == last ? fmt::format("along{}", axis) : fmt::format("{2}{0} * arguments.stride{1}_{0}", axis, k, index);
    }
    text += fmt::format("  const Index {} = {};\n", place_names_[k], place);
  }
  return text;
}

std::string DeviceCode::functions(Comments comments) const {
  const std::size_t last = axes_.sizes.size() - 1;
  std::string text = "template <int width>\nstruct Results {\n", loads, reads;
  for (std::size_t r = 0; r < result_names_.size(); ++r)
    text += fmt::format("  element::Pack<{}, width> {};\n", type_of_result(r), result_names_[r]);
  for (std::size_t k = 0; k < forms_.size(); ++k) {
    const std::string &pack = pack_names_[k], &x = input_names_[k], &at = place_names_[k];
    switch (forms_[k]) {
      case Form::kWhole:
        loads += fmt::format("  const auto {} = element::load<width>(arguments.{} + first);\n", pack, x);
        break;
      case Form::kOne: loads += fmt::format("  const auto {} = element::repeated<width>(*arguments.{});\n", pack, x); break;
      case Form::kStrided:
        loads += axes_.strides[last][k] == 0
                     ? fmt::format("  const auto {} = element::repeated<width>(arguments.{}[{}]);\n", pack, x, at)
                     : fmt::format("  const auto {} = element::load<width>(arguments.{} + {});\n", pack, x, at);
    }
    reads += fmt::format("    const {} {} = {}.v[lane];\n", device_type(types_[k]), x, pack);
  }
  for (std::size_t d = 0; d < steps_.draws.size(); ++d) {
    const std::size_t k = forms_.size() + d;
    loads += fmt::format("  const auto {} = element::stay<width>(arguments.{}, first);\n", pack_names_[k], draw_name(d));
    reads += fmt::format("    const std::uint8_t {} = {}.v[lane];\n", input_names_[k], pack_names_[k]);
  }
  text += "};\n\ntemplate <int width>\nGRAPHRUN_DEVICE Results<width> compute(const Arguments& arguments, Index first) {\n" +
          places() + loads;
  text += "  Results<width> results;\n  GRAPHRUN_UNROLL\n  for (int lane = 0; lane < width; ++lane) {\n" + reads;
  std::string comment;
  for (std::size_t i = 0; i < steps_.steps.size(); ++i) {
    const std::string own = equation_comment(places_[i], "    ", comments);
    if (own != comment) text += own;
    comment = own;
    text += instruction(i);
  }
  return text + "  }\n  return results;\n}\n";
}

std::string DeviceCode::constants() const {
  std::string text;
  if (std::find(forms_.begin(), forms_.end(), Form::kStrided) == forms_.end()) return text;
  const std::size_t axes = axes_.sizes.size();
  for (std::size_t a = 1; a < axes; ++a) text += fmt::format("      own.size{} = {};\n", a, axes_.sizes[a]);
  for (std::size_t k = 0; k < forms_.size(); ++k) {
    for (std::size_t a = 0; forms_[k] == Form::kStrided && a + 1 < axes; ++a) {
      if (axes_.strides[a][k] != 0) text += fmt::format("      own.stride{}_{} = {};\n", k, a, axes_.strides[a][k]);
    }
  }
  return text;
}

std::vector<std::int64_t> DeviceCode::steps_along(const AxisView& view) const {
  if (!draws().empty() || rows_.any() || view.count() == 0) return {};
  // The code's axis that contains the view's.
  std::int64_t after = 1;  // elements per index of that axis
  std::size_t axis = axes_.sizes.size();
  while (axis > 0 && after * axes_.sizes[axis - 1] <= view.inner) after *= axes_.sizes[--axis];
  if (axis == 0 || view.inner % after != 0 || after * axes_.sizes[axis - 1] % (view.n * view.inner) != 0) return {};
  --axis;
  std::vector<std::int64_t> steps;
  for (std::size_t k = 0; k < forms_.size(); ++k) {
    const bool strided = forms_[k] == Form::kStrided;
    steps.push_back(strided ? axes_.strides[axis][k] * (view.inner / after) : forms_[k] == Form::kWhole ? view.inner : 0);
  }
  return steps;
}

std::string DeviceCode::index_type() const {
  return fmt::format("typedef {} Index;  // of elements\n\n", small_ ? "std::uint32_t" : "std::uint64_t");
}

Argument DeviceCode::add_index(ArgumentLayout& to, std::string name, std::int64_t value) const {
  return small_ ? to.add_spelled(std::move(name), "Index", static_cast<std::uint32_t>(value))
                : to.add_spelled(std::move(name), "Index", static_cast<std::uint64_t>(value));
}

namespace {

std::string elementwise_body(const DeviceCode& code, const ElementwiseText& made, Comments comments) {
  std::string stores;
  for (std::size_t r = 0; r < made.results.size(); ++r)
    stores += fmt::format("    element::store(arguments.{} + first, results.{});\n", code.target_name(r), code.result_name(r));
  return kTextBegin + code.index_type() + made.arguments.text() + "\n" + code.functions(comments) + R"x(
template <int width>
GRAPHRUN_DEVICE void run(const Arguments& arguments) {
  const Index pieces = arguments.elements / width, all = cuda::block_count() * cuda::thread_count();
  for (Index piece = cuda::block_index() * cuda::thread_count() + cuda::thread_index(); piece < pieces; piece += all) {
    const Index first = piece * width;
    const Results<width> results = compute<width>(arguments, first);
)x" + stores +
         R"x(  }
}

GRAPHRUN_ENTRY(graphrun_@, Arguments) { arguments.wide ? run<4>(arguments) : run<1>(arguments); }

}  // namespace graphrun::generated_@
)x";
}

}  // namespace

ElementwiseText elementwise_text(const DeviceCode& code, std::size_t results) {
  ElementwiseText made;
  made.arguments = code.arguments();
  for (std::size_t r = 0; r < results; ++r)
    made.results.push_back(made.arguments.add_address(code.target_name(r), code.type_of_result(r)));
  code.add_index(made.arguments, "elements", element_count(code.sizes()));
  made.wide = made.arguments.add<std::int32_t>("wide");
  static_cast<DeviceText&>(made) = named_text(kDeviceIncludes, elementwise_body(code, made, Comments::kNone));
  return made;
}

std::string commented_elementwise_text(const DeviceCode& code, std::size_t results) {
  const ElementwiseText made = elementwise_text(code, results);
  return commented_text(kDeviceIncludes, elementwise_body(code, made, Comments::kNone),
                        elementwise_body(code, made, Comments::kEquations));
}

}  // namespace graphrun
