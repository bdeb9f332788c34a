#include "compiler/passes/merge.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/ir/readers.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ValueId;

// A node that replaces several others, created at the position of node `at`.
struct Merged {
  std::size_t at = 0;
  const char* op = "";
  std::vector<ValueId> inputs;
  bool transpose_b = false;          // of products; matmul_reduce_many has no such attribute
  std::string precision;             // the same for all
  std::vector<ValueId> results;      // the values that its results replace; empty for a sum
  ValueId sum = kNone;               // for a sum: the result of its last addition, and the terms
  std::vector<ValueId> rest = {};    // that are not products
  std::vector<Origin> origins = {};  // of the products
};

// For how long a right factor stays the same. Kernels pack those that last from run to run, and round them to fewer bits where
// the job says so, but a kernel does so for all its matrices or for none. So the matrices of a kernel all have the same
// sameness.
enum class Sameness : std::uint8_t { kNone, kInLoop, kLasts };

// Finds the products of a graph that can be merged, without those in its regions.
class Products {
 public:
  // `same`: by value of a body, whether it is the same at every step; empty outside loops. `lasts`: by value, whether it is the
  // same from run to run.
  Products(const Graph& graph, std::vector<bool> same, const std::vector<bool>& lasts)
      : g_(graph), same_(std::move(same)), lasts_(lasts), readers_(graph), reads_(graph.values.size()) {
    for (std::size_t v = 0; v < reads_.size(); ++v) reads_[v] = readers_.of(static_cast<ValueId>(v)).size();
    for (const ir::Output& o : g_.outputs) ++reads_[index(o.value)];
    for (const ir::Variable& v : g_.variables) {
      if (v.next != kNone) ++reads_[index(v.next)];
    }
    gone.resize(g_.nodes.size());
    count_of_one_step();
    for (std::size_t n = g_.nodes.size(); n-- > 0;) look_at_sum(n);
    find_shared();
    std::stable_sort(found.begin(), found.end(), [](const Merged& a, const Merged& b) { return a.at < b.at; });
  }

  std::vector<Merged> found;  // by position; sums of one addition are adjacent
  std::vector<bool> gone;     // by node: whether it is replaced

 private:
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }
  std::int32_t node_of(ValueId v) const { return g_.value(v).node; }
  const Node& node(std::int32_t n) const { return g_.nodes[static_cast<std::size_t>(n)]; }
  Sameness sameness(ValueId v) const {
    if (lasts_[index(v)]) return Sameness::kLasts;
    return !same_.empty() && same_[index(v)] ? Sameness::kInLoop : Sameness::kNone;
  }

  // Whether the node multiplies rows by one matrix.
  bool is_rows_by_matrix(const Node& n) const {
    return ir::plays(n, ir::Role::kMatmul) && !n.attributes.boolean("transpose_a") && g_.type(n.inputs[0]).shape.size() >= 2 &&
           g_.type(n.inputs[1]).shape.size() == 2;
  }

  // ---- sums

  bool is_inner_addition(ValueId v, const ir::TensorType& type) const {
    return ir::made_by(g_, v, ir::Role::kAdd) && g_.type(v) == type && reads_[index(v)] == 1;
  }
  // Whether the result of this addition is not itself a term of a sum.
  bool is_last_addition(std::size_t n) const {
    const Node& add = g_.nodes[n];
    if (!ir::plays(add, ir::Role::kAdd) || gone[n]) return false;
    const ValueId y = add.outputs[0];
    if (reads_[index(y)] != 1 || readers_.of(y).empty()) return true;
    const Node& reader = node(readers_.of(y)[0]);
    return !ir::plays(reader, ir::Role::kAdd) || g_.type(reader.outputs[0]) != g_.type(y);
  }

  void look_at_sum(std::size_t n) {
    if (!is_last_addition(n)) return;
    const ValueId y = g_.nodes[n].outputs[0];
    std::vector<ValueId> terms, open = {y};
    std::vector<std::int32_t> additions;
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (v == y || is_inner_addition(v, g_.type(y))) {
        const Node& add = node(node_of(v));
        additions.push_back(node_of(v));
        open.insert(open.end(), add.inputs.rbegin(), add.inputs.rend());  // so that the first is visited first
      } else {
        terms.push_back(v);
      }
    }
    std::map<KindOfTerm, std::vector<ValueId>> kinds;
    for (ValueId v : terms) {
      if (const auto kind = kind_of_term(v, g_.type(y))) kinds[*kind].push_back(v);
    }
    std::erase_if(kinds, [&](const auto& kind) { return kind.second.size() < 2 || merge_beside_others(kind.second); });
    if (kinds.empty()) return;
    for (const auto& [kind, products] : kinds) add_sum(n, kind, products, terms);
    found.back().sum = y, found.back().rest = terms;
    for (std::int32_t a : additions) gone[static_cast<std::size_t>(a)] = true;
  }

  // What the products of one `matmul_sum` must have in common.
  struct KindOfTerm {
    bool transpose_b;
    Sameness right;
    std::string precision;
    friend auto operator<=>(const KindOfTerm&, const KindOfTerm&) = default;
  };

  std::optional<KindOfTerm> kind_of_term(ValueId v, const ir::TensorType& type) const {
    if (node_of(v) < 0 || reads_[index(v)] != 1 || g_.type(v) != type) return std::nullopt;
    const Node& product = node(node_of(v));
    if (!is_rows_by_matrix(product)) return std::nullopt;
    return KindOfTerm{product.attributes.boolean("transpose_b"), sameness(product.inputs[1]),
                      product.attributes.string("precision")};
  }

  // Removes the products from `terms`.
  void add_sum(std::size_t at, const KindOfTerm& kind, const std::vector<ValueId>& products, std::vector<ValueId>& terms) {
    Merged merged{at, "matmul_sum", {}, kind.transpose_b, kind.precision, {}};
    for (ValueId v : products) {
      const Node& product = node(node_of(v));
      merged.inputs.insert(merged.inputs.end(), product.inputs.begin(), product.inputs.end());
      merged.origins.push_back({g_.value(v).name, product.at});
      gone[static_cast<std::size_t>(node_of(v))] = true;
      std::erase(terms, v);
    }
    found.push_back(std::move(merged));
  }

  // ---- shared factors

  // Whether the rows of a result have several axes, such as batch and time, merged into one or separate.
  static bool is_of_sequence(const Shape& shape) {
    std::size_t axes = 0;
    for (std::size_t k = 0; k + 1 < shape.size(); ++k) {
      axes += shape[k].is_constant() ? std::size_t{shape[k] != Dim(1)} : shape[k].symbols().size();
    }
    return axes > 1;
  }

  // What products that share a factor must have in common, including the first reader of their results unless that does not
  // matter.
  struct Key {
    bool reduces;  // outer products, not rows by a matrix
    ValueId left;
    bool transpose_b;
    std::string precision;
    std::string shape;  // of the right factor
    Sameness right;
    std::int32_t reader;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  std::optional<Key> key_of(const Node& product) const {
    const bool reduces = ir::plays(product, ir::Role::kMatmulReduce);
    if (!(reduces || is_rows_by_matrix(product))) return std::nullopt;
    const ValueId b = product.inputs[1], y = product.outputs[0];
    const bool is_body = !same_.empty(), grows = !is_body && !reduces && is_of_sequence(g_.type(y).shape);
    const auto readers = readers_.of(y);
    const std::int32_t reader = !grows ? -1 : readers.empty() ? -2 : readers[0];
    return Key{reduces,
               product.inputs[0],
               !reduces && product.attributes.boolean("transpose_b"),
               product.attributes.string("precision"),
               str(g_.type(b).shape),
               reduces ? Sameness::kNone : sameness(b),
               reader};
  }

  // Counts the products outside loops that are of one step, and whose matrices are not computed.
  void count_of_one_step() {
    if (!same_.empty()) return;
    for (const Node& product : g_.nodes) {
      const std::optional<Key> key = key_of(product);
      if (key && !key->reduces && key->reader == -1 && node_of(product.inputs[1]) < 0) ++of_one_step_[*key];
    }
  }

  // Whether products that are added up had better merge with others of their left factors: the gates of a cell in a step of
  // generation are then one kernel for each left factor, not one for each gate.
  bool merge_beside_others(const std::vector<ValueId>& terms) const {
    return std::all_of(terms.begin(), terms.end(), [&](ValueId v) {
      const auto it = of_one_step_.find(*key_of(node(node_of(v))));
      return it != of_one_step_.end() && it->second > terms.size();
    });
  }

  void find_shared() {
    std::map<Key, std::vector<std::int32_t>> groups;
    std::vector<const Key*> order;
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      const Node& product = g_.nodes[n];
      const std::optional<Key> key = gone[n] ? std::nullopt : key_of(product);
      if (!key) continue;
      const ValueId b = product.inputs[1];
      const auto [it, fresh] = groups.try_emplace(*key);
      if (fresh) order.push_back(&it->first);
      // A product whose right factor is computed after the first product is not merged.
      if (fresh || node_of(b) < it->second[0]) it->second.push_back(static_cast<std::int32_t>(n));
    }
    for (const Key* key : order) {
      const std::vector<std::int32_t>& members = groups.at(*key);
      if (members.size() < 2) continue;
      Merged merged{static_cast<std::size_t>(members[0]),
                    key->reduces ? "matmul_reduce_many" : "matmul_many",
                    {key->left},
                    key->transpose_b,
                    key->precision,
                    {}};
      for (std::int32_t n : members) {
        merged.inputs.push_back(node(n).inputs[1]);
        merged.results.push_back(node(n).outputs[0]);
        merged.origins.push_back({g_.value(node(n).outputs[0]).name, node(n).at});
        gone[static_cast<std::size_t>(n)] = true;
      }
      found.push_back(std::move(merged));
    }
  }

  const Graph& g_;
  const std::vector<bool> same_;
  const std::vector<bool>& lasts_;
  const ir::Readers readers_;
  std::vector<std::size_t> reads_;  // by value: number of reads by nodes, outputs and variables
  std::map<Key, std::size_t> of_one_step_;
};

void make(Rebuild& rebuild, const Merged& merged, const Node& at, ValueId& sum) {
  ir::Builder& b = rebuild.builder();
  b.set_location(at.at);
  b.set_name(b.graph().value(merged.results.empty() ? at.outputs[0] : merged.results[0]).name);
  std::vector<ValueId> inputs;
  for (ValueId v : merged.inputs) inputs.push_back(rebuild.of(v));
  ir::NamedAttributes attributes = {{"precision", merged.precision}};
  if (std::string_view(merged.op) != "matmul_reduce_many") attributes.emplace_back("transpose_b", merged.transpose_b);
  const std::vector<ValueId> made = b.ops(merged.op, std::move(inputs), attributes);
  b.graph().nodes.back().origins = merged.origins;
  for (std::size_t i = 0; i < merged.results.size(); ++i) rebuild.replace(merged.results[i], made[i]);
  if (!merged.results.empty()) return;
  sum = sum == kNone ? made[0] : b.op("add", {sum, made[0]});
  if (merged.sum == kNone) return;  // another merged node completes the sum
  for (ValueId v : merged.rest) sum = b.op("add", {sum, rebuild.of(v)});
  rebuild.replace(merged.sum, std::exchange(sum, kNone));
}

// By value of a scan's body: whether it is an invariant operand.
std::vector<bool> same_at_every_step(const Graph& body, const Node& scan) {
  std::vector<bool> same(body.values.size());
  const ir::ScanLayout l = ir::scan_layout(scan);
  for (std::size_t i = l.invariant_begin(); i < l.step(); ++i) same[static_cast<std::size_t>(body.inputs[i].value)] = true;
  return same;
}

// By graph and value: whether it is the same from run to run. Graphs are named by their addresses, which stay valid until their
// containing graph is rewritten.
using Lasting = std::map<const Graph*, std::vector<bool>>;

void find_lasting(const Graph& graph, std::vector<bool> lasts, Lasting& all) {
  for (const Node& node : graph.nodes) {
    if (node.op->view) {  // the same memory
      lasts[static_cast<std::size_t>(node.outputs[0])] = lasts[static_cast<std::size_t>(node.inputs[0])];
    }
    if (!ir::is_scan(node)) continue;
    const Graph& body = node.regions[0];
    const ir::ScanLayout l = ir::scan_layout(node);
    std::vector<bool> in_body(body.values.size());
    for (std::size_t i = l.invariant_begin(); i < l.step(); ++i) {
      in_body[static_cast<std::size_t>(body.inputs[i].value)] = lasts[static_cast<std::size_t>(node.inputs[i])];
    }
    find_lasting(body, std::move(in_body), all);
  }
  all[&graph] = std::move(lasts);
}

Lasting lasting_in(const Graph& root) {
  std::vector<bool> lasts(root.values.size());
  for (const ir::Input& input : root.inputs) lasts[static_cast<std::size_t>(input.value)] = input.lasting;
  for (const ir::Variable& v : root.variables) lasts[static_cast<std::size_t>(v.value)] = v.next == kNone;
  Lasting all;
  find_lasting(root, std::move(lasts), all);
  return all;
}

bool merge_in(Graph& graph, const Node* around, const Lasting& lasting) {
  const Products products(graph, around ? same_at_every_step(graph, *around) : std::vector<bool>(), lasting.at(&graph));
  if (products.found.empty()) return false;
  Rebuild rebuild(graph);
  ValueId sum = kNone;
  auto next = products.found.begin();
  for (std::size_t n = 0; n < rebuild.old_nodes().size(); ++n) {
    for (; next != products.found.end() && next->at == n; ++next) make(rebuild, *next, rebuild.old_nodes()[n], sum);
    if (!products.gone[n]) rebuild.keep(std::move(rebuild.old_nodes()[n]));
  }
  rebuild.finish();
  return true;
}

}  // namespace

PassResult merge(Graph graph) {
  const Lasting lasting = lasting_in(graph);
  const bool changed = rewrite_inner_first(graph, [&](Graph& g, const Node* around) { return merge_in(g, around, lasting); });
  return {std::move(graph), changed};
}

}  // namespace graphrun
