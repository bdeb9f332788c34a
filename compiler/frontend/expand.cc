#include "compiler/frontend/expand.h"

#include <algorithm>
#include <set>

#include "compiler/frontend/compose.h"
#include "compiler/frontend/evaluate.h"
#include "compiler/frontend/instance.h"
#include "compiler/ir/sizes.h"

namespace graphrun::frontend {
namespace {

class Expander {
 public:
  Expander(Library& library, const Definition& root, const GraphRequest& request, std::vector<Diagnostic>& diagnostics)
      : request_(request),
        diagnostics_(diagnostics),
        region_(nullptr),
        expansion_{library, region_, request.training, {}, nullptr, {}, 0, {}, {}, request.observed},
        root_(root) {}

  ir::Graph expand() {
    expansion_.stack_begin = static_cast<const char*>(__builtin_frame_address(0));
    region_.graph.name = root_.name;
    auto value = std::make_shared<GraphValue>();
    value->definition = &root_;
    value->at = root_.at;
    Instance::Setup setup;
    setup.graph = value;
    setup.region = &region_;
    setup.root = true;
    bind(*value, setup);
    if (wrong_size_) return std::move(region_.graph);  // whatever has that size would be called wrong too
    instance_ = std::make_unique<Instance>(expansion_, std::move(setup));
    for (const auto& [name, size] : sizes_) instance_->sizes().set(name, size);
    instance_->states().provide(
        [this](const Leaf& leaf) -> std::optional<Meaning> { return Meaning(region_.ref(variable(leaf))); });

    // A called graph may exist for its states alone; a graph that is run computes nothing without an output.
    if (root_.outputs.empty() && !root_.states.empty()) {
      attempt([&] {
        fail("E0204 missing", root_.at, "graph '" + root_.name + "' has no output",
             {"help: output: \"" + root_.states.front().name + " = next(" + root_.states.front().name + ")\""});
      });
    }
    for (const OutputDef& o : root_.outputs) {
      attempt([&] { emit(instance_->output(o.name, o.at), o.name, o.at); });
    }
    for (const std::string& name : request_.keep) keep(name);
    attempt([&] { states(); });
    attempt([&] { sizes(); });
    if (const auto& exceeded = expansion_.budget.exceeded()) tell(*exceeded);  // the caller may have caught the failure
    region_.graph.other_names = std::move(expansion_.other_names);
    return std::move(region_.graph);
  }

 private:
  template <class F>
  void attempt(const F& f) {
    try {
      f();
    } catch (const Failure& failure) {
      tell(failure);
    }
  }

  void tell(const Failure& failure) {
    // A mistake may be found at each use of its value.
    for (const auto& d : failure.why) {
      if (told_.insert({d->at.str(), d->text}).second) diagnostics_.push_back(*d);
    }
  }

  // Binds the request's values: args and imports of the root, then sizes.
  void bind(GraphValue& value, Instance::Setup& setup) {
    for (const GraphRequest::Setting& b : request_.bindings) {
      attempt([&] {
        ir::SourceText text(b.text);
        text.file = b.at.known() ? b.at.file : intern_file("--set " + b.name);
        text.pieces.push_back({0, b.at.known() ? b.at.line : 1, b.at.known() ? b.at.column : 1});
        ir::Expression e;
        try {
          e = ir::parse_expression(text);
        } catch (const UserError& error) {
          Failure failure;
          for (const Diagnostic& d : error.diagnostics()) failure.why.push_back(std::make_shared<const Diagnostic>(d));
          if (root_.has_arg(b.name)) setup.args[b.name] = [failure]() -> Meaning { throw failure; };  // given, although wrong
          throw failure;
        }
        if (root_.has_arg(b.name)) {
          bind_arg(value, setup, b.name, std::move(e), !b.at.known());
        } else if (const Leaf path = split_path(b.name); path.size() > 1 && imports(path[0])) {
          const bool graph = e.kind == ir::Expression::Kind::kGraph;
          value.overrides.push_back({path, graph ? graph_thunk(e) : number_thunk(b.name, e), e.at});
        } else if (root_.symbols.count(b.name)) {
          if (e.kind != ir::Expression::Kind::kNumber || !e.integral || e.number < 0) {
            wrong_size_ = true;
            fail("E0309 bad-size", e.at, "the size '" + b.name + "' must be a whole number from 0, found " + b.text);
          }
          if (e.number == 0 && parameters_have(b.name)) {
            wrong_size_ = true;
            fail("E0309 bad-size", e.at, "parameters have this size, so it must be at least 1");
          }
          sizes_[b.name] = Dim(static_cast<std::int64_t>(e.number));
        } else {
          std::vector<std::string> known(root_.symbols.begin(), root_.symbols.end());
          for (const ArgDef& a : root_.args) known.push_back(a.name);
          for (const ImportDef& i : root_.imports) known.push_back(i.name);
          const std::string hint = did_you_mean(split_path(b.name)[0], known);
          fail("E0229 unknown-arg", e.at, "graph '" + root_.name + "' has no arg or size '" + b.name + "'",
               {"help: " + (hint.empty() ? "" : hint + " ") + root_.signature()});
        }
      });
    }
  }

  bool parameters_have(const std::string& size) const {
    return std::any_of(root_.parameters.begin(), root_.parameters.end(), [&](const ParameterDef& p) {
      return std::any_of(p.shape.begin(), p.shape.end(), [&](const ir::Expression& e) { return e.is_name(size); });
    });
  }

  bool imports(const std::string& name) const {
    const Member* m = root_.static_member(name);
    return m && m->kind == Member::Kind::kImport;
  }

  void bind_arg(const GraphValue& value, Instance::Setup& setup, const std::string& name, ir::Expression e,
                bool on_command_line) {
    const bool number = value.definition->static_member(name)->kind == Member::Kind::kArg;
    setup.args_at[name] = e.at;
    if (number && e.kind == ir::Expression::Kind::kName) {
      const Member* const m = root_.member(e.path[0]);
      if (m != nullptr && m->kind == Member::Kind::kInput) {
        const std::string number_given = on_command_line ? "--set " + name + "=4" : name + " = 4";
        Failure failure;
        failure.why.push_back(std::make_shared<const Diagnostic>(
            Diagnostic{Severity::kError,
                       "E0227 run-time-arg",
                       e.at,
                       "arg '" + name + "' must be known at compile time, found the input '" + e.path[0] + "'",
                       {"help: '" + e.path[0] + "' is an input of the graph; give a number: " + number_given}}));
        setup.args[name] = [failure]() -> Meaning { throw failure; };
        throw failure;
      }
    }
    setup.args[name] = number ? number_thunk(name, std::move(e)) : graph_thunk(std::move(e));
  }

  Thunk number_thunk(const std::string& stem, ir::Expression e) {
    return [this, stem, e = std::move(e)] { return instance_->evaluate(e, stem); };
  }

  Thunk graph_thunk(ir::Expression e) {
    return [this, e = std::move(e)]() -> Meaning { return instance_->graph_value(e); };
  }

  struct StateVariable {
    Leaf leaf;
    ir::ValueId value;
    std::size_t variable;  // among the graph's
  };

  // The states of the root persist from run to run: they are variables.
  ir::ValueId variable(const Leaf& leaf) {
    const std::string name = dotted(leaf);
    if (const auto it = variables_.find(name); it != variables_.end()) return it->second;
    ir::Variable v;
    v.kind = ir::Variable::Kind::kState;
    v.at = root_.at;
    const ir::TensorType type = instance_->states().type(leaf);
    const ir::ValueId id = region_.builder.variable(name, type, v);
    variables_.emplace(name, id);
    leaves_.push_back({leaf, id, region_.graph.variables.size() - 1});
    return id;
  }

  // The location in the file of the state's value after the step.
  Location place(const Leaf& leaf) const {
    const Member* m = root_.member(leaf[0]);
    if (!m || m->kind != Member::Kind::kState) return root_.at;
    const StateDef& s = root_.states[m->index];
    return s.next ? s.next->at : s.at;
  }

  // The value after the step, with the state's type and shape.
  ir::ValueId next_of(const Leaf& leaf, const ir::TensorType& type) {
    const Meaning next = instance_->states().next(leaf, place(leaf));
    const ir::ValueId value = as_value(next, region_, place(leaf), "state '" + dotted(leaf) + "'", type.type);
    const ir::TensorType& found = region_.type(value);
    if (found == type) return value;
    if (found.type == type.type && found.shape.empty()) {
      return region_.builder.op("broadcast_to", {value}, {{"shape", type.shape}});
    }
    fail("E0246 state-shape", place(leaf),
         "state '" + dotted(leaf) + "': next is " + found.str() + ", but the state is " + type.str());
  }

  void states() {
    // A state that nothing reads is not a variable, but must still be valid.
    for (const StateDef& s : root_.states) {
      if (s.of.empty() && !variables_.count(s.name)) attempt([&] { next_of({s.name}, instance_->states().type({s.name})); });
    }
    // Reading a next may add states.
    for (std::size_t k = 0; k < leaves_.size(); ++k) {
      const StateVariable s = leaves_[k];
      attempt([&] {
        const ir::ValueId next = next_of(s.leaf, region_.type(s.value));
        region_.graph.variables[s.variable].next = next;
      });
    }
  }

  // A size used in a computation may be determined by an input that nothing reads: if there are several, by the first.
  void sizes() {
    for (const Symbol size : ir::unknown_sizes(region_.graph)) {
      for (const InputDef& input : root_.inputs) {
        if (std::none_of(input.shape.begin(), input.shape.end(), [&](const auto& e) { return e.is_name(size.name()); }))
          continue;
        instance_->input(input.name);
        break;
      }
    }
  }

  // Makes a value that the root's equations could name, "encode.attention", an output. Deeper ones exist if an output needs
  // them.
  void keep(const std::string& name) {
    if (region_.graph.output(name) != nullptr) return;
    try {
      emit(instance_->evaluate(ir::parse_expression(ir::SourceText(name)), name), name, {});
    } catch (const UserError&) {  // "layers.0.x" is no expression
    } catch (const Failure& failure) {
      const auto is_unknown = [](const auto& d) {
        return d->code == "E0207 unknown-name" || d->code == "E0213 whole-instance" || d->code == "E0234 no-output";
      };
      if (!std::all_of(failure.why.begin(), failure.why.end(), is_unknown)) tell(failure);
    }
  }

  void emit(const Meaning& m, const std::string& name, const Location& at) {
    if (const Members* members = m.bundle()) {
      for (const auto& [n, member] : *members) emit(member, name + "." + n, at);
      return;
    }
    if (m.stack()) return emit(stacked(m, region_, at), name, at);
    region_.builder.set_name(name);
    region_.builder.set_location(at);
    region_.graph.outputs.push_back({name, as_value(m, region_, at, "output '" + name + "'")});
  }

  const GraphRequest& request_;
  std::vector<Diagnostic>& diagnostics_;
  Region region_;
  Expansion expansion_;
  const Definition& root_;
  std::map<std::string, Dim> sizes_;
  std::unique_ptr<Instance> instance_;
  std::map<std::string, ir::ValueId> variables_;
  std::vector<StateVariable> leaves_;
  bool wrong_size_ = false;                             // of a setting
  std::set<std::pair<std::string, std::string>> told_;  // locations and texts
};

}  // namespace

ir::Graph expand(Library& library, const Definition& root, const GraphRequest& request, std::vector<Diagnostic>& diagnostics) {
  return Expander(library, root, request, diagnostics).expand();
}

}  // namespace graphrun::frontend
