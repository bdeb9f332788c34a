// Scans: an instance in its own region, which is closed and becomes a node. Padding is handled here, by selections in the body.
#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/frontend/compose.h"
#include "compiler/frontend/evaluate.h"
#include "compiler/frontend/history.h"

namespace graphrun::frontend {
namespace {

// x ** 2 and the like.
bool is_whole_power(const ir::Graph& graph, const ir::Node& node) {
  const std::optional<double> power = ir::plays(node, ir::Role::kPower) ? ir::number(graph, node.inputs[1]) : std::nullopt;
  return power && *power >= 1 && *power == std::floor(*power);
}

// Whether `graph` computes from the values in `reached` what may not be finite, or may have a derivative that is not, though
// they are finite.
bool reaches_singularity(const ir::Graph& graph, std::vector<bool> reached) {
  const auto is_reached = [&](ir::ValueId v) { return v != ir::kNone && reached[static_cast<std::size_t>(v)]; };
  for (const ir::Node& node : graph.nodes) {
    for (const std::size_t operand : node.op->singular) {
      if (is_reached(node.inputs[operand]) && !is_whole_power(graph, node)) return true;
    }
    if (std::none_of(node.inputs.begin(), node.inputs.end(), is_reached)) continue;
    for (const ir::Graph& body : node.regions) {
      // Through the states everything in a loop may depend on one operand.
      if (reaches_singularity(body, std::vector<bool>(body.values.size(), true))) return true;
    }
    for (const ir::ValueId v : node.outputs) reached[static_cast<std::size_t>(v)] = true;
  }
  return false;
}

class Scan : public Sub {
 public:
  using Sub::Sub;

  std::shared_ptr<const StateTree> tree() override { return body().states().tree(); }
  ir::TensorType leaf_type(const Leaf& leaf) override { return body().states().type(leaf); }
  // A scan's states are not states of its caller; its graph may set their initial values.
  Meaning zero(const Leaf& leaf) override { return first().states().zero(leaf); }

  Meaning end() override {
    run();
    if (end_) return *end_;
    return end_.emplace(fill(*tree(), [this](const Leaf& leaf) -> Meaning {
      const auto it = ends_.find(dotted(leaf));
      if (it == ends_.end()) throw state_failures_.at(dotted(leaf));
      return it->second;
    }));
  }

  Meaning output(const std::string& name, const Location& at) override {
    if (!graph_->definition->output(name)) body().output(name, at);  // fails with a message
    run();
    if (const auto it = output_failures_.find(name); it != output_failures_.end()) throw it->second;
    return outputs_.at(name);
  }

 private:
  Region& inner() {
    body();
    return *region_;
  }

  // The body's instance; its inputs are slices and invariants.
  Instance& body() {
    if (body_) return *body_;
    region_ = std::make_unique<Region>(&parent_.region());
    region_->graph.name = path_.substr(0, path_.size() - 1);
    region_->graph.declared = declared_path_.substr(0, declared_path_.size() - 1);
    region_->reverse = def_.reverse;
    region_->step = region_->builder.input("step", {Type::kInt32, {}});
    Instance::Setup s = setup({}, path_, *region_);
    s.first_step = false;
    bind(s.inputs, def_.inputs, {});
    bind(s.inputs, def_.each, {}, [this](const Meaning& all, const std::string& name) { return slice(all, name); });
    check_inputs(s.inputs);
    body_ = std::make_unique<Instance>(parent_.expansion(), std::move(s));
    body_->states().provide([this](const Leaf& leaf) -> std::optional<Meaning> { return Meaning(region_->ref(before(leaf))); });
    return *body_;
  }

  // The graph before its first step, outside the loop; the initial values of states may need it.
  Instance& first() {
    if (first_) return *first_;
    Instance::Setup s = setup({}, path_, parent_.region());
    s.first_step = true;
    bind(s.inputs, def_.inputs, {});
    bind(s.inputs, def_.each, {}, [this](const Meaning& all, const std::string&) {
      Scope scope{&parent_, {}, path_ + "first", 0};
      return apply_op("index", {all}, {{"axis", Meaning::number(0)}, {"at", Meaning::number(0)}}, at(), scope);
    });
    first_ = std::make_unique<Instance>(parent_.expansion(), std::move(s));
    return *first_;
  }

  Dim steps() {
    if (steps_) return *steps_;
    for (const ir::Binding& b : def_.each) {
      const Meaning all = stacked(parent_.evaluate(b.value, path_ + b.name), parent_.region(), at());
      const TensorRef* t = all.tensor();
      const Location where = parent_.at(b.value.at);
      if (!t) fail("E0243 no-sequence", where, "each: '" + b.name + "' must be a sequence [time, …], found " + all.describe());
      const ir::TensorType& type = t->region->type(t->id);
      if (type.shape.empty())
        fail("E0243 no-sequence", where, "each: '" + b.name + "' must be a sequence [time, …], found " + type.str());
      if (steps_ && *steps_ != type.shape[0]) {
        fail("E0244 steps-differ", where,
             "the sequences of scan '" + def_.name + "' have different lengths: " + steps_->str() + " and " +
                 type.shape[0].str());
      }
      steps_ = type.shape[0];
    }
    if (!steps_) fail("E0214 no-sequence", at(), "scan '" + def_.name + "' has no `each`");
    region_->steps = *steps_;
    return *steps_;
  }

  // The slice for one step of the value that the binding `name` gives, under the name that the body uses.
  Meaning slice(const Meaning& all, const std::string& name) {
    steps();
    Region& outside = parent_.region();
    const ir::ValueId sequence = as_value(all, outside, at(), "each");
    for (std::size_t k = 0; k < region_->each_operands.size(); ++k) {
      if (region_->each_operands[k] == sequence) return region_->ref(slices_[k]);
    }
    ir::TensorType type = outside.type(sequence);
    type.shape.erase(type.shape.begin());
    const ir::ValueId id = region_->builder.input(path_ + name, type);
    region_->each.push_back(id);
    region_->each_names.push_back(name);
    region_->each_operands.push_back(sequence);
    // Padded steps may contain anything, and 0 * infinity would leak into gradients. Zeros: see fill_padding.
    ir::ValueId clean = id;
    if (type.type == Type::kFloat && is_ragged() && row_axis(type.shape)) clean = selected(id, ir::kNone, "each");
    slices_.push_back(clean);
    return region_->ref(clean);
  }

  // Whether some steps may be padding: those beyond `lengths`, and those to come of a history.
  bool is_ragged() { return def_.lengths || with_history(parent_.region(), steps()) != nullptr; }

  // The number of steps, in the parent; [] or one for each row.
  ir::ValueId lengths() {
    if (lengths_ != ir::kNone) return lengths_;
    Region& outside = parent_.region();
    ir::ValueId given = ir::kNone;
    if (def_.lengths) {
      const Meaning m = parent_.evaluate(*def_.lengths, path_ + "lengths");
      const Location where = parent_.at(def_.lengths->at);
      given = as_value(m, outside, where, "lengths");
      const ir::TensorType type = outside.type(given);
      if (type.type != Type::kInt32) fail("E0303 wrong-type", where, "lengths must be INT32, found " + type.str());
    }
    if (Region* const around = with_history(outside, steps())) {
      outside.builder.set_location(at());
      outside.builder.set_name(path_ + "lengths");
      const ir::ValueId present = steps_so_far(outside, *around);
      given = given == ir::kNone ? present : outside.builder.op("minimum", {given, present});
    }
    lengths_shape_ = outside.type(given).shape;
    return lengths_ = given;
  }

  // The rows that are not padded at this step: BOOL, with the shape of lengths.
  ir::ValueId live() {
    if (live_ == ir::kNone) {
      const ir::ValueId all = region_->use(parent_.region().ref(lengths()));
      region_->builder.set_name(path_ + "live");
      region_->builder.set_location(at());
      live_ = region_->builder.op("lt", {region_->step, all});
    }
    return live_;
  }

  // The position of the axes of lengths among the axes of one step's value.
  std::optional<std::size_t> row_axis(const Shape& shape) {
    live();
    const std::size_t n = lengths_shape_.size();
    for (std::size_t k = 0; k + n <= shape.size(); ++k) {
      if (std::equal(lengths_shape_.begin(), lengths_shape_.end(), shape.begin() + static_cast<std::ptrdiff_t>(k))) return k;
    }
    return std::nullopt;
  }

  // `value` in live rows, `other` in the rest (kNone: zeros).
  ir::ValueId selected(ir::ValueId value, ir::ValueId other, const std::string& what) {
    if (!is_ragged()) return value;
    const ir::TensorType type = region_->type(value);
    const auto row = row_axis(type.shape);
    if (!row) {
      fail("E0245 no-rows", at(),
           "scan '" + def_.name + "' has lengths " + str(lengths_shape_) + ", but " + what + " " + type.str() +
               " has no such axis, so that a padded row can't be told from a real one");
    }
    ir::Builder& b = region_->builder;
    b.set_name(path_ + "masked");
    const auto found = lives_.find(type.shape.size() - *row);
    ir::ValueId mask = found == lives_.end() ? live() : found->second;
    if (found == lives_.end()) {
      for (std::size_t k = *row + lengths_shape_.size(); k < type.shape.size(); ++k)
        mask = b.op("expand", {mask}, {{"axis", std::int64_t{-1}}});
      lives_.emplace(type.shape.size() - *row, mask);
    }
    if (other == ir::kNone) other = b.constant(0, type.type);
    return b.op("where", {mask, value, other});
  }

  // The value of a state before the step, made on first use.
  ir::ValueId before(const Leaf& leaf) {
    const std::string name = dotted(leaf);
    if (const Region::State* s = made(name)) return s->before;
    const ir::TensorType type = body().states().type(leaf);
    Region::State s;
    s.name = name;
    s.before = region_->builder.input(path_ + name + ".before", type);
    state_at_.emplace(name, region_->states.size());
    region_->states.push_back(s);
    return s.before;
  }

  Region::State* made(const std::string& name) {
    const auto it = state_at_.find(name);
    return it == state_at_.end() ? nullptr : &region_->states[it->second];
  }

  // The value after the step, with the state's type and shape; padded rows keep the old value.
  ir::ValueId after(const Leaf& leaf, const Location& where) {
    const Meaning next = body().states().next(leaf, where);
    const ir::ValueId state = before(leaf);
    const ir::ValueId value = fitted(next, region_->type(state), *region_, where, "state '" + dotted(leaf) + "': next");
    return selected(value, state, "state '" + dotted(leaf) + "'");
  }

  ir::ValueId fitted(const Meaning& m, const ir::TensorType& type, Region& r, const Location& where, const std::string& what,
                     std::vector<std::string> notes = {}) {
    r.builder.set_location(where);
    ir::ValueId v = as_value(m, r, where, what, type.type);
    if (m.number() || m.dim()) v = r.builder.cast(v, type.type);
    const ir::TensorType found = r.type(v);
    if (found == type) return v;
    if (found.type == type.type && found.shape.empty()) return r.builder.op("broadcast_to", {v}, {{"shape", type.shape}});
    fail("E0246 state-shape", where, what + " is " + found.str() + ", but the state is " + type.str(), std::move(notes));
  }

  Location state_at(const Leaf& leaf) {
    const Member* m = graph_->definition->member(leaf[0]);
    if (m && m->kind == Member::Kind::kState) {
      const StateDef& s = graph_->definition->states[m->index];
      return body().at(s.next ? s.next->at : s.at);
    }
    return at();
  }

  void run() {
    if (failure_) throw *failure_;
    if (ran_) return;
    if (running_) fail("E0225 cycle", at(), "scan '" + def_.name + "' depends on its own result");
    running_ = true;
    try {
      build();
      ran_ = true;
    } catch (const Failure& f) {
      failure_ = f;
      throw;
    }
  }

  struct Wanted {
    std::string name;
    Meaning value;
  };

  void build() {
    check_begins();
    Instance& b = body();
    steps();
    // Outputs first: parts that neither an output nor a read state needs may be missing.
    std::vector<Wanted> wanted;
    Failure failure;
    for (const OutputDef& o : graph_->definition->outputs) {
      try {
        wanted.push_back({o.name, masked(b.output(o.name, at()), o.name)});
      } catch (const Failure& f) {
        output_failures_.emplace(o.name, f);
      }
    }
    const std::vector<Leaf> all = leaves(*b.states().tree());
    std::map<std::string, ir::ValueId> nexts;
    for (const Leaf& leaf : all) {
      try {
        nexts[dotted(leaf)] = after(leaf, state_at(leaf));
      } catch (const Failure& f) {
        state_failures_.emplace(dotted(leaf), f);
      }
    }
    // A state that is read must have a next and a begin; errors in others are ignored.
    for (const Leaf& leaf : all) {
      Region::State* s = made(dotted(leaf));
      if (!s) continue;
      const auto n = nexts.find(dotted(leaf));
      if (n == nexts.end()) {
        failure.add(state_failures_.at(dotted(leaf)));
        continue;
      }
      try {
        const ir::ValueId begin = begin_of(leaf, s->before);
        s = made(dotted(leaf));
        s->after = n->second;
        s->begin = begin;
      } catch (const Failure& f) {
        failure.add(f);
      }
    }
    if (!failure.why.empty()) throw failure;
    close(wanted);
  }

  ir::ValueId begin_of(const Leaf& leaf, ir::ValueId state) {
    std::vector<std::string> notes;
    std::optional<Meaning> v = given(*body().states().tree(), leaf, {}, &notes);
    const Location where = def_.begins.empty() ? at() : parent_.at(def_.begins[0].value.at);
    if (!v) v = first().states().zero(leaf);
    parent_.region().builder.set_name(path_ + dotted(leaf) + ".begin");
    return fitted(*v, region_->type(state), parent_.region(), where, "state '" + dotted(leaf) + "': begin", std::move(notes));
  }

  // The tensors of one step's output, with zeros in padded rows.
  Meaning masked(const Meaning& m, const std::string& what) {
    if (const Members* members = m.bundle()) {
      Members out;
      for (const auto& [name, member] : *members) out.emplace_back(name, masked(member, what));
      return Meaning::bundle(std::move(out));
    }
    // Stack here, so that the result has the steps before the repetitions, as before every axis of a step's value.
    if (m.stack()) return masked(stacked(m, *region_, at()), what);
    const ir::ValueId v = as_value(m, *region_, at(), "output '" + what + "'");
    if (region_->history) {
      for (const Dim& d : region_->type(v).shape) {
        if (d.as_symbol() == region_->history) {
          fail("E0247 history-leaves", at(),
               "output '" + what + "' " + region_->type(v).str() +
                   " has an axis of all steps so far, which differs from step to step");
        }
      }
    }
    region_->builder.set_location(at());
    return region_->ref(selected(v, ir::kNone, "output '" + what + "'"));
  }

  // Zeros in padded rows are good for products, which passes simplify, but x / norm(x) of zeros is NaN and the gradient of sqrt
  // infinite: multiplied by the zero gradients of padded rows, both make the gradients of parameters NaN. A body with such
  // operators gets each row's last real slice instead, which is as good as the row's other data. Inference has no gradients.
  void fill_padding() {
    if (!parent_.expansion().training) return;
    ir::Graph& body = region_->graph;
    std::vector<bool> padded(body.values.size(), false);
    for (std::size_t k = 0; k < slices_.size(); ++k)
      padded[static_cast<std::size_t>(slices_[k])] = slices_[k] != region_->each[k];
    if (!reaches_singularity(body, padded)) return;
    for (std::size_t k = 0; k < slices_.size(); ++k) {
      if (slices_[k] == region_->each[k]) continue;
      const ir::ValueId filler = region_->use(parent_.region().ref(last_slice(region_->each_operands[k])));
      body.nodes[static_cast<std::size_t>(body.value(slices_[k]).node)].inputs[2] = filler;
    }
  }

  // Each row's last real slice of `sequence`, as a constant in differentiation; in rows without steps, a number at which most
  // functions are regular.
  ir::ValueId last_slice(ir::ValueId sequence) {
    constexpr double kRegular = 0.5;
    Region& outside = parent_.region();
    ir::Builder& b = outside.builder;
    Shape shape = outside.type(sequence).shape;
    shape.erase(shape.begin());
    const std::size_t rows = *row_axis(shape) + lengths_shape_.size();
    b.set_location(at());
    b.set_name(path_ + "last");
    const ir::ValueId counts =
        b.op("broadcast_to", {lengths()}, {{"shape", Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(rows))}});
    ir::ValueId any = b.op("lt", {b.constant(0, Type::kInt32), counts});
    for (std::size_t k = rows; k < shape.size(); ++k) any = b.op("expand", {any}, {{"axis", std::int64_t{-1}}});
    const ir::ValueId last = b.op("last", {b.op("stop_gradient", {sequence}), counts}, {{"axis", std::int64_t{0}}});
    return b.op("where", {any, last, b.constant(kRegular, Type::kFloat)});
  }

  void close(const std::vector<Wanted>& wanted) {
    fill_padding();
    Region& r = *region_;
    Region& outside = parent_.region();
    std::vector<ir::ValueId> operands;
    std::vector<ir::Input> inputs;
    const auto feed = [&](ir::ValueId here, ir::ValueId there, const std::string& name_in_each = {}) {
      inputs.push_back({here, std::nullopt, std::nullopt, name_in_each});
      operands.push_back(there);
    };
    for (const Region::State& s : r.states) feed(s.before, s.begin);
    for (std::size_t k = 0; k < r.each.size(); ++k) feed(r.each[k], r.each_operands[k], r.each_names[k]);
    for (std::size_t k = 0; k < r.captured.size(); ++k) feed(r.captured[k], r.captured_operands[k]);
    inputs.push_back({r.step, std::nullopt, std::nullopt});
    r.graph.inputs = std::move(inputs);
    for (const Region::State& s : r.states) r.graph.outputs.push_back({s.name, s.after});
    const std::size_t states = r.states.size(), each = r.each.size();
    std::vector<std::string> names;
    const auto collect = [&](const Meaning& m, const std::string& name, auto& self) -> void {
      if (const Members* members = m.bundle()) {
        for (const auto& [n, member] : *members) self(member, name + "." + n, self);
      } else {
        r.graph.outputs.push_back({name, m.tensor()->id});
      }
    };
    for (const Wanted& w : wanted) collect(w.value, w.name, collect);

    std::vector<std::string> ends;
    for (const Region::State& s : r.states) ends.push_back(s.name);
    outside.builder.set_location(at());
    outside.builder.set_name(path_.substr(0, path_.size() - 1));
    const std::vector<ir::ValueId> results =
        outside.builder.scan(std::move(operands), r.graph, states, each, *steps_, def_.reverse);
    for (std::size_t k = 0; k < states; ++k) {
      ir::Value& v = outside.graph.value(results[k]);
      v.name = outside.builder.unique(path_ + "end." + ends[k]);
      ends_.emplace(ends[k], outside.ref(results[k]));
    }
    std::size_t next = states;
    const auto give = [&](const Meaning& m, auto& self) -> Meaning {
      if (const Members* members = m.bundle()) {
        Members out;
        for (const auto& [n, member] : *members) out.emplace_back(n, self(member, self));
        return Meaning::bundle(std::move(out));
      }
      return outside.ref(results[next++]);
    };
    for (const Wanted& w : wanted) outputs_.emplace(w.name, give(w.value, give));
  }

  std::unique_ptr<Region> region_;
  std::unique_ptr<Instance> body_, first_;
  std::optional<Dim> steps_;
  std::vector<ir::ValueId> slices_;
  ir::ValueId lengths_ = ir::kNone;
  Shape lengths_shape_;
  ir::ValueId live_ = ir::kNone;
  std::map<std::size_t, ir::ValueId> lives_;  // by the number of axes after it
  bool running_ = false, ran_ = false;
  std::optional<Failure> failure_;
  std::map<std::string, std::size_t> state_at_;  // by name, index among the region's states
  std::map<std::string, Meaning> ends_, outputs_;
  std::optional<Meaning> end_;
  std::map<std::string, Failure> state_failures_, output_failures_;
};

}  // namespace

std::unique_ptr<Sub> make_scan(Instance& parent, const InstanceDef& def) { return std::make_unique<Scan>(parent, def); }

}  // namespace graphrun::frontend
