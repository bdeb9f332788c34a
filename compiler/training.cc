#include "compiler/training.h"

#include <algorithm>

#include "compiler/differentiate.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::ValueId;

[[noreturn]] void fail(const std::string& text, std::vector<std::string> notes = {}) {
  throw UserError(ExitCode::kInvalidGraph, "E0401 bad-objective", text, std::move(notes));
}

ValueId objective(const ir::Graph& graph, const std::string& name) {
  const ir::Output* o = graph.output(name);
  std::vector<std::string> known;
  for (const ir::Output& k : graph.outputs) known.push_back(k.name);
  if (!o) {
    const std::string hint = did_you_mean(name, known);
    fail("minimize: graph '" + graph.name + "' has no output '" + name + "'",
         hint.empty() ? std::vector<std::string>{} : std::vector<std::string>{"help: " + hint});
  }
  const ir::TensorType& type = graph.type(o->value);
  if (type.type != Type::kFloat || !type.shape.empty()) {
    fail("minimize: '" + name + "' is " + type.str() + "; what is minimized is a FLOAT scalar",
         {"help: sum(x) or mean(x) makes a scalar"});
  }
  return o->value;
}

// The divisor of the gradients, as FLOAT; kNone if there is none.
ValueId divisor(ir::Builder& b, const TrainOptions& options) {
  if (options.per.empty()) return kNone;
  const ir::Output* o = b.graph().output(options.per);
  if (!o) fail("per: graph '" + b.graph().name + "' has no output '" + options.per + "'");
  const ir::TensorType& type = b.graph().type(o->value);
  if (!type.shape.empty() || type.type == Type::kBool) {
    fail("per: '" + options.per + "' is " + type.str() + "; what divides a gradient is a FLOAT or INT32 scalar",
         {"help: sum(x) makes a scalar"});
  }
  return b.cast(o->value, Type::kFloat);
}

struct Trained {
  std::size_t variable;
  ValueId value, gradient;
  Location at;
  std::string parameter;  // the name; that of the variable differs if this is a slice
};

const ir::OpSchema& update_op(const std::string& optimizer) { return ir::OpRegistry::instance().get(optimizer + "_update"); }

// Whether this input of an update is a slot.
bool is_slot(const ir::InputSpec& input) {
  return input.name != "p" && input.name != "g" && input.name != "rate" && input.name != "t" && input.name != "scale";
}

// The ending of an optimizer's slot.
std::string slot_ending(const std::string& optimizer, const ir::InputSpec& input) { return "." + optimizer + "_" + input.name; }

// The trainable parameters that the loss depends on, with their gradients.
std::vector<Trained> gradients_of(ir::Graph& graph, const TrainOptions& options, const TapeOptions& tape) {
  const ValueId loss = objective(graph, options.minimize);
  std::vector<Trained> candidates, trained;
  std::vector<ValueId> values;
  for (std::size_t k = 0; k < graph.variables.size(); ++k) {
    const ir::Variable& v = graph.variables[k];
    if (v.kind != ir::Variable::Kind::kParameter || !v.trainable) continue;
    candidates.push_back({k, v.value, kNone, v.at, graph.value(v.value).name});
    values.push_back(v.value);
  }
  const std::vector<ValueId> gradients = differentiate(graph, loss, values, tape);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    candidates[k].gradient = gradients[k];
    if (gradients[k] != kNone) trained.push_back(candidates[k]);
  }
  if (trained.empty()) fail("minimize: '" + options.minimize + "' depends on no trainable parameter");
  return trained;
}

// A graph of slices of the trained parameters alone.
ir::Graph with_slices(const ir::Graph& whole, const std::vector<ParameterSlice>& slices, std::vector<Trained>& trained) {
  ir::Graph graph;
  graph.name = whole.name;
  ir::Builder b(graph);
  std::vector<Trained> parts;
  for (const ParameterSlice& slice : slices) {
    const auto of = [&](const Trained& t) { return t.parameter == slice.parameter; };
    const auto found = std::find_if(trained.begin(), trained.end(), of);
    GRAPHRUN_CHECK(found != trained.end(), "with_slices: '" + slice.parameter + "' is not trained");
    b.set_location(found->at);
    const std::size_t at = graph.variables.size();
    ir::Variable variable = whole.variables[found->variable];
    variable.next = kNone;
    const ValueId value = b.variable(slice.name(), {Type::kFloat, {Dim(slice.count)}}, std::move(variable));
    parts.push_back({at, value, kNone, found->at, slice.parameter});
  }
  trained = std::move(parts);
  return graph;
}

class Training {
 public:
  Training(ir::Graph& graph, const TrainOptions& options) : graph_(graph), options_(options), b_(graph) {
    b_.set_location({});
    if (!options.slices) per_ = divisor(b_, options);
  }

  // Adds each gradient, and their divisor, to its slot.
  void sum_gradients(const std::vector<Trained>& trained) {
    const ValueId keep = b_.input(kKeepSums, {Type::kFloat, {}});
    const auto add = [&](const std::string& name, ValueId x) {
      const auto [at, sum] = slot(name, graph_.type(x));
      b_.set_name("next." + name);
      graph_.variables[at].next = b_.op("sum_update", {sum, x, keep});
    };
    for (const Trained& t : trained) {
      b_.set_location(t.at);
      add(name_of(t) + kGradientSlot, t.gradient);
    }
    b_.set_location({});
    if (per_ != kNone) add(kPerSlot, per_);
  }

  // Replaces the gradients by the slots that contain their sums.
  void take_sums(std::vector<Trained>& trained) {
    for (Trained& t : trained) t.gradient = slot(name_of(t) + kGradientSlot, graph_.type(t.value)).second;
    if (!options_.per.empty()) per_ = slot(kPerSlot, {Type::kFloat, {}}).second;
  }

  void update(const std::vector<Trained>& trained) {
    const ValueId scale = norm_and_scale(trained);
    rate_ = b_.input(kLearningRate, {Type::kFloat, {}});
    for (const Trained& t : trained) {
      b_.set_location(t.at);
      b_.set_name("next." + name_of(t));
      const ValueId next = update(t, scale);
      if (options_.moving_average > 0) average(t, next);
    }
  }

 private:
  std::string name_of(const Trained& t) const { return graph_.value(t.value).name; }

  std::pair<std::size_t, ValueId> slot(const std::string& name, const ir::TensorType& type) {
    ir::Variable variable;
    variable.kind = ir::Variable::Kind::kSlot;
    variable.at = b_.location();
    const std::size_t at = graph_.variables.size();
    return {at, b_.variable(name, type, variable)};
  }

  // Adds the norm of the divided gradients as an output. Returns the factor of the undivided gradients, which divides and
  // clips; kNone for 1.
  ValueId norm_and_scale(const std::vector<Trained>& trained) {
    std::vector<ValueId> gradients;
    for (const Trained& t : trained) gradients.push_back(t.gradient);
    b_.set_name(kGradientNorm);
    ValueId norm = options_.slices ? b_.input(kSumNorm, {Type::kFloat, {}}) : b_.op("global_norm", gradients), scale = kNone;
    if (per_ != kNone) norm = b_.op("div", {norm, per_});
    graph_.outputs.push_back({kGradientNorm, norm});
    if (options_.clip_global_norm > 0) {
      b_.set_name("train.clip");
      scale = b_.op("clip_scale", {norm}, {{"limit", options_.clip_global_norm}});
    }
    if (per_ == kNone) return scale;
    b_.set_name("train.scale");
    return b_.op("div", {scale == kNone ? b_.constant(1) : scale, per_});
  }

  ValueId count() {
    if (count_ == kNone) count_ = b_.input(kUpdateCount, {Type::kFloat, {}});
    return count_;
  }

  // The learning rate of a parameter: one node for all parameters with the same factor.
  ValueId rate_of(const Trained& t) {
    const auto found = options_.rate_factors.find(t.parameter);
    if (found == options_.rate_factors.end() || found->second == 1) return rate_;
    const auto [rate, fresh] = rates_.emplace(found->second, kNone);
    if (fresh) {
      const std::string name = b_.name();
      b_.set_name(kLearningRate);
      rate->second = b_.op("mul", {rate_, b_.constant(found->second)});
      b_.set_name(name);
    }
    return rate->second;
  }

  // The schema gives the shape of a slot; a parameter may lack some slots. The results are the new parameter and the new slots
  // that exist, in this order.
  ValueId update(const Trained& t, ValueId scale) {
    const ir::OpSchema& op = update_op(options_.optimizer);
    const ir::NamedAttributes given = attributes(t);
    const Attributes all = ir::complete(op, given);
    std::vector<ValueId> inputs;
    std::vector<std::size_t> slots;
    for (const ir::InputSpec& input : op.inputs) {
      if (is_slot(input)) {
        const std::optional<Shape> shape = op.slot_shape_of(input.name, graph_.type(t.value).shape, all);
        if (!shape) {
          inputs.push_back(kNone);
          continue;
        }
        const auto [at, value] = slot(name_of(t) + slot_ending(options_.optimizer, input), {Type::kFloat, *shape});
        slots.push_back(at);
        inputs.push_back(value);
      } else if (input.name == "p") {
        inputs.push_back(t.value);
      } else if (input.name == "g") {
        inputs.push_back(t.gradient);
      } else if (input.name == "rate") {
        inputs.push_back(rate_of(t));
      } else if (input.name == "t") {
        inputs.push_back(count());
      } else {
        inputs.push_back(scale);
      }
    }
    const std::vector<ValueId> next = b_.node(op, inputs, given);
    graph_.variables[t.variable].next = next.at(0);
    for (std::size_t k = 0; k < slots.size(); ++k) graph_.variables[slots[k]].next = next.at(1 + k);
    return next[0];
  }

  ir::NamedAttributes attributes(const Trained& t) const {
    ir::NamedAttributes attributes = options_.attributes;
    if (options_.undecayed.count(t.parameter) != 0)
      std::erase_if(attributes, [](const auto& a) { return a.first == "l2" || a.first == "weight_decay"; });
    return attributes;
  }

  void average(const Trained& t, ValueId next) {
    const auto [at, value] = slot(name_of(t) + kAverageSlot, graph_.type(t.value));
    b_.set_name("next." + name_of(t) + kAverageSlot);
    graph_.variables[at].next = b_.op("average_update", {value, next, count()}, {{"decay", options_.moving_average}});
  }

  ir::Graph& graph_;
  const TrainOptions& options_;
  ir::Builder b_;
  ValueId per_ = kNone, rate_ = kNone, count_ = kNone;
  std::map<double, ValueId> rates_;  // by factor of the rate
};

}  // namespace

std::string ParameterSlice::name() const {
  return parameter + "[" + std::to_string(begin) + ":" + std::to_string(begin + count) + "]";
}

bool is_elementwise(const std::string& optimizer) { return update_op(optimizer).slot_shape == nullptr; }

std::vector<std::string> slot_endings(const TrainOptions& options) {
  std::vector<std::string> endings;
  for (const ir::InputSpec& input : update_op(options.optimizer).inputs) {
    if (is_slot(input)) endings.push_back(slot_ending(options.optimizer, input));
  }
  if (options.moving_average > 0) endings.emplace_back(kAverageSlot);
  return endings;
}

ir::Graph add_training(ir::Graph graph, const TrainOptions& options, const TapeOptions& tape) {
  using Part = TrainOptions::Part;
  std::vector<Trained> trained = gradients_of(graph, options, tape);
  if (options.slices) graph = with_slices(graph, *options.slices, trained);
  Training training(graph, options);
  if (options.part == Part::kGradients) {
    training.sum_gradients(trained);
    return graph;
  }
  if (options.part == Part::kUpdate) training.take_sums(trained);
  training.update(trained);
  return graph;
}

}  // namespace graphrun
