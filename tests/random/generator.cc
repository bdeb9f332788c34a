#include "tests/random/generator.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/draw.h"
#include "tests/random/body.h"

namespace graphrun::random_graphs {
namespace {

const Dim kBatch = Symbol::named("batch");
constexpr int kDeepest = 2;

struct Port {
  std::string name;
  ir::TensorType type;
  std::int64_t below = 0;
  bool lengths = false;
};

// A graph inside the file that others call.
struct Local {
  std::string name, text;
  std::vector<Port> inputs, outputs, states;
  bool forward_only = false;  // numbers its steps
  bool rows = true;           // all outputs and states, also of what it calls, have a row for each of the batch
  std::string carry;          // an input that is also an output of its type
  std::set<std::string> ops;
  StateReads reads;
};

struct Around {
  int depth = 0;
  bool scanned = false;  // a scan runs it
  bool rows = false;     // all outputs and states must have rows
  bool root = false;
};

bool has_rows(const ir::TensorType& type) {
  return std::find(type.shape.begin(), type.shape.end(), kBatch) != type.shape.end();
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : draw_(seed) {}

  Generated make() {
    Body body(draw_, "r");
    std::vector<std::string> head;
    for (const Port& port : root_inputs()) {
      std::string more = text_of(port.type.type);
      if (port.below) more += fmt::format(" below: \"{}\"", port.below);
      if (port.lengths) more += fmt::format(" lengths_of: \"{}\"", port.name == "lengths" ? "time" : "words");
      head.push_back(fmt::format("input {{ name: \"{}\" shape: \"{}\"{} }}", port.name, str(port.type.shape), more));
      body.add(port.name, port.type, port.below, port.lengths);
    }
    Local root;
    Around around;
    around.root = true;
    fill(body, root, around);
    coverage_.graph(body.ops());
    for (const Local& local : locals_) coverage_.graph(local.ops);
    std::string text = "name: \"random\"\n" + joined(head) + root.text;
    for (const Local& local : locals_) text += "graph {\n" + local.text + "}\n";
    return {text, coverage_};
  }

 private:
  static std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }

  std::vector<Port> root_inputs() {
    const Dim time = Symbol::named("time"), words = Symbol::named("words");
    std::vector<Port> all = {{"x", {Type::kFloat, {time, kBatch, 4}}}, {"c", {Type::kFloat, {kBatch, 4}}}};
    const std::vector<Port> more = {{"y", {Type::kFloat, {words, kBatch, 3}}},
                                    {"z", {Type::kFloat, {time, words, kBatch, 3}}},
                                    {"ids", {Type::kInt32, {time, kBatch}}, 3},
                                    {"id", {Type::kInt32, {kBatch}}, 3},
                                    {"k", {Type::kInt32, {}}, 3},
                                    {"flags", {Type::kBool, {time, kBatch}}},
                                    {"word_lengths", {Type::kInt32, {kBatch}}, 0, true},
                                    {"lengths", {Type::kInt32, {kBatch}}, 0, true}};
    for (const Port& port : more) {
      const bool has_words = std::any_of(all.begin(), all.end(), [](const Port& p) { return p.name == "y" || p.name == "z"; });
      if (draw_.chance(0.6) && (port.name != "word_lengths" || has_words)) all.push_back(port);
    }
    return all;
  }

  void fill(Body& body, Local& local, const Around& around) {
    instances_.emplace_back();
    if (!around.root || draw_.chance(0.5)) states(body, local, around);
    for (int n = draw_.between(2, 5); n > 0; --n) more(body, local, around);
    next(body, local, around);
    for (int n = draw_.between(1, 5); n > 0; --n) more(body, local, around);
    outputs(body, local, around);
    instances_.pop_back();

    for (const Port& s : local.states) {
      local.reads.before = local.reads.before || body.read().count(s.name) != 0;
      local.reads.after = local.reads.after || body.read().count("next(" + s.name + ")") != 0;
    }
    if (around.root && !local.states.empty()) {
      if (local.reads.before) coverage_.seen("root state read before");
      if (local.reads.after) coverage_.seen("root state read after");
    }
    local.ops.insert(body.ops().begin(), body.ops().end());
    std::vector<std::string> lines = body.lines();
    for (std::size_t i = lines.size(); i > 1; --i) std::swap(lines[i - 1], lines[draw_.below(i)]);
    local.text += joined(lines);
  }

  void more(Body& body, Local& local, const Around& around) {
    if (around.depth < kDeepest && draw_.chance(around.root ? 0.4 : 0.2)) {
      switch (draw_.below(5)) {
        case 0: call(body, local, around); break;
        case 1: repeat(body, local, around); break;
        default: scan(body, local, around);
      }
    } else if (around.scanned && draw_.chance(0.12)) {
      steps(body, local);
    } else {
      body.grow();
    }
  }

  // What numbers its steps, or looks back over them.
  void steps(Body& body, Local& local) {
    if (draw_.chance(0.4)) {
      local.forward_only = true;
      coverage_.seen("step()");
      body.add("step()", {Type::kInt32, {}});
      return;
    }
    const auto x =
        body.any([&](const Operand& o) { return body.type(o).type == Type::kFloat && body.type(o).shape.size() < 3; });
    if (!x) return;
    static const std::vector<std::string> kOver = {"mean(history({0}), axis=0)", "max(history({0}), axis=0)",
                                                   "sum(softmax(history({0}), axis=0) * history({0}), axis=0)"};
    local.forward_only = true;
    coverage_.seen("history");
    const std::string name = body.fresh("a");
    const std::string text = fmt::format(fmt::runtime(draw_.any(kOver)), body.use(*x));
    body.line(fmt::format("let: \"{} = {}\"", name, text));
    body.add(name, body.type(*x));
  }

  void states(Body& body, Local& local, const Around& around) {
    for (int n = draw_.between(0, 2); n > 0; --n) {
      const auto like = body.any([&](const Operand& o) {
        const ir::TensorType& t = body.type(o);
        const bool whole = t.type != Type::kInt32 || o.below > 0;
        // A stream's states take no size from one batch alone but its rows.
        const bool lasting = !around.root || std::all_of(t.shape.begin(), t.shape.end(),
                                                         [](const Dim& d) { return d.is_constant() || d == kBatch; });
        return can_be_declared(t) && whole && lasting && !o.lengths && t.shape.size() < 3 && (!around.rows || has_rows(t));
      });
      if (!like) return;
      Port state{body.fresh("h"), body.type(*like), like->below};
      if (state.type.type == Type::kFloat && !state.type.shape.empty() && state.type.shape.back().is_constant() &&
          draw_.chance(0.5))
        state.type.shape.back() = draw_.between(3, 4);
      body.add(state.name, state.type, state.below);
      local.states.push_back(state);
    }
  }

  void next(Body& body, Local& local, const Around& around) {
    for (const Port& state : local.states) {
      const auto made = body.of_type(state.type);
      std::string expression = made ? body.use(*made) : state.name;
      if (state.type.type == Type::kFloat && made && draw_.chance(0.4)) {
        expression = fmt::format("0.5 * {} + 0.5 * {}", state.name, expression);
        body.use({state.name, ir::kNone, 0, false, {state.name}});
      }
      std::string begin;
      if (state.type.type == Type::kFloat && around.scanned && draw_.chance(0.4)) {
        for (const Port& input : local.inputs)
          if (input.type == state.type && input.name[0] == 'i') begin = input.name;
        if (begin.empty() || draw_.chance(0.5)) begin = fmt::format("full(shape={}, value=0.25)", str(state.type.shape));
      }
      if (!begin.empty()) coverage_.seen("state with begin"), begin = " begin: \"" + begin + "\"";
      body.line(fmt::format("state {{ name: \"{}\" shape: \"{}\"{}{} next: \"{}\" }}", state.name, str(state.type.shape),
                            text_of(state.type.type), begin, expression));
      body.add("next(" + state.name + ")", state.type, state.below);
    }
  }

  void outputs(Body& body, Local& local, const Around& around) {
    std::vector<std::string> all;
    const auto put = [&](const std::string& name, const Operand& o) {
      all.push_back(name + " = " + body.use(o));
      local.outputs.push_back({name, body.type(o), o.below});
    };
    if (!local.carry.empty()) {
      for (const Port& input : local.inputs) {
        if (input.name != local.carry) continue;
        const auto made = body.of_type(input.type);
        all.push_back(input.name + " = " + (made ? body.use(*made) : input.name));
        local.outputs.push_back({input.name, input.type});
      }
    }
    for (int n = draw_.between(1, 3); n > 0; --n) {
      const auto o = body.any([&](const Operand& p) { return !around.rows || has_rows(body.type(p)); });
      if (o) put(fmt::format("out{}", n), *o);
    }
    for (const Port& state : local.states) {
      if (draw_.chance(0.3)) put("b_" + state.name, {state.name, find(body, state.name), state.below, false, {state.name}});
      const std::string after = "next(" + state.name + ")";
      if (draw_.chance(0.4)) put("a_" + state.name, {after, find(body, after), state.below, false, {after}});
    }
    if (around.root) {
      // Every size is told by something that is fed, and what was made last is never dead.
      for (const char* name : {"x", "y", "z"}) {
        const ir::ValueId value = find(body, name);
        if (value != ir::kNone) put(fmt::format("all_{}", name), {name, value, 0, false, {name}});
      }
      put("latest", body.pool().back());
    }
    if (all.empty()) {
      // Nothing has a row for each of the batch: what a scan hands in does, or its caller would not say lengths.
      for (const Operand& o : body.pool())
        if (all.empty() && has_rows(body.type(o))) put("out0", o);
      if (all.empty()) put("out0", body.pool().front());
    }
    body.line(fmt::format("output: \"{}\"", fmt::join(all, ", ")));
    local.rows = local.rows &&
                 std::all_of(local.outputs.begin(), local.outputs.end(), [](const Port& p) { return has_rows(p.type); }) &&
                 std::all_of(local.states.begin(), local.states.end(), [](const Port& p) { return has_rows(p.type); });
  }

  static ir::ValueId find(const Body& body, const std::string& text) {
    for (const Operand& o : body.pool())
      if (o.text == text) return o.value;
    return ir::kNone;
  }

  // A graph over inputs of these types: its number.
  std::size_t local(std::vector<Port> inputs, std::string carry, const Around& around) {
    const std::string name = fmt::format("g{}", graphs_++);
    Body body(draw_, name.substr(1) + "_");
    Local made;
    made.name = name, made.inputs = std::move(inputs), made.carry = std::move(carry);
    made.text = fmt::format("name: \"{}\"\n", name);
    for (const Port& port : made.inputs) {
      made.text +=
          fmt::format("input {{ name: \"{}\" shape: \"{}\"{} }}\n", port.name, str(port.type.shape), text_of(port.type.type));
      body.add(port.name, port.type, port.below, port.lengths);
    }
    fill(body, made, around);
    locals_.push_back(std::move(made));
    return locals_.size() - 1;
  }

  Port port_of(Body& body, const Operand& o, const std::string& name) { return {name, body.type(o), o.below, o.lengths}; }

  // Operands for the inputs of a graph that is there; none where one has none.
  std::optional<std::vector<Operand>> given(Body& body, const std::vector<Port>& inputs) {
    std::vector<Operand> all;
    for (const Port& port : inputs) {
      const auto o = body.any([&](const Operand& p) {
        return body.type(p) == port.type && (port.below == 0 || (p.below > 0 && p.below <= port.below)) &&
               p.lengths == port.lengths;
      });
      if (!o) return std::nullopt;
      all.push_back(*o);
    }
    return all;
  }

  std::vector<Operand> some(Body& body, int most) {
    std::vector<Operand> all;
    for (int n = draw_.between(1, most); n > 0; --n) {
      const auto o = body.any([&](const Operand& p) { return can_be_declared(body.type(p)); });
      if (o) all.push_back(*o);
    }
    return all;
  }

  std::string bindings(Body& body, const std::vector<Port>& ports, const std::vector<Operand>& operands) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < ports.size(); ++i) all.push_back(ports[i].name + " = " + body.use(operands[i]));
    return fmt::format("{}", fmt::join(all, ", "));
  }

  // Sharing with an earlier call of the same graph here.
  std::string shared(std::size_t graph) {
    const auto before = instances_.back().find(graph);
    if (before == instances_.back().end() || draw_.chance(0.5)) return "";
    coverage_.seen("shared parameters");
    return fmt::format(" parameters: \"{}\"", before->second);
  }

  void inherit(Local& caller, const Local& called, bool states_too) {
    caller.ops.insert(called.ops.begin(), called.ops.end());
    if (!states_too) return;
    caller.rows = caller.rows && called.rows;
    caller.reads.before = caller.reads.before || called.reads.before;
    caller.reads.after = caller.reads.after || called.reads.after;
  }

  bool may_call(const Local& local, const Around& around) const { return local.carry.empty() && (!around.rows || local.rows); }

  void call(Body& body, Local& caller, const Around& around) {
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < locals_.size(); ++i)
      if (callable_.count(i) && may_call(locals_[i], around)) fitting.push_back(i);
    std::optional<std::vector<Operand>> operands;
    std::size_t graph = 0;
    if (!fitting.empty() && draw_.chance(0.5)) {
      graph = draw_.any(fitting);
      operands = given(body, locals_[graph].inputs);
    }
    if (!operands) {
      operands = some(body, 3);
      if (operands->empty()) return;
      std::vector<Port> ports;
      for (const Operand& o : *operands) ports.push_back(port_of(body, o, fmt::format("i{}", ports.size())));
      graph = local(ports, "", {around.depth + 1, false, around.rows, false});
      callable_.insert(graph);
    }
    const std::string name = body.fresh("call");
    body.line(fmt::format("call {{ name: \"{}\" graph: \"{}\" input: \"{}\"{} }}", name, locals_[graph].name,
                          bindings(body, locals_[graph].inputs, *operands), shared(graph)));
    instances_.back().emplace(graph, name);
    coverage_.seen("call");
    inherit(caller, locals_[graph], true);
    for (const Port& o : locals_[graph].outputs) body.add(name + "." + o.name, o.type, o.below);
  }

  void repeat(Body& body, Local& caller, const Around& around) {
    const auto x = body.any([&](const Operand& o) {
      return body.type(o).type == Type::kFloat && can_be_declared(body.type(o)) && (!around.rows || has_rows(body.type(o)));
    });
    if (!x) return;
    std::vector<Operand> operands = some(body, 2);
    std::vector<Port> ports = {port_of(body, *x, "x")};
    for (const Operand& o : operands) ports.push_back(port_of(body, o, fmt::format("i{}", ports.size())));
    const std::size_t graph = local(ports, "x", {around.depth + 1, false, around.rows, false});
    const Local& made = locals_[graph];
    const std::string name = body.fresh("layers");
    const int times = draw_.between(1, 3);
    const std::string rest = bindings(body, {made.inputs.begin() + 1, made.inputs.end()}, operands);
    body.line(fmt::format("repeat {{ name: \"{}\" graph: \"{}\" times: \"{}\" carry: \"x = {}\" input: \"{}\" }}", name,
                          made.name, times, body.use(*x), rest));
    coverage_.seen("repeat");
    inherit(caller, made, true);
    body.add(name + ".x", made.inputs[0].type);
    for (const Port& o : made.outputs) {
      if (o.name == "x") continue;
      ir::TensorType all = o.type;
      all.shape.insert(all.shape.begin(), times);
      body.add(name + "." + o.name, all, o.below);
      body.add(fmt::format("{}.{}[{}]", name, o.name, times - 1), o.type, o.below);
    }
  }

  void scan(Body& body, Local& caller, const Around& around) {
    const auto first = body.any([&](const Operand& o) {
      const ir::TensorType& t = body.type(o);
      return t.shape.size() > 1 && can_be_declared(t);
    });
    if (!first) return;
    const Dim steps = body.type(*first).shape[0];
    std::vector<Operand> each = {*first};
    if (draw_.chance(0.4)) {
      if (const auto other = body.any([&](const Operand& o) {
            const ir::TensorType& t = body.type(o);
            return !t.shape.empty() && t.shape[0] == steps && can_be_declared(t) && o.text != first->text;
          }))
        each.push_back(*other);
    }
    const auto lengths = body.any([&](const Operand& o) { return o.lengths && body.type(o).shape == Shape{kBatch}; });
    bool rows_here = false;
    for (const Operand& o : each) {
      const Shape& s = body.type(o).shape;
      rows_here = rows_here || std::find(s.begin() + 1, s.end(), kBatch) != s.end();
    }
    const bool ragged = lengths && rows_here && draw_.chance(0.5);
    std::vector<Port> ports;
    std::vector<Operand> operands = each;
    for (const Operand& o : each) {
      Port port = port_of(body, o, fmt::format("s{}", ports.size()));
      port.type.shape.erase(port.type.shape.begin());
      port.lengths = false;
      ports.push_back(port);
    }
    const std::vector<Operand> invariant = some(body, 2);
    for (const Operand& o : invariant) ports.push_back(port_of(body, o, fmt::format("i{}", ports.size())));
    operands.insert(operands.end(), invariant.begin(), invariant.end());
    const std::size_t graph = local(ports, "", {around.depth + 1, true, ragged, false});
    const Local& made = locals_[graph];
    const bool reverse = !made.forward_only && draw_.chance(0.5);
    scan_line(body, graph, operands, each.size(), ragged ? body.use(*lengths) : "", reverse);
    inherit(caller, made, false);
    // Over the same once more, perhaps with the same parameters.
    if (draw_.chance(0.2))
      scan_line(body, graph, operands, each.size(), ragged ? body.use(*lengths) : "", !made.forward_only && !reverse);
    if (around.depth > 0) coverage_.seen("scan within a graph");
  }

  void scan_line(Body& body, std::size_t graph, const std::vector<Operand>& operands, std::size_t each,
                 const std::string& lengths, bool reverse) {
    const Local& made = locals_[graph];
    const std::string name = body.fresh("scan");
    const auto split = static_cast<std::ptrdiff_t>(each);
    std::string text = fmt::format(
        "scan {{ name: \"{}\" graph: \"{}\" each: \"{}\"", name, made.name,
        bindings(body, {made.inputs.begin(), made.inputs.begin() + split}, {operands.begin(), operands.begin() + split}));
    if (operands.size() > each) {
      text += fmt::format(" input: \"{}\"", bindings(body, {made.inputs.begin() + split, made.inputs.end()},
                                                     {operands.begin() + split, operands.end()}));
    }
    if (!lengths.empty()) text += fmt::format(" lengths: \"{}\"", lengths);
    if (reverse) text += " reverse: true";
    for (const Port& s : made.states) {
      if (s.type.type != Type::kFloat || !draw_.chance(0.25)) continue;
      const auto begin = body.any([&](const Operand& o) { return body.type(o) == s.type; });
      if (begin) {
        text += fmt::format(" begin: \"{} = {}\"", s.name, body.use(*begin));
        coverage_.seen("state that begins from its caller");
        break;
      }
    }
    body.line(text + shared(graph) + " }");
    instances_.back().emplace(graph, name);
    coverage_.scan(made.ops, made.reads, reverse, !lengths.empty());
    coverage_.seen("scan");
    const Dim steps = body.type(operands[0]).shape[0];
    for (const Port& o : made.outputs) {
      ir::TensorType all = o.type;
      all.shape.insert(all.shape.begin(), steps);
      if (all.shape.size() <= 4) body.add(name + "." + o.name, all, lengths.empty() || o.below ? o.below : 0);
    }
    for (const Port& s : made.states) body.add(name + ".end." + s.name, s.type, s.below);
  }

  tests::Draw draw_;
  std::vector<Local> locals_;
  std::vector<std::map<std::size_t, std::string>> instances_;  // of the graphs under way: which called what, by name
  std::set<std::size_t> callable_;
  int graphs_ = 0;
  Coverage coverage_;
};

}  // namespace

Generated generate(std::uint64_t seed) { return Generator(seed).make(); }

}  // namespace graphrun::random_graphs
