#include "tools/gradcheck/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "compiler/ir/builder.h"
#include "runtime/executable.h"
#include "tools/gradcheck/random_values.h"

namespace graphrun {
namespace {

constexpr double kFloor = 1e-4;                        // of the magnitude that an error is measured against
constexpr double kSteps[] = {1e-3, 1e-4, 1e-5, 1e-6};  // of the differences, the next where one does not agree
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::string kWeight = "gradcheck.weight.", kGradient = "gradcheck.gradient.", kScalar = "gradcheck.scalar";

struct Checked {
  std::string name, kind;
  ir::ValueId value = ir::kNone;
  std::int32_t fetch = -1;  // of its gradient; -1: no path leads to it
};

// All FLOAT results of a run; states stop moving on, so that every run begins alike.
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

// sum over results of sum(result * weight), each weight an input of its own.
ir::ValueId weighted_sum(ir::Graph& graph, const std::vector<ir::ValueId>& results) {
  ir::Builder builder(graph);
  builder.set_name("gradcheck");
  ir::ValueId scalar = ir::kNone;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ir::ValueId weight = builder.input(kWeight + std::to_string(i), graph.type(results[i]));
    const ir::ValueId term = builder.op("sum", {builder.op("mul", {results[i], weight})});
    scalar = scalar == ir::kNone ? term : builder.op("add", {scalar, term});
  }
  return scalar;
}

// Runs the scalar at points near the first one.
class Differences {
 public:
  Differences(Executable& executable, Feeds& feeds, std::uint64_t seed) : executable_(executable), feeds_(feeds), seed_(seed) {}

  double scalar() {
    RunOptions options;
    options.seed = seed_;
    return executable_.run(feeds_, options)[0].at(0);
  }

  // Central differences of fourth order at one element.
  double slope(const Tensor& values, std::int64_t i, double h) {
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
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  }

 private:
  Executable& executable_;
  Feeds& feeds_;
  std::uint64_t seed_;
};

double relative_error(double derived, double differences) {
  const double error = std::abs(derived - differences) / std::max({std::abs(derived), std::abs(differences), kFloor});
  return std::isfinite(error) ? error : kInfinity;
}

// `gradient` may be empty: nothing flows back, so the differences must be zero.
void compare(GradientCheckResult::Tensor& result, Tensor values, const Tensor& gradient, Differences& differences,
             const GradientCheckOptions& options) {
  const std::int64_t count = values.count();
  result.elements = count;
  result.checked = std::min(count, options.most_elements);
  for (std::int64_t k = 0; k < result.checked; ++k) {
    // Spread evenly over the whole tensor.
    const std::int64_t i = static_cast<std::int64_t>((static_cast<double>(k) + 0.5) / static_cast<double>(result.checked) *
                                                     static_cast<double>(count));
    const double derived = gradient.empty() ? 0 : gradient.at(i) * options.scale_derived;
    if (derived != 0) result.zero = false;
    double error = kInfinity, found = 0;
    for (const double h : kSteps) {
      const double slope = differences.slope(values, i, h);
      const double e = relative_error(derived, slope);
      if (e < error || h == kSteps[0]) error = e, found = slope;
      if (error <= options.tolerance || !std::isfinite(derived)) break;
    }
    if (error > result.error || k == 0)
      result.error = error, result.worst = i, result.derived = derived, result.differences = found;
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
  const ir::ValueId scalar = weighted_sum(graph, results);
  graph.outputs = {{kScalar, scalar}};
  CompileOptions compile_options;
  compile_options.precision = Precision::kFloat64;
  Program forward = compile(graph, compile_options);
  graph.outputs = gradient_outputs(graph, scalar, all_checked);
  Program backward = compile(graph, compile_options);

  const auto variables = std::make_shared<Variables>();
  add_variables(forward, sizes, options.seed, *variables);
  add_variables(backward, sizes, options.seed, *variables);
  Feeds feeds = random_feeds(forward, sizes, options.seed);
  const Feeds backward_feeds = random_feeds(backward, sizes, options.seed);
  Executable forward_executable(std::move(forward), variables), backward_executable(std::move(backward), variables);
  RunOptions run_options;
  run_options.seed = options.seed;
  const std::vector<Tensor> gradients = backward_executable.run(backward_feeds, run_options);

  GradientCheckResult result;
  Differences differences(forward_executable, feeds, options.seed);
  result.scalar = differences.scalar();
  for (const Checked& checked : all_checked) {
    const bool is_feed = checked.kind == "input";
    if (is_feed ? feeds.count(checked.name) == 0 : !variables->has(checked.name)) continue;  // nothing reads it
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
