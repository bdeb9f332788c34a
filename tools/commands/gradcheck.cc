// graphrun gradcheck FILE: compares derived gradients with finite differences.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tools/commands/command_line.h"
#include "tools/gradcheck/gradient_check.h"
#include "tools/validate/validate.h"

namespace graphrun {
namespace {

std::map<std::string, std::int64_t> parse_sizes(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    std::int64_t size = 0;
    const char* const end = text.data() + text.size();
    const char* const begin = equals == std::string::npos ? end : text.data() + equals + 1;
    const auto [stop, error] = std::from_chars(begin, end, size);
    if (equals == 0 || error != std::errc() || stop != end || size < 1) {
      throw UsageError(fmt::format("--size takes NAME=NUMBER, found '{}'", text));
    }
    sizes[text.substr(0, equals)] = size;
  }
  return sizes;
}

void print_result(const GradientCheckResult& result, double tolerance) {
  std::size_t width = 0;
  for (const auto& tensor : result.tensors) width = std::max(width, tensor.name.size());
  for (const auto& tensor : result.tensors) {
    std::string line = fmt::format("{:<9}  {:<{}}  {:<12}  {:>4} elements  error {:.1e}", tensor.kind, tensor.name, width,
                                   tensor.sizes, tensor.checked, tensor.error);
    if (tensor.zero) line += "  all zero";
    if (tensor.verdict == GradientVerdict::kIllConditioned) {
      line += fmt::format("  ILL-CONDITIONED: element {}: derived {:.9g}, differences {:.9g}, which are inconclusive",
                          tensor.worst, tensor.derived, tensor.differences);
    } else if (tensor.verdict == GradientVerdict::kWrong) {
      line += fmt::format("  WRONG: element {}: derived {:.9g}, differences {:.9g}", tensor.worst, tensor.derived,
                          tensor.differences);
    } else if (tensor.error > tolerance) {
      line += "  within rounding";
    }
    fmt::print("{}\n", line);
  }
}

}  // namespace

ExitCode run_gradcheck(const Arguments& arguments) {
  po::options_description checking("the check", 100);
  checking.add_options()("tolerance", po::value<double>()->default_value(1e-6, "1e-06")->value_name("X"),
                         "the largest relative error allowed, apart from rounding")(
      "size", po::value<std::vector<std::string>>()->value_name("NAME=N"), "the size of a symbol (batch=3); may be repeated")(
      "seed", po::value<std::string>()->default_value("1")->value_name("N"), "the seed of parameters, inputs and dropout");
  CommandLine line;
  line.usage = "graphrun gradcheck GRAPH [option ...]";
  line.about =
      "Runs the graph on random numbers in float64 and compares the derived gradient of every parameter, FLOAT input and\n"
      "state with finite differences. A parameter is drawn around the constant that the graph declares for it, if any.\n"
      "The exit code is 1 if a gradient differs, if one is ill-conditioned (its differences are dominated by rounding or\n"
      "curvature), or if all gradients are zero.";
  line.examples = {"graphrun gradcheck graphs/cells/atr.pbtxt --set input=3 --set hidden=4"};
  line.words = {{"GRAPH"}};
  line.groups.push_back(set_option());
  line.groups.push_back(checking);
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  GradientCheckOptions check;
  check.tolerance = option<double>(*options, "tolerance");
  if (!(check.tolerance >= 0)) throw UsageError("--tolerance takes a number from 0");
  check.seed = *seed_option(*options);
  check.sizes = parse_sizes(option<std::vector<std::string>>(*options, "size"));
  GraphRequest request;
  request.path = option<std::string>(*options, "GRAPH");
  request.bindings = set_bindings(*options);
  const GradientCheckResult result = check_gradients(load_graph_alone(request, "graphrun gradcheck"), check);
  if (options->count("quiet") == 0) print_result(result, check.tolerance);
  if (result.all_zero()) {
    fmt::print("failed: all gradients are zero, so nothing was tested\n");
    return ExitCode::kRunFailed;
  }
  if (result.verdict() == GradientVerdict::kIllConditioned) {
    fmt::print(
        "ill-conditioned: the differences are inconclusive, because values explode for these parameters and inputs: init {{ "
        "constant: … }} draws a parameter around its initial value, --seed draws other ones\n");
    return ExitCode::kRunFailed;
  }
  const bool passed = result.passed();
  fmt::print("{}: {} tensors, largest relative error {:.1e}{}\n", passed ? "ok" : "failed", result.tensors.size(),
             result.error(), passed && result.error() > check.tolerance ? ", within rounding" : "");
  return passed ? ExitCode::kDone : ExitCode::kRunFailed;
}

}  // namespace graphrun
