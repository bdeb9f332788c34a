#include "tools/train/watcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/differentiate.h"
#include "compiler/fetch.h"
#include "compiler/ir/op.h"
#include "compiler/probes.h"
#include "tools/json/json.h"
#include "tools/train/initializers.h"

namespace graphrun {
namespace {

constexpr double kNearLimit = 0.01;
constexpr std::size_t kBins = 20;
const std::string kBefore = ".before";  // ends the name of what a body reads of a state

double norm_of(const Tensor& x) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.count(); ++i) sum += x.at(i) * x.at(i);
  return std::sqrt(sum);
}

// The norms of the parts of a tensor along its first axis.
std::vector<double> norms_by_step(const Tensor& x) {
  const std::int64_t steps = x.sizes().empty() ? 1 : x.sizes()[0], each = steps == 0 ? 0 : x.count() / steps;
  std::vector<double> norms;
  for (std::int64_t s = 0; s < steps; ++s) {
    double sum = 0;
    for (std::int64_t i = s * each; i < (s + 1) * each; ++i) sum += x.at(i) * x.at(i);
    norms.push_back(std::sqrt(sum));
  }
  return norms;
}

// The elements [begin, end) of a gate, without those in rows of `width` elements whose gradient is all zero.
std::vector<double> live_elements(const Tensor& gate, const Tensor& gradient, std::int64_t width, std::int64_t begin,
                                  std::int64_t end) {
  std::vector<double> live;
  for (; begin < end; begin += width) {
    bool any = false;
    for (std::int64_t i = begin; i < begin + width; ++i) any = any || gradient.at(i) != 0;
    for (std::int64_t i = begin; any && i < begin + width; ++i) live.push_back(gate.at(i));
  }
  return live;
}

nlohmann::ordered_json gate_json(const std::vector<double>& x, bool is_tanh) {
  const double lower = is_tanh ? -1 : 0;
  std::int64_t low = 0, high = 0;
  for (const double element : x) {
    if (element <= lower + kNearLimit) ++low;
    if (element >= 1 - kNearLimit) ++high;
  }
  const double all = std::max<double>(1, static_cast<double>(x.size()));
  nlohmann::ordered_json json = {{"low", static_cast<double>(low) / all}, {"high", static_cast<double>(high) / all}};
  json.update(histogram_json(x, lower, 1));
  return json;
}

std::vector<double> elements(const Tensor& x, double factor) {
  std::vector<double> all(static_cast<std::size_t>(x.count()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = factor * x.at(static_cast<std::int64_t>(i));
  return all;
}

}  // namespace

nlohmann::ordered_json histogram_json(const std::vector<double>& values, double from, double to) {
  std::vector<std::int64_t> counts(kBins);
  double sum = 0, squares = 0;
  for (const double x : values) {
    sum += x, squares += x * x;
    if (std::isnan(x)) continue;
    const double at = to > from ? (x - from) / (to - from) * static_cast<double>(kBins) : 0;
    ++counts[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(kBins - 1)))];
  }
  const double n = std::max<double>(1, static_cast<double>(values.size())), mean = sum / n;
  return {{"from", from},
          {"to", to},
          {"counts", counts},
          {"mean", number_json(mean)},
          {"deviation", number_json(std::sqrt(std::max(0.0, squares / n - mean * mean)))}};
}

Watcher::Watcher(const Stepper& stepper, const std::vector<NamePattern>& patterns, Target target,
                 std::vector<Diagnostic>& warnings) {
  std::vector<bool> used(patterns.size());
  const auto wanted = [&](const std::string& name) {
    bool any = false;
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      if (!matches(patterns[p].text, name)) continue;
      used[p] = any = true;
    }
    return any;
  };
  const auto is_gate = [](const ir::Node& node) { return node.op->name == "sigmoid" || node.op->name == "tanh"; };
  ir::Graph graph = stepper.graph();
  const auto choose = [&](const ir::Graph& region, std::size_t states) {
    std::vector<ir::ValueId> chosen;
    for (std::size_t s = 0; s < states; ++s) {
      const ir::ValueId state = region.inputs[s].value;
      const std::string& name = region.value(state).name;
      if (region.type(state).type != Type::kFloat || !name.ends_with(kBefore)) continue;
      if (!wanted(name.substr(0, name.size() - kBefore.size()))) continue;
      chosen.push_back(state);
    }
    for (const ir::Node& node : region.nodes) {
      if (!is_gate(node) || !wanted(region.value(node.outputs[0]).name)) continue;
      chosen.push_back(node.outputs[0]);
      gates_.push_back(
          {region.value(node.outputs[0]).name, node.op->name == "tanh", region.type(node.outputs[0]).shape.size() >= 2});
    }
    return chosen;
  };
  const std::vector<Probe> probes = add_probes(graph, choose);
  std::vector<std::string> fetches;
  for (const Gate& gate : gates_) fetches.push_back(gate.name);
  graph = with_fetches_kept(std::move(graph), fetches);

  std::vector<ir::ValueId> by;
  for (const ir::Variable& variable : graph.variables) {
    const std::string& name = graph.value(variable.value).name;
    if (variable.kind != ir::Variable::Kind::kParameter || !variable.trainable || !wanted(name)) continue;
    parameters_.push_back(name);
    by.push_back(variable.value);
  }
  for (const Probe& probe : probes) by.push_back(probe.value);
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    if (used[p]) continue;
    warnings.push_back({Severity::kWarning,
                        "E0422 unused-pattern",
                        patterns[p].at,
                        fmt::format("no parameter, state, sigmoid or tanh matches watch {{ match: \"{}\" }}", patterns[p].text),
                        {}});
  }
  const std::vector<ir::ValueId> gradients = differentiate(graph, graph.output(stepper.objective())->value, by);
  // What the loss does not depend on has no gradient, and is not watched.
  std::vector<std::string> wrt;
  const auto fetch_gradient = [&](const std::string& name, ir::ValueId gradient) {
    graph.outputs.push_back({"watch." + name, gradient});
    wrt.push_back("watch." + name);
  };
  std::vector<std::string> with_gradient;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (gradients[i] == ir::kNone) continue;
    fetch_gradient(parameters_[i], gradients[i]);
    with_gradient.push_back(parameters_[i]);
  }
  std::vector<Gate> live;
  const std::size_t first = parameters_.size();
  parameters_ = std::move(with_gradient);
  for (const Gate& gate : gates_) {
    for (std::size_t i = 0; i < probes.size(); ++i) {
      if (probes[i].of != gate.name || gradients[first + i] == ir::kNone) continue;
      fetch_gradient(gate.name, gradients[first + i]);
      live.push_back(gate);
    }
  }
  gates_ = std::move(live);
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (!probes[i].of.ends_with(kBefore) || gradients[first + i] == ir::kNone) continue;
    fetch_gradient(probes[i].of, gradients[first + i]);
    states_.push_back(probes[i].of.substr(0, probes[i].of.size() - kBefore.size()));
  }
  for (ir::Variable& variable : graph.variables) variable.next = ir::kNone;  // a stream's states
  CompileOptions options;
  options.fetches = wrt;
  for (const Gate& gate : gates_) options.fetches.push_back(gate.name);
  has_per_ = !stepper.divisor().empty();
  if (has_per_) options.fetches.push_back(stepper.divisor());
  executable_ = std::make_unique<Executable>(compile(graph, options), variables_, target);
}

void Watcher::keep_weights(const Stepper& stepper) {
  weights_.clear();
  for (const std::string& name : parameters_) weights_.push_back(stepper.variables().at(name).clone());
}

void Watcher::before(Communicator& together, int owner, Stepper& stepper, const Batch* batch, std::int64_t step,
                     std::int64_t number) {
  std::string figures;
  if (batch != nullptr) {
    stepper.enter(*batch);
    before(stepper, *batch, step, number);
    figures = json_text(nlohmann::ordered_json{{"gates", gate_figures_}, {"states", state_figures_}});
  }
  const std::vector<std::string> all = together.collect(figures);
  if (together.rank() != 0 || batch != nullptr) return;
  const nlohmann::ordered_json theirs = parse_ordered_json_or_discard(all[static_cast<std::size_t>(owner)]);
  gate_figures_ = theirs.at("gates");
  state_figures_ = theirs.at("states");
  keep_weights(stepper);
}

void Watcher::before(const Stepper& stepper, const Batch& batch, std::int64_t step, std::int64_t number) {
  for (const VariableSpec& variable : executable_->program().variables) {
    if (stepper.variables().has(variable.name)) {
      variables_->set(variable.name, stepper.variables().at(variable.name).clone());
    } else if (variables_->has(variable.name)) {
      variables_->erase(variable.name);
    }
  }
  std::vector<Tensor> fetched = stepper.run_beside(*executable_, batch, step, number);
  per_ = has_per_ ? fetched.back().at(0) : 1;
  const auto take = [&](std::size_t i) { return std::move(fetched[i]); };
  gradients_.clear(), gate_steps_.clear();
  for (std::size_t i = 0; i < parameters_.size(); ++i) gradients_.push_back(take(i));
  keep_weights(stepper);
  gate_figures_ = state_figures_ = nlohmann::ordered_json::object();
  const std::size_t first_gate = parameters_.size(), first_state = first_gate + gates_.size(),
                    first_value = first_state + states_.size();
  for (std::size_t i = 0; i < gates_.size(); ++i) {
    const Tensor &gate = fetched[first_value + i], &gradient = fetched[first_gate + i];
    const std::int64_t width = gates_[i].rows ? gate.sizes().back() : 1;
    gate_figures_[gates_[i].name] = gate_json(live_elements(gate, gradient, width, 0, gate.count()), gates_[i].is_tanh);
    if (gate.sizes().size() < 3 || gate.sizes()[0] == 0) continue;
    const std::int64_t each = gate.count() / gate.sizes()[0];
    std::vector<double> means;
    for (std::int64_t s = 0; s < gate.sizes()[0]; ++s) {
      const std::vector<double> live = live_elements(gate, gradient, width, s * each, (s + 1) * each);
      means.push_back(std::accumulate(live.begin(), live.end(), 0.0) / static_cast<double>(live.size()));
    }
    gate_steps_.emplace_back(gates_[i].name, std::move(means));
  }
  for (std::size_t i = 0; i < states_.size(); ++i) {
    nlohmann::ordered_json norms = nlohmann::ordered_json::array();
    for (const double x : norms_by_step(fetched[first_state + i])) norms.push_back(number_json(x / per_));
    state_figures_[states_[i]] = {{"gradient", norms}};
  }
}

nlohmann::ordered_json Watcher::after(const Stepper& stepper, double norm) const {
  // If an update has several batches, slots hold the sums of their gradients, and the update's norm says what divides them.
  const bool summed = stepper.sums_batches();
  double factor = 1 / per_;
  if (summed) {
    double squares = 0;
    for (const std::string& name : stepper.sums()) {
      if (name.ends_with(kGradientSlot)) squares += std::pow(norm_of(stepper.variables().at(name)), 2);
    }
    factor = squares > 0 ? norm / std::sqrt(squares) : 0;
  }
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::string& name = parameters_[i];
    const Tensor gradient = summed ? stepper.variables().at(name + kGradientSlot) : gradients_[i];
    const Tensor& now = stepper.variables().at(name);
    double change = 0;
    for (std::int64_t k = 0; k < now.count(); ++k) change += std::pow(now.at(k) - weights_[i].at(k), 2);
    const double weight = norm_of(weights_[i]);
    const std::vector<double> divided = elements(gradient, factor);
    double largest = 0;
    for (const double x : divided) largest = std::max(largest, std::abs(x));
    nlohmann::ordered_json& json = parameters[name];
    json = {{"gradient", number_json(std::abs(factor) * norm_of(gradient))},
            {"weight", number_json(weight)},
            {"update", weight > 0 ? number_json(std::sqrt(change) / weight) : nlohmann::ordered_json()}};
    json.update(histogram_json(divided, -largest, largest));
  }
  return {{"parameters", parameters}, {"gates", gate_figures_}, {"states", state_figures_}};
}

}  // namespace graphrun
