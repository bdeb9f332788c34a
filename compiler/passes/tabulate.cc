#include "compiler/passes/tabulate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/ir/readers.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::Role;
using ir::ValueId;

// Rows that a product multiplies: of a table, by their numbers. `kept`: a selection's condition [..., 1] by row; kNone: all.
struct TableRows {
  ValueId table = kNone, indices = kNone, kept = kNone;
};

class Tables {
 public:
  explicit Tables(const Graph& graph) : g_(graph), lasts_(graph.values.size()) {
    for (const ir::Variable& v : g_.variables) {
      lasts_[index(v.value)] = v.kind == ir::Variable::Kind::kParameter && v.next == kNone;
    }
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      if (auto rows = rows_of_product(g_.nodes[n])) products.emplace(n, *rows);
    }
    if (!products.empty()) find_unread();
  }

  std::map<std::size_t, TableRows> products;  // by node
  std::vector<bool> unread;                   // by node: a gather or selection that only products in `products` need

 private:
  static std::size_t index(std::int32_t v) { return static_cast<std::size_t>(v); }
  const Shape& shape(ValueId v) const { return g_.type(v).shape; }

  // Rows of the first operand that the second names.
  static bool is_gather(const Node& node) { return node.op->access == ir::Access::kLookup && node.inputs.size() == 2; }

  // The rows of the first operand times each of the others.
  static bool is_rows_by_matrices(const Node& node) {
    if (ir::plays(node, Role::kMatmul)) return !node.attributes.boolean("transpose_a");
    const std::vector<ir::InputSpec>& inputs = node.op->inputs;
    return node.op->access == ir::Access::kProduct && inputs.size() == 2 && inputs[1].variadic &&
           node.op->attribute("transpose_b") != nullptr;
  }

  std::optional<TableRows> rows_of_product(const Node& node) const {
    if (!is_rows_by_matrices(node)) return std::nullopt;
    const bool last = std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                                  [&](ValueId b) { return lasts_[index(b)] && shape(b).size() == 2; });
    return last ? rows_of(node.inputs[0]) : std::nullopt;
  }

  // At least one row, each of one number for every row of a matrix.
  std::optional<TableRows> rows_of(ValueId v) const {
    const Node* const made = ir::producer(g_, v);
    if (made == nullptr) return std::nullopt;
    if (ir::plays(*made, Role::kSelect)) return selected_rows(*made);
    if (!is_gather(*made) || !lasts_[index(made->inputs[0])]) return std::nullopt;
    if (shape(made->inputs[0]).size() != 2 || shape(made->inputs[1]).empty()) return std::nullopt;
    return TableRows{made->inputs[0], made->inputs[1], kNone};
  }

  // Whole rows, or zeros.
  std::optional<TableRows> selected_rows(const Node& select) const {
    const ValueId condition = select.inputs[0], rows = select.inputs[1], other = select.inputs[2];
    if (ir::number(g_, other) != 0.0 && !ir::is_zeros(g_, other)) return std::nullopt;
    Shape each = shape(rows);
    if (each.empty() || shape(select.outputs[0]) != each) return std::nullopt;
    each.back() = 1;
    if (shape(condition) != each) return std::nullopt;
    std::optional<TableRows> found = rows_of(rows);
    if (!found || found->kept != kNone) return std::nullopt;
    found->kept = condition;
    return found;
  }

  void find_unread() {
    const ir::Readers readers(g_);
    const std::vector<bool> at_end = ir::read_at_end(g_);
    unread.resize(g_.nodes.size());
    for (std::size_t n = g_.nodes.size(); n-- > 0;) {
      const Node& node = g_.nodes[n];
      if (!(is_gather(node) || ir::plays(node, Role::kSelect)) || at_end[index(node.outputs[0])]) continue;
      const auto all = readers.of(node.outputs[0]);
      unread[n] = !all.empty() && std::all_of(all.begin(), all.end(), [&](std::int32_t r) {
        return unread[index(r)] ? node.outputs[0] == g_.nodes[index(r)].inputs[1] : products.count(index(r)) != 0;
      });
    }
  }

  const Graph& g_;
  std::vector<bool> lasts_;  // by value: the same from run to run
};

void replace_product(Rebuild& rebuild, const Node& node, const TableRows& rows) {
  ir::Builder& b = rebuild.builder();
  b.set_location(node.at);
  b.set_name(b.graph().value(node.outputs[0]).name);
  const ValueId indices = rebuild.of(rows.indices);
  ValueId keep = kNone;
  if (rows.kept != kNone) keep = b.op("reshape", {rebuild.of(rows.kept)}, {{"shape", b.graph().type(indices).shape}});
  std::vector<ValueId> inputs = {rebuild.of(rows.table), indices, keep};
  inputs.insert(inputs.end(), node.inputs.begin() + 1, node.inputs.end());
  const std::vector<ValueId> made =
      b.ops("gather_matmul", std::move(inputs),
            {{"transpose_b", node.attributes.boolean("transpose_b")}, {"precision", node.attributes.string("precision")}});
  b.graph().nodes.back().origins = node.origins;
  for (std::size_t i = 0; i < made.size(); ++i) rebuild.replace(node.outputs[i], made[i]);
}

}  // namespace

PassResult tabulate(Graph graph) {
  const Tables tables(graph);
  if (tables.products.empty()) return {std::move(graph), false};
  Rebuild rebuild(graph);
  for (std::size_t n = 0; n < rebuild.old_nodes().size(); ++n) {
    Node& node = rebuild.old_nodes()[n];
    if (const auto product = tables.products.find(n); product != tables.products.end()) {
      replace_product(rebuild, node, product->second);
    } else if (!tables.unread[n]) {
      rebuild.keep(std::move(node));
    }
  }
  rebuild.finish();
  return {std::move(graph), true};
}

}  // namespace graphrun
