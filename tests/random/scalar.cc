#include "tests/random/scalar.h"

#include <vector>

#include "compiler/ir/builder.h"

namespace graphrun::random_graphs {

ir::ValueId scalar_of(ir::Graph& graph) {
  std::vector<ir::ValueId> terms;
  for (const ir::Output& o : graph.outputs) terms.push_back(o.value);
  for (const ir::Variable& v : graph.variables)
    if (v.kind == ir::Variable::Kind::kState && v.next != ir::kNone) terms.push_back(v.next);
  ir::Builder b(graph);
  ir::ValueId scalar = ir::kNone;
  for (const ir::ValueId term : terms) {
    if (graph.type(term).type != Type::kFloat) continue;
    const ir::ValueId part = b.op("sum", {b.equation("y * y + y", {{"y", term}})});
    scalar = scalar == ir::kNone ? part : b.op("add", {scalar, part});
  }
  return scalar;
}

}  // namespace graphrun::random_graphs
