// Random graphs of small ops with nested scans, views, results in place, variables: what the back end is tested on.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"
#include "tests/compiler/small_ops.h"

namespace graphrun::test {

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {
    register_small_ops();
    for (const char* name : {"time", "words"}) steps_.push_back(Symbol::named(name));
  }

  ir::Graph make(int nodes) {
    ir::Graph graph;
    graph.name = "random";
    ir::Builder b(graph);
    const Dim batch = Symbol::named("batch");
    const Dim time = steps_[0], words = steps_[1];
    std::vector<ir::ValueId> pool;
    for (const Shape& shape : {Shape{batch, 3}, Shape{time, batch, 3}, Shape{words, batch, 3}, Shape{time, words, batch, 3}}) {
      pool.push_back(b.input("in" + std::to_string(pool.size()), {Type::kFloat, shape}));
    }
    const int variables = below(4);
    for (int i = 0; i < variables; ++i) {
      ir::Variable variable;
      variable.kind = ir::Variable::Kind::kState;
      const Shape shape = below(2) ? Shape{batch, 3} : Shape{words, batch, 3};
      pool.push_back(b.variable("v" + std::to_string(i), {Type::kFloat, shape}, variable));
    }
    grow(b, pool, nodes, 0);
    for (ir::Variable& variable : graph.variables) {
      if (below(5) == 0) continue;
      variable.next = next_value(b, pool, variable.value);
    }
    const int outputs = 1 + below(5);
    for (int o = 0; o < outputs; ++o) graph.outputs.push_back({"out" + std::to_string(o), any(pool)});
    return graph;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  template <class T>
  T any(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }
  // Often one of the last made.
  ir::ValueId operand(const std::vector<ir::ValueId>& pool) {
    if (below(2) || pool.size() < 4) return any(pool);
    return pool[pool.size() - 1 - static_cast<std::size_t>(below(4))];
  }
  ir::ValueId like(const ir::Graph& graph, const std::vector<ir::ValueId>& pool, ir::ValueId model) {
    std::vector<ir::ValueId> same;
    for (ir::ValueId v : pool) {
      if (graph.type(v) == graph.type(model)) same.push_back(v);
    }
    return operand(same);
  }

  // What a variable or state holds next: an update of it, something made, or something that was there before.
  ir::ValueId next_value(ir::Builder& b, std::vector<ir::ValueId>& pool, ir::ValueId old) {
    switch (below(4)) {
      case 0: return b.op("t_update", {old, like(b.graph(), pool, old)});
      case 1: return b.op("t_twist", {b.op("t_average", {like(b.graph(), pool, old), old})});
      default: return like(b.graph(), pool, old);
    }
  }

  void grow(ir::Builder& b, std::vector<ir::ValueId>& pool, int nodes, int depth, ir::ValueId step = ir::kNone) {
    for (int n = 0; n < nodes; ++n) {
      b.set_name("n" + std::to_string(n));
      const ir::ValueId x = operand(pool);
      std::vector<ir::ValueId> made;
      switch (below(depth < 2 ? 13 : 11)) {
        case 0:
        case 1: made = b.ops("t_average", {x, like(b.graph(), pool, x)}); break;
        case 2:
        case 3: made = b.ops("t_twist", {x}); break;
        case 4: made = b.ops("t_mix", {x}); break;
        case 5: made = b.ops("t_reverse", {x}); break;
        case 6: made = b.ops("t_both", {x, like(b.graph(), pool, x)}); break;
        case 7: made = b.ops("t_update", {x, like(b.graph(), pool, x)}); break;
        case 8: made = b.ops("t_count", {}, {{"shape", b.graph().type(x).shape}}); break;
        case 9: made = b.ops("t_flat", {x}); break;
        case 10: made = b.ops("t_key", {x, below(2) ? step : ir::kNone}); break;
        default: made = scan(b, pool, depth); break;
      }
      pool.insert(pool.end(), made.begin(), made.end());
    }
  }

  std::vector<ir::ValueId> scan(ir::Builder& b, const std::vector<ir::ValueId>& pool, int depth) {
    const Dim steps = any(steps_);
    std::vector<ir::ValueId> sequences, begins, each, inputs;
    for (ir::ValueId v : pool) {
      const Shape& shape = b.graph().type(v).shape;
      if (!shape.empty() && shape[0] == steps && shape.size() > 1) sequences.push_back(v);
    }
    for (int s = below(4); s > 0; --s) begins.push_back(operand(pool));
    for (int e = below(3); e > 0 && !sequences.empty(); --e) each.push_back(any(sequences));
    inputs = begins;
    inputs.insert(inputs.end(), each.begin(), each.end());
    for (int i = 1 + below(3); i > 0; --i) inputs.push_back(operand(pool));

    ir::Graph body;
    body.name = "body";
    ir::Builder inner(body);
    std::vector<ir::ValueId> inner_pool;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ir::TensorType type = b.graph().type(inputs[i]);
      if (i >= begins.size() && i < begins.size() + each.size()) type.shape.erase(type.shape.begin());
      inner_pool.push_back(inner.input("x" + std::to_string(i), type));
    }
    const ir::ValueId step = inner.input("step", {Type::kInt32, {}});
    grow(inner, inner_pool, 1 + below(7), depth + 1, step);
    std::vector<ir::ValueId> after;
    for (std::size_t s = 0; s < begins.size(); ++s) after.push_back(next_value(inner, inner_pool, body.inputs[s].value));
    for (std::size_t s = 0; s < after.size(); ++s) body.outputs.push_back({"after" + std::to_string(s), after[s]});
    for (int k = below(4); k > 0; --k) {
      std::vector<ir::ValueId> small;  // stacks of stacks of stacks grow too large
      for (ir::ValueId v : inner_pool) {
        if (body.type(v).shape.size() < 4) small.push_back(v);
      }
      small.insert(small.end(), after.begin(), after.end());
      if (!small.empty() && below(3)) body.outputs.push_back({"y" + std::to_string(k), operand(small)});
      if (below(8) == 0) body.outputs.push_back({"at" + std::to_string(k), step});
    }
    const std::size_t states = begins.size(), sliced = each.size();
    std::vector<ir::ValueId> made = b.scan(std::move(inputs), std::move(body), states, sliced, steps, below(2) != 0);
    // The numbers of the steps are no operands of the small ops.
    std::erase_if(made, [&](ir::ValueId v) { return b.graph().type(v).type != Type::kFloat; });
    return made;
  }

  std::mt19937 random_;
  std::vector<Symbol> steps_;
};

}  // namespace graphrun::test
