#include "compiler/frontend/instance.h"

#include <algorithm>
#include <set>

#include "compiler/frontend/compose.h"
#include "compiler/frontend/evaluate.h"

namespace graphrun::frontend {

using ir::Expression;

namespace {

// "cells/lstm" for a path without its extension, which parses as a division; else "".
std::string path_of(const Expression& e) {
  if (e.kind == Expression::Kind::kName) return e.dotted();
  if (e.kind != Expression::Kind::kCall || !e.infix || e.text != "div") return "";
  const std::string folder = path_of(e.operands[0]), name = path_of(e.operands[1]);
  return folder.empty() || name.empty() ? "" : folder + "/" + name;
}

}  // namespace

Instance::Instance(Expansion& expansion, Setup setup)
    : expansion_(expansion), setup_(std::move(setup)), states_(*this), sizes_(*this) {}
Instance::~Instance() = default;

Meaning Instance::once(const std::string& key, const Location& where, const std::function<Meaning()>& f) {
  Memo& memo = memo_[key];
  if (memo.value) return *memo.value;
  if (memo.failure) throw *memo.failure;
  if (expansion_.budget.exceeded()) throw *expansion_.budget.exceeded();
  if (memo.busy) {
    std::string cycle;
    bool in = false;
    for (const auto& [instance, name] : expansion_.busy) {
      in |= instance == this && name == key;
      if (in) cycle += instance->path() + name + " -> ";
    }
    fail("E0225 cycle", at(where), "this depends on itself: " + cycle + path() + key,
         {"help: a value of the step before is a state: state { name: … next: … }"});
  }
  memo.busy = true;
  expansion_.busy.emplace_back(this, key);
  try {
    Meaning m = f();
    expansion_.budget.add_values(region(), path(), at(where));
    Memo& done = memo_[key];
    done.value = m;
    done.busy = false;
    expansion_.busy.pop_back();
    return m;
  } catch (const Failure& failure) {
    Memo& done = memo_[key];
    done.failure = failure;
    done.busy = false;
    expansion_.busy.pop_back();
    throw;
  }
}

std::optional<Meaning> Instance::constant(const std::string& name) {
  const Definition& d = definition();
  if (const Member* m = d.static_member(name)) {
    if (m->kind == Member::Kind::kArg) {
      const ArgDef& arg = d.args[m->index];
      return once("arg " + name, arg.at, [&]() -> Meaning {
        if (const Thunk* given = given_arg(name)) {
          Meaning v = (*given)();
          if (v.graph()) fail("E0226 graph-for-arg", at(arg.at), "arg '" + name + "' is a number, but a graph is given");
          if (!v.number() && !v.dim()) {
            const Location given_here = given_at(name);
            fail("E0227 run-time-arg", given_here.known() ? given_here : at(arg.at),
                 "arg '" + name + "' must be known at compile time, found " + v.describe(),
                 {"help: what is known only at run time is an input"});
          }
          return v;
        }
        if (!arg.default_value) {
          std::vector<std::string> notes = {setup_.root
                                                ? "help: --set " + name + "=VALUE, or arg: \"" + name + " = …\" in the job"
                                                : "help: arg: \"" + name + " = …\" in the call"};
          std::string others;
          for (const ArgDef& other : d.args) {
            if (other.name == name || other.default_value || given_arg(other.name)) continue;
            others += (others.empty() ? "'" : ", '") + other.name + "'";
          }
          if (!others.empty()) notes.push_back("note: it needs " + others + " too");
          fail("E0228 missing-arg", at(arg.at), "graph '" + d.name + "' needs the arg '" + name + "'", std::move(notes));
        }
        return evaluate(*arg.default_value, path() + name);
      });
    }
    if (m->kind == Member::Kind::kImport) {
      const ImportDef& import = d.imports[m->index];
      return once("import " + name, import.at, [&] { return import_value(import); });
    }
  }
  if (const Definition* local = d.local_graph(name)) {
    auto g = std::make_shared<GraphValue>();
    g->definition = local;
    g->scope = this;
    g->at = local->at;
    return Meaning(std::shared_ptr<const GraphValue>(g));
  }
  if (d.outer) return setup_.graph->scope->constant(name);
  return std::nullopt;
}

// The graph that an import refers to, with the args that outer levels set for it.
Meaning Instance::import_value(const ImportDef& import) {
  const Thunk* given = given_arg(import.name);
  const Meaning value = given ? (*given)() : Meaning(graph_value(import.value));
  if (!value.graph()) {
    fail("E0203 no-graph", at(import.at), "'" + import.name + "' takes a graph, but " + value.describe() + " is given");
  }
  auto out = std::make_shared<GraphValue>(*value.graph());
  for (const GraphValue::Override& o : setup_.graph->overrides) {
    if (o.path.size() < 2 || o.path[0] != import.name) continue;
    const Definition& callee = *out->definition;
    const Member* m = callee.static_member(o.path[1]);
    if (!m) unknown_arg(callee, o.path[1], o.at);
    if (o.path.size() > 2 && m->kind != Member::Kind::kImport) {
      fail("E0229 unknown-arg", o.at, "'" + o.path[1] + "' of graph '" + callee.name + "' is a number and has no args");
    }
    out->overrides.push_back({{o.path.begin() + 1, o.path.end()}, o.value, o.at});
  }
  return Meaning(std::shared_ptr<const GraphValue>(out));
}

std::shared_ptr<const GraphValue> Instance::graph_value(const Expression& e, std::optional<int> index) {
  std::shared_ptr<const GraphValue> base;
  if (e.kind == Expression::Kind::kGraph) {
    auto g = std::make_shared<GraphValue>();
    g->definition = expansion_.library.load(e.text, at(e.at));
    if (!g->definition || !g->definition->readable)
      fail("E0248 unread-graph", at(e.at), "graph '" + e.text + "' could not be read");
    g->at = at(e.at);
    base = g;
  } else if ((e.kind == Expression::Kind::kName && e.path.size() == 1) ||
             (e.kind == Expression::Kind::kCall && e.operands.empty())) {
    const std::string& name = e.kind == Expression::Kind::kName ? e.path[0] : e.text;
    const std::optional<Meaning> m = constant(name);
    if (!m) require_declared(name);
    if (!m || !m->graph()) {
      std::vector<std::string> notes;
      for (const std::string& path : expansion_.library.called(name)) {
        notes.push_back("help: a graph is named by its path: " + path);
      }
      if (notes.empty()) notes.push_back("help: a graph is named by its path from the graphs folder, such as cells/gru.pbtxt");
      fail("E0211 unknown-graph", at(e.at), "'" + name + "' is not a graph", std::move(notes));
    }
    base = m->shared_graph();
  } else {
    std::vector<std::string> notes;
    if (const std::string path = path_of(e); !path.empty())
      notes.push_back("help: a graph is named by its whole path: " + path + ".pbtxt");
    fail("E0203 no-graph", at(e.at), "expected a graph: an import's name or a path such as cells/atr.pbtxt", std::move(notes));
  }
  if (e.keywords.empty()) return base;
  auto out = std::make_shared<GraphValue>(*base);
  std::vector<ir::Binding> args;
  for (const auto& [name, value, name_at] : e.keywords) args.push_back({name, true, value.at, value});
  for (auto& [name, thunk] : arg_thunks(*base, args, index)) out->bound[name] = std::move(thunk);
  for (const ir::Binding& b : args) out->bound_at[b.name] = written_at(b.value);
  return out;
}

Meaning Instance::name(const Expression& e, const Scope& scope) {
  const std::string& first = e.path[0];
  std::size_t rest = 1;
  Meaning m;
  if (first == "index" && scope.index && !definition().member(first)) {
    m = Meaning::number(*scope.index);
  } else if (const Member* member = definition().member(first)) {
    switch (member->kind) {
      case Member::Kind::kInstance:
        if (e.path.size() < 2 && definition().static_member(first)) {
          m = *constant(first);
          break;
        }
        if (e.path.size() < 2)
          fail("E0213 whole-instance", at(e.at), "'" + first + "' is a call; write " + first + ".NAME or " + first + ".end");
        if (definition().long_chain) prepare({true, member->index, e.path[1]});
        m = e.path[1] == "end" ? sub(first).end() : sub(first).output(e.path[1], at(e.at));
        rest = 2;
        break;
      case Member::Kind::kEquation: m = equation(member->index, member->target); break;
      case Member::Kind::kInput: m = input(first); break;
      case Member::Kind::kState: m = states_.value(definition().states[member->index], e.path, rest); break;
      case Member::Kind::kParameter: m = parameter(definition().parameters[member->index]); break;
      case Member::Kind::kArg:
      case Member::Kind::kImport: m = *constant(first); break;
    }
  } else if (std::optional<Meaning> c = constant(first)) {
    m = *c;
  } else {
    require_declared(first);
    if (!definition().symbols.count(first)) {
      if (definition().is_outer_value(first))
        fail("E0217 outer-value", at(e.at), "'" + first + "' is a value of the file around graph '" + definition().name + "'");
      const std::string& graph = definition().name;
      fail("E0207 unknown-name", at(e.at),
           "nothing is called '" + first + "' in " + (graph.empty() ? "this graph" : "graph '" + graph + "'"));
    }
    m = sizes_.symbol(first, e.at);
  }
  for (; rest < e.path.size(); ++rest) m = select(m, e.path[rest], at(e.at));
  return m;
}

std::string Instance::equation_key(std::size_t index) const {
  return "equation " + definition().equations[index].targets[0].name;
}

// Whether a value got its name from the equation or output of that name: "read.f", "read.f.2".
static bool is_of(const std::string& value, const std::string& name) {
  if (value.compare(0, name.size(), name) != 0) return false;
  return value.size() == name.size() ||
         (value[name.size()] == '.' && value.find_first_not_of("0123456789", name.size() + 1) == std::string::npos);
}

// Gives an equation's result the equation's name, which the first intermediate value had taken: fetching "read.f" means the
// whole of f. Looks first at the values made since `from`.
static void name_result(ir::Graph& graph, ir::ValueId result, const std::string& name, std::size_t from) {
  std::string& found = graph.value(result).name;
  if (graph.value(result).node < 0 || found == name || !is_of(found, name)) return;
  const auto is_holder = [&](const ir::Value& v) { return v.name == name; };
  const auto middle = graph.values.begin() + static_cast<std::ptrdiff_t>(from);
  auto holder = std::find_if(middle, graph.values.end(), is_holder);
  if (holder == graph.values.end()) holder = std::find_if(graph.values.begin(), middle, is_holder);
  if (holder != graph.values.end() && holder->node >= 0) std::swap(holder->name, found);
}

// An equation or output that is only an alias makes no value of its name, but can be fetched by that name all the same.
void Instance::note_name(const std::string& name, const Meaning& m) {
  if (const TensorRef* t = m.tensor()) {
    const std::string& own = t->region->graph.value(t->id).name;
    if (own != name) expansion_.other_names.emplace(name, own);
  } else if (const Members* members = m.bundle()) {
    for (const auto& [member, value] : *members) note_name(name + "." + member, value);
  } else if (const std::vector<Meaning>* stack = m.stack()) {
    for (std::size_t i = 0; i < stack->size(); ++i) note_name(name + "." + std::to_string(i), (*stack)[i]);
  }
}

// Evaluates what an equation or a call's result certainly reads, before itself: with an explicit stack, because files may be
// long.
void Instance::prepare(const Definition::Read& what) {
  const Definition& d = definition();
  const auto known = [&](const Definition::Read& r) {
    if (r.instance) return !d.long_chain || prepared_.count(r) != 0;
    const auto it = memo_.find(equation_key(r.index));
    return it != memo_.end() && (it->second.busy || it->second.value || it->second.failure);
  };
  const auto reads_of = [&](const Definition::Read& r) -> const std::vector<Definition::Read>& {
    return r.instance ? d.instance_reads[r.index] : d.equation_reads[r.index];
  };
  if (known(what) || reads_of(what).empty()) return;
  if (what.instance) prepared_.insert(what);
  std::set<Definition::Read> seen = {what};
  std::vector<std::pair<Definition::Read, std::size_t>> walk = {{what, 0}};
  while (!walk.empty()) {
    auto& [at, next] = walk.back();
    const std::vector<Definition::Read>& reads = reads_of(at);
    if (next < reads.size()) {
      const Definition::Read& r = reads[next++];
      if (!known(r) && seen.insert(r).second) walk.emplace_back(r, 0);
      continue;
    }
    const Definition::Read done = at;
    walk.pop_back();
    if (done == what) break;
    try {
      if (!done.instance) {
        equation_now(done.index);
        continue;
      }
      prepared_.insert(done);
      const InstanceDef& def = d.instances[done.index];
      Sub& called = sub(def.name);
      done.member == "end" ? called.end() : called.output(done.member, this->at(def.at));
    } catch (const Failure&) {  // reported by its readers
    }
  }
}

Meaning Instance::equation(std::size_t index, std::size_t target) {
  prepare({false, index, {}});
  const Meaning all = equation_now(index);
  const ir::Equation& e = definition().equations[index];
  return e.targets.size() == 1 ? all : (*all.list())[target];
}

Meaning Instance::equation_now(std::size_t index) {
  const ir::Equation& e = definition().equations[index];
  return once(equation_key(index), e.targets[0].at, [&]() -> Meaning {
    Meaning m = evaluate(e.value, path() + e.targets[0].name);
    if (e.targets.size() > 1) {
      if (!m.list() || m.list()->size() != e.targets.size()) {
        fail("E0310 wrong-results", at(e.targets[0].at),
             std::to_string(e.targets.size()) + " names for " +
                 (m.list() ? std::to_string(m.list()->size()) + " results" : m.describe()));
      }
      for (std::size_t k = 0; k < e.targets.size(); ++k) {
        if (const TensorRef* t = (*m.list())[k].tensor()) {
          const ir::ValueId v = region().use(*t);
          const std::string name = path() + e.targets[k].name;
          const std::string& found = region().graph.value(v).name;
          const TensorRef* const first = (*m.list())[0].tensor();
          const bool is_first = first != nullptr && first->region == &region() && first->id == v;
          if (k > 0) {
            // What this equation made; a value of another equation keeps its name.
            if (is_of(found, path() + e.targets[0].name) && !is_first)
              region().graph.value(v).name = region().builder.unique(name);
          } else {
            name_result(region().graph, v, name, 0);
          }
        }
      }
    } else if (m.list() && e.value.kind == Expression::Kind::kCall) {
      fail("E0310 wrong-results", at(e.targets[0].at), "one name for " + std::to_string(m.list()->size()) + " results",
           {"help: give each a name: \"values, indices = topk(x, k=10)\""});
    }
    for (std::size_t k = 0; k < e.targets.size(); ++k) {
      Meaning one = e.targets.size() == 1 ? m : (*m.list())[k];
      note_name(path() + e.targets[k].name, one);
      if (!e.targets[k].sized) continue;
      if (one.stack()) {
        // A value with declared sizes is one tensor, with the repetitions as its first axis.
        region().builder.set_location(at(e.targets[k].at));
        region().builder.set_name(path() + e.targets[k].name);
        one = stacked(one, region(), at(e.targets[k].at));
        if (e.targets.size() == 1) m = one;
      }
      if (!one.tensor())
        fail("E0301 shape-mismatch", at(e.targets[k].at),
             "'" + e.targets[k].name + "' is " + one.describe() + ", which has no shape");
      sizes_.fit(one.tensor()->region->type(one.tensor()->id), e.targets[k].sizes, "'" + e.targets[k].name + "'",
                 e.targets[k].at);
    }
    return m;
  });
}

const OutputDef& Instance::declared_output(const std::string& name, const Location& where, const std::string& help) const {
  if (const OutputDef* o = definition().output(name)) return *o;
  std::vector<std::string> known;
  for (const OutputDef& k : definition().outputs) known.push_back(k.name);
  const std::string hint = did_you_mean(name, known);
  std::vector<std::string> notes = {"help: " + (hint.empty() ? "" : hint + " ") + "graph " + definition().signature()};
  if (!help.empty()) notes.insert(notes.begin(), "help: " + help);
  if (setup_.graph->at.known()) notes.push_back("note: the graph is given at " + setup_.graph->at.str());
  fail("E0234 no-output", where, "graph '" + definition().name + "' has no output '" + name + "'", std::move(notes));
}

Meaning Instance::output(const std::string& name, const Location& where, const std::string& help) {
  const OutputDef& o = declared_output(name, where, help);
  return once("output " + name, o.at, [&] {
    const Meaning m = evaluate(o.value, path() + name);
    note_name(path() + name, m);
    return m;
  });
}

void Instance::require_declared(const std::string& name) const {
  for (const Definition* d = &definition(); d; d = d->outer) {
    if (d->is_refused(name)) throw Failure{{d->refused.find(name)->second}};
  }
}

Sub& Instance::sub(const std::string& name) {
  auto it = subs_.find(name);
  if (it == subs_.end()) {
    const Member* m = definition().member(name);
    GRAPHRUN_CHECK(m && m->kind == Member::Kind::kInstance, "sub: " + name);
    const InstanceDef& def = definition().instances[m->index];
    it = subs_.emplace(name, make_sub(*this, def)).first;
  }
  return *it->second;
}

Meaning Instance::evaluate(const Expression& e, const std::string& stem, std::optional<int> index) {
  Scope scope{this, index, stem, 0};
  Region& here = region();
  const std::size_t from = here.graph.values.size();
  Meaning result = evaluate(e, scope);
  if (const TensorRef* t = result.tensor(); t && t->region == &here) name_result(here.graph, t->id, stem, from);
  return result;
}

}  // namespace graphrun::frontend
