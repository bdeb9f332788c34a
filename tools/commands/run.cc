// graphrun run GRAPH: runs a graph on given numbers, without data.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/execute/executable.h"
#include "runtime/execute/feeds.h"
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
std::string type_text(const FeedSpec& spec) { return std::string(name_of(type_of(spec.dtype))) + str(spec.shape); }

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

std::string example_note(const FeedSpec& spec) {
  return fmt::format("help: --feed \"{0}={1}\", or --feed {0}=@FILE", spec.name, example_of(spec));
}

bool names_state(const ir::Graph& graph, const std::string& name) {
  return std::any_of(graph.variables.begin(), graph.variables.end(), [&](const ir::Variable& v) {
    return v.kind == ir::Variable::Kind::kState && graph.value(v.value).name == name;
  });
}

// The outputs of the graph that need none of these inputs.
std::vector<std::string> outputs_without(const std::vector<std::string>& inputs, const ir::Graph& graph) {
  std::vector<std::string> outputs;
  for (const ir::Output& output : graph.outputs) {
    CompileOptions only;
    only.fetches = {output.name};
    const Program program = compile(graph, only);
    const bool needs = std::any_of(program.feeds.begin(), program.feeds.end(), [&](const FeedSpec& spec) {
      return std::find(inputs.begin(), inputs.end(), spec.name) != inputs.end();
    });
    if (!needs) outputs.push_back(output.name);
  }
  return outputs;
}

// `all`: whether every output is fetched.
Feeds read_feeds(const std::vector<std::string>& texts, const ir::Graph& graph, const Program& program, bool all,
                 std::vector<Diagnostic>& warnings) {
  Feeds feeds;
  std::vector<Diagnostic> mistakes;
  std::vector<std::string> inputs;
  for (const ir::Input& input : graph.inputs) inputs.push_back(graph.value(input.value).name);
  for (const std::string& text : texts) {
    const GivenFeed given = parse_given_feed(text);
    const auto spec =
        std::find_if(program.feeds.begin(), program.feeds.end(), [&](const FeedSpec& s) { return s.name == given.name; });
    if (spec != program.feeds.end()) {
      const auto [feed, fresh] = feeds.emplace(given.name, read_given_feed(given, *spec));
      if (!fresh) throw UsageError(fmt::format("--feed {} is given twice", given.name));
      if (feed->second.sizes().size() != spec->shape.size())
        mistakes.push_back(
            {Severity::kError, "E0623 feed-shape", {}, wrong_rank(*spec, feed->second.sizes()), {example_note(*spec)}});
    } else if (std::find(inputs.begin(), inputs.end(), given.name) != inputs.end()) {
      warnings.push_back({Severity::kWarning,
                          "E0621 unknown-feed",
                          {},
                          fmt::format("nothing that is fetched needs the input '{}'", given.name),
                          {}});
    } else if (names_state(graph, given.name)) {
      mistakes.push_back({Severity::kError,
                          "E0621 unknown-feed",
                          {},
                          fmt::format("'{}' is a state, not an input; `graphrun run` starts it at zeros", given.name),
                          {}});
    } else {
      const std::string near = did_you_mean(given.name, inputs);
      mistakes.push_back({Severity::kError,
                          "E0621 unknown-feed",
                          {},
                          fmt::format("there is no input '{}' to feed", given.name),
                          {near.empty() ? fmt::format("help: the graph has: {}", fmt::join(inputs, ", ")) : "help: " + near}});
    }
  }
  std::vector<std::string> missing;
  for (const FeedSpec& spec : program.feeds) {
    if (feeds.count(spec.name) != 0) continue;
    missing.push_back(spec.name);
    mistakes.push_back({Severity::kError,
                        "E0620 missing-feed",
                        {},
                        fmt::format("input '{}' is not fed; expected {}", spec.name, type_text(spec)),
                        {example_note(spec)}});
  }
  if (!missing.empty() && missing.size() == mistakes.size() && all && graph.outputs.size() > 1) {
    const std::vector<std::string> others = outputs_without(missing, graph);
    if (!others.empty()) {
      mistakes.back().notes.push_back(fmt::format("help: or fetch only outputs that do not need {}: --fetch {}",
                                                  missing.size() == 1 ? "it" : "these inputs", fmt::join(others, " --fetch ")));
    }
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
  line.examples = {"graphrun run janet.pbtxt --set input=3 --set hidden=2 --feed \"x=[[1, 0, 0.5]]\""};
  line.words = {{"GRAPH"}};
  line.groups.push_back(run_options());
  line.groups.push_back(set_option());
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const std::string path = option<std::string>(*options, "GRAPH");
  std::string parameters = option<std::string>(*options, "parameters");
  const std::optional<std::uint64_t> seed = seed_option(*options);
  const auto fetches = option<std::vector<std::string>>(*options, "fetch");
  std::vector<std::string> read = {path, parameters};
  for (const std::string& feed : option<std::vector<std::string>>(*options, "feed"))
    read.push_back(parse_given_feed(feed).file);
  refuse_to_overwrite("--out", option<std::string>(*options, "out"), read);
  ir::Graph graph;
  if (is_folder(path)) {
    Network network = read_network({path}, option<std::vector<std::string>>(*options, "set"));
    network.keep = fetches;
    graph = network.graph(false);
    if (parameters.empty() && !seed) parameters = path;
  } else {
    GraphRequest request;
    request.path = path;
    request.bindings = set_bindings(*options);
    request.training = false;
    request.keep = fetches;
    graph = load_graph_alone(request, "graphrun run");
  }
  if (!parameters.empty() && seed)
    throw UsageError("--seed and --parameters exclude each other: one draws the parameters, the other reads them");
  CompileOptions compile_options;
  compile_options.fetches = fetches;
  Program program = compile(graph, compile_options);
  std::vector<Diagnostic> warnings;
  const Feeds feeds =
      read_feeds(option<std::vector<std::string>>(*options, "feed"), graph, program, compile_options.fetches.empty(), warnings);
  if (!warnings.empty()) fmt::print(stderr, "{}\n", render(warnings, color_on_stderr()));

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
