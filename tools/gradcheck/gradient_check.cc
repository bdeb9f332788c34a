#include "tools/gradcheck/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "compiler/ir/builder.h"
#include "compiler/stopped.h"
#include "runtime/execute/executable.h"
#include "tools/gradcheck/random_values.h"

namespace graphrun {
namespace {

constexpr double kFloor = 1e-4;                        // lower bound of the magnitude to which an error is relative
constexpr double kSteps[] = {1e-3, 1e-4, 1e-5, 1e-6};  // steps of the differences; if one does not agree, the next is tried
constexpr double kRounding =
    16 * std::numeric_limits<double>::epsilon();  // rounding of the scalar, relative to the magnitude of its terms
constexpr double kTelling = 1e-3;                 // differences with a larger relative uncertainty are inconclusive
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::string kWeight = "gradcheck.weight.", kGradient = "gradcheck.gradient.", kScalar = "gradcheck.scalar",
                  kMagnitude = "gradcheck.magnitude";

struct Checked {
  std::string name, kind;
  ir::ValueId value = ir::kNone;
  std::int32_t fetch = -1;  // index of its gradient; -1 if the scalar does not depend on it
};

// All FLOAT results of a run. States no longer change, so that every run starts from the same values.
std::vector<ir::ValueId> take_results(ir::Graph& graph) {
  std::vector<ir::ValueId> results;
  const auto take = [&](ir::ValueId value) {
    const bool is_new = std::find(results.begin(), results.end(), value) == results.end();
    if (value != ir::kNone && graph.type(value).type == Type::kFloat && is_new) results.push_back(value);
  };
  for (const ir::Output& output : graph.outputs) take(output.value);
  for (ir::Variable& variable : graph.variables) {
    take(variable.next);
    variable.next = ir::kNone;
  }
  return results;
}

std::vector<Checked> find_checked(const ir::Graph& graph) {
  std::vector<Checked> all_checked;
  const auto add = [&](ir::ValueId value, const char* kind) {
    if (graph.type(value).type == Type::kFloat) all_checked.push_back({graph.value(value).name, kind, value});
  };
  for (const ir::Variable& variable : graph.variables) {
    add(variable.value, variable.kind == ir::Variable::Kind::kParameter ? "parameter" : "state");
  }
  for (const ir::Input& input : graph.inputs) add(input.value, "input");
  return all_checked;
}

struct WeightedSum {
  ir::ValueId scalar = ir::kNone, magnitude = ir::kNone;  // the sum of the terms; the sum of their absolute values
};

// The sum over results of sum(result * weight); each weight is a separate input.
WeightedSum weighted_sum(ir::Graph& graph, const std::vector<ir::ValueId>& results) {
  ir::Builder builder(graph);
  builder.set_name("gradcheck");
  WeightedSum sum;
  const auto add = [&](ir::ValueId& to, ir::ValueId term) { to = to == ir::kNone ? term : builder.op("add", {to, term}); };
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ir::ValueId weight = builder.input(kWeight + std::to_string(i), graph.type(results[i]));
    const ir::ValueId terms = builder.op("mul", {results[i], weight});
    add(sum.scalar, builder.op("sum", {terms}));
    add(sum.magnitude, builder.op("sum", {builder.op("abs", {terms})}));
  }
  return sum;
}

// Evaluates the scalar at points near the original one.
class Differences {
 public:
  Differences(Executable& executable, Feeds& feeds, std::uint64_t seed) : executable_(executable), feeds_(feeds), seed_(seed) {}

  double scalar() {
    RunOptions options;
    options.seed = seed_;
    const std::vector<Tensor> made = executable_.run(feeds_, options);
    const double magnitude = made[1].at(0);
    magnitude_ = std::isfinite(magnitude) ? std::max(magnitude_, magnitude) : kInfinity;
    return made[0].at(0);
  }

  struct Slope {
    double value = 0;
    double rounding = 0;  // the part that may be due to rounding
  };
  // Fourth-order central differences at one element.
  Slope slope(const Tensor& values, std::int64_t i, double h) {
    double& element = values.data<double>()[i];
    const double x = element;
    const auto at = [&](double offset) {
      element = x + offset;
      values.mark_written();
      const double y = scalar();
      element = x;
      values.mark_written();
      return y;
    };
    magnitude_ = 0;
    const double value = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    return {value, kRounding * magnitude_ / h};
  }

 private:
  Executable& executable_;
  Feeds& feeds_;
  std::uint64_t seed_;
  double magnitude_ = 0;  // largest magnitude of the scalar's terms since the last slope began
};
using Slope = Differences::Slope;

double scale_of(double derived, double differences) { return std::max({std::abs(derived), std::abs(differences), kFloor}); }

// The error relative to the larger of the two; the part `allowed` of the difference does not count.
double relative_error(double derived, const Slope& slope, double allowed = 0) {
  const double error = std::max(0.0, std::abs(derived - slope.value) - allowed) / scale_of(derived, slope.value);
  return std::isfinite(error) && std::isfinite(derived) && std::isfinite(slope.value) ? error : kInfinity;
}

bool tells(double derived, const Slope& slope) {
  return std::isfinite(slope.value) && slope.rounding <= kTelling * scale_of(derived, slope.value);
}

// The verdict on a gradient that the differences of no step confirm.
GradientVerdict verdict_of(double derived, const std::vector<Slope>& slopes) {
  double nearest = kInfinity, error = kInfinity, scale = 1;
  for (std::size_t k = 0; k + 1 < slopes.size(); ++k) {
    const double uncertainty =
        std::abs(slopes[k].value - slopes[k + 1].value) + std::max(slopes[k].rounding, slopes[k + 1].rounding);
    if (!(uncertainty < nearest)) continue;
    nearest = uncertainty;
    error = std::min(std::abs(derived - slopes[k].value), std::abs(derived - slopes[k + 1].value));
    scale = std::max(std::abs(slopes[k].value), kFloor);
  }
  if (!std::isfinite(nearest) || nearest > kTelling * scale) return GradientVerdict::kIllConditioned;
  return error <= 10 * nearest ? GradientVerdict::kIllConditioned : GradientVerdict::kWrong;
}

// If `gradient` is empty, nothing flows back, so the differences must be zero.
void compare(GradientCheckResult::Tensor& result, Tensor values, const Tensor& gradient, Differences& differences,
             const GradientCheckOptions& options) {
  const std::int64_t count = values.count();
  result.elements = count;
  result.checked = std::min(count, options.most_elements);
  for (std::int64_t k = 0; k < result.checked; ++k) {
    // Elements are spread evenly over the tensor.
    const std::int64_t i = static_cast<std::int64_t>((static_cast<double>(k) + 0.5) / static_cast<double>(result.checked) *
                                                     static_cast<double>(count));
    const double derived = gradient.empty() ? 0 : gradient.at(i) * options.scale_derived;
    if (derived != 0) result.zero = false;
    double beyond = kInfinity, error = kInfinity, found = 0;  // beyond: the error that rounding does not explain
    std::vector<Slope> slopes;
    bool right = false;
    for (const double h : kSteps) {
      const Slope slope = differences.slope(values, i, h);
      slopes.push_back(slope);
      const double e = relative_error(derived, slope, slope.rounding);
      right = e <= options.tolerance && tells(derived, slope);
      if (right || e < beyond || slopes.size() == 1) beyond = e, error = relative_error(derived, slope), found = slope.value;
      if (right) break;
    }
    const GradientVerdict verdict = right ? GradientVerdict::kRight : verdict_of(derived, slopes);
    if (verdict < result.verdict) continue;
    if (verdict > result.verdict || error > result.error || k == 0)
      result.verdict = verdict, result.error = error, result.worst = i, result.derived = derived, result.differences = found;
  }
}

std::vector<ir::Output> gradient_outputs(ir::Graph& graph, ir::ValueId scalar, std::vector<Checked>& all_checked) {
  std::vector<ir::ValueId> values;
  for (const Checked& checked : all_checked) values.push_back(checked.value);
  const std::vector<ir::ValueId> gradients = differentiate(graph, scalar, values);
  std::vector<ir::Output> outputs;
  for (std::size_t i = 0; i < all_checked.size(); ++i) {
    if (gradients[i] == ir::kNone) continue;
    all_checked[i].fetch = static_cast<std::int32_t>(outputs.size());
    outputs.push_back({kGradient + all_checked[i].name, gradients[i]});
  }
  return outputs;
}

void add_variables(const Program& program, const SymbolValues& sizes, std::uint64_t seed, Variables& variables) {
  for (const VariableSpec& spec : program.variables) {
    if (!variables.has(spec.name)) variables.set(spec.name, random_variable(spec, sizes, seed));
  }
}

}  // namespace

double GradientCheckResult::error() const {
  double largest = 0;
  for (const Tensor& tensor : tensors) largest = std::max(largest, tensor.error);
  return largest;
}

GradientVerdict GradientCheckResult::verdict() const {
  GradientVerdict worst = GradientVerdict::kRight;
  for (const Tensor& tensor : tensors) worst = std::max(worst, tensor.verdict);
  return worst;
}

bool GradientCheckResult::all_zero() const {
  return std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.zero; });
}

GradientCheckResult check_gradients(ir::Graph graph, const GradientCheckOptions& options) {
  const std::vector<ir::ValueId> results = take_results(graph);
  std::vector<Checked> all_checked = find_checked(graph);
  if (results.empty() || all_checked.empty()) {
    throw UserError(ExitCode::kInvalidGraph, "E0330 no-gradient",
                    results.empty() ? "the graph has no FLOAT output to differentiate"
                                    : "the graph has no parameter, FLOAT input or state to differentiate by");
  }
  const SymbolValues sizes = small_sizes(graph, options.sizes);
  const auto [scalar, magnitude] = weighted_sum(graph, results);
  CompileOptions compile_options;
  compile_options.precision = Precision::kFloat64;
  // Stopped values keep their value at this point and are fed to every run of the differences. They are computed together with
  // the scalar, which needs every input that determines a size.
  ir::Graph at_point = graph;
  at_point.outputs = {{kScalar, scalar}};
  const std::vector<std::string> stopped_names = take_stopped(at_point);
  graph.outputs = {{kScalar, scalar}, {kMagnitude, magnitude}};
  ir::Graph around = graph;
  give_stopped(around);
  Program forward = compile(around, compile_options);
  graph.outputs = gradient_outputs(graph, scalar, all_checked);
  Program backward = compile(graph, compile_options);

  const auto variables = std::make_shared<Variables>();
  add_variables(forward, sizes, options.seed, *variables);
  add_variables(backward, sizes, options.seed, *variables);
  RunOptions run_options;
  run_options.seed = options.seed;
  Feeds feeds = random_feeds(forward, sizes, options.seed);
  if (!stopped_names.empty()) {
    Executable point(compile(at_point, compile_options), variables);
    add_variables(point.program(), sizes, options.seed, *variables);
    const std::vector<Tensor> stopped = point.run(random_feeds(point.program(), sizes, options.seed), run_options);
    for (std::size_t k = 0; k < stopped_names.size(); ++k) {
      if (const auto fed = feeds.find(stopped_names[k]); fed != feeds.end()) fed->second = stopped[k + 1].clone();
    }
  }
  const Feeds backward_feeds = random_feeds(backward, sizes, options.seed);
  Executable forward_executable(std::move(forward), variables), backward_executable(std::move(backward), variables);
  const std::vector<Tensor> gradients = backward_executable.run(backward_feeds, run_options);

  GradientCheckResult result;
  Differences differences(forward_executable, feeds, options.seed);
  result.scalar = differences.scalar();
  for (const Checked& checked : all_checked) {
    const bool is_feed = checked.kind == "input";
    if (is_feed ? feeds.count(checked.name) == 0 : !variables->has(checked.name)) continue;  // it is not read
    Tensor values = is_feed ? feeds[checked.name] : variables->at(checked.name);
    GradientCheckResult::Tensor tensor;
    tensor.name = checked.name;
    tensor.kind = checked.kind;
    tensor.sizes = str(values.sizes());
    const Tensor gradient = checked.fetch >= 0 ? gradients[static_cast<std::size_t>(checked.fetch)] : Tensor();
    compare(tensor, values, gradient, differences, options);
    result.tensors.push_back(std::move(tensor));
  }
  return result;
}

}  // namespace graphrun
