#include "compiler/rewrite/recurrences.h"

#include <algorithm>
#include <limits>

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ValueId;
using Index = std::size_t;

// Strongly connected components (Tarjan 1972), without recursion. The vertices are the body's nodes, then its states; edges
// lead from a value's producer to its readers.
class Components {
 public:
  Components(const Node& scan, const std::vector<bool>& apart) : nodes_(scan.regions[0].nodes.size()) {
    const Graph& body = scan.regions[0];
    const Index recurrent = scan_layout(scan).states;
    edges_.resize(nodes_ + recurrent);
    // By value: the vertex that computes it.
    std::vector<Index> maker(body.values.size(), kNoVertex);
    for (Index s = 0; s < recurrent; ++s) maker[index(body.inputs[s].value)] = nodes_ + s;
    for (Index n = 0; n < nodes_; ++n) {
      for (ValueId v : body.nodes[n].outputs) maker[index(v)] = n;
    }
    for (Index n = 0; n < nodes_; ++n) {
      for (ValueId v : body.nodes[n].inputs) {
        if (v == kNone || maker[index(v)] == kNoVertex) continue;
        const Index from = maker[index(v)];
        const bool skipped = from >= nodes_ && apart[from - nodes_] && maker[index(body.outputs[from - nodes_].value)] == n;
        if (!skipped) edges_[from].push_back(n);
      }
    }
    for (Index s = 0; s < recurrent; ++s) {
      const Index from = maker[index(body.outputs[s].value)];
      if (from != kNoVertex) edges_[from].push_back(nodes_ + s);
    }
  }

  std::vector<RecurrenceGroup> run() {
    number_.assign(edges_.size(), kNoVertex), lowest_ = number_;
    waiting_.assign(edges_.size(), false);
    for (Index v = 0; v < edges_.size(); ++v) {
      if (number_[v] == kNoVertex) visit(v);
    }
    std::reverse(groups_.begin(), groups_.end());  // a component is completed after all its readers
    return std::move(groups_);
  }

 private:
  static constexpr Index kNoVertex = std::numeric_limits<Index>::max();
  static Index index(ValueId v) { return static_cast<Index>(v); }

  void enter(Index v) {
    number_[v] = lowest_[v] = next_++;
    stack_.push_back(v), waiting_[v] = true;
    path_.push_back({v, 0});
  }

  void visit(Index root) {
    enter(root);
    while (!path_.empty()) {
      const Index v = path_.back().vertex;
      if (path_.back().edge < edges_[v].size()) {
        const Index w = edges_[v][path_.back().edge++];
        if (number_[w] == kNoVertex) {
          enter(w);
        } else if (waiting_[w]) {
          lowest_[v] = std::min(lowest_[v], number_[w]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) lowest_[path_.back().vertex] = std::min(lowest_[path_.back().vertex], lowest_[v]);
      if (lowest_[v] == number_[v]) close(v);
    }
  }

  // Completes the component whose first visited vertex is v.
  void close(Index v) {
    RecurrenceGroup group;
    for (Index w = kNoVertex; w != v;) {
      w = stack_.back();
      stack_.pop_back(), waiting_[w] = false;
      w < nodes_ ? group.nodes.push_back(w) : group.states.push_back(w - nodes_);
    }
    std::sort(group.nodes.begin(), group.nodes.end());
    std::sort(group.states.begin(), group.states.end());
    groups_.push_back(std::move(group));
  }

  struct PathStep {
    Index vertex, edge;
  };
  const Index nodes_;
  std::vector<std::vector<Index>> edges_;
  std::vector<Index> number_, lowest_;  // by vertex: its number in the order of visits; the lowest number that it reaches
  std::vector<bool> waiting_;           // by vertex: in stack_
  std::vector<Index> stack_;
  std::vector<PathStep> path_;
  Index next_ = 0;
  std::vector<RecurrenceGroup> groups_;
};

}  // namespace

std::vector<RecurrenceGroup> recurrence_groups(const Node& scan, const std::vector<bool>& apart) {
  return Components(scan, apart).run();
}

}  // namespace graphrun
