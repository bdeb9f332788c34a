// A graph in the model language. Names lose their dots, sizes that are not a plain symbol get a name, and a scan's body becomes
// a local graph.
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "compiler/dump/dump.h"
#include "compiler/ir/op.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/readers.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::ScanLayout;
using ir::ValueId;

// The names of one namespace: letters, digits and '_', unique, and not reserved.
class Names {
 public:
  std::string fresh(const std::string& wanted) {
    std::string name;
    for (char c : wanted) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_', digit = c >= '0' && c <= '9';
      if (digit && name.empty()) name += '_';
      name += letter || digit ? c : '_';
    }
    if (name.empty()) name = "v";
    int& count = taken_[name];
    if (count++ == 0 && !reserved(name)) return name;
    std::string numbered;
    do {
      numbered = name + "_" + std::to_string(count++);
    } while (taken_.count(numbered));
    taken_[numbered] = 1;
    return numbered;
  }

 private:
  static bool reserved(const std::string& name) {
    static const std::set<std::string> words = {"if",    "else", "and",  "or",    "not",  "true",
                                                "false", "end",  "next", "index", "step", "history"};
    return words.count(name) != 0;
  }
  std::map<std::string, int> taken_;
};

std::string text_string(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      const char octal[] = {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
                            static_cast<char>('0' + (byte & 7))};
      out.append(octal, sizeof octal);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string text_number(double value) {
  if (std::isnan(value)) return "(0.0 / 0.0)";
  if (std::isinf(value)) return value > 0 ? "(1.0 / 0.0)" : "(-1.0 / 0.0)";
  return ir::print(value);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& p : parts) out += (out.empty() ? "" : ", ") + p;
  return out;
}

// Writes one graph or body as text.
class Writer {
 public:
  Writer(const ir::Graph& g, int depth) : g_(g), indent_(static_cast<std::size_t>(2 * depth), ' '), depth_(depth) {}

  // Writes a root graph.
  std::string root() {
    name_sizes_of_inputs();
    for (const ir::Variable& v : g_.variables) name_sizes(g_.type(v.value).shape);
    for (const ir::Input& i : g_.inputs) names_[i.value] = values_.fresh(g_.value(i.value).name);
    for (const ir::Variable& v : g_.variables) names_[v.value] = values_.fresh(g_.value(v.value).name);
    nodes();
    std::string head = "# proto-file: graphs/graph.proto\n# proto-message: graphrun.Graph\n" + notes();
    head += line("name: " + text_string(g_.name));
    for (const ir::Input& i : g_.inputs) head += input(i);
    for (const ir::Variable& v : g_.variables) head += variable(v);
    std::string tail;
    Names outputs;
    for (const ir::Output& o : g_.outputs)
      tail += line("output: " + text_string(outputs.fresh(o.name) + " = " + names_.at(o.value)));
    return head + body_ + tail;
  }

  // Writes a scan's body as a local graph: inputs, then `state` messages; the caller writes the scan, with
  // input_names and output_names, which this sets.
  std::string local(const std::string& name, const ScanLayout& l) {
    name_sizes_of_inputs();
    std::string head;
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
      const ValueId v = g_.inputs[i].value;
      if (i == l.step() && l.each > 0 && !ir::is_read(g_, v)) continue;
      names_[v] = values_.fresh(g_.value(v).name);
      input_names.push_back(names_[v]);
    }
    nodes();
    Names outputs;
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
      if (i < l.states || i >= input_names.size()) continue;
      head += declaration("input", g_.inputs[i].value, "");
    }
    for (std::size_t k = 0; k < l.states; ++k) {
      head += declaration("state", g_.inputs[k].value, " next: " + text_string(names_.at(g_.outputs[k].value)));
    }
    std::string tail;
    for (std::size_t k = l.states; k < g_.outputs.size(); ++k) {
      output_names.push_back(outputs.fresh(g_.outputs[k].name));
      tail += line("output: " + text_string(output_names.back() + " = " + names_.at(g_.outputs[k].value)));
    }
    std::string args;
    for (const std::string& arg : missing_sizes) args += line("arg { name: " + text_string(arg) + " }");
    const std::string outer(indent_.size() - 2, ' ');
    return outer + "graph {\n" + line("name: " + text_string(name)) + args + head + body_ + tail + outer + "}\n";
  }

  std::vector<std::string> input_names, output_names;
  std::set<std::string> missing_sizes;      // sizes that the body uses but no input shape names: passed as args
  std::map<std::string, Symbol> symbol_of;  // the symbol of each of them

 private:
  std::string line(const std::string& text) const { return indent_ + text + "\n"; }

  // Lists, at the top, what cannot be expressed in the language.
  std::string notes() const {
    bool slots = false, internal = false;
    for (const ir::Variable& v : g_.variables) slots = slots || v.kind == ir::Variable::Kind::kSlot || trains(v);
    for (const Node& n : g_.nodes) internal = internal || n.op->update || (n.op->internal && !ir::is_scan(n));
    std::string text;
    if (slots) text += "# Next values of parameters and of optimizer slots have no form in the language and are left out.\n";
    if (internal) text += "# Some ops here are the compiler's own: this file does not load.\n";
    return text;
  }
  static bool trains(const ir::Variable& v) { return v.kind == ir::Variable::Kind::kParameter && v.next != kNone; }

  // ---- sizes: a symbol in an input's shape keeps its name, any other size in a shape gets a name

  void name_sizes_of_inputs() {
    for (const ir::Input& i : g_.inputs) name_sizes(g_.type(i.value).shape);
  }

  void name_sizes(const Shape& shape) {
    for (const Dim& dim : shape) {
      if (dim.is_constant() || size_names_.count(dim)) continue;
      const auto symbol = dim.as_symbol();
      if (symbol) {
        size_names_[dim] = values_.fresh(symbol->name());
      } else if (depth_ > 0) {
        size_names_[dim] = values_.fresh("size");
      }
    }
  }

  std::string size(const Dim& dim) {
    if (dim.is_constant()) return std::to_string(dim.constant());
    if (const auto it = size_names_.find(dim); it != size_names_.end()) return it->second;
    std::map<Symbol, Dim> renamed;
    for (Symbol s : dim.symbols()) {
      auto it = size_names_.find(Dim(s));
      if (it == size_names_.end()) {
        it = size_names_.emplace(Dim(s), values_.fresh(s.name())).first;
        missing_sizes.insert(it->second);
        symbol_of.emplace(it->second, s);
      }
      renamed.emplace(s, Dim(Symbol::named(it->second)));
    }
    return dim.substitute(renamed).str();
  }

  std::string sizes(const Shape& shape) {
    std::vector<std::string> all;
    for (const Dim& dim : shape) all.push_back(size(dim));
    return "[" + joined(all) + "]";
  }

  // ---- declarations

  std::string declaration(const char* what, ValueId v, const std::string& more) {
    const ir::TensorType& type = g_.type(v);
    std::string text =
        std::string(what) + " { name: " + text_string(names_.at(v)) + " shape: " + text_string(sizes(type.shape));
    if (type.type != Type::kFloat) text += " type: " + std::string(name_of(type.type));
    return line(text + more + " }");
  }

  std::string doc(ValueId v) const {
    const std::string& name = g_.value(v).name;
    return names_.at(v) == name ? "" : " doc: " + text_string(name);
  }

  std::string input(const ir::Input& i) {
    std::string more;
    if (i.below) more += " below: " + text_string(size(*i.below));
    if (i.lengths_of) more += " lengths_of: " + text_string(size(Dim(*i.lengths_of)));
    return declaration("input", i.value, more + doc(i.value));
  }

  std::string variable(const ir::Variable& v) {
    using Kind = ir::Initializer::Kind;
    if (v.kind == ir::Variable::Kind::kState) {
      return declaration("state", v.value,
                         " next: " + text_string(names_.at(v.next == kNone ? v.value : v.next)) + doc(v.value));
    }
    const bool flag = v.init.kind == Kind::kOrthogonal || v.init.kind == Kind::kXavier;
    std::string more;
    if (v.init != ir::default_initializer(g_.type(v.value).shape))
      more = " init { " + std::string(ir::name_of(v.init.kind)) + ": " + (flag ? "true" : ir::print(v.init.amount)) +
             (flag && v.init.amount != 0 ? " gain: " + ir::print(v.init.amount) : "") + " }";
    if (!v.trainable || v.kind == ir::Variable::Kind::kSlot) more += " trainable: false";
    return declaration("parameter", v.value, more + doc(v.value));
  }

  // ---- nodes

  void nodes() {
    for (const Node& n : g_.nodes) {
      if (ir::is_scan(n)) {
        scan(n);
      } else {
        node(n);
      }
    }
  }

  void node(const Node& n) {
    std::string text = "node {";
    std::vector<std::string> named;
    bool gap = false;  // operands after an absent one are passed by name
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == kNone) {
        gap = true;
      } else if (gap) {
        named.push_back(n.op->inputs[i].name + " = " + names_.at(n.inputs[i]));
      } else {
        text += " input: " + text_string(names_.at(n.inputs[i]));
      }
    }
    for (const auto& [name, value] : n.attributes.all()) {
      const ir::AttributeSpec* spec = n.op->attribute(name);
      if (spec && spec->default_value && ir::same_attribute(*spec->default_value, value)) continue;
      named.push_back(name + " = " + attribute(value));
    }
    std::string results;
    for (ValueId v : n.outputs) {
      names_[v] = values_.fresh(g_.value(v).name);
      results += " name: " + text_string(names_[v]);
    }
    text.insert(6, results + " op: " + text_string(n.op->name));
    if (!named.empty()) text += " attribute: " + text_string(joined(named));
    body_ += line(text + " }");
  }

  std::string attribute(const Attribute& value) {
    if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
    if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
    if (const auto* d = std::get_if<double>(&value)) return text_number(*d);
    if (const auto* s = std::get_if<std::string>(&value)) return "'" + *s + "'";
    if (const auto* dim = std::get_if<Dim>(&value)) return size(*dim);
    if (const auto* shape = std::get_if<Shape>(&value)) return sizes(*shape);
    if (const auto* program = std::get_if<OpaqueValue>(&value)) return "'" + program->text() + "'";
    std::vector<std::string> all;
    for (std::int64_t i : std::get<std::vector<std::int64_t>>(value)) all.push_back(std::to_string(i));
    return "[" + joined(all) + "]";
  }

  void scan(const Node& n) {
    const ScanLayout l = ir::scan_layout(n);
    const ir::Graph& body = n.regions[0];
    Writer inner(body, depth_ + 1);
    const std::string graph = values_.fresh(body.name.empty() ? "body" : body.name + "_body");
    const std::string name = values_.fresh(body.name.empty() ? "scan" : body.name);
    body_ += inner.local(graph, l);

    std::vector<std::string> args, begins, each, inputs;
    for (const std::string& arg : inner.missing_sizes) args.push_back(arg + " = " + size(Dim(inner.symbol_of.at(arg))));
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      auto& list = i < l.states ? begins : i < l.invariant_begin() ? each : inputs;
      list.push_back(inner.input_names[i] + " = " + names_.at(n.inputs[i]));
    }
    // The step's number as a sequence; without other sequences, it is the scan's only one.
    const bool wants_step = inner.input_names.size() > n.inputs.size();
    if (wants_step) each.push_back(inner.input_names.back() + " = range(" + size(n.attributes.dim("steps")) + ")");

    std::string text = "scan { name: " + text_string(name) + " graph: " + text_string(graph);
    const auto add = [&](const char* field, const std::vector<std::string>& list) {
      if (!list.empty()) text += std::string(" ") + field + ": " + text_string(joined(list));
    };
    add("arg", args), add("each", each), add("input", inputs), add("begin", begins);
    if (n.attributes.boolean("reverse")) text += " reverse: true";
    body_ += line(text + " }");
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      names_[n.outputs[k]] =
          k < l.states ? name + ".end." + inner.input_names[k] : name + "." + inner.output_names[l.output_of(k)];
    }
  }

  const ir::Graph& g_;
  std::string indent_;
  int depth_;
  Names values_;  // includes sizes: they share a namespace
  std::unordered_map<ValueId, std::string> names_;
  std::map<Dim, std::string> size_names_;
  std::string body_;
};

}  // namespace

std::string dump_pbtxt(const ir::Graph& graph) { return Writer(graph, 0).root(); }

}  // namespace graphrun
