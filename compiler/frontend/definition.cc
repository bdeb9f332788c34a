#include "compiler/frontend/definition.h"

#include <cctype>
#include <cmath>

#include "graphs/graph.pb.h"

namespace graphrun::frontend {
namespace {

constexpr int kLanguageVersion = 1;

Type type_of(Input::Type type) {
  return type == Input::INT32 ? Type::kInt32 : type == Input::BOOL ? Type::kBool : Type::kFloat;
}

class DefinitionReader {
 public:
  DefinitionReader(std::string path, std::vector<Diagnostic>& diagnostics)
      : path_(std::move(path)), diagnostics_(diagnostics) {}

  std::unique_ptr<Definition> read(const graphrun::Graph& m, const Places& p, const Definition* outer) {
    auto out = std::make_unique<Definition>();
    Definition& d = *out;
    d.name = m.name();
    d.doc = m.doc();
    d.path = path_;
    d.outer = outer;
    d.at = p.location("name");
    if (m.version() > kLanguageVersion) {
      error("E0113 newer-language", p.location("version"),
            "this file is written in version " + std::to_string(m.version()) + " of the language; this program knows version " +
                std::to_string(kLanguageVersion));
    }
    if (m.name().empty()) error("E0201 no-name", p.at, "a graph needs a name", {"help: name: \"…\""});
    for (int i = 0; i < m.import_size(); ++i) {
      for (ir::Binding& b : bindings(p.text("import", i))) {
        if (!b.named) {
          error("E0202 no-binding", b.at, "an import binds a name to a file", {"help: import: \"cell = cells/atr.pbtxt\""});
          continue;
        }
        if (b.value.kind != ir::Expression::Kind::kGraph) {
          error("E0203 no-graph", b.value.at, "an import's value is the path of a graph",
                {"help: import: \"cell = cells/atr.pbtxt\""});
          continue;
        }
        if (!declare(d, b.name, {Member::Kind::kImport, d.imports.size()}, b.at)) continue;
        d.imports.push_back({b.name, std::move(b.value), b.at});
      }
    }
    for (int i = 0; i < m.arg_size(); ++i) arg(d, m.arg(i), p.message("arg", i));
    for (int i = 0; i < m.input_size(); ++i) input(d, m.input(i), p.message("input", i));
    for (int i = 0; i < m.parameter_size(); ++i) parameter(d, m.parameter(i), p.message("parameter", i));
    for (int i = 0; i < m.let_size() && !has_enough(); ++i) {
      try {
        equation(d, ir::parse_equation(p.text("let", i)));
      } catch (const UserError& e) {
        collect(e);
      }
    }
    for (int i = 0; i < m.node_size(); ++i) node(d, m.node(i), p.message("node", i));
    for (int i = 0; i < m.state_size(); ++i) state(d, m.state(i), p.message("state", i));
    for (int i = 0; i < m.call_size(); ++i) {
      add(d, instance(m.call(i), p.message("call", i), InstanceDef::Kind::kCall), !m.call(i).graph().empty());
    }
    for (int i = 0; i < m.scan_size(); ++i) scan(d, m.scan(i), p.message("scan", i));
    for (int i = 0; i < m.repeat_size(); ++i) repeat(d, m.repeat(i), p.message("repeat", i));
    for (int i = 0; i < m.output_size(); ++i) {
      for (ir::Binding& b : bindings(p.text("output", i))) {
        if (b.name.empty()) {
          error("E0202 no-binding", b.at, "this output has no name", {"help: output: \"name = expression\""});
          continue;
        }
        if (d.output(b.name)) {
          error("E0205 named-twice", b.at, "two outputs are called '" + b.name + "'");
          continue;
        }
        d.outputs.push_back({b.name, std::move(b.value), b.at});
      }
    }
    if (m.output_size() == 0 && m.state_size() == 0) {
      error("E0204 missing", d.at, "graph '" + d.name + "' has no output", {"help: output: \"h = next(h)\""});
    }
    for (int i = 0; i < m.graph_size(); ++i) {
      auto local = read(m.graph(i), p.message("graph", i), &d);
      if (d.local_graph(local->name)) error("E0205 named-twice", local->at, "two graphs are called '" + local->name + "'");
      d.graphs.push_back(std::move(local));
    }
    return out;
  }

 private:
  void error(std::string code, const Location& at, std::string text, std::vector<std::string> notes = {}) {
    diagnostics_.push_back({Severity::kError, std::move(code), at, std::move(text), std::move(notes)});
  }
  // Reports a mistake that leaves `name` undefined.
  bool refuse(Definition& d, const std::string& name, std::string code, const Location& at, std::string text,
              std::vector<std::string> notes = {}) {
    error(std::move(code), at, std::move(text), std::move(notes));
    d.refused.emplace(name, std::make_shared<const Diagnostic>(diagnostics_.back()));
    return false;
  }
  // Parsing stops after the most mistakes that are shown, plus one, which shows that there are more.
  bool has_enough() const { return syntax_errors_ > kMostSyntaxErrors; }
  void collect(const UserError& e) {
    syntax_errors_ += e.diagnostics().size();
    diagnostics_.insert(diagnostics_.end(), e.diagnostics().begin(), e.diagnostics().end());
  }

  std::vector<ir::Binding> bindings(const ir::SourceText& text) {
    if (has_enough()) return {};
    try {
      return ir::parse_bindings(text);
    } catch (const UserError& e) {
      collect(e);
      return {};
    }
  }
  std::vector<ir::Binding> list(const Places& p, const char* field, int size) {
    std::vector<ir::Binding> out;
    for (int i = 0; i < size; ++i) {
      for (ir::Binding& b : bindings(p.text(field, static_cast<std::size_t>(i)))) out.push_back(std::move(b));
    }
    return out;
  }
  std::optional<ir::Expression> expression(const ir::SourceText& text) {
    if (has_enough()) return std::nullopt;
    try {
      return ir::parse_expression(text);
    } catch (const UserError& e) {
      collect(e);
      return std::nullopt;
    }
  }
  std::vector<ir::Expression> shape(const ir::SourceText& text) {
    if (has_enough()) return {};
    try {
      return ir::parse_shape(text);
    } catch (const UserError& e) {
      collect(e);
      return {};
    }
  }

  // Whether the name is free and valid. The definition gets what is declared only if so.
  bool declare(Definition& d, const std::string& name, Member member, const Location& at) {
    if (!may_be_declared(d, name, member.kind, at)) return false;
    d.members.insert_or_assign(name, member);
    if (is_static(member.kind)) d.statics.emplace(name, member);
    return true;
  }

  static bool is_static(Member::Kind kind) { return kind == Member::Kind::kArg || kind == Member::Kind::kImport; }

  bool may_be_declared(Definition& d, const std::string& name, Member::Kind kind, const Location& at) {
    static const std::set<std::string> kReserved = {"end",  "next", "step", "history", "index", "if",
                                                    "else", "and",  "or",   "not",     "true",  "false"};
    const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) || !std::all_of(name.begin(), name.end(), word)) {
      return refuse(d, name, "E0206 bad-name", at, "'" + name + "' is not a valid name",
                    {"help: a name consists of letters, digits and _, and does not begin with a digit"});
    }
    if (kReserved.count(name)) {
      return refuse(d, name, "E0206 bad-name", at, "'" + name + "' is a reserved word and can't be a name");
    }
    const Member* other = d.member(name);
    if (!other || (other->kind == Member::Kind::kImport && kind == Member::Kind::kInstance)) return true;
    return refuse(d, name, "E0205 named-twice", at, "'" + name + "' is declared twice in graph '" + d.name + "'",
                  {"help: args, inputs, parameters, states, equations, calls and imports share one namespace"});
  }

  static void keep_reads(Definition& d, std::vector<ir::Expression> reads) {
    for (ir::Expression& e : reads) d.refused_reads.push_back(std::move(e));
  }
  static void keep_reads(Definition& d, std::optional<ir::Expression> read) {
    if (read) d.refused_reads.push_back(*std::move(read));
  }

  void arg(Definition& d, const Arg& m, const Places& p) {
    if (m.name_size() == 0) error("E0201 no-name", p.at, "an arg needs a name");
    for (int i = 0; i < m.name_size(); ++i) {
      ArgDef a{m.name(i), m.doc(), std::nullopt, p.location("name", i)};
      if (!m.default_().empty()) a.default_value = expression(p.text("default"));
      if (declare(d, a.name, {Member::Kind::kArg, d.args.size()}, a.at)) {
        d.args.push_back(std::move(a));
      } else {
        keep_reads(d, std::move(a.default_value));
      }
    }
  }

  void input(Definition& d, const Input& m, const Places& p) {
    if (m.name_size() == 0) error("E0201 no-name", p.at, "an input needs a name");
    if (m.shape().empty())
      error("E0204 missing", p.at, "this input has no shape", {"help: shape: \"[batch, width]\"; a scalar's is \"[]\""});
    for (int i = 0; i < m.name_size(); ++i) {
      InputDef in;
      in.name = m.name(i);
      in.doc = m.doc();
      in.at = p.location("name", i);
      in.type = type_of(m.type());
      if (!m.shape().empty()) in.shape = shape(p.text("shape"));
      if (!m.below().empty()) in.below = expression(p.text("below"));
      in.lengths_of = m.lengths_of();
      if ((in.below || !in.lengths_of.empty()) && in.type != Type::kInt32) {
        error("E0303 wrong-type", in.at, "`below` and `lengths_of` are for inputs of type INT32");
      }
      if (declare(d, in.name, {Member::Kind::kInput, d.inputs.size()}, in.at)) d.inputs.push_back(std::move(in));
    }
  }

  // Only these kinds have a gain.
  void check_gain(const Init& init, const Places& places) {
    if (!init.has_gain()) return;
    const Location at = places.location("gain");
    if (init.kind_case() != Init::kOrthogonal && init.kind_case() != Init::kXavier) {
      error("E0223 bad-init", at, "only orthogonal and xavier have a gain");
    } else if (!(init.gain() > 0 && std::isfinite(init.gain()))) {
      error("E0223 bad-init", at, "gain must be a finite number above 0");
    }
  }

  // `at`: the location of its number.
  void check_number(const ir::Initializer& init, const Location& at) {
    const bool spread = init.kind == ir::Initializer::Kind::kUniform || init.kind == ir::Initializer::Kind::kNormal;
    if (std::isfinite(init.amount) && !(spread && init.amount < 0)) return;
    error("E0223 bad-init", at,
          !std::isfinite(init.amount)
              ? "parameters begin as finite numbers"
              : (init.kind == ir::Initializer::Kind::kUniform ? "uniform" : "normal") + std::string(" must be 0 or more"));
  }

  void parameter(Definition& d, const Parameter& m, const Places& p) {
    if (m.name_size() == 0) error("E0201 no-name", p.at, "a parameter needs a name");
    if (m.shape().empty()) error("E0204 missing", p.at, "this parameter has no shape", {"help: shape: \"[input, hidden]\""});
    for (int i = 0; i < m.name_size(); ++i) {
      ParameterDef q;
      q.name = m.name(i);
      q.doc = m.doc();
      q.at = p.location("name", i);
      if (!m.shape().empty()) q.shape = shape(p.text("shape"));
      q.of = m.of();
      q.trainable = !m.has_trainable() || m.trainable();
      using Kind = ir::Initializer::Kind;
      switch (m.init().kind_case()) {
        case Init::kUniform: q.init = {Kind::kUniform, m.init().uniform(), true}; break;
        case Init::kNormal: q.init = {Kind::kNormal, m.init().normal(), true}; break;
        case Init::kConstant: q.init = {Kind::kConstant, m.init().constant(), true}; break;
        case Init::kOrthogonal: q.init = {Kind::kOrthogonal, m.init().gain(), true}; break;
        case Init::kXavier: q.init = {Kind::kXavier, m.init().gain(), true}; break;
        case Init::KIND_NOT_SET: break;
      }
      if (q.init) {
        const Places& init = p.message("init");
        check_gain(m.init(), init);
        if (!m.init().has_gain()) check_number(*q.init, init.location(init.fields.empty() ? "" : init.fields.begin()->first));
      }
      if (declare(d, q.name, {Member::Kind::kParameter, d.parameters.size()}, q.at)) {
        d.parameters.push_back(std::move(q));
      } else {
        keep_reads(d, std::move(q.shape));
      }
    }
  }

  void equation(Definition& d, ir::Equation e) {
    for (std::size_t k = 0; k < e.targets.size(); ++k) {
      if (declare(d, e.targets[k].name, {Member::Kind::kEquation, d.equations.size(), k}, e.targets[k].at)) continue;
      // If one result is refused, all are.
      const auto why = std::make_shared<const Diagnostic>(diagnostics_.back());
      for (std::size_t other = 0; other < e.targets.size(); ++other) {
        if (other < k) d.members.erase(e.targets[other].name);
        d.refused.emplace(e.targets[other].name, why);
      }
      for (ir::Equation::Target& target : e.targets) keep_reads(d, std::move(target.sizes));
      return d.refused_reads.push_back(std::move(e.value));
    }
    d.equations.push_back(std::move(e));
  }

  // node { … } is an equation: name = op(inputs, attributes).
  void node(Definition& d, const Node& m, const Places& p) {
    ir::Equation e;
    e.value.kind = ir::Expression::Kind::kCall;
    e.value.text = m.op();
    e.value.at = p.location("op");
    if (m.op().empty())
      error("E0204 missing", p.at, "this node has no op",
            {"help: node { name: \"p\" op: \"matmul\" input: \"x\" input: \"W\" }"});
    for (int i = 0; i < m.input_size(); ++i) {
      if (auto x = expression(p.text("input", i))) e.value.operands.push_back(std::move(*x));
    }
    for (ir::Binding& b : list(p, "attribute", m.attribute_size())) {
      if (b.name.empty()) {
        error("E0202 no-binding", b.at, "an attribute is `name = value`");
      } else {
        e.value.keywords.push_back({b.name, std::move(b.value), b.at});
      }
    }
    if (m.name_size() == 0) error("E0201 no-name", p.at, "a node needs a name for its result");
    for (int i = 0; i < m.name_size(); ++i) e.targets.push_back({m.name(i), p.location("name", i), false, {}});
    if (!m.op().empty() && m.name_size() > 0) equation(d, std::move(e));
  }

  void state(Definition& d, const State& m, const Places& p) {
    StateDef s;
    s.name = m.name();
    s.doc = m.doc();
    s.at = p.location("name");
    s.of = m.of();
    s.type = type_of(m.type());
    if (m.shape().empty() == m.of().empty()) {
      error("E0204 missing", s.at, "a state has either a shape or `of`, the call whose states it is shaped like",
            {"help: state { name: \"h\" shape: \"[batch, hidden]\" next: \"…\" }"});
    }
    if (!m.shape().empty()) s.shape = shape(p.text("shape"));
    if (!m.begin().empty()) s.begin = expression(p.text("begin"));
    if (m.next().empty()) {
      error("E0204 missing", s.at, "state '" + s.name + "' has no `next`: its value after the step");
    } else {
      s.next = expression(p.text("next"));
    }
    if (declare(d, s.name, {Member::Kind::kState, d.states.size()}, s.at)) return d.states.push_back(std::move(s));
    keep_reads(d, std::move(s.shape));
    keep_reads(d, std::move(s.begin));
    keep_reads(d, std::move(s.next));
  }

  template <class Message>
  InstanceDef instance(const Message& m, const Places& p, InstanceDef::Kind kind) {
    InstanceDef c;
    c.kind = kind;
    c.name = m.name();
    c.at = p.location("name");
    c.parameters = m.parameters();
    c.args = list(p, "arg", m.arg_size());
    c.inputs = list(p, "input", m.input_size());
    c.begins = list(p, "begin", m.begin_size());
    if (m.graph().empty()) return c;
    if (auto graph = expression(p.text("graph"))) c.graph = *std::move(graph);
    return c;
  }

  void scan(Definition& d, const graphrun::Scan& m, const Places& p) {
    InstanceDef s = instance(m, p, InstanceDef::Kind::kScan);
    s.each = list(p, "each", m.each_size());
    if (!m.lengths().empty()) s.lengths = expression(p.text("lengths"));
    s.reverse = m.reverse();
    if (s.each.empty()) {
      error("E0214 no-sequence", s.at, "scan '" + s.name + "' has no `each`, so its number of steps is unknown",
            {"help: each: \"x = words\" gives step t the slice words[t]"});
    }
    add(d, std::move(s), !m.graph().empty());
  }

  void repeat(Definition& d, const graphrun::Repeat& m, const Places& p) {
    InstanceDef r = instance(m, p, InstanceDef::Kind::kRepeat);
    r.each = list(p, "each", m.each_size());
    r.carry = list(p, "carry", m.carry_size());
    if (!m.times().empty()) {
      r.times = expression(p.text("times"));
    } else {
      refuse(d, r.name, "E0204 missing", r.at, "repeat '" + r.name + "' has no number of repetitions",
             {"help: times: \"depth\""});
    }
    const bool sound = read_next(d, r, list(p, "next", m.next_size()));
    add(d, std::move(r), !m.graph().empty(), sound);
  }

  // The left sides name carried values; the right sides name outputs of the repeated graph, which is not known yet.
  bool read_next(Definition& d, InstanceDef& r, std::vector<ir::Binding> next) {
    const auto named = [](const std::vector<ir::Binding>& all, const std::string& name) {
      return std::any_of(all.begin(), all.end(), [&](const ir::Binding& b) { return b.name == name; });
    };
    for (ir::Binding& b : next) {
      if (!named(r.carry, b.name)) {
        std::vector<std::string> carried;
        for (const ir::Binding& c : r.carry) carried.push_back(c.name);
        const std::string hint = did_you_mean(b.name, carried);
        return refuse(
            d, r.name, "E0251 no-carry", b.at, "repeat '" + r.name + "' carries no '" + b.name + "'",
            {"help: " + (hint.empty() ? "" : hint + " ") + "carry: \"x = words\" next: \"x = h\" gives each repetition " +
             "the output h of the one before for its input x"});
      }
      if (named(r.next, b.name))
        return refuse(d, r.name, "E0205 named-twice", b.at, "the next '" + b.name + "' is given twice");
      if (b.value.kind != ir::Expression::Kind::kName || b.value.path.size() != 1) {
        return refuse(
            d, r.name, "E0234 no-output", b.value.at,
            "next '" + b.name + "': expected the name of an output of the graph that is repeated",
            {"help: an equation of that graph computes it: output: \"y = …\" there, next: \"" + b.name + " = y\" here"});
      }
      r.next.push_back(std::move(b));
    }
    return true;
  }

  // A call that lacks a required field is not added.
  void add(Definition& d, InstanceDef c, bool says_graph, bool sound = true) {
    sound = names_graph(d, c, says_graph) && sound && (c.kind != InstanceDef::Kind::kRepeat || c.times);
    if (sound && declare(d, c.name, {Member::Kind::kInstance, d.instances.size()}, c.at)) {
      return d.instances.push_back(std::move(c));
    }
    d.refused_reads.push_back(std::move(c.graph));
    for (auto* bindings : {&c.args, &c.inputs, &c.begins, &c.each, &c.carry}) {
      for (ir::Binding& b : *bindings) d.refused_reads.push_back(std::move(b.value));
    }
    keep_reads(d, std::move(c.lengths));
    keep_reads(d, std::move(c.times));
  }

  bool names_graph(Definition& d, const InstanceDef& c, bool says_graph) {
    if (!says_graph) {
      return refuse(d, c.name, "E0204 missing", c.at, "'" + c.name + "' does not name a graph",
                    {"help: graph: \"cell\", an import or a local graph"});
    }
    if (!c.graph.at.known()) return false;  // the graph's name could not be read
    const auto k = c.graph.kind;
    if (k == ir::Expression::Kind::kGraph || k == ir::Expression::Kind::kCall ||
        (k == ir::Expression::Kind::kName && c.graph.path.size() == 1)) {
      return true;
    }
    return refuse(d, c.name, "E0203 no-graph", c.graph.at,
                  "`graph` names an import, a local graph or a path such as cells/atr.pbtxt");
  }

  std::string path_;
  std::vector<Diagnostic>& diagnostics_;
  std::size_t syntax_errors_ = 0;
};

}  // namespace

const Member* Definition::member(std::string_view n) const {
  const auto it = members.find(n);
  return it == members.end() ? nullptr : &it->second;
}

const Definition* Definition::local_graph(std::string_view n) const {
  for (const auto& g : graphs) {
    if (g->name == n) return g.get();
  }
  return nullptr;
}

const OutputDef* Definition::output(std::string_view n) const {
  for (const OutputDef& o : outputs) {
    if (o.name == n) return &o;
  }
  return nullptr;
}

const Member* Definition::static_member(std::string_view n) const {
  const auto it = statics.find(n);
  return it == statics.end() ? nullptr : &it->second;
}

bool Definition::is_refused(std::string_view n) const { return refused.find(n) != refused.end() && !member(n); }

bool Definition::is_outer_value(std::string_view n) const {
  for (const Definition* d = outer; d; d = d->outer) {
    if (d->member(n)) return true;
  }
  return false;
}

bool Definition::has_arg(std::string_view n) const { return static_member(n) != nullptr; }

bool Definition::has_input(std::string_view n) const {
  const Member* m = member(n);
  return m && m->kind == Member::Kind::kInput;
}

std::string Definition::signature() const {
  const auto join = [](const auto& items, auto text) {
    std::string s;
    for (const auto& i : items) s += (s.empty() ? "" : ", ") + text(i);
    return s;
  };
  std::string a = join(args, [](const ArgDef& x) { return x.name; });
  for (const ImportDef& i : imports) a += (a.empty() ? "" : ", ") + i.name;
  return name + ": args (" + a + "), inputs (" + join(inputs, [](const InputDef& x) { return x.name; }) + "), states (" +
         join(states, [](const StateDef& x) { return x.name; }) + "), outputs (" +
         join(outputs, [](const OutputDef& x) { return x.name; }) + ")";
}

std::unique_ptr<Definition> read_definition(const graphrun::Graph& message, const Places& places, const std::string& path,
                                            std::vector<Diagnostic>& diagnostics) {
  return DefinitionReader(path, diagnostics).read(message, places, nullptr);
}

}  // namespace graphrun::frontend
