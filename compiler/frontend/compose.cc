// Calls and repeats: instances in the caller's own region. In the graph, only the paths in names show them.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "compiler/frontend/compose.h"
#include "compiler/frontend/evaluate.h"

namespace graphrun::frontend {
namespace {

constexpr double kMostRepetitions = 100000;

class Call : public Sub {
 public:
  using Sub::Sub;
  std::shared_ptr<const StateTree> tree() override { return instance().states().tree(); }
  ir::TensorType leaf_type(const Leaf& leaf) override { return instance().states().type(leaf); }
  Meaning zero(const Leaf& leaf) override { return instance().states().zero(leaf); }
  Meaning end() override { return instance().states().end(); }
  Meaning output(const std::string& name, const Location& at) override { return instance().output(name, at); }

 private:
  Instance& instance() {
    if (!instance_) {
      Instance::Setup s = setup({}, path_, parent_.region());
      bind(s.inputs, def_.inputs, {});
      check_inputs(s.inputs);
      check_begins();
      instance_ = std::make_unique<Instance>(parent_.expansion(), std::move(s));
      instance_->states().provide([this](const Leaf& leaf) -> std::optional<Meaning> {
        if (!def_.begins.empty()) return given(*instance_->states().tree(), leaf, {});
        Leaf outer = {def_.name};
        outer.insert(outer.end(), leaf.begin(), leaf.end());
        return parent_.states().begin(outer);
      });
    }
    return *instance_;
  }
  std::unique_ptr<Instance> instance_;
};

class Repeat : public Sub {
 public:
  using Sub::Sub;

  std::shared_ptr<const StateTree> tree() override {
    if (tree_) return tree_;
    StateTree t;
    t.numbered = true;
    for (std::size_t k = 0; k < parts().size(); ++k) {
      const std::shared_ptr<const StateTree> member = parts()[k]->states().tree();
      t.whole &= member->whole;
      if (member->members.empty()) {
        t.numbered = false;
        t.members.clear();
        break;
      }
      t.members.push_back({std::to_string(k), *member});
    }
    auto shared = std::make_shared<const StateTree>(std::move(t));
    if (shared->whole || parent_.expansion().budget.exceeded()) tree_ = shared;
    return shared;
  }
  ir::TensorType leaf_type(const Leaf& leaf) override { return part(leaf).states().type(Leaf(leaf.begin() + 1, leaf.end())); }
  Meaning zero(const Leaf& leaf) override { return part(leaf).states().zero(Leaf(leaf.begin() + 1, leaf.end())); }
  Meaning end() override {
    if (end_) return *end_;
    std::vector<Meaning> out;
    for (auto& p : parts()) out.push_back(p->states().end());
    return end_.emplace(Meaning::stack(std::move(out)));
  }
  Meaning output(const std::string& name, const Location& at) override {
    run();
    for (const ir::Binding& b : def_.carry) {
      if (b.name != name) continue;
      if (parts_.empty()) return parent_.evaluate(b.value, path_ + name);
      return carried(*parts_.back(), b);
    }
    std::vector<Meaning> out;
    for (auto& p : parts()) out.push_back(p->output(name, at));
    return Meaning::stack(std::move(out));
  }

 private:
  Instance& part(const Leaf& leaf) { return *parts().at(std::stoul(leaf[0])); }

  // The name of the output that the next repetition uses as an input, with its location in `next`; null if the output has the
  // input's name.
  const ir::Expression* next_of(const std::string& name) const {
    for (const ir::Binding& b : def_.next)
      if (b.name == name) return &b.value;
    return nullptr;
  }
  // The value that a repetition passes to the next one for this input.
  Meaning carried(Instance& part, const ir::Binding& b) const {
    if (const ir::Expression* const next = next_of(b.name)) return part.output(next->dotted(), parent_.at(next->at));
    const std::vector<OutputDef>& outputs = part.definition().outputs;
    const std::string example = outputs.size() == 1 ? outputs[0].name : "OUTPUT";
    return part.output(
        b.name, parent_.at(b.at),
        "next: \"" + b.name + " = " + example + "\" names the output that the next repetition uses as '" + b.name + "'");
  }

  std::vector<std::unique_ptr<Instance>>& parts() {
    if (failure_) throw *failure_;
    if (made_) return parts_;
    made_ = true;
    try {
      make_parts();
    } catch (const Failure& failure) {
      failure_ = failure;
      throw;
    }
    return parts_;
  }

  void make_parts() {
    check_begins();
    const Meaning times = parent_.evaluate(*def_.times, path_ + "times");
    const ir::Number* n = times.number();
    if (!n || n->value != std::floor(n->value) || n->value < 0 || n->value > kMostRepetitions) {
      fail("E0239 bad-times", parent_.at(def_.times->at),
           "`times` must be a whole number from 0 to 100000 known at compile time, found " + times.describe());
    }
    for (int k = 0; k < static_cast<int>(n->value); ++k) {
      Instance::Setup s = setup(k, path_ + std::to_string(k) + ".", parent_.region());
      s.parameters_path = parameters_path_ + std::to_string(k) + ".";
      bind(s.inputs, def_.inputs, k);
      const Location where = at();
      bind(s.inputs, def_.each, k, [this, k, where](const Meaning& all, const std::string&) { return slice(all, k, where); });
      for (const ir::Binding& b : def_.carry) {
        if (k == 0) {
          s.inputs[b.name] = [this, &b] { return parent_.evaluate(b.value, path_ + b.name); };
        } else {
          s.inputs[b.name] = [this, k, &b] { return carried(*parts_[static_cast<std::size_t>(k) - 1], b); };
          const ir::Expression* const next = next_of(b.name);
          s.origins[b.name] = "note: it is the output '" + (next ? next->dotted() : b.name) + "' of repetition " +
                              std::to_string(k - 1) + (next ? ", which 'next' names at " + next->at.str() : "");
        }
      }
      check_inputs(s.inputs);
      parts_.push_back(std::make_unique<Instance>(parent_.expansion(), std::move(s)));
      for (const ir::Binding& b : def_.next) parts_.back()->declared_output(b.value.dotted(), parent_.at(b.value.at));
      parts_.back()->states().provide([this, k](const Leaf& leaf) -> std::optional<Meaning> {
        Leaf outer = {std::to_string(k)};
        outer.insert(outer.end(), leaf.begin(), leaf.end());
        if (!def_.begins.empty()) return given(*tree(), outer, k);
        outer.insert(outer.begin(), def_.name);
        return parent_.states().begin(outer);
      });
    }
  }

  // Evaluates one repetition after the other, so that a deep stack of layers does not need deep recursion.
  void run() {
    if (ran_) return;
    ran_ = true;
    for (auto& p : parts()) {
      for (const ir::Binding& b : def_.carry) {
        try {
          carried(*p, b);
        } catch (const Failure&) {  // reported by its readers
        }
      }
    }
  }

  Meaning slice(const Meaning& all, int k, const Location& where) {
    if (all.is_structure()) return select(all, std::to_string(k), where);
    Scope scope{&parent_, k, path_ + "each", 0};
    return apply_op("index", {all}, {{"axis", Meaning::number(0)}, {"at", Meaning::number(k)}}, where, scope);
  }

  bool made_ = false, ran_ = false;
  std::vector<std::unique_ptr<Instance>> parts_;
  std::optional<Failure> failure_;  // from making the parts
  std::shared_ptr<const StateTree> tree_;
  std::optional<Meaning> end_;
};

// Notes that a value for the states of all repetitions has an axis of repetitions.
void note_repetitions(const StateTree& tree, const Leaf& leaf, const std::string& name, const ir::TensorType& found,
                      std::vector<std::string>& notes) {
  const StateTree* t = &tree;
  for (const std::string& part : leaf) {
    if (t->numbered) {
      const std::string count = std::to_string(t->members.size());
      notes.push_back("note: '" + name + "' names the state of " + count + " repetitions, so the first axis of its value " +
                      found.str() + " is taken for that of the repetitions");
      notes.push_back("help: broadcast_to(…, shape=[" + count + ", …]) gives all of them the same; '" + dotted(leaf) +
                      " = …' names one");
      return;
    }
    t = t->member(part);
    if (t == nullptr) return;
  }
}

}  // namespace

Sub::Sub(Instance& parent, const InstanceDef& def) : parent_(parent), def_(def) {
  graph_ = parent.graph_value(def.graph);
  path_ = parent.path() + def.name + ".";
  declared_path_ = parent.declared_path() + def.name + ".";
  parameters_path_ = parent.parameters_path() + def.name + ".";
  if (!def.parameters.empty()) {
    parent.require_declared(def.parameters);
    const Member* m = parent.definition().member(def.parameters);
    if (!m || m->kind != Member::Kind::kInstance)
      fail("E0207 unknown-name", at(), "parameters: no call is named '" + def.parameters + "'");
    const auto other = parent.graph_value(parent.definition().instances[m->index].graph);
    if (other->definition != graph_->definition) {
      fail("E0240 other-graph", at(),
           "'" + def.name + "' is of graph '" + graph_->definition->name + "' and can't share the parameters of '" +
               def.parameters + "', of graph '" + other->definition->name + "'");
    }
    parameters_path_ = parent.parameters_path() + def.parameters + ".";
  }
  via_ = intern(parent.at(def.at));
}

Instance::Setup Sub::setup(std::optional<int> index, const std::string& path, Region& region) {
  bound_recursion(parent_.expansion(), at());
  parent_.expansion().budget.add_instance(path, at());
  Instance::Setup s;
  s.graph = graph_;
  s.args = parent_.arg_thunks(*graph_, def_.args, index);
  for (const ir::Binding& b : def_.args) s.args_at[b.name] = parent_.written_at(b.value);
  s.path = path;
  s.declared_path = declared_path_;
  s.parameters_path = parameters_path_;
  s.region = &region;
  s.via = via_;
  s.first_step = parent_.first_step();
  return s;
}

void Sub::bind(std::map<std::string, Thunk>& out, const std::vector<ir::Binding>& bindings, std::optional<int> index,
               const std::function<Meaning(const Meaning&, const std::string& name)>& through) {
  for (const ir::Binding& b : bindings) {
    if (out.count(b.name)) fail("E0205 named-twice", parent_.at(b.at), "input '" + b.name + "' is given twice");
    out[b.name] = [this, &b, index, through] {
      const Meaning m = parent_.evaluate(b.value, path_ + b.name, index);
      return through ? through(m, b.name) : m;
    };
  }
}

void Sub::check_inputs(const std::map<std::string, Thunk>& inputs) {
  for (const auto* list : {&def_.inputs, &def_.each, &def_.carry}) {
    for (const ir::Binding& b : *list) {
      if (!inputs.count(b.name) || graph_->definition->has_input(b.name)) continue;
      std::vector<std::string> known;
      for (const InputDef& i : graph_->definition->inputs) known.push_back(i.name);
      const std::string hint = did_you_mean(b.name, known);
      std::string wanted;
      for (const auto& [name, unused] : inputs) wanted += (wanted.empty() ? "" : ", ") + name;
      std::vector<std::string> notes = {
          "help: " + (hint.empty() ? "" : hint + " ") + "the graph has: " + graph_->definition->signature(),
          "note: the call gives inputs (" + wanted + ")"};
      if (graph_->at.known()) notes.push_back("note: the graph is given at " + graph_->at.str());
      fail("E0241 unknown-input", parent_.at(b.at), "graph '" + graph_->definition->name + "' has no input '" + b.name + "'",
           std::move(notes));
    }
  }
}

void Sub::check_begins() {
  const Definition& d = *graph_->definition;
  if (def_.begins.empty() || !d.states.empty() || !d.instances.empty()) return;
  fail("E0242 unknown-state", parent_.at(def_.begins[0].at), "graph '" + d.name + "' has no states, so none begins as this",
       {"help: begin sets the initial values of states; to set an input, write input: \"name = value\""});
}

std::optional<Meaning> Sub::given(const StateTree& tree, const Leaf& leaf, std::optional<int> index,
                                  std::vector<std::string>* notes) {
  for (const ir::Binding& b : def_.begins) {
    const Leaf prefix = b.named ? split_path(b.name) : Leaf{};
    // A path may omit the numbers of repetitions: it then means all of them.
    const auto matches = [&](const Leaf& l, Leaf* rest) {
      const StateTree* t = &tree;
      std::size_t j = 0;
      for (const std::string& part : l) {
        if (j < prefix.size() && prefix[j] == part) {
          ++j;
        } else if (j < prefix.size() && !t->numbered) {
          return false;
        } else if (rest) {
          rest->push_back(part);
        }
        if (const StateTree* member = t->member(part)) t = member;
      }
      return j == prefix.size();
    };
    Leaf rest;
    if (!matches(leaf, &rest)) {
      const std::vector<Leaf> all = leaves(tree);
      if (std::none_of(all.begin(), all.end(), [&](const Leaf& l) { return matches(l, nullptr); })) {
        std::string known;
        for (const Leaf& l : all) known += (known.empty() ? "" : ", ") + dotted(l);
        fail("E0242 unknown-state", parent_.at(b.at), "graph '" + graph_->definition->name + "' has no state '" + b.name + "'",
             {"help: it has " + (known.empty() ? "none" : known)});
      }
      continue;
    }
    const Location where = parent_.at(b.value.at);
    std::size_t taken = 0;
    const Meaning v = parent_.evaluate(parent_.states().narrowed(b.value, rest, taken), path_ + "begin", index);
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(taken));
    const bool numbered = std::any_of(
        rest.begin(), rest.end(), [](const std::string& key) { return std::isdigit(static_cast<unsigned char>(key[0])) != 0; });
    if (numbered && v.tensor() && notes) note_repetitions(tree, leaf, b.name, parent_.region().type(v.tensor()->id), *notes);
    Scope scope{&parent_, index, path_ + "begin", 0};
    return parent_.states().part(v, rest, true, where, scope);
  }
  return std::nullopt;
}

std::unique_ptr<Sub> make_sub(Instance& parent, const InstanceDef& def) {
  switch (def.kind) {
    case InstanceDef::Kind::kCall: return std::make_unique<Call>(parent, def);
    case InstanceDef::Kind::kRepeat: return std::make_unique<Repeat>(parent, def);
    case InstanceDef::Kind::kScan: return make_scan(parent, def);
  }
  throw InternalError("make_sub: unknown kind");
}

}  // namespace graphrun::frontend
