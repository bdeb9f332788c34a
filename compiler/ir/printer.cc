#include "compiler/ir/printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "compiler/ir/op.h"

namespace graphrun::ir {
namespace {

bool is_bare(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$' ||
           c == '@' || c == '/' || c == '-';
  });
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  void graph(const Graph& g, int depth) {
    symbols(g, depth);
    for (const Input& input : g.inputs) line(depth, [&] { this->input(g, input); });
    for (const Variable& variable : g.variables) line(depth, [&] { this->variable(g, variable); });
    for (const Node& n : g.nodes) line(depth, [&] { node(g, n), regions(n, depth); });
    for (const Output& output : g.outputs) {
      line(depth, [&] { text += "output " + quoted(output.name) + " = " + name(g, output.value); });
    }
  }

  void node(const Graph& g, const Node& n) {
    for (std::size_t i = 0; i < n.outputs.size(); ++i) text += (i ? ", " : "") + definition(g, n.outputs[i]);
    text += n.outputs.empty() ? "= " : " = ";
    text += n.op ? n.op->name : "?";
    text += "(";
    std::size_t operands = n.inputs.size();  // without absent ones at the end, which the parser restores
    if (n.op && !n.op->variadic()) {
      while (operands > 0 && n.inputs[operands - 1] == kNone) --operands;
    }
    for (std::size_t i = 0; i < operands; ++i) text += (i ? ", " : "") + name(g, n.inputs[i]);
    bool first = true;
    for (const auto& [key, value] : n.attributes.all()) {
      if (is_default(n, key, value)) continue;
      text += (first ? "; " : ", ") + key + "=" + print(value);
      first = false;
    }
    text += ")";
    location(n.at);
  }

  std::string text;

 private:
  template <class Body>
  void line(int depth, Body body) {
    text.append(static_cast<std::size_t>(2 * depth), ' ');
    body();
    text += "\n";
  }

  static bool is_default(const Node& n, const std::string& key, const Attribute& value) {
    const AttributeSpec* spec = n.op ? n.op->attribute(key) : nullptr;
    return spec && spec->default_value && same_attribute(*spec->default_value, value);
  }

  // Sorted by name, so that the text does not depend on which symbol was interned first.
  void symbols(const Graph& g, int depth) {
    std::vector<std::pair<std::string, const Dim*>> sorted;
    for (const auto& [symbol, dim] : g.defined_symbols) sorted.emplace_back(symbol.name(), &dim);
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [symbol, dim] : sorted) {
      line(depth, [&, &symbol = symbol, &dim = dim] { text += "symbol <" + symbol + "> = <" + dim->str() + ">"; });
    }
  }

  void input(const Graph& g, const Input& input) {
    text += "input " + definition(g, input.value);
    if (input.below) text += " below <" + input.below->str() + ">";
    if (input.lengths_of) text += " lengths_of <" + input.lengths_of->name() + ">";
    if (input.lasting) text += " lasting";
  }

  void variable(const Graph& g, const Variable& v) {
    text += std::string(name_of(v.kind)) + " " + definition(g, v.value);
    text += " = " + std::string(name_of(v.init.kind)) + "(" + print(v.init.amount) + ")";
    if (v.init.declared) text += " declared";
    if (!v.trainable) text += " frozen";
    if (v.next != kNone) text += " next " + name(g, v.next);
    location(v.at);
  }

  void regions(const Node& n, int depth) {
    for (const Graph& region : n.regions) {
      text += " body " + quoted(region.name) + " {\n";
      graph(region, depth + 1);
      text.append(static_cast<std::size_t>(2 * depth), ' ');
      text += "}";
    }
  }

  static bool in_range(const Graph& g, ValueId id) { return id >= 0 && static_cast<std::size_t>(id) < g.values.size(); }

  static std::string name(const Graph& g, ValueId id) {
    if (id == kNone) return "_";
    if (!in_range(g, id)) return "%<" + std::to_string(id) + ">";
    const std::string& name = g.value(id).name;
    return "%" + (is_bare(name) ? name : quoted(name));
  }

  static std::string definition(const Graph& g, ValueId id) {
    return in_range(g, id) ? name(g, id) + ": " + g.type(id).str() : name(g, id);
  }

  void location(const Location& at) {
    if (!options_.locations) return;
    const char* word = " at ";
    for (const Location* l = &at; l && l->known(); l = l->via, word = " via ") {
      text += word + quoted(*l->file) + ":" + std::to_string(l->line) + ":" + std::to_string(l->column);
      if (l->length != 1) text += "+" + std::to_string(l->length);
    }
  }

  PrintOptions options_;
};

struct AttributePrinter {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return print(v); }
  std::string operator()(const std::string& v) const { return quoted(v); }
  std::string operator()(const Dim& v) const { return "<" + v.str() + ">"; }
  std::string operator()(const Shape& v) const { return str(v); }
  std::string operator()(const std::vector<std::int64_t>& v) const {
    std::string text;
    for (std::int64_t i : v) text += (text.empty() ? "" : ", ") + std::to_string(i);
    return "(" + text + ")";
  }
  std::string operator()(const OpaqueValue& v) const { return quoted(v.text()); }
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  Printer printer(options);
  printer.text = "graph " + quoted(graph.name) + " {\n";
  printer.graph(graph, 1);
  return std::move(printer.text) + "}\n";
}

std::string print(const Graph& graph, const Node& node, const PrintOptions& options) {
  Printer printer(options);
  printer.node(graph, node);
  return std::move(printer.text);
}

std::string print(const Attribute& value) { return std::visit(AttributePrinter{}, value); }

std::string print(double value) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x", out += kHex[byte >> 4], out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

namespace {

Precedence precedence_of(const std::string& symbol, bool unary) {
  if (symbol == "or") return Precedence::kOr;
  if (symbol == "and") return Precedence::kAnd;
  if (symbol == "not") return Precedence::kNot;
  if (symbol == "**") return Precedence::kPower;
  if (unary) return Precedence::kMinus;
  if (symbol == "+" || symbol == "-") return Precedence::kSum;
  if (symbol == "*" || symbol == "/" || symbol == "@") return Precedence::kProduct;
  return Precedence::kCompare;
}

struct AttributeWriter {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return write_number(v).text; }
  std::string operator()(const std::string& v) const { return "'" + v + "'"; }
  std::string operator()(const Dim& v) const { return v.str(); }
  std::string operator()(const Shape& v) const { return str(v); }
  std::string operator()(const OpaqueValue& v) const { return "'" + v.text() + "'"; }
  std::string operator()(const std::vector<std::int64_t>& v) const {
    return v.size() == 1 ? std::to_string(v[0]) : fmt::format("[{}]", fmt::join(v, ", "));
  }
};

}  // namespace

WrittenExpression write_infix(const std::string& symbol, const std::vector<WrittenExpression>& operands) {
  const bool unary = operands.size() == 1;
  const Precedence own = precedence_of(symbol, unary);
  // With operators of equal precedence, the operand on the side that does not associate needs parentheses too.
  const auto operand = [&](std::size_t i, bool groups) {
    const WrittenExpression& written = operands[i];
    return written.precedence < own || (written.precedence == own && !groups) ? "(" + written.text + ")" : written.text;
  };
  if (unary) return {symbol + (symbol == "not" ? " " : "") + operand(0, true), own};
  // Operators associate to the left, except powers; comparisons do not associate.
  const bool to_right = symbol == "**", to_left = !to_right && own != Precedence::kCompare;
  return {operand(0, to_left) + " " + symbol + " " + operand(1, to_right), own};
}

WrittenExpression write_number(double value, Type type) {
  if (type == Type::kBool) return {value != 0 ? "true" : "false"};
  return {fmt::format("{}", value), value < 0 ? Precedence::kMinus : Precedence::kAtom};
}

WrittenExpression write_size(const Dim& size) {
  return {size.str(), size.as_symbol() || size.is_constant() ? Precedence::kAtom : Precedence::kSum};
}

std::string write_attribute(const Attribute& value) { return std::visit(AttributeWriter{}, value); }

std::vector<std::string> write_attributes(const OpSchema& op, const Attributes& attributes) {
  std::vector<std::string> all;
  for (const AttributeSpec& spec : op.attributes) {
    const auto found = attributes.all().find(spec.name);
    if (found == attributes.all().end()) continue;
    if (spec.default_value && same_attribute(*spec.default_value, found->second)) continue;
    all.push_back(spec.name + "=" + write_attribute(found->second));
  }
  return all;
}

std::string_view name_of(Initializer::Kind kind) {
  switch (kind) {
    case Initializer::Kind::kConstant: return "constant";
    case Initializer::Kind::kUniform: return "uniform";
    case Initializer::Kind::kNormal: return "normal";
    case Initializer::Kind::kOrthogonal: return "orthogonal";
    case Initializer::Kind::kXavier: return "xavier";
  }
  return "?";
}

std::string_view name_of(Variable::Kind kind) {
  switch (kind) {
    case Variable::Kind::kParameter: return "parameter";
    case Variable::Kind::kSlot: return "slot";
    case Variable::Kind::kState: return "state";
  }
  return "?";
}

bool same_attribute(const Attribute& a, const Attribute& b) {
  const double* x = std::get_if<double>(&a);
  const double* y = std::get_if<double>(&b);
  return x && y ? std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y) : a == b;
}

}  // namespace graphrun::ir
