// graphrun bench CELL …: a layer of each cell, timed, and what keeps its loop from being one kernel.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "compiler/frontend/installation.h"
#include "runtime/execute/binding_report.h"
#include "runtime/threads/threads.h"
#include "tools/bench/measured_graph.h"
#include "tools/bench/timing.h"
#include "tools/commands/command_line.h"

namespace graphrun {
namespace {

// The sizes of the layer that --size may set, and those args of it that --set sets for every cell.
const std::vector<std::string> kLayerSizes = {"time", "batch"}, kLayerArgs = {"hidden", "width"};

struct BenchRow {
  std::string cell;
  double forward = 0, step = 0;  // milliseconds
  double products = 0;           // their time alone, divided by the step's
  std::int64_t kept = 0;         // bytes that forward loops save for backward loops, a step of time
  std::int64_t parameters = 0;
  double operations = 0;  // of the step's products
  std::vector<std::string> loops;
};

// "lstm" is the shipped cell of that name; anything else is a path.
std::string cell_path(const std::string& word) {
  namespace fs = std::filesystem;
  if (word.find('/') != std::string::npos || word.ends_with(".pbtxt")) return word;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(fs::path(frontend::installed_graphs()) / "cells", error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".pbtxt") names.push_back(at->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  if (std::find(names.begin(), names.end(), word) != names.end()) return "cells/" + word + ".pbtxt";
  const std::string near = did_you_mean(word, names);
  throw UsageError(fmt::format("there is no cell '{}'; {}there are {}; a file of your own ends in .pbtxt", word,
                               near.empty() ? "" : near + " ", fmt::join(names, ", ")));
}

std::vector<std::string> separated(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (std::find(parts.begin(), parts.end(), "") != parts.end())
    throw UsageError("--against takes cells with commas between them, found '" + text + "'");
  return parts;
}

// --size as settings of the layer's args.
std::vector<GraphRequest::Setting> sizes_of(const po::variables_map& options) {
  std::vector<GraphRequest::Setting> settings;
  for (const std::string& text : option<std::vector<std::string>>(options, "size")) {
    const GraphRequest::Setting size = parse_set(text);
    if (std::find(kLayerSizes.begin(), kLayerSizes.end(), size.name) == kLayerSizes.end()) {
      const std::string near = did_you_mean(size.name, kLayerSizes);
      throw UsageError(
          fmt::format("--size {}: a layer has no size '{}'; {}it has time and batch; its widths are args: --set "
                      "hidden=512 --set width=300",
                      text, size.name, near.empty() ? "" : near + " "));
    }
    whole_number("--size " + size.name, size.text);
    settings.push_back(size);
  }
  return settings;
}

std::vector<std::string> loop_lines(const MeasuredGraph& layer, const std::string& what, Target target) {
  std::vector<std::string> lines;
  for (const LoopObstacle& obstacle : loop_obstacles(layer.program(), {}, target)) {
    lines.push_back(fmt::format("{}: the loop '{}' runs {}", what, obstacle.loop, obstacle.why));
    if (const std::string text = text_at(obstacle.at); !text.empty())
      lines.push_back(fmt::format("  {}: {}", obstacle.at.str(), text));
  }
  return lines;
}

BenchRow measure_cell(const std::string& cell, const GraphRequest& request, Target target, int rounds) {
  BenchRow row;
  row.cell = cell;
  const ir::Graph graph = load_graph(request);
  MeasuredPart part;
  part.sums = true;
  part.target = target;
  MeasuredGraph step(graph, {}, part);
  part.forward = true;
  MeasuredGraph forward(graph, {}, part);
  std::vector<double> forwards, steps, products;
  for (int round = -2; round < rounds; ++round) {
    const double a = forward.run(), b = step.run(), c = step.products().run();
    if (round < 0) continue;  // warm-up
    forwards.push_back(a), steps.push_back(b), products.push_back(c / b);
  }
  row.forward = median(forwards), row.step = median(steps), row.products = median(products);
  row.operations = step.products().operations();
  for (const TapeDecision& decision : step.tape()) row.kept += kept_bytes(decision).evaluate({});
  for (const VariableSpec& v : step.program().variables) {
    const bool given = v.name == "x" || v.name == "weight";
    if (v.kind == VariableSpec::Kind::kParameter && !given) row.parameters += element_count(evaluate(v.shape, {}));
  }
  row.loops = loop_lines(forward, cell + ", forward", target);
  for (std::string& line : loop_lines(step, cell + ", with backward", target)) row.loops.push_back(std::move(line));
  return row;
}

void print_rows(const std::vector<BenchRow>& rows) {
  std::size_t width = 4;
  for (const BenchRow& row : rows) width = std::max(width, row.cell.size());
  fmt::print("{:<{}}  {:>10}  {:>17}  {:>8}  {:>11}  {:>10}  {:>7}  {:>8}\n", "cell", width, "forward ms", "with backward ms",
             "products", "kept a step", "parameters", "GFLOP", "GFLOP/s");
  for (const BenchRow& row : rows) {
    fmt::print("{:<{}}  {:>10.2f}  {:>17.2f}  {:>6.0f} %  {:>11}  {:>10}  {:>7.2f}  {:>8.1f}\n", row.cell, width, row.forward,
               row.step, 100 * row.products, row.kept, row.parameters, row.operations / 1e9, row.operations / row.step / 1e6);
  }
  fmt::print("\n");
  for (const BenchRow& row : rows) {
    if (row.loops.empty()) fmt::print("{}: every loop is one kernel for all steps\n", row.cell);
    for (const std::string& line : row.loops) fmt::print("{}\n", line);
  }
}

}  // namespace

ExitCode run_bench(const Arguments& arguments) {
  po::options_description group("the measurement", 100);
  group.add_options()("against", po::value<std::string>()->value_name("CELL,..."), "cells to compare with")(
      "size", po::value<std::vector<std::string>>()->value_name("NAME=N"),
      "the steps of the sequence (time, default 100) or the rows of the batch (batch, default 64); may be repeated")(
      "rounds", po::value<std::string>()->default_value("7")->value_name("N"),
      "how often each time is measured; the median counts")(
      "device", po::value<std::string>()->default_value("auto")->value_name("NAME"), kDeviceHelp)(
      "product-precision", po::value<std::string>()->default_value("float32")->value_name("NAME"),
      "the rounding of products' factors: tf32, bfloat16 or float32 (none)");
  CommandLine line;
  line.usage = "graphrun bench CELL ... [option ...]";
  line.about =
      "Measures one recurrent layer of each cell (graphs/bench/layer.pbtxt). CELL is a file, or the name of a shipped cell.\n"
      "A row has the milliseconds of a forward run, as in inference, and of a forward and backward run with the gradients of\n"
      "all parameters and of the input; the share that the matrix products of the latter take if they run alone; the bytes\n"
      "that the forward loop keeps for the backward loop at each step; the parameters; the floating-point operations of the\n"
      "products, and how many of them a second. Then, for each loop that is not one kernel for all steps, the line that\n"
      "prevents it, and why. --set hidden=N and --set width=N (of the input; default: hidden) apply to all cells, other\n"
      "settings to CELL only.";
  line.examples = {"graphrun bench janet.pbtxt --against lstm,gru,atr",
                   "graphrun bench janet.pbtxt --against lstm --set hidden=512 --size batch=64 --size time=100",
                   "graphrun bench atr --set cell.tanh_state=true --device cuda --product-precision bfloat16"};
  line.words = {{"CELL", true, true}};
  line.groups.push_back(group);
  line.groups.push_back(set_option());
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const int rounds = whole_number("--rounds", option<std::string>(*options, "rounds"));
  const std::vector<GraphRequest::Setting> sizes = sizes_of(*options), set = set_bindings(*options);
  const auto own = option<std::vector<std::string>>(*options, "CELL");
  std::vector<std::string> against;
  if (options->count("against") != 0) against = separated(option<std::string>(*options, "against"));
  Target target;
  target.products = parse_product_precision(option<std::string>(*options, "product-precision"));
  target.device = &parse_device(option<std::string>(*options, "device"));

  // Every mistake is reported before anything is measured.
  std::vector<std::pair<std::string, GraphRequest>> requests;
  for (const std::string& word : own) requests.push_back({word, {}});
  for (const std::string& word : against) requests.push_back({word, {}});
  for (std::size_t r = 0; r < requests.size(); ++r) {
    GraphRequest& request = requests[r].second;
    request.path = (std::filesystem::path(frontend::installed_graphs()) / "bench" / "layer.pbtxt").string();
    request.bindings = {{"cell", cell_path(requests[r].first), {}}};
    request.bindings.insert(request.bindings.end(), sizes.begin(), sizes.end());
    for (const GraphRequest::Setting& setting : set) {
      const bool of_layer = std::find(kLayerArgs.begin(), kLayerArgs.end(), setting.name) != kLayerArgs.end();
      if (r < own.size() || of_layer) request.bindings.push_back(setting);
    }
    load_graph(request);
  }
  std::vector<BenchRow> rows;
  for (const auto& [cell, request] : requests) rows.push_back(measure_cell(cell, request, target, rounds));
  fmt::print("on {}{}, the median of {}\n\n", target.device->name(),
             target.device->is_cpu() ? ", " + counted(threads(), "thread") : "", counted(rounds, "round"));
  print_rows(rows);
  return ExitCode::kDone;
}

}  // namespace graphrun
