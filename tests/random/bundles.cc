// States of calls used as values, and graphs used as arguments.
#include <fmt/format.h>

#include <algorithm>

#include "tests/random/maker.h"

namespace graphrun::random_graphs {

// Adds the states of a bundle, each by its path, as the file reads them before and after the step.
void Maker::add_bundle(Body& body, Local& caller, const std::string& name, const std::vector<Port>& leaves) {
  Traits before, after;
  before.set(kReadsBefore), after.set(kReadsAfter);
  for (const Port& leaf : leaves) {
    const std::string path = name + "." + leaf.name;
    caller.leaves.push_back({path, leaf.type, leaf.below});
    body.add(path, leaf.type, leaf.below, false, before);
    body.add("next(" + path + ")", leaf.type, leaf.below, false, after);
  }
}

// The two-level step: a cell reads, then the same cell reads again from the resulting state; one bundle has the states of both.
void Maker::bundle(Body& body, Local& caller, const Around& around) {
  const auto x = body.any([&](const Operand& o) {
    const ir::TensorType& t = body.type(o);
    return t.type == Type::kFloat && t.shape.size() == 2 && t.shape[0] == batch_rows() && can_be_declared(t);
  });
  if (!x) return;
  const std::size_t graph = local({port_of(body, *x, "i0")}, "", {.depth = around.depth + 1, .rows = true, .cell = true});
  const Local& cell = locals_[graph];
  const std::string first = body.fresh("call"), second = body.fresh("call"), s = body.fresh("s");
  const auto call_line = [&](const std::string& name, const Operand& input, const std::string& begin) {
    body.line(fmt::format("call {{ name: \"{}\" graph: \"{}\" input: \"i0 = {}\"{} begin: \"{}\"{} }}", name, cell.name,
                          body.use(input), given_args(cell, false), begin, shared(graph)));
    instances_.back().emplace(graph, name);
    for (const Port& o : cell.outputs) body.add(name + "." + o.name, o.type, o.below, false, input.traits | cell.traits);
    for (const Port& leaf : cell.leaves) body.add(name + ".end." + leaf.name, leaf.type, leaf.below, false, cell.traits);
  };
  call_line(first, *x, s);
  const auto again = body.any([&](const Operand& o) { return body.type(o) == body.type(*x); });
  call_line(second, *again, first + ".end");
  inherit(caller, graph, true);

  std::string begin;
  const ir::TensorType& leaf = cell.leaves.front().type;
  // The initial value of a scan's state is outside the scan: it can use inputs that are the same at every step.
  if (around.scanned && draw_.chance(0.6)) {
    for (const Port& input : caller.inputs) {
      const Shape& shape = input.type.shape;
      if (!begin.empty() || input.name[0] != 'i' || input.type.type != Type::kFloat || shape.size() != 2 ||
          shape[0] != batch_rows() || !shape[1].is_constant())
        continue;
      const std::string W = body.fresh("W");
      body.line(
          fmt::format("parameter {{ name: \"{}\" shape: \"{}\" of: \"{}\" }}", W, str(Shape{shape[1], leaf.shape[1]}), first));
      begin = fmt::format(" begin: \"tanh({} @ {})\"", input.name, W);
      coverage_.seen("bundle of parameters");
    }
  }
  std::string after = second + ".end";
  const bool numbers =
      std::all_of(cell.leaves.begin(), cell.leaves.end(), [](const Port& l) { return l.type.type == Type::kFloat; });
  if (numbers && draw_.chance(0.5)) {
    const std::string mixed = body.fresh("v");
    body.line(fmt::format("let: \"{} = 0.5 * {} + 0.5 * tanh({})\"", mixed, draw_.chance(0.5) ? s : first + ".end", after));
    // Applying an op to the states of all repetitions gives one tensor.
    for (const Port& l : cell.leaves)
      if (!has_numbers(l.name)) body.add(mixed + "." + l.name, l.type, 0, false, cell.traits);
    after = mixed;
  }
  body.line(fmt::format("state {{ name: \"{}\" of: \"{}\"{} next: \"{}\" }}", s, first, begin, after));
  add_bundle(body, caller, s, cell.leaves);
  coverage_.seen(around.root ? "bundle of states of the root" : "bundle of states");
}

// Whether the states of a scan may persist from run to run around it.
bool Maker::can_be_stream(const Local& scanned, const Around& around) const {
  const auto lasting = [&](const Port& leaf) {
    return std::all_of(leaf.type.shape.begin(), leaf.type.shape.end(),
                       [](const Dim& d) { return d.is_constant() || d == batch_rows(); }) &&
           (!around.rows || has_rows(leaf.type));
  };
  return !around.cell && !scanned.leaves.empty() && std::all_of(scanned.leaves.begin(), scanned.leaves.end(), lasting);
}

// Adds a bundle that keeps the scan's final states for the next run; returns its name.
std::string Maker::stream(Body& body, Local& caller, const std::string& name, const Local& scanned) {
  const std::string s = body.fresh("s");
  const bool numbers = std::all_of(scanned.leaves.begin(), scanned.leaves.end(),
                                   [](const Port& leaf) { return leaf.type.type == Type::kFloat; });
  const std::string after = numbers && draw_.chance(0.3) ? fmt::format("0.5 * {} + 0.5 * {}.end", s, name) : name + ".end";
  body.line(fmt::format("state {{ name: \"{}\" of: \"{}\" next: \"{}\" }}", s, name, after));
  add_bundle(body, caller, s, scanned.leaves);
  coverage_.seen("states of a scan that live on");
  return s;
}

// A cell with the standard interface: arg hidden, input x, output h, its own states.
std::size_t Maker::handed_graph() {
  if (!handed_.empty() && draw_.chance(0.5)) return draw_.any(handed_);
  Local made;
  made.name = fmt::format("g{}", graphs_++);
  made.text =
      fmt::format("name: \"{}\"\n", made.name) +
      "arg { name: \"hidden\" }\ninput { name: \"x\" shape: \"[rows, width]\" }\n"
      "parameter { name: \"W\" shape: \"[width, hidden]\" }\nparameter { name: [\"U\", \"V\"] shape: \"[hidden, hidden]\" }\n";
  static const std::vector<std::string> kSteps = {
      "state { name: \"h\" shape: \"[rows, hidden]\" next: \"tanh(x @ W + h @ U + h * 0.5 @ V)\" }\noutput: \"h = next(h)\"\n",
      "let: \"f = sigmoid(x @ W + m @ U)\"\n"
      "state { name: \"m\" shape: \"[rows, hidden]\" next: \"f * c + (1 - f) * tanh(m @ V)\" }\n"
      "state { name: \"c\" shape: \"[rows, hidden]\" next: \"0.5 * c + m\" }\noutput: \"h = tanh(next(m)) + c\"\n",
      "output: \"h = tanh(x @ W) @ U * sigmoid(x @ W @ V)\"\n"};
  made.text += draw_.any(kSteps);
  locals_.push_back(std::move(made));
  handed_.push_back(locals_.size() - 1);
  return handed_.back();
}

// A call of a graph that this graph's callers may choose.
void Maker::argument_graph(Body& body, Local& caller, const Around& around) {
  const auto x = body.any([&](const Operand& o) {
    const ir::TensorType& t = body.type(o);
    return t.type == Type::kFloat && t.shape.size() == 2 && t.shape[0] == batch_rows() && t.shape[1].is_constant();
  });
  if (!x) return;
  const std::size_t width = 3 + draw_.below(2);
  std::string graph = body.fresh("cell");
  const bool hands = draw_.chance(0.7);
  const std::size_t handed = hands ? handed_graph() : 0;
  if (hands && around.root) {
    // The root has no caller that could pass it a graph.
    caller.calls.insert(handed);
    graph = locals_[handed].name;
  } else {
    static const std::vector<std::string> kShipped = {"cells/elman.pbtxt", "cells/gru.pbtxt", "cells/lstm.pbtxt"};
    body.line(fmt::format("import: \"{} = {}\"", graph, draw_.any(kShipped)));
    if (hands) {
      caller.handed.insert(handed);
      caller.arguments.push_back({graph, Argument::Kind::kGraph, locals_[handed].name});
    }
    coverage_.seen(hands ? "graph of the file as an argument" : "shipped graph as an argument");
  }
  const std::string name = body.fresh("call");
  body.line(fmt::format("call {{ name: \"{}\" graph: \"{}\" arg: \"hidden = {}\" input: \"x = {}\" }}", name, graph, width,
                        body.use(*x)));
  body.add(name + ".h", {Type::kFloat, {batch_rows(), static_cast<std::int64_t>(width)}}, 0, false, x->traits);
}

}  // namespace graphrun::random_graphs
