// Calls, repeats and scans of the graphs of a file.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tests/random/maker.h"

namespace graphrun::random_graphs {
namespace {

// The traits that a scan's caller sees: without how its body reads its states.
Traits outside_scan(Traits traits) {
  traits.reset(kReadsBefore);
  traits.reset(kReadsAfter);
  return traits;
}

Traits traits_of(const std::vector<Operand>& operands) {
  Traits all;
  for (const Operand& o : operands) all |= o.traits;
  return all;
}

// Whether a graph's shape fits one of its caller; sets what its symbols then are. The batch stays the batch.
bool fits(const Shape& shape, const Shape& of_caller, ir::SizesBySymbol& sizes) {
  if (shape.size() != of_caller.size()) return false;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const auto symbol = shape[k].as_symbol();
    if (!symbol || shape[k] == batch_rows() || of_caller[k] == batch_rows()) {
      if (shape[k] != of_caller[k]) return false;
      continue;
    }
    if (!of_caller[k].as_symbol()) return false;
    if (sizes.emplace(*symbol, of_caller[k]).first->second != of_caller[k]) return false;
  }
  return true;
}

}  // namespace

bool has_numbers(const std::string& path) {
  for (std::size_t at = 0; at != std::string::npos; at = path.find('.', at)) {
    if (path[at] == '.') ++at;
    if (at < path.size() && std::isdigit(static_cast<unsigned char>(path[at])) != 0) return true;
  }
  return false;
}

// Existing operands for a graph's inputs; nothing if an input has none.
std::optional<Maker::Given> Maker::given(Body& body, const std::vector<Port>& inputs) {
  Given found;
  for (const Port& port : inputs) {
    const auto o = body.any([&](const Operand& p) {
      ir::SizesBySymbol sizes = found.sizes;
      return body.type(p).type == port.type.type && fits(port.type.shape, body.type(p).shape, sizes) &&
             (port.below == 0 || (p.below > 0 && p.below <= port.below)) && p.lengths == port.lengths;
    });
    if (!o) return std::nullopt;
    fits(port.type.shape, body.type(*o).shape, found.sizes);
    found.operands.push_back(*o);
  }
  return found;
}

std::vector<Operand> Maker::some(Body& body, int most) {
  std::vector<Operand> all;
  for (int n = draw_.between(1, most); n > 0; --n) {
    const auto o = body.any([&](const Operand& p) { return can_be_declared(body.type(p)); });
    if (o) all.push_back(*o);
  }
  return all;
}

std::string Maker::bindings(Body& body, const std::vector<Port>& ports, const std::vector<Operand>& operands) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < ports.size(); ++i) all.push_back(ports[i].name + " = " + body.use(operands[i]));
  return fmt::format("{}", fmt::join(all, ", "));
}

// The args that a call passes to the graph; `repeated`: once for each repetition.
std::string Maker::given_args(const Local& called, bool repeated) {
  std::vector<std::string> all;
  for (const Argument& argument : called.arguments) {
    const auto give = [&](const std::string& value) { all.push_back(argument.name + " = " + value); };
    const bool gives = draw_.chance(0.6);
    switch (argument.kind) {
      case Argument::Kind::kWidth:
      case Argument::Kind::kGraph:
        if (!argument.given.empty()) give(argument.given);
        break;
      case Argument::Kind::kFactor:
        if (gives) give(repeated ? "0.5 if index == 0 else 0.125" : draw_.chance(0.5) ? "1 - 0.75" : "0.125");
        break;
      case Argument::Kind::kFlag:
        if (gives) give(repeated ? "index == 0" : draw_.chance(0.5) ? "true" : "false");
    }
  }
  if (all.empty()) return "";
  coverage_.seen("arg with a value");
  return fmt::format(" arg: \"{}\"", fmt::join(all, ", "));
}

// Shares parameters with an earlier call of the same graph here.
std::string Maker::shared(std::size_t graph) {
  const auto before = instances_.back().find(graph);
  if (before == instances_.back().end() || draw_.chance(0.5)) return "";
  coverage_.seen("shared parameters");
  return fmt::format(" parameters: \"{}\"", before->second);
}

// An initial value for one of the graph's states, "path = value"; empty if nothing here has its type.
std::string Maker::begun(Body& body, const Local& called, const ir::SizesBySymbol& sizes) {
  if (called.leaves.empty()) return "";
  const Port& leaf = draw_.any(called.leaves);
  if (leaf.type.type != Type::kFloat) return "";
  const Shape shape = ir::substituted(leaf.type.shape, sizes);
  const auto value =
      body.any([&](const Operand& o) { return body.type(o).type == Type::kFloat && body.type(o).shape == shape; });
  return value ? leaf.name + " = " + body.use(*value) : "";
}

void Maker::inherit(Local& caller, std::size_t called, bool states_too) {
  const Local& local = locals_[called];
  caller.calls.insert(called);
  caller.calls.insert(local.handed.begin(), local.handed.end());
  if (!states_too) return;
  caller.rows = caller.rows && local.rows;
  caller.forward_only = caller.forward_only || local.forward_only;
}

void Maker::call(Body& body, Local& caller, const Around& around) {
  std::vector<std::size_t> fitting;
  for (const std::size_t i : callable_)
    if (!around.rows || locals_[i].rows) fitting.push_back(i);
  std::optional<Given> operands;
  std::size_t graph = 0;
  if (!fitting.empty() && draw_.chance(0.5)) {
    graph = draw_.any(fitting);
    operands = given(body, locals_[graph].inputs);
  }
  if (!operands) {
    operands = Given{some(body, 3), {}};
    if (operands->operands.empty()) return;
    std::vector<Port> ports;
    for (const Operand& o : operands->operands) ports.push_back(port_of(body, o, fmt::format("i{}", ports.size())));
    graph = local(ports, "", {around.depth + 1, false, around.rows, false});
    callable_.insert(graph);
  }
  const Local& called = locals_[graph];
  const std::string name = body.fresh("call");
  // States with an explicit initial value are not states of the caller.
  const std::string begin = draw_.chance(0.4) ? begun(body, called, operands->sizes) : "";
  if (!begin.empty()) coverage_.seen("call with begin");
  if (!operands->sizes.empty()) coverage_.seen("graph called again, perhaps for other sizes");
  body.line(fmt::format("call {{ name: \"{}\" graph: \"{}\" input: \"{}\"{}{}{} }}", name, called.name,
                        bindings(body, called.inputs, operands->operands), given_args(called, false),
                        begin.empty() ? "" : " begin: \"" + begin + "\"", shared(graph)));
  instances_.back().emplace(graph, name);
  coverage_.seen("call");
  inherit(caller, graph, true);
  const Traits traits = traits_of(operands->operands) | called.traits;
  const auto type_here = [&](const ir::TensorType& type) {
    return ir::TensorType{type.type, ir::substituted(type.shape, operands->sizes)};
  };
  for (const Port& o : called.outputs) body.add(name + "." + o.name, type_here(o.type), o.below, false, traits);
  for (const Port& leaf : called.leaves) {
    if (begin.empty()) caller.leaves.push_back({name + "." + leaf.name, type_here(leaf.type), leaf.below});
    if (!has_numbers(leaf.name)) body.add(name + ".end." + leaf.name, type_here(leaf.type), leaf.below, false, traits);
  }
}

void Maker::repeat(Body& body, Local& caller, const Around& around) {
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
  const bool renamed = made.carried_as != "x";
  if (renamed) coverage_.seen("repeat with next");
  body.line(fmt::format("repeat {{ name: \"{}\" graph: \"{}\" times: \"{}\" carry: \"x = {}\"{} input: \"{}\"{} }}", name,
                        made.name, times, body.use(*x), renamed ? " next: \"x = " + made.carried_as + "\"" : "", rest,
                        given_args(made, true)));
  coverage_.seen(around.scanned ? "repeat within a scan" : "repeat");
  inherit(caller, graph, true);
  const Traits traits = traits_of(operands) | x->traits | made.traits;
  body.add(name + ".x", made.inputs[0].type, 0, false, traits);
  for (const Port& o : made.outputs) {
    if (o.name == "x") continue;  // of what is handed on by another name, every repetition's value is there
    ir::TensorType all = o.type;
    all.shape.insert(all.shape.begin(), times);
    std::string stack = name + "." + o.name;
    if (draw_.chance(0.3) && can_be_declared(all)) {
      const std::string sized = body.fresh("v");
      body.line(fmt::format("let: \"{}{} = {}\"", sized, str(all.shape), stack));
      stack = sized;
      coverage_.seen("stack with sizes");
    }
    body.add(stack, all, o.below, false, traits);
    body.add(fmt::format("{}[{}]", stack, times - 1), o.type, o.below, false, traits);
  }
  for (int k = 0; k < times; ++k)
    for (const Port& leaf : made.leaves)
      caller.leaves.push_back({fmt::format("{}.{}.{}", name, k, leaf.name), leaf.type, leaf.below});
}

void Maker::scan(Body& body, Local& caller, const Around& around) {
  const auto first = body.any([&](const Operand& o) {
    const ir::TensorType& t = body.type(o);
    return t.shape.size() > 1 && can_be_declared(t);
  });
  if (!first) return;
  const Dim steps = body.type(*first).shape[0];
  Scanned how;
  how.operands = {*first};
  if (draw_.chance(0.4)) {
    if (const auto other = body.any([&](const Operand& o) {
          const ir::TensorType& t = body.type(o);
          return !t.shape.empty() && t.shape[0] == steps && can_be_declared(t) && o.text != first->text;
        }))
      how.operands.push_back(*other);
  }
  how.each = how.operands.size();
  const auto lengths = body.any([&](const Operand& o) { return o.lengths && body.type(o).shape == Shape{batch_rows()}; });
  bool rows_here = false;
  for (const Operand& o : how.operands) {
    const Shape& s = body.type(o).shape;
    rows_here = rows_here || std::find(s.begin() + 1, s.end(), batch_rows()) != s.end();
  }
  const bool ragged = lengths && rows_here && draw_.chance(0.5);
  if (ragged) how.lengths = body.use(*lengths);
  std::vector<Port> ports;
  for (const Operand& o : how.operands) {
    Port port = port_of(body, o, fmt::format("s{}", ports.size()));
    port.type.shape.erase(port.type.shape.begin());
    port.lengths = false;
    ports.push_back(port);
  }
  std::vector<Operand> same = some(body, 2);
  if (lengths && focus_->input_index("lengths") >= 0 && draw_.chance(0.6)) same.push_back(*lengths);
  for (const Operand& o : same) {
    ports.push_back(port_of(body, o, fmt::format("i{}", ports.size())));
    how.operands.push_back(o);
  }
  how.graph = local(ports, "", {around.depth + 1, true, ragged, false});
  how.reverse = !locals_[how.graph].forward_only && draw_.chance(0.5);
  const std::string name = scan_line(body, caller, around, how);
  // Run it once more over the same input, perhaps with the same parameters, perhaps starting from the first one's final state.
  if (draw_.chance(0.2)) {
    how.reverse = !locals_[how.graph].forward_only && !how.reverse;
    if (!locals_[how.graph].leaves.empty() && draw_.chance(0.5)) how.begin = name + ".end";
    scan_line(body, caller, around, how);
  }
  if (around.depth > 0) coverage_.seen(around.scanned ? "scan within a scan" : "scan within a call or repeat");
}

// Writes the scan; returns its name.
std::string Maker::scan_line(Body& body, Local& caller, const Around& around, const Scanned& how) {
  const Local& made = locals_[how.graph];
  const std::string name = body.fresh("scan");
  const auto split = static_cast<std::ptrdiff_t>(how.each);
  std::string text = fmt::format(
      "scan {{ name: \"{}\" graph: \"{}\" each: \"{}\"", name, made.name,
      bindings(body, {made.inputs.begin(), made.inputs.begin() + split}, {how.operands.begin(), how.operands.begin() + split}));
  if (how.operands.size() > how.each) {
    text += fmt::format(" input: \"{}\"", bindings(body, {made.inputs.begin() + split, made.inputs.end()},
                                                   {how.operands.begin() + split, how.operands.end()}));
  }
  text += given_args(made, false);
  if (!how.lengths.empty()) text += fmt::format(" lengths: \"{}\"", how.lengths);
  if (how.reverse) text += " reverse: true";
  std::string begin = how.begin;
  if (!begin.empty()) {
    coverage_.seen("scan that begins where another ends");
  } else if (how.stream || (how.begins_anyhow && can_be_stream(made, around) && draw_.chance(0.2))) {
    begin = stream(body, caller, name, made);
  } else if (how.begins_anyhow && draw_.chance(0.3)) {
    begin = begun(body, made, {});
    if (!begin.empty()) coverage_.seen("state that begins from its caller");
  }
  if (!begin.empty()) text += fmt::format(" begin: \"{}\"", begin);
  body.line(text + shared(how.graph) + " }");
  instances_.back().emplace(how.graph, name);
  inherit(caller, how.graph, false);
  coverage_.scan(made.traits, how.reverse, !how.lengths.empty());
  coverage_.seen("scan");
  const Traits traits = traits_of(how.operands) | outside_scan(made.traits);
  const Dim steps = body.type(how.operands[0]).shape[0];
  for (const Port& o : made.outputs) {
    ir::TensorType all = o.type;
    all.shape.insert(all.shape.begin(), steps);
    if (all.shape.size() <= 4) body.add(name + "." + o.name, all, o.below, false, traits);
  }
  for (const Port& leaf : made.leaves)
    if (!has_numbers(leaf.name)) body.add(name + ".end." + leaf.name, leaf.type, leaf.below, false, traits);
  return name;
}

}  // namespace graphrun::random_graphs
