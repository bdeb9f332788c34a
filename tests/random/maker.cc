#include "tests/random/maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace graphrun::random_graphs {
namespace {

constexpr int kDeepest = 2;
const std::string kFileArg = "rate_of_file";

}  // namespace

const Dim& batch_rows() {
  static const Dim kRows = Symbol::named("batch");
  return kRows;
}

bool has_rows(const ir::TensorType& type) {
  return std::find(type.shape.begin(), type.shape.end(), batch_rows()) != type.shape.end();
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string reworded(const std::string& text, const std::map<std::string, std::string>& by) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && in_word(text[end])) ++end;
    const std::string word = text.substr(at, end - at);
    const auto found = by.find(word);
    out += found == by.end() ? word : found->second;
    if (end < text.size()) out += text[end++];
    at = end;
  }
  return out;
}

Maker::Maker(std::uint64_t seed) : draw_(seed), focus_(op_choices()[seed % op_choices().size()]) {}

Generated Maker::make() {
  Body body(draw_, "r");
  std::vector<std::string> head;
  const std::vector<Port> ports = root_inputs();
  for (const Port& port : ports) {
    std::string more = text_of(port.type.type);
    if (port.below) more += fmt::format(" below: \"{}\"", port.below);
    if (port.lengths) more += fmt::format(" lengths_of: \"{}\"", port.name == "lengths" ? "time" : "words");
    head.push_back(fmt::format("input {{ name: \"{}\" shape: \"{}\"{} }}", port.name, str(port.type.shape), more));
  }
  if (draw_.chance(0.2)) file_arg_ = kFileArg;
  Local root;
  Around around;
  around.root = true;
  const Dim time = Symbol::named("time");
  const auto known = [&](const Port& p) {
    return p.name != "lengths" && std::find(p.type.shape.begin(), p.type.shape.end(), time) == p.type.shape.end();
  };
  const auto add = [&](bool early) {
    for (const Port& p : ports)
      if (known(p) == early) body.add(p.name, p.type, p.below, p.lengths);
  };
  const auto has = [&](const char* name) {
    return std::any_of(ports.begin(), ports.end(), [&](const Port& p) { return p.name == name; });
  };
  add(true);
  if (has("ids") && draw_.chance(0.5)) {
    instances_.emplace_back();
    for (int n = draw_.between(0, 3); n > 0; --n) more(body, root, around);
    speak(body, root, has("lengths"));
    instances_.pop_back();
  }
  add(false);
  fill(body, root, around);
  coverage_.graph(root.traits);

  Generated made;
  std::string text = "name: \"random\"\n" + joined(head) + root.text;
  for (const Local& local : locals_) text += "graph {\n" + local.text + "}\n";
  const std::string arg = "arg { name: \"" + kFileArg + "\" default: \"0.25\" }\n";
  const bool uses_arg = text.find(kFileArg) != std::string::npos;
  made.text = (uses_arg ? arg : "") + text;
  made.files = split("name: \"random\"\n" + (uses_arg ? arg : "") + joined(head), root);
  made.generation = generation_;
  made.coverage = coverage_;
  return made;
}

std::vector<Port> Maker::root_inputs() {
  const Dim time = Symbol::named("time"), words = Symbol::named("words");
  const Dim& rows = batch_rows();
  std::vector<Port> all = {{"x", {Type::kFloat, {time, rows, 4}}}, {"c", {Type::kFloat, {rows, 4}}}};
  const std::vector<Port> more = {{"y", {Type::kFloat, {words, rows, 3}}},
                                  {"z", {Type::kFloat, {time, words, rows, 3}}},
                                  {"ids", {Type::kInt32, {time, rows}}, 3},
                                  {"id", {Type::kInt32, {rows}}, 3},
                                  {"k", {Type::kInt32, {}}, 3},
                                  {"flags", {Type::kBool, {time, rows}}},
                                  {"word_lengths", {Type::kInt32, {rows}}, 0, true},
                                  {"lengths", {Type::kInt32, {rows}}, 0, true}};
  for (const Port& port : more) {
    const bool has_words = std::any_of(all.begin(), all.end(), [](const Port& p) { return p.name == "y" || p.name == "z"; });
    if (draw_.chance(0.6) && (port.name != "word_lengths" || has_words)) all.push_back(port);
  }
  return all;
}

void Maker::fill(Body& body, Local& local, const Around& around) {
  instances_.emplace_back();
  if (!around.root || draw_.chance(0.5)) states(body, local, around);
  if (!around.cell && around.depth < kDeepest && draw_.chance(0.15)) bundle(body, local, around);
  if (draw_.chance(0.2)) args(body, local);
  for (int n = draw_.between(2, 5); n > 0; --n) more(body, local, around);
  for (int n = around.scanned && draw_.chance(0.6) ? 4 : 0; n > 0 && !body.apply(*focus_); --n) {
  }
  next(body, local, around);
  for (int n = draw_.between(1, 5); n > 0; --n) more(body, local, around);
  outputs(body, local, around);
  instances_.pop_back();

  if (around.root && local.traits[kReadsBefore]) coverage_.seen("root state read before");
  if (around.root && local.traits[kReadsAfter]) coverage_.seen("root state read after");
  std::vector<std::string> lines = body.lines();
  for (std::size_t i = lines.size(); i > 1; --i) std::swap(lines[i - 1], lines[draw_.below(i)]);
  local.text += joined(lines);
}

void Maker::more(Body& body, Local& local, const Around& around) {
  if (around.depth < kDeepest && draw_.chance(around.root ? 0.4 : 0.25)) {
    switch (draw_.below(7)) {
      case 0: call(body, local, around); break;
      case 1: repeat(body, local, around); break;
      case 2:
        if (!around.cell && draw_.chance(0.5)) {
          argument_graph(body, local, around);
        } else {
          repeat(body, local, around);
        }
        break;
      default: scan(body, local, around);
    }
  } else if (around.scanned && draw_.chance(0.12)) {
    steps(body, local);
  } else {
    body.grow();
  }
}

// Values that count the steps, or look back over them.
void Maker::steps(Body& body, Local& local) {
  if (draw_.chance(0.4)) {
    local.forward_only = true;
    coverage_.seen("step()");
    body.add("step()", {Type::kInt32, {}});
    return;
  }
  const auto x = body.any([&](const Operand& o) { return body.type(o).type == Type::kFloat && body.type(o).shape.size() < 3; });
  if (!x) return;
  static const std::vector<std::string> kOver = {"mean(history({0}), axis=0)", "max(history({0}), axis=0)",
                                                 "sum(softmax(history({0}), axis=0) * history({0}), axis=0)"};
  local.forward_only = true;
  coverage_.seen("history");
  const std::string name = body.fresh("a");
  const std::string text = fmt::format(fmt::runtime(draw_.any(kOver)), body.use(*x));
  body.line(fmt::format("let: \"{} = {}\"", name, text));
  body.add(name, body.type(*x), 0, false, x->traits);
}

// Compile-time numbers: of the graph, or of the enclosing file.
void Maker::args(Body& body, Local& local) {
  const auto x = body.any([&](const Operand& o) {
    const ir::TensorType& t = body.type(o);
    return t.type == Type::kFloat && t.shape.size() > 1 && t.shape.back().is_constant();
  });
  if (!x) return;
  const std::string name = body.fresh("v"), of = body.use(*x);
  const auto made = [&](const std::string& text) {
    body.line(fmt::format("let: \"{} = {}\"", name, text));
    body.add(name, body.type(*x), 0, false, x->traits);
  };
  if (!file_arg_.empty() && draw_.chance(0.4)) {
    local.reads_file = !local.name.empty();
    coverage_.seen("arg of the file");
    return made(fmt::format("{} * {}", of, file_arg_));
  }
  Argument argument;
  argument.name = body.fresh("arg");
  const auto declare = [&](const std::string& value) {
    body.line(fmt::format("arg {{ name: \"{}\" default: \"{}\" }}", argument.name, value));
  };
  coverage_.seen("arg");
  switch (draw_.below(3)) {
    case 0: {
      const std::string A = body.fresh("A"), B = body.fresh("B");
      const std::int64_t width = body.type(*x).shape.back().constant();
      if (draw_.chance(0.5)) argument.given = draw_.chance(0.5) ? "2" : "3 + 2";
      declare("3");
      body.line(fmt::format("parameter {{ name: \"{}\" shape: \"[{}, {}]\" }}", A, width, argument.name));
      body.line(fmt::format("parameter {{ name: \"{}\" shape: \"[{}, {}]\" }}", B, argument.name, width));
      made(fmt::format("tanh({} @ {}) @ {}", of, A, B));
      break;
    }
    case 1:
      argument.kind = Argument::Kind::kFactor;
      declare("0.5");
      made(draw_.chance(0.5) ? fmt::format("{} * {}", of, argument.name)
                             : fmt::format("tanh({0}) if {1} > 0.25 else {0} + {1}", of, argument.name));
      break;
    default:
      argument.kind = Argument::Kind::kFlag;
      declare(draw_.chance(0.5) ? "true" : "false");
      made(fmt::format("tanh({0}) if {1} else {0}", of, argument.name));
  }
  local.arguments.push_back(argument);
}

void Maker::states(Body& body, Local& local, const Around& around) {
  const ir::TensorType of_cell{Type::kFloat, {batch_rows(), draw_.between(3, 4)}};
  for (int n = draw_.between(around.cell ? 1 : 0, 2); n > 0; --n) {
    Port state;
    if (around.cell) {
      state = {body.fresh("h"), of_cell};
    } else {
      const auto like = body.any([&](const Operand& o) {
        const ir::TensorType& t = body.type(o);
        const bool whole = t.type != Type::kInt32 || o.below > 0;
        // The only size of a batch that a stream's states may have is the number of rows.
        const bool lasting = !around.root || std::all_of(t.shape.begin(), t.shape.end(),
                                                         [](const Dim& d) { return d.is_constant() || d == batch_rows(); });
        return can_be_declared(t) && whole && lasting && !o.lengths && t.shape.size() < 3 && (!around.rows || has_rows(t));
      });
      if (!like) return;
      state = {body.fresh("h"), body.type(*like), like->below};
      if (state.type.type == Type::kFloat && !state.type.shape.empty() && state.type.shape.back().is_constant() &&
          draw_.chance(0.5))
        state.type.shape.back() = draw_.between(3, 4);
    }
    Traits reads;
    reads.set(kReadsBefore);
    body.add(state.name, state.type, state.below, false, reads);
    local.states.push_back(state);
    local.leaves.push_back(state);
  }
}

void Maker::next(Body& body, Local& local, const Around& around) {
  for (const Port& state : local.states) {
    const auto made = body.of_type(state.type);
    std::string expression = made ? body.use(*made) : state.name;
    Traits traits = made ? made->traits : Traits();
    traits.set(kReadsAfter);
    if (state.type.type == Type::kFloat && made && draw_.chance(0.4)) {
      expression = fmt::format("0.5 * {} + 0.5 * {}", state.name, expression);
      body.use({state.name, ir::kNone, 0, false, {state.name}, {}});
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
    body.add("next(" + state.name + ")", state.type, state.below, false, traits);
  }
}

std::optional<Operand> Maker::showing(Body& body, const ir::OpSchema& op, bool rows) {
  const auto made = body.any([&](const Operand& o) { return o.traits[number_of(op)]; });
  if (!made || !rows || has_rows(body.type(*made))) return made;
  const auto row = body.any([&](const Operand& o) { return body.type(o).type == Type::kFloat && has_rows(body.type(o)); });
  if (!row) return std::nullopt;
  return body.equation("first__ + tanh(mean(cast(second__, type='FLOAT')))", {{"first__", *row}, {"second__", *made}});
}

void Maker::outputs(Body& body, Local& local, const Around& around) {
  std::vector<std::string> all;
  const auto put = [&](const std::string& name, const Operand& o) {
    all.push_back(name + " = " + body.use(o));
    local.outputs.push_back({name, body.type(o), o.below});
    local.traits |= o.traits;
  };
  const auto named = [&](const std::string& text) {
    const auto found = std::find_if(body.pool().begin(), body.pool().end(), [&](const Operand& o) { return o.text == text; });
    return found == body.pool().end() ? std::optional<Operand>() : *found;
  };
  if (!local.carry.empty()) {
    for (const Port& input : local.inputs) {
      if (input.name != local.carry) continue;
      local.carried_as = draw_.chance(0.4) ? "handed_on" : input.name;
      const auto made = body.of_type(input.type);
      put(local.carried_as, made ? *made : *named(input.name));
    }
  }
  if (around.wanted) {
    const auto made = body.of_type(*around.wanted);
    GRAPHRUN_CHECK(made.has_value(), "nothing in a graph that is driven is FLOAT");
    // A score must depend on the words.
    put("wanted", *body.equation("first__ + 0.5 * second__", {{"first__", *made}, {"second__", *named(local.inputs[0].name)}}));
  }
  for (int n = draw_.between(1, 3); n > 0; --n) {
    const auto o = body.any([&](const Operand& p) { return !around.rows || has_rows(body.type(p)); });
    if (o) put(fmt::format("out{}", n), *o);
  }
  if (around.scanned) {
    if (const auto o = showing(body, *focus_, around.rows)) put("focus", *o);
  }
  for (const Port& state : local.states) {
    if (draw_.chance(0.4)) put("b_" + state.name, *named(state.name));
    if (draw_.chance(0.4)) put("a_" + state.name, *named("next(" + state.name + ")"));
  }
  if (around.root) {
    // Some sizes may be determined by nothing else that is read; the values added last are always used.
    for (const char* name : {"x", "y", "z"}) {
      const auto o = named(name);
      if (o && draw_.chance(0.4)) put(fmt::format("all_{}", name), *o);
    }
    put("latest", body.pool().back());
  }
  if (all.empty()) {
    // Nothing has a batch axis: the scan's operands must have one, or the caller could not use lengths.
    for (const Operand& o : body.pool())
      if (all.empty() && has_rows(body.type(o))) put("out0", o);
    if (all.empty()) put("out0", body.pool().front());
  }
  body.line(fmt::format("output: \"{}\"", fmt::join(all, ", ")));
  const auto rows = [](const Port& p) { return has_rows(p.type); };
  local.rows = local.rows && std::all_of(local.outputs.begin(), local.outputs.end(), rows) &&
               std::all_of(local.leaves.begin(), local.leaves.end(), rows);
}

std::size_t Maker::local(std::vector<Port> inputs, std::string carry, const Around& around) {
  const std::string name = fmt::format("g{}", graphs_++);
  Body body(draw_, name.substr(1) + "_");
  Local made;
  made.name = name, made.inputs = std::move(inputs), made.carry = std::move(carry);
  made.text = fmt::format("name: \"{}\"\n", name);
  std::vector<std::string> symbols;
  for (const Port& port : made.inputs) {
    made.text +=
        fmt::format("input {{ name: \"{}\" shape: \"{}\"{} }}\n", port.name, str(port.type.shape), text_of(port.type.type));
    body.add(port.name, port.type, port.below, port.lengths);
    for (const Dim& dim : port.type.shape) {
      const auto symbol = dim.as_symbol();
      if (symbol && std::find(symbols.begin(), symbols.end(), symbol->name()) == symbols.end())
        symbols.push_back(symbol->name());
    }
  }
  fill(body, made, around);
  // A graph may choose the names of its sizes.
  if (!symbols.empty() && draw_.chance(0.3)) {
    std::map<std::string, std::string> names;
    const bool among = symbols.size() > 1 && draw_.chance(0.5);
    for (std::size_t k = 0; k < symbols.size(); ++k)
      names[symbols[k]] = among ? symbols[(k + 1) % symbols.size()] : fmt::format("n{}", k);
    made.text = reworded(made.text, names);
    coverage_.seen("sizes by other names");
  }
  locals_.push_back(std::move(made));
  return locals_.size() - 1;
}

std::set<std::size_t> Maker::all_called(std::size_t graph) const {
  std::set<std::size_t> all;
  std::vector<std::size_t> open = {graph};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const std::size_t called : locals_[at].calls)
      if (all.insert(called).second) open.push_back(called);
  }
  return all;
}

// Moves some of the graphs into their own files, each with the graphs that it calls.
std::map<std::string, std::string> Maker::split(const std::string& head, const Local& root) {
  std::string imports, rest;
  std::map<std::string, std::string> files;
  for (std::size_t k = 0; k < locals_.size(); ++k) {
    const Local& local = locals_[k];
    const std::set<std::size_t> called = all_called(k);
    const bool reads_file =
        local.reads_file || std::any_of(called.begin(), called.end(), [&](std::size_t c) { return locals_[c].reads_file; });
    if (reads_file || draw_.chance(0.5)) {
      rest += "graph {\n" + local.text + "}\n";
      continue;
    }
    std::string text = local.text;
    for (const std::size_t c : called) text += "graph {\n" + locals_[c].text + "}\n";
    files[local.name + ".pbtxt"] = text;
    imports += fmt::format("import: \"{0} = {0}.pbtxt\"\n", local.name);
  }
  if (files.empty()) return {};
  coverage_.seen("imports of files");
  files["random.pbtxt"] = head + imports + root.text + rest;
  return files;
}

Generated generate(std::uint64_t seed) { return Maker(seed).make(); }

}  // namespace graphrun::random_graphs
