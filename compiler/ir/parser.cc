#include "compiler/ir/parser.h"

#include <charconv>
#include <unordered_map>

#include "compiler/ir/op.h"
#include "compiler/ir/pointwise_program.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"

namespace graphrun::ir {
namespace {

constexpr const char* kSyntax = "E0190 graph-text-syntax";
constexpr const char* kName = "E0191 graph-text-name";
constexpr const char* kDepth = "E0192 graph-text-depth";
constexpr const char* kInvalid = "E0193 graph-text-invalid";

// Reads the characters one by one, with their names for messages.
class Scanner {
 public:
  Scanner(std::string_view text, std::string_view file) : text_(text), file_(intern_file(file)) {}

  std::size_t position() const { return at_; }
  [[noreturn]] void fail(const char* code, std::string text, std::size_t at, std::vector<std::string> notes = {}) const {
    Location place;
    place.file = file_;
    place.line = 1, place.column = 1;
    for (std::size_t i = 0; i < at && i < text_.size(); ++i) {
      ++place.column;
      if (text_[i] == '\n') ++place.line, place.column = 1;
    }
    throw UserError(ExitCode::kInvalidGraph, {Diagnostic{Severity::kError, code, place, std::move(text), std::move(notes)}});
  }
  [[noreturn]] void expected(const std::string& what) {
    skip();
    const std::string found = at_ == text_.size() ? "the end of the text" : quoted(text_.substr(at_, 1));
    fail(kSyntax, "expected " + what + ", found " + found, at_);
  }

  // Skips blanks, line ends and comments.
  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool at_end() { return skip(), at_ == text_.size(); }
  char peek() { return skip(), at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!accept(c)) expected(std::string("'") + c + "'");
  }

  static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
  std::string_view word() { return skip(), run(is_word); }
  std::string_view need_word(const char* what) {
    const std::string_view w = word();
    if (w.empty()) expected(what);
    return w;
  }
  bool accept_word(std::string_view wanted) {
    const std::size_t begin = (skip(), at_);
    if (word() == wanted) return true;
    at_ = begin;
    return false;
  }
  template <class Predicate>
  std::string_view run(Predicate belongs) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string string() {
    const std::size_t begin = (skip(), at_);
    need('"');
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        out += text_[at_++];
        continue;
      }
      ++at_;
      out += escape();
    }
    if (at_ == text_.size()) fail(kSyntax, "this string has no end", begin);
    ++at_;
    return out;
  }

 private:
  char escape() {
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    switch (c) {
      case '"':
      case '\\': return c;
      case 'n': return '\n';
      case 't': return '\t';
      case 'x': {
        unsigned byte = 0;
        const std::string_view digits = text_.substr(at_, 2);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
        if (digits.size() != 2 || error != std::errc{} || end != digits.data() + 2) {
          fail(kSyntax, "\\x needs two hexadecimal digits", at_ - 2);
        }
        at_ += 2;
        return static_cast<char>(byte);
      }
      default: fail(kSyntax, "an escape is one of \\\" \\\\ \\n \\t \\x00", at_ > 0 ? at_ - 1 : 0);
    }
  }

  std::string_view text_;
  const std::string* file_;
  std::size_t at_ = 0;
};

// A graph, and the data needed only while parsing it.
struct ParsedGraph {
  Graph graph;
  std::unordered_map<std::string, ValueId> names;
  struct Next {
    std::size_t variable;
    std::string name;
    std::size_t position;
  };
  std::vector<Next> nexts;  // the next value of a variable is defined later
};

class GraphParser {
 public:
  GraphParser(std::string_view text, std::string_view file, const ParseOptions& options) : s_(text, file), options_(options) {}

  Graph parse() {
    if (!s_.accept_word("graph")) s_.expected("'graph'");
    Graph graph = block(0);
    if (!s_.at_end()) s_.expected("the end of the text");
    return graph;
  }

 private:
  // "name" { items }
  Graph block(int depth) {
    if (depth > kMostRegionDepth) {
      s_.fail(kDepth, "regions nest deeper than " + std::to_string(kMostRegionDepth), s_.position());
    }
    ParsedGraph scope;
    const std::size_t begin = (s_.skip(), s_.position());
    scope.graph.name = s_.string();
    s_.need('{');
    while (!s_.accept('}')) item(scope, depth);
    for (const ParsedGraph::Next& next : scope.nexts) {
      scope.graph.variables[next.variable].next = lookup(scope, next.name, next.position);
    }
    if (options_.check) {
      if (std::string fault = graph_fault(scope.graph, depth == 0); !fault.empty()) s_.fail(kInvalid, fault, begin);
    }
    return std::move(scope.graph);
  }

  void item(ParsedGraph& scope, int depth) {
    const char c = s_.peek();
    if (c == '%' || c == '=') return node(scope, depth);
    const std::size_t begin = s_.position();
    const std::string_view word = s_.word();
    if (word == "symbol") return symbol(scope);
    if (word == "input") return input(scope);
    if (word == "output") return output(scope);
    for (auto kind : {Variable::Kind::kParameter, Variable::Kind::kSlot, Variable::Kind::kState}) {
      if (word == name_of(kind)) return variable(scope, kind);
    }
    if (word.empty()) s_.expected("symbol, input, parameter, slot, state, output, a value or '}'");
    s_.fail(kSyntax,
            "expected symbol, input, parameter, slot, state, output, a value or '}', found '" + std::string(word) + "'", begin);
  }

  void symbol(ParsedGraph& scope) {
    const Symbol name = angle_symbol();
    s_.need('=');
    if (!scope.graph.defined_symbols.emplace(name, angle_dim()).second) {
      s_.fail(kName, "the size '" + name.name() + "' is defined twice", s_.position());
    }
  }

  void input(ParsedGraph& scope) {
    Input input;
    const std::size_t begin = (s_.skip(), s_.position());
    const std::string name = value_name();
    s_.need(':');
    input.value = define(scope, name, type(), begin);
    if (s_.accept_word("below")) input.below = angle_dim();
    if (s_.accept_word("lengths_of")) input.lengths_of = angle_symbol();
    input.lasting = s_.accept_word("lasting");
    scope.graph.inputs.push_back(std::move(input));
  }

  void variable(ParsedGraph& scope, Variable::Kind kind) {
    Variable v;
    v.kind = kind;
    const std::size_t begin = (s_.skip(), s_.position());
    const std::string name = value_name();
    s_.need(':');
    v.value = define(scope, name, type(), begin);
    s_.need('=');
    v.init.kind = initializer();
    s_.need('(');
    v.init.amount = std::get<double>(number(true));
    s_.need(')');
    v.init.declared = s_.accept_word("declared");
    v.trainable = !s_.accept_word("frozen");
    if (s_.accept_word("next")) {
      const std::size_t position = (s_.skip(), s_.position());
      scope.nexts.push_back({scope.graph.variables.size(), value_name(), position});
    }
    v.at = location();
    scope.graph.variables.push_back(std::move(v));
  }

  void output(ParsedGraph& scope) {
    Output output;
    output.name = s_.string();
    s_.need('=');
    output.value = operand(scope);
    scope.graph.outputs.push_back(std::move(output));
  }

  struct Result {
    std::string name;
    std::optional<TensorType> type;
    std::size_t position;
  };

  // results = op(operands; attributes) at … body "name" { … }
  void node(ParsedGraph& scope, int depth) {
    const std::size_t begin = s_.position();
    std::vector<Result> results;
    while (!s_.accept('=')) {
      if (!results.empty()) s_.need(',');
      const std::size_t position = (s_.skip(), s_.position());
      results.push_back({value_name(), std::nullopt, position});
      if (s_.accept(':')) results.back().type = type();
    }
    Node n;
    n.op = op();
    operands(scope, n);
    n.at = location();
    while (s_.accept_word("body")) n.regions.push_back(block(depth + 1));
    infer(scope.graph, n, results, begin);
    for (const Result& r : results) {
      const ValueId id = define(scope, r.name, *r.type, r.position);
      scope.graph.value(id).node = static_cast<std::int32_t>(scope.graph.nodes.size());
      scope.graph.value(id).result = static_cast<std::int32_t>(n.outputs.size());
      n.outputs.push_back(id);
    }
    scope.graph.nodes.push_back(std::move(n));
    if (options_.check) {
      if (std::string fault = node_fault(scope.graph, scope.graph.nodes.size() - 1); !fault.empty()) {
        s_.fail(kInvalid, scope.graph.nodes.back().op->name + ": " + fault, begin);
      }
    }
  }

  const OpSchema* op() {
    const std::size_t begin = (s_.skip(), s_.position());
    const std::string name(s_.need_word("an op"));
    const OpSchema* op = OpRegistry::instance().find(name);
    if (op) return op;
    std::vector<std::string> names;
    for (const OpSchema* known : OpRegistry::instance().all()) names.push_back(known->name);
    std::vector<std::string> notes;
    if (std::string hint = did_you_mean(name, names); !hint.empty()) notes.push_back("help: " + hint);
    s_.fail(kName, "there is no op '" + name + "'", begin, std::move(notes));
  }

  void operands(ParsedGraph& scope, Node& n) {
    s_.need('(');
    while (s_.peek() == '%' || s_.peek() == '_') {
      n.inputs.push_back(operand(scope));
      if (!s_.accept(',')) break;
    }
    if (s_.accept(';')) {
      do {
        const std::size_t begin = (s_.skip(), s_.position());
        const std::string name(s_.need_word("an attribute's name"));
        if (n.attributes.has(name)) s_.fail(kName, "the attribute '" + name + "' is given twice", begin);
        s_.need('=');
        n.attributes.set(name, attribute(n.op->attribute(name)));
      } while (s_.accept(','));
    }
    s_.need(')');
    const std::size_t fixed = n.op->inputs.size() - (n.op->variadic() ? 1 : 0);
    if (n.inputs.size() < fixed) n.inputs.resize(fixed, kNone);
    for (const AttributeSpec& spec : n.op->attributes) {
      if (spec.default_value && !n.attributes.has(spec.name)) n.attributes.set(spec.name, *spec.default_value);
    }
  }

  // Results without a type get it from the shape rule.
  void infer(const Graph& g, const Node& n, std::vector<Result>& results, std::size_t begin) {
    bool missing = false;
    for (const Result& r : results) missing = missing || !r.type;
    if (!missing) return;
    if (is_scan(n)) s_.fail(kSyntax, "the results of a scan need their types", begin);
    if (std::string fault = operand_fault(g, n); !fault.empty()) s_.fail(kInvalid, n.op->name + ": " + fault, begin);
    InferContext c;
    c.op = n.op;
    c.attributes = &n.attributes;
    for (ValueId id : n.inputs) c.inputs.push_back(id == kNone ? nullptr : &g.type(id));
    try {
      if (n.op->infer) n.op->infer(c);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      s_.fail(kInvalid, n.op->name + ": " + error.what(), begin);
    }
    if (c.outputs.size() != results.size()) {
      s_.fail(kInvalid,
              n.op->name + ": has " + std::to_string(c.outputs.size()) + " results, " + std::to_string(results.size()) +
                  " are named",
              begin);
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].type) results[i].type = c.outputs[i];
    }
  }

  // ---- values

  std::string value_name() {
    s_.need('%');
    const std::string_view bare =
        s_.run([](char c) { return Scanner::is_word(c) || c == '.' || c == '$' || c == '@' || c == '/' || c == '-'; });
    return bare.empty() ? s_.string() : std::string(bare);
  }

  ValueId define(ParsedGraph& scope, const std::string& name, TensorType type, std::size_t position) {
    const auto id = static_cast<ValueId>(scope.graph.values.size());
    if (!scope.names.emplace(name, id).second) {
      s_.fail(kName, "the value " + quoted(name) + " is defined twice", position);
    }
    Value v;
    v.name = name;
    v.type = std::move(type);
    scope.graph.values.push_back(std::move(v));
    return id;
  }

  ValueId operand(const ParsedGraph& scope) {
    const std::size_t begin = (s_.skip(), s_.position());
    if (s_.accept('_')) return kNone;
    return lookup(scope, value_name(), begin);
  }

  ValueId lookup(const ParsedGraph& scope, const std::string& name, std::size_t position) const {
    const auto it = scope.names.find(name);
    if (it == scope.names.end()) s_.fail(kName, "the value " + quoted(name) + " is not defined above", position);
    return it->second;
  }

  // ---- sizes and types

  Dim dim() {
    const std::size_t begin = (s_.skip(), s_.position());
    const std::string_view text = s_.run([](char c) {
      return c != ',' && c != ']' && c != '>' && c != '"' && c != '\n' && c != '(' && c != ')' && c != '}' && c != '{';
    });
    const std::optional<Dim> dim = Dim::parse(text);
    if (!dim) s_.fail(kSyntax, "expected a size such as 3 or 2*time+1, found " + quoted(text), begin);
    return *dim;
  }

  Dim angle_dim() {
    s_.need('<');
    Dim d = checked_dim();
    s_.need('>');
    return d;
  }

  // Products of sizes may overflow.
  Dim checked_dim() {
    const std::size_t begin = s_.position();
    try {
      return dim();
    } catch (const UserError& error) {
      if (error.diagnostics().empty() || error.diagnostics()[0].at.known()) throw;
      s_.fail(kSyntax, error.diagnostics()[0].text, begin);
    }
  }

  Symbol angle_symbol() {
    const std::size_t begin = (s_.skip(), s_.position());
    const std::optional<Symbol> symbol = angle_dim().as_symbol();
    if (!symbol) s_.fail(kSyntax, "expected the name of a size, such as <time>", begin);
    return *symbol;
  }

  Shape shape() {
    s_.need('[');
    Shape shape;
    while (!s_.accept(']')) {
      if (!shape.empty()) s_.need(',');
      shape.push_back(checked_dim());
    }
    return shape;
  }

  TensorType type() {
    const std::size_t begin = (s_.skip(), s_.position());
    const std::string_view word = s_.need_word("a type");
    for (Type t : {Type::kFloat, Type::kInt32, Type::kBool}) {
      if (word == graphrun::name_of(t)) return {t, shape()};
    }
    s_.fail(kSyntax, "expected FLOAT, INT32 or BOOL, found '" + std::string(word) + "'", begin);
  }

  Initializer::Kind initializer() {
    using Kind = Initializer::Kind;
    const std::size_t begin = (s_.skip(), s_.position());
    const std::string_view word = s_.need_word("an initializer");
    for (Kind k : {Kind::kConstant, Kind::kUniform, Kind::kNormal, Kind::kOrthogonal, Kind::kXavier}) {
      if (word == name_of(k)) return k;
    }
    s_.fail(kSyntax, "expected constant, uniform, normal, orthogonal or xavier, found '" + std::string(word) + "'", begin);
  }

  // ---- attributes

  Attribute attribute(const AttributeSpec* spec) {
    switch (s_.peek()) {
      case '"': return text(spec);
      case '<': return angle_dim();
      case '[': return shape();
      case '(': return integers();
      default: break;
    }
    if (s_.accept_word("true")) return true;
    if (s_.accept_word("false")) return false;
    Attribute value = number(spec && spec->kind == AttributeKind::kFloat);
    if (spec && spec->kind == AttributeKind::kDim && std::holds_alternative<std::int64_t>(value)) {
      return Dim(std::get<std::int64_t>(value));
    }
    return value;
  }

  Attribute text(const AttributeSpec* spec) {
    const std::size_t begin = (s_.skip(), s_.position());
    std::string text = s_.string();
    if (!spec || spec->kind != AttributeKind::kProgram) return text;
    try {
      return OpaqueValue(parse_program(text));
    } catch (const InternalError& error) {
      s_.fail(kSyntax, error.what(), begin);
    }
  }

  std::vector<std::int64_t> integers() {
    s_.need('(');
    std::vector<std::int64_t> out;
    while (!s_.accept(')')) {
      if (!out.empty()) s_.need(',');
      const std::size_t begin = (s_.skip(), s_.position());
      const Attribute value = number(false);
      if (!std::holds_alternative<std::int64_t>(value)) s_.fail(kSyntax, "expected an integer", begin);
      out.push_back(std::get<std::int64_t>(value));
    }
    return out;
  }

  // An integer, or a float: by its form, or if requested.
  Attribute number(bool as_float) {
    const std::size_t begin = (s_.skip(), s_.position());
    const std::string_view text = s_.run([](char c) { return Scanner::is_word(c) || c == '.' || c == '+' || c == '-'; });
    const char* last = text.data() + text.size();
    if (!as_float && text.find_first_of(".eEin") == std::string_view::npos) {
      std::int64_t integer = 0;
      const auto [end, error] = std::from_chars(text.data(), last, integer);
      if (error == std::errc{} && end == last) return integer;
    } else {
      double real = 0;
      const auto [end, error] = std::from_chars(text.data(), last, real);
      if (error == std::errc{} && end == last) return real;
    }
    s_.fail(kSyntax, "expected a number, found " + quoted(text), begin);
  }

  // ---- locations

  Location location() {
    std::vector<Location> chain;
    if (!s_.accept_word("at")) return {};
    do {
      Location l;
      l.file = intern_file(s_.string());
      s_.need(':');
      l.line = small_number();
      s_.need(':');
      l.column = small_number();
      if (s_.accept('+')) l.length = small_number();
      chain.push_back(l);
    } while (s_.accept_word("via"));
    for (std::size_t i = chain.size() - 1; i > 0; --i) chain[i - 1].via = intern(chain[i]);
    return chain[0];
  }

  int small_number() {
    const std::size_t begin = (s_.skip(), s_.position());
    const std::string_view text = s_.run([](char c) { return c >= '0' && c <= '9'; });
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || text.empty()) s_.fail(kSyntax, "expected a number of a line or column", begin);
    return value;
  }

  Scanner s_;
  ParseOptions options_;
};

}  // namespace

Graph parse(std::string_view text, std::string_view file, const ParseOptions& options) {
  return GraphParser(text, file, options).parse();
}

}  // namespace graphrun::ir
