// graphrun run GRAPH: runs a graph on given numbers, without data.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/execute/executable.h"
#include "runtime/tensor/safetensors.h"
#include "tools/commands/command_line.h"
#include "tools/given/given_feed.h"
#include "tools/json/json.h"
#include "tools/model/model_folder.h"
#include "tools/validate/validate.h"

namespace graphrun {
namespace {

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

Parameters parameters_at(const std::string& path) {
  return is_folder(path) ? read_parameters({path}) : Parameters{path, read_safetensors(path), ""};
}

// FLOAT[batch, 3], as graphs write it.
std::string type_text(const FeedSpec& spec) {
  const char* type = spec.dtype == DType::kInt32 ? "INT32" : spec.dtype == DType::kBool ? "BOOL" : "FLOAT";
  return type + str(spec.shape);
}

// Numbers for an example: zeros, where unknown sizes are 2.
std::string example_of(const FeedSpec& spec, std::size_t axis = 0) {
  if (axis == spec.shape.size()) return spec.dtype == DType::kBool ? "true" : "0";
  constexpr std::int64_t kMost = 3;
  const Dim& size = spec.shape[axis];
  if (size.is_constant() && size.constant() > kMost) return "…";
  std::string inner = example_of(spec, axis + 1), out = "[";
  for (std::int64_t i = 0; i < (size.is_constant() ? size.constant() : 2); ++i) out += (i == 0 ? "" : ", ") + inner;
  return out + "]";
}

Feeds read_feeds(const std::vector<std::string>& texts, const ir::Graph& graph, const Program& program) {
  Feeds feeds;
  std::vector<Diagnostic> mistakes;
  std::vector<std::string> inputs;
  for (const ir::Input& input : graph.inputs) inputs.push_back(graph.value(input.value).name);
  for (const std::string& text : texts) {
    const GivenFeed given = parse_given_feed(text);
    const auto spec =
        std::find_if(program.feeds.begin(), program.feeds.end(), [&](const FeedSpec& s) { return s.name == given.name; });
    if (spec != program.feeds.end()) {
      if (!feeds.emplace(given.name, read_given_feed(given, *spec)).second)
        throw UsageError(fmt::format("--feed {} is given twice", given.name));
    } else if (std::find(inputs.begin(), inputs.end(), given.name) != inputs.end()) {
      fmt::print(stderr, "nothing that is fetched needs the input '{}'\n", given.name);
    } else {
      const std::string near = did_you_mean(given.name, inputs);
      mistakes.push_back({Severity::kError,
                          "E0621 unknown-feed",
                          {},
                          fmt::format("there is no input '{}' to feed", given.name),
                          {near.empty() ? fmt::format("help: the graph has: {}", fmt::join(inputs, ", ")) : "help: " + near}});
    }
  }
  for (const FeedSpec& spec : program.feeds) {
    if (feeds.count(spec.name) != 0) continue;
    mistakes.push_back({Severity::kError,
                        "E0620 missing-feed",
                        {},
                        fmt::format("input '{}' is not fed: {} expected", spec.name, type_text(spec)),
                        {fmt::format("help: --feed \"{0}={1}\", or --feed {0}=@FILE", spec.name, example_of(spec))}});
  }
  if (!mistakes.empty()) throw UserError(ExitCode::kBadData, std::move(mistakes));
  return feeds;
}

void write_results(const std::vector<FetchSpec>& fetches, const std::vector<Tensor>& results, const std::string& out) {
  if (out.ends_with(".safetensors")) {
    NamedTensors tensors;
    for (std::size_t i = 0; i < fetches.size(); ++i) tensors[fetches[i].name] = results[i];
    write_safetensors(out, tensors);
    return;
  }
  std::string text = "{";
  for (std::size_t i = 0; i < fetches.size(); ++i)
    text += fmt::format("{}{}: {}", i == 0 ? "" : ",\n ", json_text(nlohmann::json(fetches[i].name)), tensor_json(results[i]));
  write_output(out, text + "}\n");
}

po::options_description run_options() {
  po::options_description group("the run", 100);
  const auto texts = [](const char* what) { return po::value<std::vector<std::string>>()->value_name(what); };
  const auto text = [](const char* what) { return po::value<std::string>()->value_name(what); };
  auto add = group.add_options();
  add("feed", texts("NAME=NUMBERS"),
      "an input's numbers, as JSON (\"x=[[1, 2], [3, 4]]\") or from a file, NAME=@FILE: .safetensors or .json "
      "(@FILE:NAME if the file uses another name), otherwise text with one row of numbers per line; may be repeated");
  add("fetch", texts("NAME"), "an output, or any inner value by its path (forward.i); may be repeated; default: every output");
  add("parameters", text("FILE"), "a safetensors file or a model's folder with the parameters");
  add("seed", text("N"), "the seed for drawing parameters that are not given, as the graph initializes them; default: 1");
  add("out,o", text("FILE"), "the file for results, safetensors by its extension, otherwise JSON; default: stdout");
  add("device", po::value<std::string>()->default_value("auto")->value_name("NAME"), kDeviceHelp);
  return group;
}

}  // namespace

ExitCode run_run(const Arguments& arguments) {
  CommandLine line;
  line.usage = "graphrun run GRAPH [--feed NAME=NUMBERS ...] [--fetch NAME ...] [option ...]";
  line.about =
      "Runs a graph once on given numbers, as in inference, and writes the results as a JSON object. Sizes follow from the\n"
      "feeds; states begin as zeros. GRAPH may be a model's folder too: its graph, with its parameters. FLOAT results are\n"
      "float32; \"inf\", \"-inf\" and null represent numbers that are not finite.";
  line.words = {{"GRAPH"}};
  line.groups.push_back(run_options());
  line.groups.push_back(set_option());
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const std::string path = option<std::string>(*options, "GRAPH");
  std::string parameters = option<std::string>(*options, "parameters");
  const std::optional<std::uint64_t> seed = seed_option(*options);
  ir::Graph graph;
  if (is_folder(path)) {
    graph = read_network({path}, option<std::vector<std::string>>(*options, "set")).graph(false);
    if (parameters.empty() && !seed) parameters = path;
  } else {
    GraphRequest request;
    request.path = path;
    request.bindings = set_bindings(*options);
    request.training = false;
    graph = load_graph_alone(request, "graphrun run");
  }
  if (!parameters.empty() && seed) throw UsageError("--seed draws parameters, which --parameters gives");
  CompileOptions compile_options;
  compile_options.fetches = option<std::vector<std::string>>(*options, "fetch");
  Program program = compile(graph, compile_options);
  const Feeds feeds = read_feeds(option<std::vector<std::string>>(*options, "feed"), graph, program);

  const auto variables = std::make_shared<Variables>();
  constexpr std::uint64_t kSeed = 1;
  if (!parameters.empty()) set_parameters(program, parameters_at(parameters), *variables);
  initialize(program, *variables, seed.value_or(kSeed));
  Executable executable(std::move(program), variables, {parse_device(option<std::string>(*options, "device"))});
  RunOptions how;
  how.seed = seed.value_or(kSeed);
  const std::vector<Tensor> results = executable.run(feeds, how);
  write_results(executable.program().fetches, results, option<std::string>(*options, "out", "-"));
  return ExitCode::kDone;
}

}  // namespace graphrun
