#include "compiler/dump/outline.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/readers.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::ValueId;

// A part of a quoted text: of "a = x @ W, b = tanh(a)", the equation around a column.
struct EquationText {
  std::string text;
  int column = 0;  // from 1; 0: there is no quoted text
};

EquationText equation_in(const std::string& line, int column) {
  const std::size_t mark = std::min(line.size(), static_cast<std::size_t>(std::max(column, 1) - 1));
  std::size_t begin = std::string::npos;
  int depth = 0;
  std::size_t i = 0;
  const auto finish = [&](std::size_t end) {
    begin = std::min(line.find_first_not_of(" \t", begin), end);
    while (end > begin && (line[end - 1] == ' ' || line[end - 1] == '\t')) --end;
    return EquationText{line.substr(begin, end - begin), static_cast<int>(begin) + 1};
  };
  for (; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\') {
      ++i;
    } else if (c == '"') {
      if (begin != std::string::npos && i >= mark) return finish(i);
      begin = begin == std::string::npos ? i + 1 : std::string::npos;
      depth = 0;
      if (begin != std::string::npos && begin > mark) return {};
    } else if (begin != std::string::npos) {
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (c == ',' && depth == 0) {
        if (i >= mark) return finish(i);
        begin = i + 1;
      }
    }
  }
  return {};
}

// Reads each line once: many nodes come from few lines.
class Lines {
 public:
  const std::string& at(const Location& place) {
    const auto [it, added] = lines_.try_emplace({place.file, place.line});
    if (added) it->second = line_at(place);
    return it->second;
  }

 private:
  std::map<std::pair<const std::string*, int>, std::string> lines_;
};

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_number(const std::string& text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos; }

std::string described(const Node& n) {
  std::string text = n.op->name;
  const std::vector<std::string> attributes = ir::write_attributes(*n.op, n.attributes);
  for (std::size_t i = 0; i < attributes.size(); ++i) text += (i == 0 ? "(" : ", ") + attributes[i];
  return attributes.empty() ? text : text + ")";
}

Dim operations_of(const ir::Graph& g, const Node& n) {
  if (!n.op->multiply_adds) return 0;
  ir::InferContext c;
  c.op = n.op;
  c.attributes = &n.attributes;
  for (const ValueId v : n.inputs) c.inputs.push_back(v == kNone ? nullptr : &g.type(v));
  for (const ValueId v : n.outputs) c.outputs.push_back(g.type(v));
  return 2 * n.op->multiply_adds(c);
}

class Outliner {
 public:
  Outline make(const ir::Graph& g) {
    out_.boxes.push_back({Outline::Kind::kGroup, g.name, "", "", "", "", -1});
    find_calls(g);
    OutlinedGraph scope{g, std::vector<std::vector<int>>(g.values.size())};
    for (const ir::Input& input : g.inputs) scope.set(input.value, input_box(g, input.value, 0));
    for (const ir::Variable& v : g.variables) scope.set(v.value, variable_box(g, v));
    nodes(scope, nullptr, false);
    for (const ir::Variable& v : g.variables) {
      // What an update writes is its parameter; arrows from all updates into the network would only hide it.
      if (v.next != kNone && v.kind == ir::Variable::Kind::kState) flow(scope.of(v.next), scope.of(v.value)[0], true);
    }
    for (const ir::Output& o : g.outputs) {
      Outline::Part box{Outline::Kind::kOutput, o.name, "output", "", "", g.type(o.value).str(), 0};
      if (const auto number = ir::number(g, o.value)) box.text = "output: " + ir::print(*number);
      flow(scope.of(o.value), add(std::move(box)), false);
    }
    group_equations();
    draw_flows();
    return sorted();
  }

 private:
  struct OutlinedGraph {
    const ir::Graph& g;
    std::vector<std::vector<int>> from;  // by value: the boxes that it comes from
    void set(ValueId v, int box) { from[static_cast<std::size_t>(v)] = {box}; }
    const std::vector<int>& of(ValueId v) const { return from[static_cast<std::size_t>(v)]; }
  };
  struct ValueFlow {
    int from, to;
    bool feedback;
  };

  int add(Outline::Part box) {
    out_.boxes.push_back(std::move(box));
    return static_cast<int>(out_.boxes.size()) - 1;
  }
  Outline::Part& box(int i) { return out_.boxes[static_cast<std::size_t>(i)]; }

  void flow(const std::vector<int>& from, int to, bool feedback) {
    for (const int f : from) {
      if (f != to) flows_.push_back({f, to, feedback});
    }
  }

  int input_box(const ir::Graph& g, ValueId v, int parent) {
    return add({Outline::Kind::kInput, g.value(v).name, "input", "", "", g.type(v).str(), parent});
  }

  int variable_box(const ir::Graph& g, const ir::Variable& v) {
    const std::string& name = g.value(v.value).name;
    const int parent = v.kind == ir::Variable::Kind::kSlot ? part("updates") : group_of(v.at, name, false);
    return add({Outline::Kind::kVariable, name, std::string(ir::name_of(v.kind)), "", "", g.type(v.value).str(), parent, false,
                false, places_of(v.at)});
  }

  static std::vector<Location> places_of(const Location& at) {
    return at.known() ? std::vector<Location>{at} : std::vector<Location>{};
  }

  // A part of a training step that no file describes: the gradient or the updates.
  int part(const std::string& name) { return group({0, nullptr, 0, 0, name}, name); }

  using Key = std::tuple<int, const std::string*, int, int, std::string>;  // parent, file, line, column, instance
  int group(const Key& key, const std::string& name) {
    const auto [it, added] = groups_.try_emplace(key, 0);
    if (added) it->second = add({Outline::Kind::kGroup, name, "", "", "", "", std::get<0>(key)});
    return it->second;
  }

  struct CallSite {
    const Location* at = nullptr;
    std::string name, instance;  // of a repeated graph: its number; empty for others, or if it is not in the value's name
  };

  // The calls that led to a place, the outermost first. `name`, a path of instances, tells instances of a repeated graph apart.
  // `within`: the place itself is a call.
  std::vector<CallSite> calls_to(const Location& at, const std::string& name, bool within) {
    std::vector<CallSite> calls;
    for (const Location* l = within ? &at : at.via; l != nullptr; l = l->via) {
      if (l->known()) calls.push_back({l, called_at(*l), ""});
    }
    std::reverse(calls.begin(), calls.end());
    const std::vector<std::string> parts = parts_of(name);
    std::size_t next = 0;
    for (CallSite& call : calls) {
      if (call.name.empty()) call.name = next < parts.size() ? parts[next] : "call";  // the file is not there any more
      const auto found = std::find(parts.begin() + static_cast<std::ptrdiff_t>(next), parts.end(), call.name);
      if (found == parts.end()) continue;
      next = static_cast<std::size_t>(found - parts.begin()) + 1;
      // A number at the end only tells the nodes of an equation apart.
      if (next + 1 < parts.size() && is_number(parts[next])) call.instance = parts[next++];
    }
    return calls;
  }

  // The group for what is computed at a place.
  int group_of(const Location& at, const std::string& name, bool gradient, bool within = false) {
    int parent = gradient ? part("gradient") : 0;
    for (CallSite& call : calls_to(at, name, within)) {
      // What the whole repetition results in has no number: it is computed by the last instance.
      if (call.instance.empty()) {
        const auto last = last_instance_.find(place_key(*call.at));
        if (last != last_instance_.end()) call.instance = std::to_string(last->second);
      }
      parent = group({parent, call.at->file, call.at->line, call.at->column, call.instance},
                     call.instance.empty() ? call.name : call.name + "[" + call.instance + "]");
      if (box(parent).places.empty()) box(parent).places = {*call.at};
    }
    return parent;
  }

  // The name that a file gives to a call: it stands at the call's place, in quotes. Empty if the file cannot be read.
  std::string called_at(const Location& call) {
    const std::string& line = lines_.at(call);
    const auto begin = static_cast<std::size_t>(std::max(call.column, 1) - 1);
    std::string name = begin < line.size() ? line.substr(begin, static_cast<std::size_t>(std::max(call.length, 0))) : "";
    std::erase_if(name, [](char c) { return c == '"' || c == '\'' || c == ' '; });
    return name;
  }

  void nodes(OutlinedGraph& s, const Node* loop, bool gradient) {
    for (const Node& n : s.g.nodes) {
      if (ir::is_scan(n)) {
        scan(s, n, gradient);
      } else if (!ir::plays(n, ir::Role::kNumber)) {
        node(s, n, loop, gradient);
      }
    }
  }

  bool reads_gradient(const OutlinedGraph& s, const Node& n) const {
    for (const ValueId v : n.inputs) {
      if (v == kNone) continue;
      for (const int from : s.of(v)) {
        if (out_.boxes[static_cast<std::size_t>(from)].gradient) return true;
      }
    }
    return false;
  }

  bool is_gradient(const OutlinedGraph& s, const Node& n, const std::string& name, bool in_gradient) const {
    return in_gradient || name.starts_with("d.") || reads_gradient(s, n);
  }

  void node(OutlinedGraph& s, const Node& n, const Node* loop, bool in_gradient) {
    const std::string own = n.outputs.empty() ? "" : s.g.value(n.outputs[0]).name;
    const std::string& name = n.origins.empty() ? own : n.origins.front().name;
    const Location& at = n.at.known() || loop == nullptr ? n.at : loop->at;
    Outline::Part b{Outline::Kind::kNode, own, described(n), n.op->name, n.op->family, ""};
    b.gradient = is_gradient(s, n, name, in_gradient);
    b.operations = operations_of(s.g, n) * steps_;
    b.parent = n.op->update ? part("updates") : group_of(at, name, b.gradient, is_call(at));
    if (!n.outputs.empty()) b.type = s.g.type(n.outputs[0]).str();
    for (const Origin& origin : n.origins) {
      if (origin.at.known()) b.places.push_back(origin.at);
    }
    if (b.places.empty()) b.places = places_of(at);
    const int to = add(std::move(b));
    for (const ValueId v : n.inputs) {
      if (v != kNone) flow(s.of(v), to, false);
    }
    for (const ValueId v : n.outputs) s.set(v, to);
  }

  // Loops are marked at the name of their call. What the compiler adds to a loop, such as masks, is marked there too.
  bool is_call(const Location& at) const { return calls_.count(place_key(at)) != 0; }

  using PlaceKey = std::tuple<const std::string*, int, int>;
  static PlaceKey place_key(const Location& at) { return {at.file, at.line, at.column}; }

  void find_calls(const ir::Graph& g) {
    for (const Node& n : g.nodes) {
      if (ir::is_scan(n)) calls_.insert(place_key(n.at));
      for (const CallSite& call :
           n.outputs.empty() ? std::vector<CallSite>{} : calls_to(n.at, g.value(n.outputs[0]).name, false)) {
        if (call.instance.empty() || call.instance.size() > 9) continue;
        int& last = last_instance_[place_key(*call.at)];
        last = std::max(last, std::stoi(call.instance));
      }
      for (const ir::Graph& region : n.regions) find_calls(region);
    }
  }

  void scan(OutlinedGraph& outer, const Node& n, bool in_gradient) {
    const ir::Graph& body = n.regions[0];
    const ir::ScanLayout l = ir::scan_layout(n);
    const bool gradient = is_gradient(outer, n, body.name, in_gradient);
    // The name of a value in the body: the last part is not taken for an instance.
    const int group = n.at.known() ? group_of(n.at, body.name + ".h", gradient, true) : gradient ? part("gradient") : 0;
    if (group != 0) {
      if (!n.outputs.empty()) box(group).loop = outer.g.value(n.outputs[0]).name;
      box(group).text = n.attributes.dim("steps").str() + (n.attributes.boolean("reverse") ? " steps, last first" : " steps");
    }
    OutlinedGraph s{body, std::vector<std::vector<int>>(body.values.size())};
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueId v = body.inputs[i].value;
      if (i < l.states) {
        const int state =
            add({Outline::Kind::kState, body.value(v).name, "state", "", "", body.type(v).str(), group, gradient});
        flow(outer.of(n.inputs[i]), state, false);
        s.set(v, state);
      } else {
        s.from[static_cast<std::size_t>(v)] = outer.of(n.inputs[i]);
      }
    }
    const ValueId step = body.inputs[l.step()].value;
    if (ir::is_read(body, step)) {
      Outline::Part b{Outline::Kind::kInput, "step", "number of the step", "", "", body.type(step).str(), group, gradient};
      s.set(step, add(std::move(b)));
    }
    const Dim outer_steps = std::exchange(steps_, steps_ * n.attributes.dim("steps"));
    nodes(s, &n, gradient);
    steps_ = outer_steps;
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      const std::vector<int>& from = s.of(body.outputs[k].value);
      if (k < l.states) flow(from, s.of(body.inputs[k].value)[0], true);
      outer.from[static_cast<std::size_t>(n.outputs[k])] = from;
    }
  }

  // The nodes of one equation become one box, if there are several.
  void group_equations() {
    std::map<std::tuple<int, const std::string*, int, int>, std::vector<int>> equations;
    const int count = static_cast<int>(out_.boxes.size());
    for (int i = 0; i < count; ++i) {
      const Outline::Part& b = box(i);
      if (b.kind != Outline::Kind::kNode || b.places.empty() || is_call(b.places.front())) continue;
      const Location& at = b.places.front();
      const EquationText equation = equation_in(lines_.at(at), at.column);
      if (equation.column != 0) equations[{b.parent, at.file, at.line, equation.column}].push_back(i);
    }
    for (const auto& [key, nodes] : equations) {
      const Outline::Part last = box(nodes.back());
      const std::string text = equation_in(lines_.at(last.places.front()), last.places.front().column).text;
      if (nodes.size() == 1) {
        box(nodes[0]).text = text;
        continue;
      }
      Outline::Part b{Outline::Kind::kEquation, text.substr(0, text.find_first_of(" =")), text, "", last.family, last.type};
      b.parent = std::get<0>(key), b.gradient = last.gradient, b.places = last.places;
      const int equation = add(std::move(b));
      for (const int i : nodes) box(i).parent = equation;
    }
  }

  // A box and those that contain it, the graph first.
  std::vector<int> path_to(int b) const {
    std::vector<int> path;
    for (; b >= 0; b = out_.boxes[static_cast<std::size_t>(b)].parent) path.push_back(b);
    std::reverse(path.begin(), path.end());
    return path;
  }

  // Every flow becomes an arrow between the two children of the smallest group that contains both ends. Within the groups on
  // the way to where it ends, it enters by a port.
  void draw_flows() {
    constexpr std::size_t kMostPorts = 6;  // from one box; the values share a port if there are more
    struct PortUse {
      int group, into;   // a group, and its child that reads
      int leaf, origin;  // where the value comes from: the box itself, and the box beside the group that contains it
    };
    std::vector<PortUse> entries;
    std::map<std::pair<int, int>, std::set<int>> leaves;  // by group and origin
    for (const ValueFlow& f : flows_) {
      const std::vector<int> from = path_to(f.from), to = path_to(f.to);
      shown_flow(from, to, f.feedback);
      std::size_t common = 0;
      while (common < from.size() && common < to.size() && from[common] == to[common]) ++common;
      if (common == from.size() || common == to.size()) continue;
      arrow(from[common], to[common], f.feedback, box(f.from).name);
      for (std::size_t i = common + 1; i < from.size(); ++i) box(from[i]).leaves = true;
      for (std::size_t i = common; i + 1 < to.size(); ++i) {
        entries.push_back({to[i], to[i + 1], f.from, from[common]});
        leaves[{to[i], from[common]}].insert(f.from);
      }
    }
    std::map<std::pair<int, int>, int> ports;  // by group and leaf or origin
    for (const PortUse& e : entries) {
      const bool together = leaves[{e.group, e.origin}].size() > kMostPorts;
      const int source = together ? e.origin : e.leaf;
      const auto [it, added] = ports.try_emplace({e.group, source}, 0);
      if (added) {
        const Outline::Part& of = box(source);
        Outline::Part port{Outline::Kind::kPort, of.name, "", "", "", together ? "" : of.type, e.group};
        port.gradient = of.gradient, port.places = of.places;
        it->second = add(std::move(port));
      }
      arrow(it->second, e.into, false, "");
    }
    for (const auto& [ends, a] : arrows_) {
      out_.arrows.push_back({ends.first, ends.second, a.feedback, a.values.size() == 1 ? *a.values.begin() : ""});
    }
    for (const auto& [ends, feedback] : shown_) out_.flows.push_back({ends.first, ends.second, feedback});
  }

  // Between equations, whose operators are not shown.
  void shown_flow(const std::vector<int>& from, const std::vector<int>& to, bool feedback) {
    const auto end = [&](const std::vector<int>& path) {
      const bool in_equation = path.size() > 1 && box(path[path.size() - 2]).kind == Outline::Kind::kEquation;
      return path[path.size() - (in_equation ? 2 : 1)];
    };
    const int a = end(from), b = end(to);
    if (a == b) return;
    const auto [it, added] = shown_.try_emplace({a, b}, feedback);
    it->second = it->second && feedback;
  }

  void arrow(int from, int to, bool feedback, const std::string& value) {
    const auto [it, added] = arrows_.try_emplace({from, to});
    it->second.feedback = added ? feedback : it->second.feedback && feedback;
    if (!value.empty()) it->second.values.insert(value);
  }

  // Parents before their children, and otherwise in the order in which they were found.
  Outline sorted() {
    std::vector<std::vector<int>> children(out_.boxes.size());
    for (std::size_t i = 1; i < out_.boxes.size(); ++i) {
      children[static_cast<std::size_t>(out_.boxes[i].parent)].push_back(static_cast<int>(i));
    }
    std::vector<int> order = {0}, place(out_.boxes.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
      const std::vector<int>& below = children[static_cast<std::size_t>(order[i])];
      order.insert(order.end(), below.begin(), below.end());
    }
    Outline result;
    for (const int i : order) {
      result.boxes.push_back(std::move(box(i)));
      int& parent = result.boxes.back().parent;
      if (parent >= 0) parent = place[static_cast<std::size_t>(parent)];
    }
    for (std::size_t i = result.boxes.size(); i-- > 1;) {
      Outline::Part& parent = result.boxes[static_cast<std::size_t>(result.boxes[i].parent)];
      parent.operations = parent.operations + result.boxes[i].operations;
    }
    for (Outline::Line& a : out_.arrows) {
      a.from = place[static_cast<std::size_t>(a.from)], a.to = place[static_cast<std::size_t>(a.to)];
      result.arrows.push_back(std::move(a));
    }
    for (Outline::Line& f : out_.flows) {
      result.flows.push_back({place[static_cast<std::size_t>(f.from)], place[static_cast<std::size_t>(f.to)], f.feedback});
    }
    return result;
  }

  struct Joined {
    bool feedback = false;
    std::set<std::string> values;
  };

  Outline out_;
  Dim steps_ = 1;  // how often the nodes of the current graph run
  Lines lines_;
  std::map<Key, int> groups_;
  std::set<PlaceKey> calls_;
  std::map<PlaceKey, int> last_instance_;  // of the graph repeated at a place
  std::vector<ValueFlow> flows_;
  std::map<std::pair<int, int>, Joined> arrows_;
  std::map<std::pair<int, int>, bool> shown_;  // whether each is a feedback only
};

}  // namespace

Outline outline(const ir::Graph& graph) { return Outliner().make(graph); }

}  // namespace graphrun
