#include "compiler/passes/fuse_reductions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/ir/pointwise_program.h"
#include "compiler/ir/readers.h"
#include "compiler/rewrite/fuse_groups.h"
#include "compiler/rewrite/fusible_reduction.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::PointwiseProgram;
using ir::ValueId;
using Index = std::size_t;

// A pointwise node with the reductions that read it.
struct Edge {
  std::vector<Index> readers;  // in order
  ReducedAxes axes;
};

class EdgeFuser {
 public:
  explicit EdgeFuser(Graph& graph) : graph_(graph), readers_(graph), at_end_(read_at_end(graph)) {}

  bool run() {
    std::map<Index, Index> work_of_first;  // the pointwise node, by the first reduction of a group
    std::vector<char> goes(graph_.nodes.size(), 0);
    std::map<Index, Edge> edges;
    for (Index n = 0; n < graph_.nodes.size(); ++n) {
      std::optional<Edge> edge = edge_of(graph_.nodes[n]);
      if (!edge) continue;
      goes[n] = 1;
      for (Index r : edge->readers) goes[r] = 1;
      work_of_first[edge->readers.front()] = n;
      edges.emplace(n, std::move(*edge));
    }
    if (edges.empty()) return false;
    drop_numbers(goes);
    std::map<Index, std::pair<PointwiseWork, std::vector<FusibleReduction>>> made;  // created while the graph is complete
    for (const auto& [n, edge] : edges) {
      std::vector<FusibleReduction> reductions;
      for (Index r : edge.readers) reductions.push_back(*fusible_reduction(graph_, graph_.nodes[r]));
      made.emplace(n, std::pair(work_of(graph_, graph_.nodes[n]), std::move(reductions)));
    }
    const auto values = graph_.values;
    Rebuild rebuild(graph_);
    std::vector<Node>& old = rebuild.old_nodes();
    for (Index n = 0; n < goes.size(); ++n) {
      if (!goes[n]) {
        rebuild.keep(std::move(old[n]));
      } else if (const auto first = work_of_first.find(n); first != work_of_first.end()) {
        const auto& [work, reductions] = made.at(first->second);
        emit(rebuild, values, old[first->second], edges.at(first->second), work, reductions);
      }
    }
    rebuild.finish();
    return true;
  }

 private:
  std::optional<Edge> edge_of(const Node& node) const {
    if (!ir::plays(node, ir::Role::kProgram) && !may_be_instruction(node)) return std::nullopt;
    Edge edge;
    for (ValueId v : node.outputs) {
      if (at_end_[static_cast<Index>(v)] || readers_.of(v).empty()) return std::nullopt;
      for (std::int32_t r : readers_.of(v)) {
        const std::optional<FusibleReduction> reduction = fusible_reduction(graph_, graph_.nodes[static_cast<Index>(r)]);
        if (!reduction || (!edge.readers.empty() && !(reduction->axes == edge.axes))) return std::nullopt;
        if (graph_.nodes[static_cast<Index>(r)].inputs[0] != v) return std::nullopt;  // it is the lengths
        edge.axes = reduction->axes;
        edge.readers.push_back(static_cast<Index>(r));
      }
    }
    std::sort(edge.readers.begin(), edge.readers.end());
    return fits(node, edge) ? std::optional<Edge>(std::move(edge)) : std::nullopt;
  }

  bool is_lengths(ValueId v, const Node& reader) const {
    const int lengths = reader.op->input_index("lengths");
    return lengths >= 0 && static_cast<Index>(lengths) < reader.inputs.size() &&
           reader.inputs[static_cast<Index>(lengths)] == v;
  }

  // Removes constants that the programs of all their readers now contain; lengths remain an operand.
  void drop_numbers(std::vector<char>& goes) const {
    for (Index n = 0; n < goes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.outputs.size() != 1 || at_end_[static_cast<Index>(node.outputs[0])]) continue;
      const auto readers = readers_.of(node.outputs[0]);
      const bool all_go = std::all_of(readers.begin(), readers.end(), [&](std::int32_t r) {
        return goes[static_cast<Index>(r)] != 0 && !is_lengths(node.outputs[0], graph_.nodes[static_cast<Index>(r)]);
      });
      if (is_program_number(graph_, node.outputs[0]) && !readers.empty() && all_go) goes[n] = 1;
    }
  }

  // Whether this fits into a program, and an operand determines which type FLOAT is.
  bool fits(const Node& node, const Edge& edge) const {
    const PointwiseWork work = work_of(graph_, node);
    const bool tells_float =
        std::any_of(work.inputs.begin(), work.inputs.end(), [&](ValueId v) { return graph_.type(v).type == Type::kFloat; });
    return tells_float && edge.readers.size() <= PointwiseProgram::kMostResults &&
           work.inputs.size() + work.program.instructions.size() + node.outputs.size() <= PointwiseProgram::kMostPieces;
  }

  static void emit(Rebuild& rebuild, const ir::StableVector<ir::Value>& values, const Node& pointwise, const Edge& edge,
                   const PointwiseWork& work, const std::vector<FusibleReduction>& reductions) {
    PointwiseProgram program = work.program;
    std::vector<ValueId> inputs, wanted;
    std::vector<Origin> origins = work.origins;
    for (ValueId v : work.inputs) inputs.push_back(rebuild.of(v));
    for (Index i = 0; i < edge.readers.size(); ++i) {
      const Node& reduction = rebuild.old_nodes()[edge.readers[i]];
      const auto result = std::find(pointwise.outputs.begin(), pointwise.outputs.end(), reduction.inputs[0]);
      program.folds.push_back({reductions[i].fold, static_cast<Index>(result - pointwise.outputs.begin())});
      wanted.push_back(reduction.outputs[0]);
      origins.push_back({values[static_cast<Index>(reduction.outputs[0])].name, reduction.at});
    }
    std::vector<std::int64_t> axes;
    for (std::int64_t axis = edge.axes.first; axis < edge.axes.last; ++axis) axes.push_back(axis);
    ir::Builder& b = rebuild.builder();
    b.set_location(rebuild.old_nodes()[edge.readers.front()].at);
    b.set_name("fused");
    const bool has_lengths = edge.axes.lengths != kNone;
    if (has_lengths) inputs.push_back(rebuild.of(edge.axes.lengths));
    const std::vector<ValueId> results =
        b.ops("fused_reduction", std::move(inputs),
              {{"axis", axes}, {"code", OpaqueValue(std::move(program))}, {"lengths", has_lengths}});
    b.graph().nodes.back().origins = std::move(origins);
    for (Index i = 0; i < wanted.size(); ++i) {
      ValueId result = results[i];
      // Restores the reduced axes that the reduction keeps with size 1.
      const Shape& shape = values[static_cast<Index>(wanted[i])].type.shape;
      if (b.graph().type(result).shape != shape) result = b.op("reshape", {result}, {{"shape", Shape(shape)}});
      rebuild.replace(wanted[i], result);
    }
  }

  Graph& graph_;
  const ir::Readers readers_;
  const std::vector<bool> at_end_;
};

}  // namespace

PassResult fuse_reductions(Graph graph) {
  const bool changed = rewrite_inner_first(graph, [](Graph& g, const Node*) { return EdgeFuser(g).run(); });
  return {std::move(graph), changed};
}

}  // namespace graphrun
