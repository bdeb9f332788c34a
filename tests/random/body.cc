#include "tests/random/body.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/op.h"

namespace graphrun::random_graphs {
namespace {

constexpr int kAttempts = 40;
constexpr std::size_t kHighestRank = 4, kLongestText = 48;
constexpr std::int64_t kLargestSize = 24;

// Ops whose results are finite only for some numbers: their operands are first mapped there.
struct Guard {
  const char* op;
  std::size_t position;
  const char* text;
};
constexpr Guard kGuards[] = {
    {"log", 0, "(abs({}) + 0.5)"},   {"log1p", 0, "abs({})"},        {"sqrt", 0, "(abs({}) + 0.5)"},
    {"rsqrt", 0, "(abs({}) + 0.5)"}, {"div", 1, "(abs({}) + 1.25)"}, {"pow", 0, "(abs({}) + 0.5)"},
    {"pow", 1, "tanh({})"},          {"exp", 0, "tanh({})"},
};

// Operands that are positions, and the axis whose size bounds them; an attribute if `table` is -1.
struct Indexed {
  const char* op;
  std::size_t indices;
  int table;
  int axis;
  const char* attribute;
};
constexpr Indexed kIndexed[] = {{"gather", 1, 0, 0, ""}, {"pick", 1, 0, -1, ""},         {"cross_entropy", 1, 0, -1, ""},
                                {"put", 2, 0, 0, ""},    {"one_hot", 0, -1, 0, "depth"}, {"scatter_add", 0, -1, 0, "rows"}};

bool positions_fit(const ir::OpSchema& op, const ir::Graph& graph, const std::vector<Operand>& operands,
                   const ir::NamedAttributes& attributes) {
  for (const Indexed& rule : kIndexed) {
    if (op.name != rule.op || rule.indices >= operands.size()) continue;
    const std::int64_t below = operands[rule.indices].below;
    Dim size;
    if (rule.table >= 0) {
      const Shape& shape = graph.type(operands[static_cast<std::size_t>(rule.table)].value).shape;
      if (shape.empty()) return false;
      size = rule.axis < 0 ? shape.back() : shape[static_cast<std::size_t>(rule.axis)];
    } else {
      for (const auto& [name, value] : attributes)
        if (name == rule.attribute) size = std::get<Dim>(value);
    }
    if (below == 0 || !size.is_constant() || size.constant() < below) return false;
  }
  return true;
}

// A call may give two sizes of a graph the same value. `words` positions from 4 on may fit into `time`, but not into `words`.
bool pad_fits(const ir::OpSchema& op, const ir::Graph& graph, const std::vector<Operand>& operands,
              const ir::NamedAttributes& attributes) {
  if (op.name != "pad") return true;
  Dim begin, size;
  for (const auto& [name, value] : attributes) {
    if (name == "begin") begin = std::get<Dim>(value);
    if (name == "size") size = std::get<Dim>(value);
  }
  if (begin == Dim(0) || size.is_constant()) return true;
  const Shape& shape = graph.type(operands[0].value).shape;
  return std::all_of(shape.begin(), shape.end(),
                     [&](const Dim& d) { return d.is_constant() || d.symbols() == size.symbols(); });
}

bool is_small(const ir::TensorType& type) {
  if (type.shape.size() > kHighestRank) return false;
  Dim all = 1;
  for (const Dim& dim : type.shape) {
    if (dim.is_constant() && (dim.constant() < 1 || dim.constant() > kLargestSize)) return false;
    if (dim.symbols().size() > 1) return false;
    all = all * (dim.is_constant() ? dim : Dim(4));
  }
  return all.constant() <= 1024;
}

// The bound of an integer result, if its op only moves its operands or returns positions.
std::int64_t bound_of(const ir::OpSchema& op, const ir::Graph& graph, const std::vector<Operand>& operands,
                      const ir::NamedAttributes& attributes) {
  const auto constant = [](const Dim& dim) { return dim.is_constant() ? dim.constant() : 0; };
  if (op.name == "range") return constant(std::get<Dim>(attributes[0].second));
  if (op.name == "topk") return constant(graph.type(operands[0].value).shape.back());
  if (op.name == "argmax") {
    const Shape& shape = graph.type(operands[0].value).shape;
    for (const auto& [name, value] : attributes) {
      if (name != "axis") continue;
      const auto* axis = std::get_if<std::int64_t>(&value);
      if (axis && !shape.empty())
        return constant(shape[static_cast<std::size_t>(*axis < 0 ? *axis + static_cast<std::int64_t>(shape.size()) : *axis)]);
    }
    return 0;
  }
  if (op.name == "gather") return operands[0].below;
  if (op.name == "scatter_add" || (op.family != "shape" && op.family != "index")) return 0;
  std::int64_t below = 0;
  for (const Operand& o : operands) {
    if (o.value == ir::kNone || graph.type(o.value).type != Type::kInt32) continue;
    if (o.below == 0) return 0;
    below = std::max(below, o.below);
  }
  return below;
}

bool is_word(const std::string& infix) { return infix == "and" || infix == "or" || infix == "not"; }

}  // namespace

const std::vector<const ir::OpSchema*>& op_choices() {
  static const std::vector<const ir::OpSchema*> kOps = [] {
    std::vector<const ir::OpSchema*> all;
    for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
      if (!op->internal && !op->update && op->family != "optimizer" && op->infer) all.push_back(op);
    }
    return all;
  }();
  return kOps;
}

std::size_t number_of(const ir::OpSchema& op) {
  static const std::map<const ir::OpSchema*, std::size_t> kNumbers = [] {
    std::map<const ir::OpSchema*, std::size_t> numbers;
    for (const ir::OpSchema* choice : op_choices()) numbers.emplace(choice, numbers.size());
    GRAPHRUN_CHECK(numbers.size() <= kReadsBefore, "more ops than Traits has room for");
    return numbers;
  }();
  return kNumbers.at(&op);
}

std::string text_of(Type type) { return type == Type::kFloat ? "" : type == Type::kInt32 ? " type: INT32" : " type: BOOL"; }

std::string text_of(const Attribute& value) {
  struct {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return "'" + v + "'"; }
    std::string operator()(const Dim& v) const { return v.str(); }
    std::string operator()(const Shape& v) const { return str(v); }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return v.size() == 1 ? std::to_string(v[0]) : fmt::format("[{}]", fmt::join(v, ", "));
    }
    std::string operator()(const OpaqueValue& v) const { return "'" + v.text() + "'"; }
  } text;
  return std::visit(text, value);
}

bool can_be_declared(const ir::TensorType& type) {
  return std::all_of(type.shape.begin(), type.shape.end(), [](const Dim& d) { return d.is_constant() || d.as_symbol(); });
}

Body::Body(tests::Draw& draw, std::string prefix) : draw_(&draw), prefix_(std::move(prefix)), builder_(*graph_) {}

std::string Body::fresh(const std::string& stem) { return stem + "_" + prefix_ + std::to_string(names_++); }

Operand Body::add(const std::string& text, const ir::TensorType& type, std::int64_t below, bool lengths, const Traits& traits) {
  Operand o{text, builder_.input(builder_.unique("v"), type), below, lengths, {text}, traits};
  pool_.push_back(o);
  return o;
}

Operand Body::parameter(const Shape& shape) {
  const std::string name = fresh("W");
  static const std::vector<std::string> kInits = {"", "", " init { uniform: 0.5 }", " init { normal: 0.3 }",
                                                  " init { constant: 0.75 }"};
  const std::string line = fmt::format("parameter {{ name: \"{}\" shape: \"{}\"{}{} }}", name, str(shape), draw_->any(kInits),
                                       draw_->chance(0.05) ? " trainable: false" : "");
  parameters_.emplace_back(name, line);
  return {name, builder_.input(builder_.unique("v"), {Type::kFloat, shape}), 0, false, {name}, {}};
}

std::string Body::use(const Operand& o) {
  read_.insert(o.of.begin(), o.of.end());
  return o.text;
}

Operand Body::guarded(const std::string& op, std::size_t position, const Operand& o) {
  for (const Guard& guard : kGuards) {
    if (op != guard.op || position != guard.position) continue;
    Operand safe = o;
    safe.text = fmt::format(fmt::runtime(guard.text), o.text);
    if (type(o).type != Type::kFloat) {
      safe.value = builder_.cast(o.value, Type::kFloat);
      safe.text = fmt::format(fmt::runtime(guard.text), "cast(" + o.text + ", type='FLOAT')");
    }
    return safe;
  }
  return o;
}

// An operand that the shape rule is likely to accept together with the first.
Operand Body::operand_like(const Operand& first, const ir::OpSchema& op, std::size_t position) {
  const ir::TensorType& like = type(first);
  const std::string& doc = op.inputs[std::min(position, op.inputs.size() - 1)].doc;
  if (doc.find("without the first axis") != std::string::npos && !like.shape.empty()) {
    const ir::TensorType row{like.type, {like.shape.begin() + 1, like.shape.end()}};
    if (const auto o = any([&](const Operand& p) { return type(p) == row; })) return *o;
  }
  if (doc.rfind("[] INT32", 0) == 0) {
    if (const auto o = of_type({Type::kInt32, {}}); o && draw_->chance(0.8)) return *o;
  }
  if (doc.find("INT32") != std::string::npos && doc.find("FLOAT") == std::string::npos) {
    if (const auto o = any([&](const Operand& p) { return type(p).type == Type::kInt32 && p.below > 0; });
        o && draw_->chance(0.8))
      return *o;
  }
  const bool numbered = !like.shape.empty() && like.shape.back().is_constant() && like.type == Type::kFloat;
  if (numbered && op.name == "matmul" && draw_->chance(0.75)) {
    return parameter({like.shape.back(), Dim(draw_->between(3, 4))});
  }
  if (numbered && draw_->chance(0.2)) return parameter({like.shape.back()});
  if (draw_->chance(0.7)) {
    if (const auto o = any([&](const Operand& p) { return type(p) == like; })) return *o;
  }
  return draw_->late(pool_);
}

std::optional<std::vector<Operand>> Body::operands_of(const ir::OpSchema& op) {
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const ir::InputSpec& input = op.inputs[i];
    if (input.name == "lengths") {
      const auto lengths = any([](const Operand& o) { return o.lengths; });
      if (lengths && (!input.optional || draw_->chance(0.5))) {
        operands.push_back(*lengths);
      } else if (input.optional) {
        operands.push_back({});
      } else {
        return std::nullopt;
      }
      continue;
    }
    if (input.optional && draw_->chance(0.5)) {
      operands.push_back({});
      continue;
    }
    const int count = input.variadic ? draw_->between(2, 3) : 1;
    for (int k = 0; k < count; ++k) {
      Operand o = operands.empty() ? draw_->late(pool_) : operand_like(operands[0], op, i);
      if (operands.empty() && input.doc.find("FLOAT") != std::string::npos) {
        if (const auto number = any([&](const Operand& p) { return type(p).type == Type::kFloat; })) o = *number;
      }
      operands.push_back(guarded(op.name, i, o));
    }
  }
  return operands;
}

std::optional<Attribute> Body::attribute(const ir::AttributeSpec& spec, const std::vector<Operand>& operands) {
  if (spec.default_value && draw_->chance(0.5)) return std::nullopt;
  const Shape shape = operands.empty() || operands[0].value == ir::kNone ? Shape{} : type(operands[0]).shape;
  const int rank = static_cast<int>(shape.size());
  const auto axis = [&] { return static_cast<std::int64_t>(rank == 0 ? 0 : draw_->between(-rank, rank - 1)); };
  switch (spec.kind) {
    case AttributeKind::kBool: return Attribute(draw_->chance(0.5));
    case AttributeKind::kInt: return Attribute(spec.name == "axis" ? axis() : static_cast<std::int64_t>(draw_->between(1, 3)));
    case AttributeKind::kFloat:
      if (spec.default_value && std::get<double>(*spec.default_value) != 0) return std::nullopt;
      return Attribute(0.125 * draw_->between(1, 5));
    case AttributeKind::kString: {
      if (spec.name != "type") return std::nullopt;
      static const std::vector<std::string> kTypes = {"FLOAT", "INT32", "BOOL"};
      return Attribute(draw_->any(kTypes));
    }
    case AttributeKind::kDim: {
      std::vector<Dim> sizes = {0, 0, 1, 2, 3, 4};
      if (spec.name != "begin" && spec.name != "at")
        for (const Dim& dim : shape) sizes.push_back(dim), sizes.push_back(dim);
      return Attribute(draw_->any(sizes));
    }
    case AttributeKind::kShape: {
      Shape other = draw_->chance(0.5) ? shape : type(draw_->any(pool_)).shape;
      if (draw_->chance(0.5) && other.size() > 1) {
        const std::size_t k = draw_->below(other.size() - 1);
        if (draw_->chance(0.5)) {
          std::swap(other[k], other[k + 1]);
        } else {
          other[k] = other[k] * other[k + 1];
          other.erase(other.begin() + static_cast<std::ptrdiff_t>(k) + 1);
        }
      }
      return Attribute(other);
    }
    case AttributeKind::kInts: {
      if (spec.name == "axis") {
        std::vector<std::int64_t> axes = {axis()};
        if (axes[0] >= 0 && axes[0] + 1 < rank && draw_->chance(0.3)) axes.push_back(axes[0] + 1);
        return Attribute(axes);
      }
      std::vector<std::int64_t> order;
      for (int k = 0; k < rank; ++k)
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(draw_->below(order.size() + 1)), k);
      return Attribute(order);
    }
    case AttributeKind::kProgram: return std::nullopt;  // of ops that the compiler alone makes
  }
  return std::nullopt;
}

bool Body::grow() {
  static const std::vector<std::string> kUsual = {"matmul", "add", "mul", "tanh", "sigmoid", "sub", "concat", "sum", "softmax"};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const ir::OpSchema* op = draw_->any(op_choices());
    if (draw_->chance(0.25)) op = ir::OpRegistry::instance().find(draw_->any(kUsual));
    if (op && apply(*op)) return true;
  }
  return false;
}

bool Body::apply(const ir::OpSchema& op) {
  for (int attempt = 0; attempt < kAttempts / 2; ++attempt) {
    if (pool_.empty() && !op.inputs.empty()) return false;
    const auto operands = operands_of(op);
    if (!operands) return false;
    ir::NamedAttributes attributes;
    for (const ir::AttributeSpec& spec : op.attributes) {
      if (auto value = attribute(spec, *operands)) attributes.emplace_back(spec.name, *value);
    }
    std::vector<ir::ValueId> ids;
    for (const Operand& o : *operands) ids.push_back(o.value);
    if (!positions_fit(op, *graph_, *operands, attributes) || !pad_fits(op, *graph_, *operands, attributes)) continue;
    std::vector<ir::ValueId> values;
    try {
      values = builder_.node(op, ids, attributes);
    } catch (const ir::OpError&) {
      continue;
    }
    if (!std::all_of(values.begin(), values.end(), [&](ir::ValueId v) { return is_small(graph_->type(v)); })) continue;

    std::set<std::string> of;
    Traits traits;
    traits.set(number_of(op));
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < operands->size(); ++i) {
      const Operand& o = (*operands)[i];
      if (o.value == ir::kNone) continue;
      of.insert(o.of.begin(), o.of.end());
      traits |= o.traits;
      const bool named = i < op.inputs.size() && (op.inputs[i].optional || (i > 0 && (*operands)[i - 1].value == ir::kNone));
      parts.push_back(named ? op.inputs[i].name + "=" + o.text : o.text);
    }
    std::string text;
    const bool plain = attributes.empty() && !op.infix.empty();
    if (plain && parts.size() == 2 && (is_word(op.infix) || draw_->chance(0.7))) {
      text = fmt::format("({} {} {})", parts[0], op.infix, parts[1]);
    } else if (plain && parts.size() == 1 && (is_word(op.infix) || draw_->chance(0.7))) {
      text = fmt::format("({} {})", op.infix, parts[0]);
    } else {
      for (const auto& [name, value] : attributes) parts.push_back(name + "=" + text_of(value));
      text = fmt::format("{}({})", op.name, fmt::join(parts, ", "));
    }
    std::vector<Operand> results;
    const std::int64_t below = bound_of(op, *graph_, *operands, attributes);
    for (const ir::ValueId v : values) {
      Operand o{"", v, graph_->type(v).type == Type::kInt32 ? below : 0, false, of, traits};
      results.push_back(o);
    }
    keep(text, std::move(results));
    return true;
  }
  return false;
}

void Body::keep(const std::string& text, std::vector<Operand> results) {
  std::string full = text;
  if (results.size() == 1 && graph_->type(results[0].value).type == Type::kFloat && draw_->chance(0.25)) {
    full = "tanh(" + text + ")";
    results[0].value = builder_.op("tanh", {results[0].value});
  }
  // An expression without a name is written wherever it is read.
  if (results.size() == 1 && full.size() < kLongestText && draw_->chance(0.25)) {
    results[0].text = full;
    pool_.push_back(results[0]);
    return;
  }
  std::vector<std::string> names;
  for (Operand& o : results) {
    read_.insert(o.of.begin(), o.of.end());
    names.push_back(fresh("v"));
    o.text = names.back();
    o.of = {o.text};
    pool_.push_back(o);
  }
  lines_.push_back(fmt::format("let: \"{} = {}\"", fmt::join(names, ", "), full));
}

std::optional<Operand> Body::equation(const std::string& text, const std::vector<std::pair<std::string, Operand>>& names) {
  std::vector<std::pair<std::string, ir::ValueId>> values;
  Operand made;
  made.text = text;
  for (const auto& [name, o] : names) {
    values.emplace_back(name, o.value);
    made.of.insert(o.of.begin(), o.of.end());
    made.traits |= o.traits;
    for (std::size_t at = 0; (at = made.text.find(name, at)) != std::string::npos; at += o.text.size()) {
      made.text.replace(at, name.size(), o.text);
    }
  }
  try {
    made.value = builder_.equation(text, values);
  } catch (const ir::OpError&) {
    return std::nullopt;
  }
  return made;
}

std::optional<Operand> Body::of_type(const ir::TensorType& wanted) {
  if (wanted.type != Type::kFloat) {
    if (const auto same =
            any([&](const Operand& o) { return type(o) == wanted && (wanted.type != Type::kInt32 || o.below > 0); }))
      return same;
    const std::string text =
        fmt::format("zeros(shape={}, type='{}')", str(wanted.shape), wanted.type == Type::kInt32 ? "INT32" : "BOOL");
    return Operand{text, builder_.zeros(wanted), 1, false, {}, {}};
  }
  if (draw_->chance(0.6)) {
    if (const auto same = any([&](const Operand& o) { return type(o) == wanted; }))
      return equation("tanh(first__)", {{"first__", *same}});
  }
  if (!wanted.shape.empty() && wanted.shape.back().is_constant()) {
    const auto other = any([&](const Operand& o) {
      const ir::TensorType& t = type(o);
      return t.type == Type::kFloat && t.shape.size() == wanted.shape.size() && t.shape.size() > 1 &&
             t.shape.back().is_constant() && std::equal(t.shape.begin(), t.shape.end() - 1, wanted.shape.begin());
    });
    if (other) {
      const Operand W = parameter({type(*other).shape.back(), wanted.shape.back()});
      return equation("tanh(first__ @ second__)", {{"first__", *other}, {"second__", W}});
    }
  }
  if (const auto fits = any([&](const Operand& o) {
        const auto both = broadcast(type(o).shape, wanted.shape);
        return type(o).type == Type::kFloat && both && *both == wanted.shape;
      })) {
    Operand made{fmt::format("broadcast_to(sin({}), shape={})", fits->text, str(wanted.shape)),
                 ir::kNone,
                 0,
                 false,
                 fits->of,
                 fits->traits};
    made.value = builder_.op("broadcast_to", {builder_.op("sin", {fits->value})}, {{"shape", wanted.shape}});
    return made;
  }
  if (const auto number = any([&](const Operand& o) { return type(o).type == Type::kFloat; })) {
    Operand made{fmt::format("broadcast_to(tanh(mean({})), shape={})", number->text, str(wanted.shape)),
                 ir::kNone,
                 0,
                 false,
                 number->of,
                 number->traits};
    made.value = builder_.zeros(wanted);
    return made;
  }
  return std::nullopt;
}

std::vector<std::string> Body::lines() const {
  std::vector<std::string> all;
  for (const auto& [name, line] : parameters_)
    if (read_.count(name)) all.push_back(line);
  all.insert(all.end(), lines_.begin(), lines_.end());
  return all;
}

}  // namespace graphrun::random_graphs
