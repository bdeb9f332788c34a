#include "compiler/dump/picture.h"

#include <utf8proc.h>

#include <map>
#include <optional>
#include <unordered_map>

#include "compiler/ir/op.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/readers.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::ScanLayout;
using ir::ValueId;

constexpr const char* kInputColor = "#ffffff";
constexpr const char* kVariableColor = "#fff2cc";
constexpr const char* kOutputColor = "#e8e8e8";

class Drawer {
 public:
  Picture draw(const ir::Graph& g) {
    picture_.title = g.name;
    DrawnGraph scope(g, -1);
    for (const ir::Input& i : g.inputs) scope.source[at(i.value)] = box(g, i.value, "input", "ellipse", kInputColor, -1);
    for (const ir::Variable& v : g.variables) {
      scope.source[at(v.value)] = box(g, v.value, std::string(name_of(v.kind)), "cylinder", kVariableColor, -1);
    }
    nodes(scope);
    for (const ir::Variable& v : g.variables) {
      if (v.next != kNone) arrow(source(scope, v.next), scope.source[at(v.value)], "next", true);
    }
    for (const ir::Output& o : g.outputs) {
      Picture::Box b{o.name + "\noutput", "ellipse", kOutputColor, -1};
      picture_.boxes.push_back(std::move(b));
      arrow(source(scope, o.value), static_cast<int>(picture_.boxes.size()) - 1, "", false);
    }
    return std::move(picture_);
  }

 private:
  static constexpr int kUndrawn = -1;

  // One graph: the box that produces each of its values.
  struct DrawnGraph {
    DrawnGraph(const ir::Graph& graph, int in) : g(graph), cluster(in), source(graph.values.size(), kUndrawn) {}
    const ir::Graph& g;
    int cluster;
    std::vector<int> source;
  };

  static std::size_t at(ValueId v) { return static_cast<std::size_t>(v); }

  int box(const ir::Graph& g, ValueId v, const std::string& what, const char* shape, std::string fill, int cluster) {
    picture_.boxes.push_back({g.value(v).name + "\n" + what + "\n" + g.type(v).str(), shape, std::move(fill), cluster});
    return static_cast<int>(picture_.boxes.size()) - 1;
  }

  void arrow(int from, int to, std::string label, bool feedback) {
    picture_.arrows.push_back({from, to, std::move(label), feedback});
  }

  // A constant gets a box only if something other than a node's label needs it.
  int source(DrawnGraph& s, ValueId v) {
    int& drawn = s.source[at(v)];
    if (drawn == kUndrawn)
      drawn = box(s.g, v, short_number(ir::number(s.g, v).value_or(0)), "plaintext", kInputColor, s.cluster);
    return drawn;
  }

  static std::string short_number(double value) {
    std::string text = ir::print(value);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  }

  void nodes(DrawnGraph& s) {
    for (const Node& n : s.g.nodes) {
      if (ir::is_scan(n)) {
        scan(s, n);
      } else if (!ir::plays(n, ir::Role::kNumber)) {
        node(s, n);
      }
    }
  }

  void node(DrawnGraph& s, const Node& n) {
    std::string what = n.op->name;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (const auto value = ir::number(s.g, n.inputs[i]))
        what += (i ? ", " : " ") + operand_name(n, i) + " = " + short_number(*value);
    }
    for (const auto& [name, value] : n.attributes.all()) {
      const ir::AttributeSpec* spec = n.op->attribute(name);
      if (spec && spec->default_value && ir::same_attribute(*spec->default_value, value)) continue;
      what += "\n" + name + " = " + ir::print(value);
    }
    std::string label = (n.outputs.empty() ? std::string() : s.g.value(n.outputs[0]).name + "\n") + what;
    for (ValueId v : n.outputs) label += "\n" + s.g.type(v).str();
    picture_.boxes.push_back({std::move(label), "box", family_color(n.op->family), s.cluster});
    const int to = static_cast<int>(picture_.boxes.size()) - 1;
    for (ValueId v : n.outputs) s.source[at(v)] = to;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueId v = n.inputs[i];
      if (v != kNone && !ir::number(s.g, v)) arrow(source(s, v), to, n.inputs.size() > 1 ? operand_name(n, i) : "", false);
    }
  }

  static std::string operand_name(const Node& n, std::size_t i) {
    const auto& specs = n.op->inputs;
    if (specs.empty()) return std::to_string(i);
    const std::string& name = specs[std::min(i, specs.size() - 1)].name;
    return n.op->variadic() && i + 1 >= specs.size() ? name + "[" + std::to_string(i + 1 - specs.size()) + "]" : name;
  }

  // Draws the body in a frame; its results connect directly to the boxes inside.
  void scan(DrawnGraph& s, const Node& n) {
    const ir::Graph& body = n.regions[0];
    const ScanLayout l = ir::scan_layout(n);
    const std::string steps =
        n.attributes.dim("steps").str() + (n.attributes.boolean("reverse") ? " steps, last first" : " steps");
    picture_.clusters.push_back({"scan " + body.name + ": " + steps, s.cluster});
    DrawnGraph inner(body, static_cast<int>(picture_.clusters.size()) - 1);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const bool state = i < l.states, sliced = !state && i < l.invariant_begin();
      const int to = box(body, body.inputs[i].value,
                         state    ? "state"
                         : sliced ? "slice"
                                  : "the same at every step",
                         state ? "cylinder" : "ellipse", state ? kVariableColor : kInputColor, inner.cluster);
      inner.source[at(body.inputs[i].value)] = to;
      arrow(source(s, n.inputs[i]), to, state ? "begin" : "", false);
    }
    const ValueId step = body.inputs[l.step()].value;
    if (ir::is_read(body, step))
      inner.source[at(step)] = box(body, step, "number of the step", "ellipse", kInputColor, inner.cluster);
    nodes(inner);
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      const int from = source(inner, body.outputs[k].value);
      s.source[at(n.outputs[k])] = from;
      if (k < l.states) arrow(from, inner.source[at(body.inputs[k].value)], "next", true);
    }
  }

  Picture picture_;
};

// Replaces bytes that are not valid UTF-8 by '?'; Graphviz would otherwise treat the whole text as Latin-1.
std::string as_utf8(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t read = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + i,
                                                   static_cast<utf8proc_ssize_t>(text.size() - i), &code);
    const std::size_t size = read > 0 ? static_cast<std::size_t>(read) : 1;
    out += read > 0 ? text.substr(i, size) : "?";
    i += size;
  }
  return out;
}

std::string dot_string(const std::string& text) {
  std::string out = "\"";
  for (char c : as_utf8(text)) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out + "\"";
}

class DotWriter {
 public:
  explicit DotWriter(const Picture& p) : p_(p), inside_(p.clusters.size() + 1), children_(p.clusters.size() + 1) {
    for (std::size_t b = 0; b < p.boxes.size(); ++b) inside_[slot(p.boxes[b].cluster)].push_back(b);
    for (std::size_t c = 0; c < p.clusters.size(); ++c) children_[slot(p.clusters[c].parent)].push_back(static_cast<int>(c));
  }

  std::string write() {
    out_ = "digraph " + dot_string(p_.title) + " {\n  graph [label=" + dot_string(p_.title) +
           " labelloc=t rankdir=TB fontname=\"Helvetica\" compound=true];\n"
           "  node [fontname=\"Helvetica\" fontsize=10 style=filled];\n  edge [fontname=\"Helvetica\" fontsize=8 "
           "color=\"#555555\"];\n";
    cluster(-1, 1);
    for (const Picture::Arrow& a : p_.arrows) {
      out_ += "  n" + std::to_string(a.from) + " -> n" + std::to_string(a.to) + " [";
      if (!a.label.empty()) out_ += "label=" + dot_string(a.label) + " ";
      if (a.feedback) out_ += "style=dashed constraint=false";
      out_ += "];\n";
    }
    return std::move(out_) + "}\n";
  }

 private:
  static std::size_t slot(int cluster) { return static_cast<std::size_t>(cluster + 1); }

  void cluster(int c, int depth) {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    for (std::size_t b : inside_[slot(c)]) {
      const Picture::Box& box = p_.boxes[b];
      out_ += indent + "n" + std::to_string(b) + " [label=" + dot_string(box.label) + " shape=" + box.shape +
              " fillcolor=" + dot_string(box.fill) + "];\n";
    }
    for (int child : children_[slot(c)]) {
      out_ += indent + "subgraph cluster_" + std::to_string(child) + " {\n" + indent +
              "  label=" + dot_string(p_.clusters[static_cast<std::size_t>(child)].label) +
              "; labeljust=l; style=\"rounded,filled\"; fillcolor=\"#f4f6fb\"; color=\"#7a8ab8\";\n";
      cluster(child, depth + 1);
      out_ += indent + "}\n";
    }
  }

  const Picture& p_;
  std::vector<std::vector<std::size_t>> inside_;
  std::vector<std::vector<int>> children_;
  std::string out_;
};

}  // namespace

Picture draw(const ir::Graph& graph) { return Drawer().draw(graph); }

Picture draw(const Outline& outline) {
  using Kind = Outline::Kind;
  Picture picture;
  picture.title = outline.boxes[0].name;
  std::vector<int> cluster(outline.boxes.size(), -1), drawn(outline.boxes.size(), -1);
  for (std::size_t i = 1; i < outline.boxes.size(); ++i) {
    const Outline::Part& box = outline.boxes[i];
    const auto parent = static_cast<std::size_t>(box.parent);
    if (box.kind == Kind::kPort || outline.boxes[parent].kind == Kind::kEquation) continue;
    if (box.kind == Kind::kGroup) {
      cluster[i] = static_cast<int>(picture.clusters.size());
      picture.clusters.push_back({box.text.empty() ? box.name : box.name + ": " + box.text, cluster[parent]});
      continue;
    }
    const bool stored = box.kind == Kind::kVariable || box.kind == Kind::kState;
    const bool computed = box.kind == Kind::kEquation || box.kind == Kind::kNode;
    const std::string what = computed ? box.text : box.name + "\n" + box.text;
    drawn[i] = static_cast<int>(picture.boxes.size());
    picture.boxes.push_back({box.type.empty() ? what : what + "\n" + box.type,
                             stored     ? "cylinder"
                             : computed ? "box"
                                        : "ellipse",
                             stored                      ? kVariableColor
                             : box.kind == Kind::kOutput ? kOutputColor
                             : computed                  ? family_color(box.family)
                                                         : kInputColor,
                             cluster[parent]});
  }
  for (const Outline::Line& flow : outline.flows) {
    const int from = drawn[static_cast<std::size_t>(flow.from)], to = drawn[static_cast<std::size_t>(flow.to)];
    if (from >= 0 && to >= 0) picture.arrows.push_back({from, to, "", flow.feedback});
  }
  return picture;
}

std::string to_dot(const Picture& picture) { return DotWriter(picture).write(); }

std::string family_color(const std::string& family) {
  static const std::map<std::string, std::string> colors = {
      {"pointwise", "#d5e8d4"}, {"product", "#f8cecc"}, {"reduce", "#dae8fc"}, {"shape", "#f5f5f5"},   {"index", "#e1d5e7"},
      {"constant", "#ffffff"},  {"random", "#ffe6cc"},  {"update", "#ffcc99"}, {"control", "#f4f6fb"},
  };
  static constexpr const char* kOthers[] = {"#d0e0e3", "#ead1dc", "#d9ead3", "#fce5cd", "#cfe2f3", "#f4cccc"};
  if (const auto it = colors.find(family); it != colors.end()) return it->second;
  std::size_t sum = 0;
  for (char c : family) sum += static_cast<unsigned char>(c);
  return kOthers[sum % std::size(kOthers)];
}

std::size_t count_nodes(const ir::Graph& graph) {
  std::size_t count = graph.nodes.size();
  for (const Node& n : graph.nodes) {
    for (const ir::Graph& region : n.regions) count += count_nodes(region);
  }
  return count;
}

}  // namespace graphrun
