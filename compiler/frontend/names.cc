// Checks of a file's names that do not depend on args.
#include <algorithm>
#include <map>
#include <set>

#include "compiler/frontend/definition.h"
#include "compiler/ir/foreign_names.h"
#include "compiler/ir/op.h"

namespace graphrun::frontend {
namespace {

using ir::Expression;

constexpr std::size_t kMostHints = 100;

// Whether the name is an arg, import or local graph of the definition or of the enclosing files.
bool is_static(const Definition& d, std::string_view name) {
  for (const Definition* at = &d; at; at = at->outer) {
    if (at->has_arg(name) || at->local_graph(name)) return true;
  }
  return false;
}

void find_symbols(Definition& d) {
  const auto visit = [&](const std::vector<Expression>& shape) {
    for (const Expression& size : shape) {
      if (size.kind == Expression::Kind::kName && size.path.size() == 1 && !is_static(d, size.path[0]) &&
          !d.member(size.path[0])) {
        d.symbols.insert(size.path[0]);
      }
    }
  };
  for (const InputDef& i : d.inputs) visit(i.shape);
  for (const ir::Equation& e : d.equations) {
    for (const ir::Equation::Target& t : e.targets) visit(t.sizes);
  }
  for (const auto& g : d.graphs) find_symbols(*g);
}

// Collects what the expression reads whatever the args are.
void find_reads(const Definition& d, const Expression& e, std::set<Definition::Read>& reads) {
  if (e.kind == Expression::Kind::kName) {
    const Member* m = d.member(e.path[0]);
    if (m && m->kind == Member::Kind::kEquation) reads.insert({false, m->index, {}});
    if (m && m->kind == Member::Kind::kInstance && e.path.size() > 1) reads.insert({true, m->index, e.path[1]});
  }
  const std::size_t sure = e.kind == Expression::Kind::kChoice ? 1 : e.operands.size();
  for (std::size_t i = 0; i < sure; ++i) find_reads(d, e.operands[i], reads);
  for (const auto& [name, value, name_at] : e.keywords) find_reads(d, value, reads);
}

// Calls in a chain at least this long are evaluated in order, first to last.
constexpr std::size_t kLongChain = 40;

// Whether a chain of reads leads through that many calls; a cycle counts as any length.
bool has_long_chain(const Definition& d) {
  struct Step {
    Definition::Read at;
    std::size_t next = 0, calls = 0;
  };
  const auto reads_of = [&](const Definition::Read& r) -> const std::vector<Definition::Read>& {
    return r.instance ? d.instance_reads[r.index] : d.equation_reads[r.index];
  };
  std::map<std::pair<bool, std::size_t>, std::size_t> longest;  // the longest chain from each equation and call visited so far
  for (std::size_t k = 0; k < d.instances.size(); ++k) {
    std::vector<Step> walk;
    const auto enter = [&](const Definition::Read& r) {
      if (longest.emplace(std::pair(r.instance, r.index), 0).second) walk.push_back({r, 0, 0});
    };
    enter({true, k, {}});
    while (!walk.empty()) {
      Step& step = walk.back();
      const std::vector<Definition::Read>& reads = reads_of(step.at);
      if (step.next < reads.size()) {
        const Definition::Read& r = reads[step.next++];
        const auto known = longest.find({r.instance, r.index});
        if (known == longest.end()) {
          --step.next;  // visit it again, now that the result is known
          enter(r);
        } else {
          step.calls = std::max(step.calls, known->second);
        }
        continue;
      }
      const std::size_t calls = step.calls + (step.at.instance ? 1 : 0);
      if (calls > kLongChain) return true;
      longest[{step.at.instance, step.at.index}] = calls;
      walk.pop_back();
    }
  }
  return false;
}

void find_dependencies(Definition& d) {
  for (const ir::Equation& e : d.equations) {
    std::set<Definition::Read> reads;
    find_reads(d, e.value, reads);
    d.equation_reads.emplace_back(reads.begin(), reads.end());
  }
  for (const InstanceDef& i : d.instances) {
    std::set<Definition::Read> reads;
    for (const auto* list : {&i.inputs, &i.begins, &i.each, &i.carry})
      for (const ir::Binding& b : *list) find_reads(d, b.value, reads);
    if (i.lengths) find_reads(d, *i.lengths, reads);
    d.instance_reads.emplace_back(reads.begin(), reads.end());
  }
  d.long_chain = has_long_chain(d);
  for (const auto& g : d.graphs) find_dependencies(*g);
}

class Checker {
 public:
  Checker(const Definition& d, std::vector<Diagnostic>& diagnostics, Checker* outer, std::size_t& hints)
      : d_(d), diagnostics_(diagnostics), outer_(outer), hints_(hints) {}

  void check() {
    for (const ImportDef& i : d_.imports) keywords(i.value);
    for (const ArgDef& a : d_.args) {
      if (a.default_value) expression(*a.default_value);
    }
    for (const InputDef& i : d_.inputs) {
      shape(i.shape);
      if (i.below) expression(*i.below);
      if (!i.lengths_of.empty() && !d_.symbols.count(i.lengths_of)) {
        error("E0207 unknown-name", i.at, "lengths_of: no size is called '" + i.lengths_of + "'",
              hint(i.lengths_of, [&] { return std::vector<std::string>(d_.symbols.begin(), d_.symbols.end()); }));
      }
    }
    for (const ParameterDef& p : d_.parameters) {
      shape(p.shape);
      of(p.of, p.at);
    }
    for (const ir::Equation& e : d_.equations) {
      for (const ir::Equation::Target& t : e.targets) shape(t.sizes);
      expression(e.value);
    }
    for (const StateDef& s : d_.states) {
      shape(s.shape);
      of(s.of, s.at);
      if (s.begin) expression(*s.begin);
      if (s.next) expression(*s.next);
    }
    for (const InstanceDef& i : d_.instances) instance(i);
    for (const OutputDef& o : d_.outputs) expression(o.value);
    in_repeat_ = true;  // the refused declaration may have been a repeat
    for (const Expression& e : d_.refused_reads) expression(e);
    in_repeat_ = false;
    for (const auto& g : d_.graphs) Checker(*g, diagnostics_, this, hints_).check();
    unread();
  }

 private:
  void error(std::string code, const Location& at, std::string text, const std::string& help = "") {
    diagnostics_.push_back({Severity::kError, std::move(code), at, std::move(text),
                            help.empty() ? std::vector<std::string>{} : std::vector<std::string>{"help: " + help}});
  }
  void warning(std::string code, const Location& at, std::string text) {
    diagnostics_.push_back({Severity::kWarning, std::move(code), at, std::move(text), {}});
  }

  // Suggestions for a name, from those that `known()` returns. Comparing many names with many others takes long, and a user
  // with more mistakes than this has enough to read.
  template <class Known>
  std::string hint(const std::string& name, const Known& known) {
    return hints_++ < kMostHints ? did_you_mean(name, known()) : "";
  }

  void shape(const std::vector<Expression>& sizes) {
    for (const Expression& s : sizes) expression(s);
  }

  void of(const std::string& path, const Location& at) {
    if (path.empty()) return;
    const std::string first = path.substr(0, path.find('.'));
    const Member* m = d_.member(first);
    if (m && (m->kind == Member::Kind::kInstance || m->kind == Member::Kind::kState)) {
      used_.insert(first);
      return;
    }
    if (d_.is_refused(first)) return;
    error("E0207 unknown-name", at, "of: no call, scan or repeat is called '" + first + "'", hint(first, [&] {
            std::vector<std::string> known;
            for (const InstanceDef& i : d_.instances) known.push_back(i.name);
            return known;
          }));
  }

  void instance(const InstanceDef& i) {
    if (i.graph.kind == Expression::Kind::kName) {
      name_of_graph(i.graph, i.graph.path[0]);
    } else if (i.graph.kind == Expression::Kind::kCall) {
      name_of_graph(i.graph, i.graph.text);
      keywords(i.graph);
    } else {
      keywords(i.graph);
    }
    in_repeat_ = i.kind == InstanceDef::Kind::kRepeat;
    for (const auto* list : {&i.args, &i.inputs, &i.begins, &i.each, &i.carry}) {
      for (const ir::Binding& b : *list) {
        if (b.name.empty() && list != &i.begins) {
          error("E0202 no-binding", b.at, "this binding has no name", "write name = expression");
        }
        expression(b.value);
      }
    }
    if (i.lengths) expression(*i.lengths);
    if (i.times) expression(*i.times);
    in_repeat_ = false;
    if (!i.parameters.empty()) {
      const Member* m = d_.member(i.parameters);
      if (d_.is_refused(i.parameters)) return;
      if (!m || m->kind != Member::Kind::kInstance || i.parameters == i.name) {
        error("E0207 unknown-name", i.at, "parameters: no other call is named '" + i.parameters + "'");
      }
    }
  }

  void name_of_graph(const Expression& at, const std::string& name) {
    for (Checker* c = this; c; c = c->outer_) {
      if (c->d_.local_graph(name) || c->d_.is_refused(name)) return;
      if (c->d_.has_arg(name)) {
        c->used_.insert(name);
        return;
      }
    }
    std::string help = hint(name, [&] {
      std::vector<std::string> known;
      for (Checker* c = this; c; c = c->outer_) {
        for (const ImportDef& i : c->d_.imports) known.push_back(i.name);
        for (const auto& g : c->d_.graphs) known.push_back(g->name);
      }
      return known;
    });
    if (help.empty()) help = "import: \"" + name + " = path/of/a/graph.pbtxt\" brings one in";
    error("E0211 unknown-graph", at.at, "no import or local graph is called '" + name + "'", help);
  }

  void keywords(const Expression& e) {
    for (const auto& [name, value, name_at] : e.keywords) expression(value);
    for (const Expression& o : e.operands)
      error("E0202 no-binding", o.at, "a graph's args are given by name", "write name = expression");
  }

  void expression(const Expression& e) {
    switch (e.kind) {
      case Expression::Kind::kName: name(e); return;
      case Expression::Kind::kGraph: keywords(e); return;
      case Expression::Kind::kCall: call(e); break;
      default: break;
    }
    for (const Expression& o : e.operands) expression(o);
    for (const auto& [key, value, key_at] : e.keywords) expression(value);
    for (const ir::Subscript& s : e.subscripts) {
      if (s.begin) expression(*s.begin);
      if (s.end) expression(*s.end);
    }
  }

  void call(const Expression& e) {
    if (e.infix) return;
    const std::string& op = e.text;
    if (op == "next") {
      const bool named = e.operands.size() == 1 && e.keywords.empty() && e.operands[0].kind == Expression::Kind::kName;
      const Member* m = named ? d_.member(e.operands[0].path[0]) : nullptr;
      if (named && d_.is_refused(e.operands[0].path[0])) return;
      if (!m || m->kind != Member::Kind::kState) {
        const auto states = [&] {
          std::vector<std::string> known;
          for (const StateDef& s : d_.states) known.push_back(s.name);
          return known;
        };
        error("E0216 no-state", e.at, "next(…) takes the name of a state of this graph",
              named ? near_or_all(e.operands[0].path[0], states()) : "");
      }
      return;
    }
    if (op == "step") {
      if (!e.operands.empty() || !e.keywords.empty()) error("E0305 wrong-operands", e.at, "step() takes nothing");
      return;
    }
    if (op == "history") {
      if (e.operands.size() != 1 || !e.keywords.empty()) error("E0305 wrong-operands", e.at, "history(x) takes one value");
      return;
    }
    const ir::OpSchema* schema = ir::OpRegistry::instance().find(op);
    if (schema && !schema->internal) return;
    for (Checker* c = this; c; c = c->outer_) {
      if (c->d_.has_arg(op) || c->d_.local_graph(op)) {
        c->used_.insert(op);
        return;
      }
    }
    error("E0212 unknown-op", e.at, "no op is called '" + op + "'",
          ir::unknown_op_help(op, hints_++ < kMostHints, {"next", "step", "history"}));
  }

  void name(const Expression& e) {
    const std::string& first = e.path[0];
    if (const Member* m = d_.member(first)) {
      used_.insert(first);
      if (m->kind == Member::Kind::kInstance && e.path.size() == 1 && !d_.static_member(first)) {
        error("E0213 whole-instance", e.at, "'" + first + "' is a call; an expression takes one of its results",
              "say " + first + ".NAME, an output of its graph, or " + first + ".end, its states");
      } else if (m->kind == Member::Kind::kState && e.path.size() > 1 && e.path.back() == "next") {
        const std::string state = e.dotted().substr(0, e.dotted().rfind('.'));
        error("E0224 no-member", e.at, "a state has no member 'next'",
              "next(" + state + ") is the value of " + state + " after the step");
      }
      return;
    }
    if (d_.symbols.count(first) || (first == "index" && in_repeat_)) return;
    for (Checker* c = this; c; c = c->outer_) {
      if (c->d_.local_graph(first) || c->d_.is_refused(first)) return;
      if (c->d_.has_arg(first)) {
        c->used_.insert(first);
        return;
      }
    }
    unknown(e);
  }

  void unknown(const Expression& e) {
    const std::string& first = e.path[0];
    if (d_.is_outer_value(first)) {
      return error("E0217 outer-value", e.at,
                   "'" + first + "' is a value of the enclosing file; a local graph sees only the file's args and imports",
                   "hand it in: input { name: \"" + first + "\" … } here and input: \"" + first + "\" in the call");
    }
    std::string help = hint(first, [&] {
      std::vector<std::string> known(d_.symbols.begin(), d_.symbols.end());
      for (const auto& [name, member] : d_.members) known.push_back(name);
      for (Checker* c = outer_; c; c = c->outer_) {
        for (const ArgDef& a : c->d_.args) known.push_back(a.name);
      }
      return known;
    });
    if (const std::string here = ir::here_value_is(first); !here.empty()) help = here;
    if (first == "index") {
      help = "index is the number of a repetition in the fields of a repeat: arg, input, each, begin; hand it in from there";
    } else if (first == "step") {
      help = "step() is the number of the step, from 0";
    } else if (first == "next" || first == "history") {
      help = "'" + first + "' is called: " + (first == "next" ? "next(h), of a state h" : "history(x)");
    } else if (ir::OpRegistry::instance().find(first)) {
      help = "'" + first + "' is an op: call it, " + first + "(…)";
    }
    error("E0207 unknown-name", e.at,
          "nothing is called '" + first + "' in " + (d_.name.empty() ? "this graph" : "graph '" + d_.name + "'"), help);
  }

  void unread() {
    for (const InputDef& i : d_.inputs) {
      if (!used_.count(i.name)) {
        warning("E0208 never-read", i.at, "no expression reads the input '" + i.name + "'");
      }
    }
    for (const ParameterDef& p : d_.parameters) {
      if (!used_.count(p.name)) warning("E0208 never-read", p.at, "no expression reads the parameter '" + p.name + "'");
    }
    for (const ir::Equation& e : d_.equations) {
      bool any = false;
      for (const ir::Equation::Target& t : e.targets) any |= used_.count(t.name) != 0;
      if (!any) warning("E0209 never-read", e.targets[0].at, "nothing reads '" + e.targets[0].name + "'");
    }
    for (const ArgDef& a : d_.args) {
      if (!used_.count(a.name)) warning("E0209 never-read", a.at, "nothing reads the arg '" + a.name + "'");
    }
    for (const InstanceDef& i : d_.instances) {
      if (!used_.count(i.name)) warning("E0209 never-read", i.at, "nothing reads a result of '" + i.name + "'");
    }
  }

  const Definition& d_;
  std::vector<Diagnostic>& diagnostics_;
  Checker* outer_;
  std::set<std::string, std::less<>> used_;
  bool in_repeat_ = false;
  std::size_t& hints_;  // requested in the whole file
};

}  // namespace

void resolve_names(Definition& definition, std::vector<Diagnostic>& diagnostics) {
  find_symbols(definition);
  find_dependencies(definition);
  std::size_t hints = 0;
  Checker(definition, diagnostics, nullptr, hints).check();
}

}  // namespace graphrun::frontend
