#include "compiler/training.h"

#include "compiler/differentiate.h"
#include "compiler/ir/builder.h"

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
    fail("minimize: '" + name + "' is " + type.str() + "; what is minimised is a FLOAT scalar",
         {"help: sum(x) or mean(x) makes a scalar"});
  }
  return o->value;
}

struct Trained {
  std::size_t variable;
  ValueId value, gradient;
};

}  // namespace

ir::Graph add_training(ir::Graph graph, const TrainOptions& options, std::vector<TapeDecision>* tape) {
  const ValueId loss = objective(graph, options.minimize);
  std::vector<Trained> trained;
  std::vector<ValueId> values;
  for (std::size_t k = 0; k < graph.variables.size(); ++k) {
    const ir::Variable& v = graph.variables[k];
    if (v.kind != ir::Variable::Kind::kParameter || !v.trainable) continue;
    trained.push_back({k, v.value, kNone});
    values.push_back(v.value);
  }
  const std::vector<ValueId> gradients = differentiate(graph, loss, values, tape);
  std::vector<ValueId> found;
  for (std::size_t k = 0; k < trained.size(); ++k) {
    trained[k].gradient = gradients[k];
    if (gradients[k] != kNone) found.push_back(gradients[k]);
  }
  if (found.empty()) fail("minimize: '" + options.minimize + "' depends on no trainable parameter");

  ir::Builder b(graph);
  b.set_location({});
  b.set_name(kGradientNorm);
  const ValueId norm = b.op("global_norm", found);
  graph.outputs.push_back({kGradientNorm, norm});
  ValueId scale = kNone;
  if (options.clip_global_norm > 0) {
    b.set_name("train.clip");
    scale = b.op("clip_scale", {norm}, {{"limit", options.clip_global_norm}});
  }
  const ValueId rate = b.input(kLearningRate, {Type::kFloat, {}});
  const bool adam = options.optimizer == TrainOptions::Optimizer::kAdam;
  const ValueId count = adam ? b.input(kUpdateCount, {Type::kFloat, {}}) : kNone;
  for (const Trained& t : trained) {
    if (t.gradient == kNone) continue;
    const std::string name = graph.value(t.value).name;
    const ValueId g = t.gradient;
    b.set_location(graph.variables[t.variable].at);
    b.set_name("next." + name);
    if (!adam) {
      graph.variables[t.variable].next = b.op("sgd_update", {t.value, g, rate, scale});
      continue;
    }
    ir::Variable slot;
    slot.kind = ir::Variable::Kind::kSlot;
    slot.at = graph.variables[t.variable].at;
    const ir::TensorType type = graph.type(t.value);
    const std::size_t m_at = graph.variables.size();
    const ValueId m = b.variable(name + ".adam_m", type, slot);
    const ValueId v = b.variable(name + ".adam_v", type, slot);
    const std::vector<ValueId> next = b.ops("adam_update", {t.value, g, m, v, rate, count, scale},
                                            {{"beta1", options.beta1}, {"beta2", options.beta2}, {"epsilon", options.epsilon}});
    graph.variables[t.variable].next = next.at(0);
    graph.variables[m_at].next = next.at(1);
    graph.variables[m_at + 1].next = next.at(2);
  }
  return graph;
}

}  // namespace graphrun
