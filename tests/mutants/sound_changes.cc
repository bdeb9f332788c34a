#include "tests/mutants/sound_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "compiler/ir/op.h"
#include "tests/random/body.h"

namespace graphrun::mutants {
namespace {

constexpr int kTries = 6;
constexpr std::array kSizes = {"1", "2", "3", "4", "5", "8", "0"};
constexpr std::array kConstants = {"0", "1", "2", "-1", "0.5", "3", "1e-3", "1e30"};

// A name that is not used in the file.
std::string fresh_name(const std::string& text, const std::string& stem) {
  for (int k = 0;; ++k) {
    const std::string name = stem + std::to_string(k);
    if (text.find(name) == std::string::npos) return name;
  }
}

bool is_number(const Token& token) { return token.kind == TokenClass::kNumber; }

// Equal for ops with operands and attributes of the same names.
std::string signature_of(const ir::OpSchema& op) {
  std::string all;
  for (const ir::InputSpec& input : op.inputs)
    all += input.name + (input.optional ? "?" : "") + (input.variadic ? "*" : "") + " ";
  for (const ir::AttributeSpec& attribute : op.attributes) all += "; " + attribute.name;
  return all + "/" + op.family;
}

const std::vector<std::string>& ops_like(const std::string& name) {
  static const auto kAll = [] {
    std::map<std::string, std::vector<std::string>> by_signature, by_name;
    for (const ir::OpSchema* op : random_graphs::op_choices()) by_signature[signature_of(*op)].push_back(op->name);
    for (const ir::OpSchema* op : random_graphs::op_choices()) by_name[op->name] = by_signature[signature_of(*op)];
    return by_name;
  }();
  static const std::vector<std::string> kNone;
  const auto found = kAll.find(name);
  return found == kAll.end() ? kNone : found->second;
}

// Two things that a message of the graph may say.
using Change = bool (*)(TypedGraph&, tests::Draw&);

// Replaces a name by another of its type.
bool read_another(TypedGraph& graph, tests::Draw& random) {
  GraphText text(graph.text, graph.types);
  if (text.sites().empty()) return false;
  const Site& site = random.any(text.sites());
  std::vector<std::string> others;
  for (const GraphText::Name& other : text.names(site.scope, site.defines))
    if (*other.type == *site.type && other.name != site.name) others.push_back(other.name);
  if (others.empty()) return false;
  text.inside(site.string)[site.at].text = random.any(others);
  graph.text = text.text();
  return true;
}

// Swaps two names of one type.
bool swap_names(TypedGraph& graph, tests::Draw& random) {
  GraphText text(graph.text, graph.types);
  if (text.sites().empty()) return false;
  const Site& site = random.any(text.sites());
  std::vector<const Site*> others;
  for (const Site& other : text.sites())
    if (other.scope == site.scope && *other.type == *site.type && other.name != site.name) others.push_back(&other);
  if (others.empty()) return false;
  const Site& other = *random.any(others);
  std::swap(text.inside(site.string)[site.at].text, text.inside(other.string)[other.at].text);
  graph.text = text.text();
  return true;
}

// Replaces a name by a generated expression of its type, made of ops chosen from all, with the parameters and equations that it
// needs.
bool read_made_up(TypedGraph& graph, tests::Draw& random) {
  GraphText text(graph.text, graph.types);
  if (text.sites().empty()) return false;
  const Site& site = random.any(text.sites());
  random_graphs::Body body(random, fresh_name(graph.text, "m") + "_");
  const auto offer = [&](const std::string& name, const ir::TensorType& type) {
    const bool whole = type.type == Type::kInt32;
    body.add(name, type, whole ? 3 : 0, whole && name.find("length") != std::string::npos);
  };
  std::vector<GraphText::Name> names = text.names(site.scope, site.defines);
  for (int k = 0; k < 5 && !names.empty(); ++k) {
    const std::size_t which = random.below(names.size());
    offer(names[which].name, *names[which].type);
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(which));
  }
  const ir::TensorType wanted = *site.type;
  offer(site.name, wanted);
  const std::size_t before = body.pool().size();
  for (int k = random.between(1, 4); k > 0; --k) body.grow();
  std::optional<random_graphs::Operand> made;
  for (std::size_t k = body.pool().size(); k > before && !made; --k)
    if (body.type(body.pool()[k - 1]) == wanted) made = body.pool()[k - 1];
  if (!made) made = body.of_type(wanted);
  if (!made) return false;
  text.inside(site.string)[site.at].text = "(" + body.use(*made) + ")";
  std::vector<std::string> lines = body.lines();
  // The new value is read by an output of the file, if it may be read there.
  if (site.scope == 0 && random.one_in(2))
    lines.push_back("output: \"" + fresh_name(graph.text, "made") + " = " + body.use(body.pool().back()) + "\"");
  const std::size_t scope = site.scope;
  graph.text = text.with_lines(scope, lines);
  for (const random_graphs::Operand& o : body.pool()) graph.types.add(o.text, body.type(o));
  return true;
}

// Replaces an op by another with the same operands, or an infix operator by another.
bool change_op(TypedGraph& graph, tests::Draw& random) {
  GraphText text(graph.text, graph.types);
  if (text.expressions().empty()) return false;
  Tokens& inner = text.inside(random.any(text.expressions()));
  static const std::array<std::string, 2> kGroups = {"+-*", "<>"};
  for (std::size_t tries = 2 * inner.size(); tries > 0; --tries) {
    Token& token = inner[random.below(inner.size())];
    if (token.kind == TokenClass::kWord) {
      const std::vector<std::string>& others = ops_like(token.text);
      if (others.size() < 2) continue;
      token.text = random.any(others);
    } else if (token.kind == TokenClass::kPunctuation) {
      const auto group = std::find_if(kGroups.begin(), kGroups.end(),
                                      [&](const std::string& g) { return g.find(token.text) != std::string::npos; });
      if (group == kGroups.end()) continue;
      token.text = std::string(1, random.any(*group));
    } else {
      continue;
    }
    graph.text = text.text();
    return true;
  }
  return false;
}

bool change_number(TypedGraph& graph, tests::Draw& random) {
  GraphText text(graph.text, graph.types);
  std::vector<Place> numbers;
  for (const std::size_t string : text.expressions())
    for (std::size_t at = 0; at < text.inside(string).size(); ++at)
      if (is_number(text.inside(string)[at])) numbers.push_back({string, at});
  if (numbers.empty()) return false;
  const Place place = random.any(numbers);
  text.inside(place.string)[place.at].text = random.any(kConstants);
  graph.text = text.text();
  return true;
}

// Reads a state after the step instead of before it, or vice versa.
bool change_step(TypedGraph& graph, tests::Draw& random) {
  GraphText text(graph.text, graph.types);
  std::vector<const Site*> states;
  const std::vector<std::size_t> parts = text.parts_of({"state"});
  for (const Site& site : text.sites())
    for (const std::size_t k : parts)
      if (text.parts()[k].scope == site.scope && text.text_of(k, "name") == site.name) states.push_back(&site);
  if (states.empty()) return false;
  const Site& site = *random.any(states);
  Tokens& inner = text.inside(site.string);
  const bool after = site.at >= 2 && inner[site.at - 1].text == "(" && inner[site.at - 2].text == "next";
  if (after && site.at + 1 < inner.size()) {
    inner[site.at - 2].text.clear();
  } else {
    inner[site.at].text = "next(" + site.name + ")";
  }
  graph.text = text.text();
  return true;
}

// Optional fields of a call or state: direction, lengths, initial value.
bool change_fields_of_call(TypedGraph& graph, tests::Draw& random) {
  const GraphText text(graph.text, graph.types);
  const std::vector<std::size_t> calls = text.parts_of({"scan", "repeat", "state", "call"});
  if (calls.empty()) return false;
  const std::size_t call = random.any(calls);
  const Part& part = text.parts()[call];
  std::vector<std::size_t> optional;
  for (std::size_t k = call + 1; k < text.parts().size() && text.parts()[k].begin < part.end; ++k)
    if (text.parts()[k].parent == call &&
        std::set<std::string>{"reverse", "lengths", "begin", "parameters"}.count(text.parts()[k].name) != 0)
      optional.push_back(k);
  if (!optional.empty() && random.one_in(2)) {
    graph.text = text.without(text.parts()[random.any(optional)]);
    return true;
  }
  std::string more;
  if (part.name == "scan") {
    more = " reverse: true";
    for (const GraphText::Name& name : text.names(part.scope, {text.text_of(call, "name")}))
      if (random.one_in(2) && name.type->type == Type::kInt32 && name.type->shape.size() == 1)
        more = " lengths: \"" + name.name + "\"";
  } else if (part.name == "state") {
    const ir::TensorType* const type = graph.types.find(text.text_of(call, "name"), part.scope == 0);
    if (type == nullptr) return false;
    more = fmt::format(" begin: \"full(shape={}, value=0.25)\"", str(type->shape));
    for (const GraphText::Name& name : text.names(part.scope, {}))
      if (*name.type == *type && random.one_in(2)) more = " begin: \"" + name.name + "\"";
  } else if (part.name == "call" || part.name == "repeat") {
    for (const std::size_t other : calls)
      if (other != call && text.text_of(other, "graph") == text.text_of(call, "graph"))
        more = " parameters: \"" + text.text_of(other, "name") + "\"";
  }
  if (more.empty()) return false;
  std::string message = text.text_of(part);
  message.insert(message.rfind('}'), more + " ");
  graph.text = text.with(part, message);
  return true;
}

// Moves a line: their order has no meaning.
bool move_line(TypedGraph& graph, tests::Draw& random) {
  const GraphText text(graph.text, graph.types);
  const std::vector<std::size_t> parts =
      text.parts_of({"input", "parameter", "let", "state", "output", "call", "scan", "repeat"});
  if (parts.empty()) return false;
  const Part& part = text.parts()[random.any(parts)];
  const std::string line = text.text_of(part);
  graph.text = GraphText(text.without(part), graph.types).with_lines(part.scope, {line});
  return true;
}

// Renames one name everywhere.
bool rename(TypedGraph& graph, tests::Draw& random) {
  const GraphText text(graph.text, graph.types);
  const std::vector<std::size_t> parts = text.parts_of({"input", "parameter", "state", "call", "scan", "repeat"});
  std::string from;
  if (!parts.empty()) from = text.text_of(random.any(parts), "name");
  if (from.empty() || from.find('[') != std::string::npos) return false;
  static const std::array<std::string, 4> kNames = {"renamed", "a", "time", "h"};
  const std::string to = random.one_in(2) ? random.any(kNames) : fresh_name(graph.text, "renamed");
  Tokens tokens = tokens_of(graph.text);
  for (Token& token : tokens) {
    if (token.kind != TokenClass::kString || token.text.size() < 2) continue;
    Tokens inner = tokens_of(std::string_view(token.text).substr(1, token.text.size() - 2), true);
    for (Token& word : inner) {
      if (word.kind != TokenClass::kWord) continue;
      if (word.text == from || word.text.starts_with(from + ".")) word.text = to + word.text.substr(from.size());
    }
    token.text = token.text.front() + joined(inner) + token.text.back();
  }
  if (const ir::TensorType* type = graph.types.find(from, true)) graph.types.add(to, ir::TensorType(*type));
  graph.text = joined(tokens);
  return true;
}

// Changes a size that the file takes ("# set: hidden=4"), a number of repetitions, or one number in all shapes.
bool change_sizes(TypedGraph& graph, tests::Draw& random) {
  Tokens tokens = tokens_of(graph.text);
  if (!tokens.empty() && tokens[0].kind == TokenClass::kComment && random.one_in(2)) {
    Tokens words = tokens_of(tokens[0].text.substr(1), true);
    std::vector<std::size_t> numbers;
    for (std::size_t k = 0; k < words.size(); ++k)
      if (is_number(words[k])) numbers.push_back(k);
    if (numbers.empty()) return false;
    words[random.any(numbers)].text = random.any(kSizes);
    tokens[0].text = "#" + joined(words);
    graph.text = joined(tokens);
    return true;
  }
  std::vector<Token*> strings;
  std::vector<std::string> numbers;
  for (const Field& field : fields_of(tokens)) {
    if (field.name != "shape" && field.name != "times" && field.name != "default") continue;
    Token& string = tokens[field.end - 1];
    if (string.kind != TokenClass::kString || string.text.size() < 2) continue;
    strings.push_back(&string);
    for (const Token& token : tokens_of(std::string_view(string.text).substr(1, string.text.size() - 2), true))
      if (is_number(token)) numbers.push_back(token.text);
  }
  if (numbers.empty()) return false;
  const std::string from = random.any(numbers), to = random.any(kSizes);
  for (Token* string : strings) {
    Tokens inner = tokens_of(std::string_view(string->text).substr(1, string->text.size() - 2), true);
    for (Token& token : inner)
      if (is_number(token) && token.text == from) token.text = to;
    string->text = string->text.front() + joined(inner) + string->text.back();
  }
  graph.text = joined(tokens);
  return true;
}

// Duplicates a state, or replaces it by an input.
bool change_state(TypedGraph& graph, tests::Draw& random) {
  const GraphText text(graph.text, graph.types);
  const std::vector<std::size_t> states = text.parts_of({"state"});
  if (states.empty()) return false;
  const std::size_t state = random.any(states);
  const Part& part = text.parts()[state];
  const std::string name = text.text_of(state, "name"), shape = text.text_of(state, "shape");
  const ir::TensorType* const found = graph.types.find(name, part.scope == 0);
  if (found == nullptr || shape.empty()) return false;
  const ir::TensorType type = *found;
  if (random.one_in(2)) {
    const std::string other = fresh_name(graph.text, "twin");
    std::string twin = text.text_of(part);
    const std::string quoted = "\"" + name + "\"";
    if (const std::size_t at = twin.find(quoted); at != std::string::npos) twin.replace(at, quoted.size(), "\"" + other + "\"");
    graph.text = text.with_lines(part.scope, {twin, "output: \"" + fresh_name(graph.text, "of_twin") + " = " + other + "\""});
    graph.types.add(other, type);
    return true;
  }
  const std::string fed =
      fmt::format("input {{ name: \"{}\" shape: \"{}\"{} }}", name, shape, random_graphs::text_of(type.type));
  graph.text = text.with(part, fed);
  const std::string after = "next(" + name + ")";
  for (std::size_t at = 0; (at = graph.text.find(after, at)) != std::string::npos;) graph.text.replace(at, after.size(), name);
  return true;
}

// Adds or removes an output.
bool change_outputs(TypedGraph& graph, tests::Draw& random) {
  const GraphText text(graph.text, graph.types);
  const std::vector<std::size_t> outputs = text.parts_of({"output"});
  if (outputs.size() > 1 && random.one_in(3)) {
    graph.text = text.without(text.parts()[random.any(outputs)]);
    return true;
  }
  const std::vector<GraphText::Name> names = text.names(0, {});
  if (names.empty()) return false;
  graph.text = text.with_lines(0, {"output: \"" + fresh_name(graph.text, "more") + " = " + random.any(names).name + "\""});
  return true;
}

constexpr std::array<Change, 16> kChanges = {
    read_another, read_another,  swap_names,  read_made_up, read_made_up, read_made_up, read_made_up,          change_op,
    change_op,    change_number, change_step, move_line,    change_state, change_sizes, change_fields_of_call, change_outputs};

}  // namespace

void SoundChanges::add(const TypedGraph& graph) {
  GraphText text(graph.text, graph.types);
  std::map<std::size_t, std::vector<const Site*>> by_string;
  for (const Site& site : text.sites())
    if (site.defines.size() == 1) by_string[site.string].push_back(&site);
  for (const auto& [string, sites] : by_string) {
    const Tokens& inner = text.inside(string);
    const std::string& name = *sites.front()->defines.begin();
    const ir::TensorType* const type = graph.types.find(name, sites.front()->scope == 0);
    const std::size_t equals = static_cast<std::size_t>(
        std::find_if(inner.begin(), inner.end(), [](const Token& t) { return t.text == "="; }) - inner.begin());
    // An equation, `name = …`, not a binding of a call.
    if (type == nullptr || equals == inner.size() || inner.front().text != name) continue;
    Equation equation;
    equation.right.assign(inner.begin() + static_cast<std::ptrdiff_t>(equals) + 1, inner.end());
    for (const Site* site : sites) equation.reads.emplace_back(site->at - equals - 1, *site->type);
    equation.results.emplace_back(name, *type);
    equations_.push_back(std::move(equation));
  }
  for (const std::size_t k : text.parts_of({"import"})) {
    const Token& string = text.token(text.parts()[k].end - 1);
    for (const Token& token : tokens_of(string.text, true))
      if (token.kind == TokenClass::kWord && token.text.ends_with(".pbtxt")) imports_.push_back(token.text);
  }
}

// Replaces a name by an equation of another graph, over names of this one that have the same types.
bool SoundChanges::put_equation(TypedGraph& graph, tests::Draw& random) const {
  if (equations_.empty()) return false;
  GraphText text(graph.text, graph.types);
  if (text.sites().empty()) return false;
  const Site& site = random.any(text.sites());
  const std::vector<GraphText::Name> names = text.names(site.scope, site.defines);
  for (int tries = 0; tries < 40; ++tries) {
    const Equation& equation = random.any(equations_);
    if (equation.results[0].second != *site.type && !random.one_in(10)) continue;
    Tokens right = equation.right;
    bool fits = true;
    for (const auto& [at, type] : equation.reads) {
      std::vector<std::string> fitting;
      for (const GraphText::Name& name : names)
        if (*name.type == type) fitting.push_back(name.name);
      fits = fits && !fitting.empty();
      if (fits) right[at].text = random.any(fitting);
    }
    if (!fits) continue;
    const std::string name = fresh_name(graph.text, "put");
    if (equation.results[0].second == *site.type) text.inside(site.string)[site.at].text = name;
    graph.text = text.with_lines(site.scope, {"let: \"" + name + " = " + joined(right) + "\""});
    graph.types.add(name, equation.results[0].second);
    return true;
  }
  return false;
}

bool SoundChanges::change_once(TypedGraph& graph, tests::Draw& random) const {
  if (random.one_in(8) && put_equation(graph, random)) return true;
  if (random.one_in(16) && !imports_.empty()) {
    // Import another graph, usually one from the same folder.
    Tokens tokens = tokens_of(graph.text);
    for (Token& token : tokens) {
      const std::size_t at = token.kind == TokenClass::kString ? token.text.find(".pbtxt") : std::string::npos;
      if (at == std::string::npos) continue;
      const std::size_t begin = token.text.find_last_of(" \"'=", at) + 1;
      const std::string path = token.text.substr(begin, at + 6 - begin), folder = path.substr(0, path.find('/'));
      std::vector<std::string> others;
      for (const std::string& other : imports_)
        if (other.starts_with(folder)) others.push_back(other);
      if (others.empty()) continue;
      token.text.replace(begin, path.size(), random.any(others));
      graph.text = joined(tokens);
      return true;
    }
  }
  if (random.one_in(16)) return rename(graph, random);
  return random.any(kChanges)(graph, random);
}

void SoundChanges::change(TypedGraph& graph, tests::Draw& random) const {
  do {
    for (int tries = 0; tries < kTries && !change_once(graph, random); ++tries) {
    }
  } while (!random.one_in(2));
}

}  // namespace graphrun::mutants
