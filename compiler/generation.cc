#include "compiler/generation.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "compiler/driven_words.h"
#include "compiler/fetch.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/sizes.h"
#include "compiler/ir/substitute.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/pass.h"
#include "compiler/shortlist.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::ValueId;
using Index = std::size_t;

Index index(ValueId v) { return static_cast<Index>(v); }

[[noreturn]] void fail(const std::string& code, const std::string& what, std::vector<std::string> notes = {}) {
  throw UserError(ExitCode::kInvalidGraph, code, what, std::move(notes));
}

bool mentions(const Dim& d, Symbol symbol) {
  const std::vector<Symbol> all = d.symbols();
  return std::find(all.begin(), all.end(), symbol) != all.end();
}
bool mentions(const Shape& shape, Symbol symbol) {
  return std::any_of(shape.begin(), shape.end(), [&](const Dim& d) { return mentions(d, symbol); });
}

bool mentions(const Attributes& attributes, Symbol symbol) {
  return std::any_of(attributes.all().begin(), attributes.all().end(), [&](const auto& named) {
    const Dim* d = std::get_if<Dim>(&named.second);
    const Shape* shape = std::get_if<Shape>(&named.second);
    return (d && mentions(*d, symbol)) || (shape && mentions(*shape, symbol));
  });
}

// Generation begins with every state of the graph zero.
ir::Graph with_states_of_zeros(ir::Graph graph) {
  std::vector<Node> zeros;
  const auto is_state = [](const ir::Variable& v) { return v.kind == ir::Variable::Kind::kState; };
  for (const ir::Variable& variable : graph.variables) {
    if (!is_state(variable)) continue;
    // Built in a separate graph, for the builder's checks; the state's own value then becomes the node's result.
    ir::Graph alone;
    ir::Builder(alone).zeros(graph.type(variable.value));
    zeros.push_back(std::move(alone.nodes.front()));
    zeros.back().outputs = {variable.value};
    zeros.back().at = variable.at;
  }
  if (zeros.empty()) return graph;
  std::erase_if(graph.variables, is_state);
  for (ir::Value& value : graph.values) {
    if (value.node >= 0) value.node += static_cast<std::int32_t>(zeros.size());
  }
  for (Index n = 0; n < zeros.size(); ++n) graph.value(zeros[n].outputs[0]).node = static_cast<std::int32_t>(n);
  graph.nodes.insert(graph.nodes.begin(), std::make_move_iterator(zeros.begin()), std::make_move_iterator(zeros.end()));
  return graph;
}

// The path of the score: an output of the graph, otherwise of the scan, otherwise the path in the spec.
std::string scored(const ir::Graph& graph, const GenerationSpec& spec) {
  if (graph.output(spec.score) != nullptr) return spec.score;
  std::vector<std::string> paths;
  for (const Node& node : graph.nodes) {
    if (!ir::is_scan(node)) continue;
    const ir::Graph& body = node.regions[0];
    if (body.name != spec.scan && body.declared != spec.scan) continue;
    const auto first = body.outputs.begin() + static_cast<std::ptrdiff_t>(ir::scan_layout(node).states);
    const auto found = std::find_if(first, body.outputs.end(), [&](const ir::Output& o) { return o.name == spec.score; });
    if (found != body.outputs.end()) paths.push_back(ir::path_of(body, *found));
  }
  return paths.size() == 1 ? paths[0] : spec.score;  // of several repetitions, the path says which
}

// Whether the input has a step for each word to be generated, or is the number of these steps.
bool has_steps(const ir::Graph& graph, const ir::Input& input, Symbol time) {
  return mentions(graph.type(input.value).shape, time) || input.lengths_of == time;
}

// If only unread inputs determine a size, drop_unneeded keeps the first: move one that is known before the first word to the
// front.
void known_first(ir::Graph& graph, Symbol time) {
  std::stable_partition(graph.inputs.begin(), graph.inputs.end(),
                        [&](const ir::Input& input) { return !has_steps(graph, input, time); });
}

// Everything known about the optimized graph that is cut.
class Cut {
 public:
  Cut(const ir::Graph& graph, const std::string& driven, std::vector<std::string> wanted)
      : graph_(graph),
        wanted_(std::move(wanted)),
        stepwise_(graph.values.size()),
        constant_(graph.values.size()),
        table_(graph.values.size()) {
    for (const ir::Input& input : graph.inputs) {
      if (graph.value(input.value).name == driven) driven_ = input.value;
    }
    if (driven_ == kNone) fail("E0434 training-only", "what is generated does not depend on '" + driven + "'");
    time_ = graph.type(driven_).shape[0].as_symbol();
    rows_ = graph.type(driven_).shape[1].as_symbol();
    classify();
  }

  GenerationGraphs run() {
    GenerationGraphs made{{}, {}, {}, {}, *rows_, {}, {}, {}, {}};
    StepMaker(*this, made).run();
    made.prologue = prologue(made);
    return made;
  }

 private:
  // A value is stepwise if it has the driven time or depends on words. It is constant if it depends only on parameters. It is a
  // table if it depends on nothing but takes work to compute, such as a Transformer's sines of positions.
  void classify() {
    std::vector<bool> made_of_nothing(graph_.values.size());
    for (const ir::Input& input : graph_.inputs) {
      stepwise_[index(input.value)] = has_steps(graph_, input, *time_);
    }
    for (const ir::Variable& v : graph_.variables) constant_[index(v.value)] = v.kind == ir::Variable::Kind::kParameter;
    for (const Node& node : graph_.nodes) {
      bool stepwise = mentions(node.attributes, *time_), constant = true, of_nothing = node.regions.empty() && !node.op->random;
      for (ValueId v : node.inputs) {
        if (v == kNone) continue;
        stepwise = stepwise || stepwise_[index(v)];
        constant = constant && constant_[index(v)];
        of_nothing = of_nothing && made_of_nothing[index(v)];
      }
      const bool computes = !node.inputs.empty() && !node.op->view && !ir::plays(node, ir::Role::kBroadcast);
      for (ValueId v : node.outputs) {
        const Shape& shape = graph_.type(v).shape;
        stepwise_[index(v)] = stepwise || mentions(shape, *time_);
        constant_[index(v)] = constant && !stepwise_[index(v)];
        made_of_nothing[index(v)] = of_nothing && constant_[index(v)];
        table_[index(v)] = made_of_nothing[index(v)] && computes && !shape.empty() &&
                           std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_constant(); });
      }
    }
  }

  // Builds the prologue; determines which states and constants a step takes from it.
  ir::Graph prologue(GenerationGraphs& made) const {
    ir::Graph graph = graph_;
    graph.outputs.clear();
    // A known input determines the number of rows; if there is none, a separate input does.
    const ValueId rows = ir::Builder(graph).input("rows", {Type::kInt32, {Dim(*rows_)}});
    const std::string name = graph.value(rows).name;
    known_first(graph, *time_);
    for (const auto* list : {&made.constants, &made.states}) {
      for (const GenerationGraphs::Carried& c : *list) {
        if (!c.zeros) graph.outputs.push_back({c.name, from_.at(c.name)});
      }
    }
    for (Index k = 0; k < wanted_.size(); ++k) {
      if (is_whole(k)) graph.outputs.push_back({kWholePrefix + wanted_[k], graph_.outputs[k].value});
    }
    graph = drop_unneeded(std::move(graph));
    for (const ir::Input& input : graph.inputs) {
      if (graph.value(input.value).name == name) {
        made.rows_input = name;
      } else {
        require_known(graph, input);
      }
    }
    return graph;
  }

  // Whether the k-th wanted value is independent of words. The first, the score, never is.
  bool is_whole(Index k) const { return k > 0 && !stepwise_[index(graph_.outputs[k].value)]; }

  // `graph`: the one that has the input, such as the prologue.
  void require_known(const ir::Graph& graph, const ir::Input& input) const {
    if (has_steps(graph, input, *time_)) training_only(graph.value(input.value).name);
  }

  [[noreturn]] static void training_only(const std::string& name) {
    fail("E0434 training-only", "generation would need '" + name +
                                    "', which is known only in training: it has as many steps as what is "
                                    "yet to be generated");
  }

  class StepMaker {
   public:
    StepMaker(Cut& cut, GenerationGraphs& made)
        : cut_(cut), from_(cut.graph_), made_(made), b_(made.step), to_(from_.values.size(), kNone) {}

    void run() {
      made_.step.name = from_.name;
      for (const auto& [symbol, dim] : from_.defined_symbols) {
        // A history has room for a number of steps of its own.
        mentions(dim, *cut_.time_) ? made_.capacity.push_back(symbol) : void(made_.step.defined_symbols.emplace(symbol, dim));
      }
      word_ = b_.input(kWordInput, {Type::kInt32, {Dim(*cut_.rows_)}});
      made_.step.inputs.back().below = below_of_driven();
      step_ = b_.input(kStepInput, {Type::kInt32, {}});
      to_[index(cut_.driven_)] = b_.op("expand", {word_}, {{"axis", std::int64_t{0}}});
      std::vector<ValueId> results;
      for (Index k = 0; k < from_.outputs.size(); ++k)
        results.push_back(cut_.is_whole(k) ? kNone : make(from_.outputs[k].value));
      for (Index k = 0; k < results.size(); ++k) {
        if (cut_.is_whole(k))
          made_.whole.push_back(cut_.wanted_[k]);
        else
          give(cut_.wanted_[k], from_.outputs[k].value, results[k]);
      }
      made_.step.outputs.insert(made_.step.outputs.end(), nexts_.begin(), nexts_.end());
      tell_sizes();
    }

   private:
    std::optional<Dim> below_of_driven() const {
      for (const ir::Input& input : from_.inputs) {
        if (input.value == cut_.driven_) return input.below;
      }
      return std::nullopt;
    }

    // A size that the step only uses in computations comes from an input that has it.
    void tell_sizes() {
      for (std::set<Symbol> unknown = ir::unknown_sizes(made_.step); !unknown.empty();
           unknown = ir::unknown_sizes(made_.step)) {
        const auto tells = std::find_if(from_.inputs.begin(), from_.inputs.end(), [&](const ir::Input& input) {
          return !cut_.stepwise_[index(input.value)] && ir::tells_size(from_.type(input.value).shape, *unknown.begin());
        });
        if (tells == from_.inputs.end()) return unknown_size(*unknown.begin());
        leaf(tells->value);
      }
    }

    void unknown_size(Symbol size) const {
      for (const ir::Input& input : from_.inputs) {
        if (ir::tells_size(from_.type(input.value).shape, size)) training_only(from_.value(input.value).name);
      }
    }

    // Adds an output: a result [1, …] without its first axis.
    void give(const std::string& name, ValueId old, ValueId made) {
      const Shape& was = from_.type(old).shape;
      if (was.empty() || was[0] != Dim(*cut_.time_)) {
        fail("E0435 needs-all-steps", "'" + name + "' is " + from_.type(old).str() + ": no step has a value of it");
      }
      made_.step.outputs.push_back({name, first_of(made)});
    }

    ValueId first_of(ValueId v) {
      Shape shape = b_.graph().type(v).shape;
      shape.erase(shape.begin());
      return b_.op("reshape", {v}, {{"shape", shape}});
    }

    // The value in the step: computed, passed in, or a parameter. Nodes are visited in order, so the recursion is not deep.
    ValueId make(ValueId root) {
      const std::vector<bool> needed = needed_nodes(root);
      for (Index n = 0; n < from_.nodes.size(); ++n) {
        if (needed[n] && to_[index(from_.nodes[n].outputs[0])] == kNone) make_node(from_, from_.nodes[n], to_, true);
      }
      return leaf(root);
    }

    // Whether the step runs the node itself: it depends on words, on no input, or only on parameters. The prologue computes
    // tables.
    bool runs_in_step(const Node& node) const {
      const ValueId v = node.outputs[0];
      return cut_.stepwise_[index(v)] || (cut_.constant_[index(v)] && !cut_.table_[index(v)]);
    }

    std::vector<bool> needed_nodes(ValueId root) const {
      std::vector<bool> value(from_.values.size()), node(from_.nodes.size());
      value[index(root)] = true;
      for (Index n = from_.nodes.size(); n-- > 0;) {
        const Node& candidate = from_.nodes[n];
        if (!runs_in_step(candidate)) continue;
        node[n] =
            std::any_of(candidate.outputs.begin(), candidate.outputs.end(), [&](ValueId v) { return bool{value[index(v)]}; });
        if (!node[n]) continue;
        for (ValueId v : operands_in_step(candidate)) value[index(v)] = true;
      }
      return node;
    }

    // The operands of a node that a step reads: for a driven scan, all but the initial states.
    std::vector<ValueId> operands_in_step(const Node& node) const {
      std::vector<ValueId> read;
      const Index first = drives(node) ? ir::scan_layout(node).states : 0;
      for (Index k = first; k < node.inputs.size(); ++k) {
        if (node.inputs[k] != kNone) read.push_back(node.inputs[k]);
      }
      return read;
    }

    bool drives(const Node& node) const { return ir::is_scan(node) && node.attributes.dim("steps") == Dim(*cut_.time_); }

    // A value of the cut graph that no node of the step computes.
    ValueId leaf(ValueId v) {
      ValueId& made = to_[index(v)];
      if (made != kNone) return made;
      const ir::Value& value = from_.value(v);
      if (const ir::Variable* variable = from_.variable(value.name); variable && variable->value == v) {
        return made = b_.variable(value.name, value.type, *variable);
      }
      for (const ir::Input& input : from_.inputs) {
        if (input.value != v) continue;
        if (input.lengths_of == cut_.time_) return made = endless(value.type);
        if (cut_.stepwise_[index(v)]) training_only(value.name);
      }
      return made = carried(made_.constants, v, value.name, false);
    }

    // Lengths without a limit, for sequences whose end is unknown.
    ValueId endless(const ir::TensorType& type) {
      const ValueId most = b_.constant(std::numeric_limits<std::int32_t>::max(), Type::kInt32);
      return *endless_.insert(type.shape.empty() ? most : b_.op("broadcast_to", {most}, {{"shape", type.shape}})).first;
    }

    ValueId carried(std::vector<GenerationGraphs::Carried>& list, ValueId from, const std::string& name, bool zeros) {
      GenerationGraphs::Carried c;
      c.type = from_.type(from);
      c.zeros = zeros;
      const ValueId made = b_.input(name, c.type);
      c.name = made_.step.value(made).name;
      for (Index axis = 0; axis < c.type.shape.size(); ++axis) {
        const Dim& size = c.type.shape[axis];
        if (!mentions(size, *cut_.rows_)) continue;
        if (size != Dim(*cut_.rows_) || c.row_axis >= 0) rows_apart(name, c.type);
        c.row_axis = static_cast<int>(axis);
      }
      list.push_back(c);
      cut_.from_[c.name] = from;
      return made;
    }

    // A search keeps, drops and repeats rows, so each value that a step reads must have one axis of them.
    [[noreturn]] void rows_apart(const std::string& name, const ir::TensorType& type) const {
      const std::string rows = Dim(*cut_.rows_).str();
      fail("E0437 rows-merged", "'" + name + "' " + type.str() + " has no axis of its own for the rows, " + rows,
           {"help: generation selects rows; give what a step reads one axis " + rows +
            " and other axes for the rest, such as [" + rows + ", 2, n] instead of [" + rows + " * 2, n]"});
    }

    // Copies a node of `graph`; `ids` are its values here. `root`: not inside a driven scan, so that time is an axis.
    void make_node(const ir::Graph& graph, const Node& node, std::vector<ValueId>& ids, bool root) {
      b_.set_location(node.at);
      b_.set_name(graph.value(node.outputs[0]).name);
      if (root && drives(node)) return make_scan(node);
      if (const std::optional<ValueId> known = known_result(node, graph, ids, root)) {
        ids[index(node.outputs[0])] = *known;
        return;
      }
      if (root) require_steps_apart(node);
      std::vector<ValueId> inputs;
      for (ValueId v : node.inputs) inputs.push_back(v == kNone ? kNone : root ? leaf(v) : ids[index(v)]);
      if (!node.regions.empty()) return copy_scan(graph, node, ids, std::move(inputs));
      ir::NamedAttributes attributes;
      for (const auto& [name, attribute] : node.attributes.all())
        attributes.emplace_back(name, ir::substituted(attribute, one_step()));
      const std::vector<ValueId> made = b_.node(*node.op, std::move(inputs), attributes);
      for (Index k = 0; k < made.size(); ++k) ids[index(node.outputs[k])] = made[k];
    }

    // A position in time is the number of the step; no position is beyond the end.
    std::optional<ValueId> known_result(const Node& node, const ir::Graph& graph, const std::vector<ValueId>& ids, bool root) {
      if (root && ir::plays(node, ir::Role::kRange) && node.attributes.dim("n") == Dim(*cut_.time_)) {
        return b_.op("expand", {step_}, {{"axis", std::int64_t{0}}});
      }
      if (!ir::plays(node, ir::Role::kLess) || graph.type(node.inputs[1]).type != Type::kInt32) return std::nullopt;
      const ValueId limit = root ? leaf(node.inputs[1]) : ids[index(node.inputs[1])];
      if (endless_.count(limit) == 0) return std::nullopt;
      const Shape shape = ir::substituted(graph.type(node.outputs[0]).shape, one_step());
      const ValueId yes = b_.constant(1, Type::kBool);
      return shape.empty() ? yes : b_.op("broadcast_to", {yes}, {{"shape", shape}});
    }

    // Before and after a driven scan, each step must be computed independently, so time must stay an axis of every value that
    // has it.
    void require_steps_apart(const Node& node) const {
      for (ValueId v : node.outputs) {
        if (!cut_.stepwise_[index(v)]) continue;
        const Shape& shape = from_.type(v).shape;
        const auto axes = std::count(shape.begin(), shape.end(), Dim(*cut_.time_));
        const bool others = std::any_of(shape.begin(), shape.end(),
                                        [&](const Dim& d) { return d != Dim(*cut_.time_) && mentions(d, *cut_.time_); });
        const bool merged = others && axes == 0;
        if ((axes == 1 && !others) || (merged && node.op->view)) continue;
        fail("E0435 needs-all-steps",
             "'" + from_.value(v).name + "' " + from_.type(v).str() + " depends on all steps at once, and generation has one",
             {"help: what goes from step to step must be a state, or history(), of the scan that is driven"});
      }
    }

    // Runs the body once.
    void make_scan(const Node& node) {
      const ir::Graph& body = node.regions[0];
      if (node.attributes.boolean("reverse")) {
        fail("E0435 needs-all-steps", "scan '" + body.name + "' runs from the last step to the first");
      }
      const ir::ScanLayout l = ir::scan_layout(node);
      std::vector<ValueId> ids(body.values.size(), kNone);
      const auto at = [&](Index k) -> ValueId& { return ids[index(body.inputs[k].value)]; };
      const std::size_t first_state = made_.states.size();
      for (Index s = 0; s < l.states; ++s) {
        const ValueId begin = node.inputs[s];
        at(s) = carried(made_.states, begin, ir::path_of(body, body.outputs[s]), begins_as_zeros(begin));
      }
      for (Index k = l.each_begin(); k < l.invariant_begin(); ++k) at(k) = first_of(leaf(node.inputs[k]));
      for (Index k = l.invariant_begin(); k < l.step(); ++k) at(k) = leaf(node.inputs[k]);
      at(l.step()) = step_;
      for (const Node& inner : body.nodes) make_node(body, inner, ids, false);
      for (Index s = 0; s < l.states; ++s) {
        nexts_.push_back({kNextPrefix + made_.states[first_state + s].name, ids[index(body.outputs[s].value)]});
      }
      for (Index o = 0; o < l.outputs; ++o) {
        const std::size_t result = l.result_of(o);
        b_.set_name(from_.value(node.outputs[result]).name);
        to_[index(node.outputs[result])] =
            b_.op("expand", {ids[index(body.outputs[result].value)]}, {{"axis", std::int64_t{0}}});
      }
    }

    bool begins_as_zeros(ValueId begin) const { return ir::made_by(from_, begin, ir::Role::kZeros) != nullptr; }

    // Copies a scan over another axis unchanged.
    void copy_scan(const ir::Graph& graph, const Node& node, std::vector<ValueId>& ids, std::vector<ValueId> inputs) {
      Node copy = node;
      copy.inputs = std::move(inputs);
      std::vector<ir::TensorType> types;
      std::vector<std::string> names;
      for (ValueId v : node.outputs) {
        if (mentions(graph.type(v).shape, *cut_.time_)) {
          fail("E0435 needs-all-steps", "scan '" + node.regions[0].name + "' goes over the steps of another scan");
        }
        types.push_back(graph.type(v)), names.push_back(b_.unique(graph.value(v).name));
      }
      const std::vector<ValueId> made = b_.append(std::move(copy), types, names);
      for (Index k = 0; k < made.size(); ++k) ids[index(node.outputs[k])] = made[k];
    }

    ir::SizesBySymbol one_step() const { return {{*cut_.time_, Dim(1)}}; }

    Cut& cut_;
    const ir::Graph& from_;
    GenerationGraphs& made_;
    ir::Builder b_;
    std::vector<ValueId> to_;  // by value of the cut graph
    ValueId word_ = kNone, step_ = kNone;
    std::set<ValueId> endless_;  // lengths without a limit
    std::vector<ir::Output> nexts_;
  };

  const ir::Graph& graph_;
  const std::vector<std::string> wanted_;  // names of the graph's outputs in the step
  std::vector<bool> stepwise_, constant_, table_;
  ValueId driven_ = kNone;
  std::optional<Symbol> time_, rows_;
  std::map<std::string, ValueId> from_;  // by name of a passed value: the value of the graph
};

}  // namespace

std::vector<std::string> GenerationGraphs::fed() const {
  std::vector<std::string> names;
  for (const ir::Input& input : prologue.inputs) {
    const std::string& name = prologue.value(input.value).name;
    const bool is_list = shortlist && (name == shortlist->words.input || name == shortlist->allowed.input);
    if (name != rows_input && !is_list) names.push_back(name);
  }
  return names;
}

GenerationGraphs cut_for_generation(const ir::Graph& checked, const GenerationSpec& spec) {
  const std::string driven = driven_input(checked, spec);
  std::vector<std::string> wanted = {scored(checked, spec)};
  const std::string scores = wanted[0];
  for (const std::string& name : spec.fetches) {
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) wanted.push_back(name);
  }
  ir::Graph graph = with_states_of_zeros(with_fetches(checked, wanted));
  for (const ir::Input& input : graph.inputs) {
    if (graph.value(input.value).name != driven) continue;
    known_first(graph, *graph.type(input.value).shape[0].as_symbol());
    break;
  }
  graph = drop_unneeded(std::move(graph));
  graph =
      run_passes(std::move(graph), {"parallelize_history", "delay_to_shift", "merge", "tabulate", "fuse", "fuse_reductions"});
  wanted[0] = kScoreOutput;
  GenerationGraphs made = Cut(graph, driven, std::move(wanted)).run();
  const ir::TensorType& score = made.step.type(made.step.outputs[0].value);
  if (score.type != Type::kFloat || score.shape.size() != 2 || score.shape[0] != Dim(made.rows) ||
      !score.shape[1].is_constant()) {
    fail("E0433 score-shape",
         "'" + spec.score + "' must give a number for each word, FLOAT [time, batch, words], found " + score.str() + " a step");
  }
  // A value may be both the score and a fetch.
  for (const std::string& name : spec.fetches) {
    if (name == scores && made.step.output(name) == nullptr) made.step.outputs.push_back({name, made.step.outputs[0].value});
  }
  if (spec.shortlist) restrict_to_shortlist(made);
  return made;
}

}  // namespace graphrun
