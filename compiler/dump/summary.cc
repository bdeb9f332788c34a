// Summaries of graphs that are too large to draw node by node.
#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include "compiler/dump/picture.h"
#include "compiler/ir/op.h"
#include "compiler/ir/printer.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::ScanLayout;
using ir::ValueId;

// The parts of "layers.3.forward.p.12", with numbers replaced by "*": so all repetitions, and all results of one equation,
// share a path.
std::vector<std::string> path_of(const std::string& name) {
  std::vector<std::string> parts(1);
  for (char c : name) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) {
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string::npos) part = "*";
  }
  while (parts.size() > 1 && parts.back() == "*") parts.pop_back();
  return parts;
}

// A node in the tree of paths. Leaves, and nodes that are not opened, are drawn as boxes.
struct PathNode {
  std::string path;
  std::map<std::string, int> children;
  std::map<std::string, int> ops;  // the number of nodes of each op at or below it
  int count = 0;                   // the sum of these
  bool open = false;
};

class Summary {
 public:
  Picture make(const ir::Graph& g, std::size_t most) {
    picture_.title = g.name + " (summed up: " + std::to_string(count_nodes(g)) + " nodes)";
    places_.emplace_back();
    std::vector<int> top(g.values.size(), kNowhere);
    for (const ir::Input& i : g.inputs) top[at(i.value)] = enter(g.value(i.value).name, "input");
    for (const ir::Variable& v : g.variables) top[at(v.value)] = enter(g.value(v.value).name, std::string(ir::name_of(v.kind)));
    walk(g, top);
    for (const ir::Variable& v : g.variables) {
      if (v.next != kNone) flows_.insert({top[at(v.next)], top[at(v.value)], true});
    }
    for (const ir::Output& o : g.outputs) flows_.insert({top[at(o.value)], enter("output " + o.name, "output"), false});
    open_places(most);
    boxes();
    return std::move(picture_);
  }

 private:
  static constexpr int kNowhere = -1;

  struct Flow {
    int from, to;
    bool feedback;
    friend auto operator<=>(const Flow&, const Flow&) = default;
  };

  static std::size_t at(ValueId v) { return static_cast<std::size_t>(v); }

  // Returns the leaf for a name, after counting one more node of `op` there.
  int enter(const std::string& name, const std::string& op) {
    int place = 0;
    const auto count = [&] {
      PathNode& p = places_[static_cast<std::size_t>(place)];
      ++p.count;
      ++p.ops[op];
    };
    count();
    for (const std::string& part : path_of(name)) {
      PathNode& p = places_[static_cast<std::size_t>(place)];
      const auto [it, fresh] = p.children.emplace(part, static_cast<int>(places_.size()));
      const std::string path = p.path.empty() ? part : p.path + "." + part;
      const int child = it->second;
      if (fresh) {
        places_.emplace_back().path = path;
        parent_.resize(places_.size(), 0);
        parent_[static_cast<std::size_t>(child)] = place;
      }
      place = child;
      count();
    }
    return place;
  }

  // source[v]: the leaf that v comes from, across scan boundaries.
  void walk(const ir::Graph& g, std::vector<int>& source) {
    for (const Node& n : g.nodes) {
      if (ir::is_scan(n)) {
        scan(n, source);
        continue;
      }
      const int here = enter(n.outputs.empty() ? g.name : g.value(n.outputs[0]).name, n.op->name);
      for (ValueId v : n.outputs) source[at(v)] = here;
      for (ValueId v : n.inputs) {
        if (v != kNone && source[at(v)] != kNowhere) flows_.insert({source[at(v)], here, false});
      }
    }
  }

  void scan(const Node& n, std::vector<int>& outer) {
    const ir::Graph& body = n.regions[0];
    const ScanLayout l = ir::scan_layout(n);
    std::vector<int> inner(body.values.size(), kNowhere);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) inner[at(body.inputs[i].value)] = outer[at(n.inputs[i])];
    walk(body, inner);
    for (std::size_t k = 0; k < n.outputs.size(); ++k) outer[at(n.outputs[k])] = inner[at(body.outputs[k].value)];
    // Readers of a state read what the last step wrote.
    std::map<ValueId, std::size_t> states;
    for (std::size_t k = 0; k < l.states; ++k) states.emplace(body.inputs[k].value, k);
    for (const Node& node : body.nodes) {
      for (ValueId v : node.inputs) {
        const auto it = states.find(v);
        if (it == states.end() || node.outputs.empty()) continue;
        flows_.insert({inner[at(body.outputs[it->second].value)], inner[at(node.outputs[0])], true});
      }
    }
  }

  // Opens the nodes with the most graph nodes first, while there are few enough boxes.
  void open_places(std::size_t most) {
    std::priority_queue<std::pair<int, int>> largest;
    largest.emplace(places_[0].count, 0);
    std::size_t boxes = 1;
    while (!largest.empty()) {
      const int index = largest.top().second;
      largest.pop();
      PathNode& p = places_[static_cast<std::size_t>(index)];
      if (p.children.empty() || (index != 0 && boxes + p.children.size() > most)) continue;
      p.open = true;
      boxes += p.children.size();
      for (const auto& [part, child] : p.children) largest.emplace(places_[static_cast<std::size_t>(child)].count, child);
    }
  }

  // The node in whose box a leaf is drawn: the first unopened one on the path down, or the leaf.
  int shown(int leaf) const {
    int show = leaf;
    for (int place = leaf; place != 0; place = parent_[static_cast<std::size_t>(place)]) {
      if (!places_[static_cast<std::size_t>(place)].open) show = place;
    }
    return show;
  }

  int box(int leaf) {
    const int place = shown(leaf);
    const auto [it, fresh] = box_of_.emplace(place, static_cast<int>(picture_.boxes.size()));
    if (!fresh) return it->second;
    const PathNode& p = places_[static_cast<std::size_t>(place)];
    std::vector<std::pair<int, std::string>> ops;
    for (const auto& [op, count] : p.ops) ops.emplace_back(-count, op);
    std::sort(ops.begin(), ops.end());
    std::string label = p.path + (p.children.empty() ? "" : ".…");
    if (p.count > 1) label += "\n" + std::to_string(p.count) + " nodes";
    for (std::size_t i = 0; i < ops.size() && i < 4; ++i) {
      label += "\n" + ops[i].second + (ops[i].first < -1 ? " ×" + std::to_string(-ops[i].first) : "");
    }
    if (ops.size() > 4) label += "\n…";
    const ir::OpSchema* op = ops.empty() ? nullptr : ir::OpRegistry::instance().find(ops[0].second);
    picture_.boxes.push_back({std::move(label), op ? "box" : "ellipse", op ? family_color(op->family) : "#fff2cc", -1});
    return it->second;
  }

  void boxes() {
    std::set<Flow> drawn;
    for (const Flow& f : flows_) {
      if (f.from == kNowhere || f.to == kNowhere) continue;
      const Flow between{box(f.from), box(f.to), f.feedback};
      if (between.from != between.to) drawn.insert(between);
    }
    for (const Flow& f : drawn) picture_.arrows.push_back({f.from, f.to, "", f.feedback});
  }

  Picture picture_;
  std::vector<PathNode> places_;
  std::vector<int> parent_ = {0};
  std::set<Flow> flows_;
  std::map<int, int> box_of_;
};

}  // namespace

Picture sum_up(const ir::Graph& graph, std::size_t most) { return Summary().make(graph, most); }

}  // namespace graphrun
