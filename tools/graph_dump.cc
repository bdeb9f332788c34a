// graph-dump: prints a graph after any stage of the compiler, as text or as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "compiler/compile.h"
#include "compiler/dump/dump.h"
#include "compiler/dump/kernels.h"
#include "compiler/dump/outline.h"
#include "compiler/dump/page.h"
#include "compiler/fetch.h"
#include "compiler/frontend/source.h"
#include "compiler/ir/op.h"
#include "compiler/ir/printer.h"
#include "compiler/memory.h"
#include "compiler/passes/pass.h"
#include "compiler/schedule.h"
#include "compiler/training.h"
#include "runtime/base/file.h"
#include "runtime/execute/binding_report.h"
#include "runtime/program/arena.h"
#include "runtime/threads/threads.h"
#include "tools/cli/program.h"
#include "tools/commands/command_line.h"
#include "tools/model/model_folder.h"
#include "tools/train/objective.h"
#include "tools/train/recipe.h"
#include "tools/validate/validate.h"

namespace graphrun {
namespace {

constexpr unsigned kColumns = 100;  // width of help
constexpr const char* kDeviceHelp =
    "for --stage=loops and kernels: the device that the graph runs on: cpu, cuda, cuda:N or auto (the CPU)";

struct Request {
  GraphRequest graph;
  std::optional<TrainOptions> train;
  std::optional<Recipe> recipe;  // for a job, whose `train` depends on its graph
  CompileOptions compile;
  std::string stage;
  DumpFormat format = DumpFormat::kText;
  std::string output;
  SymbolValues sizes;   // for loops, for the picture and the peak of the arena, and for a page
  std::string profile;  // for a page: the path of a trace; empty: none
  Target target;
  bool time_passes = false;
};

// ---- the command line

std::vector<std::string> stage_names() {
  std::vector<std::string> names = {"loaded", "expanded", "checked", "differentiated", "pruned"};
  for (const Pass& pass : all_passes()) names.push_back(pass.name);
  names.insert(names.end(), {"scheduled", "planned", "memory", "loops", "kernels"});
  return names;
}

std::string listed(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

CommandLine command_line() {
  po::options_description what("what to print", kColumns);
  what.add_options()("stage", po::value<std::string>()->value_name("STAGE"),
                     ("the stage after which to print: " + listed(stage_names()) +
                      "; default: checked, or differentiated if --minimize is given")
                         .c_str())(
      "format", po::value<std::string>()->value_name("FORMAT"),
      "text, pbtxt, dot, svg, json or html; default: by the extension of the output file, otherwise text")(
      "output,o", po::value<std::string>()->value_name("FILE")->default_value("-"), "the output file; - is stdout")(
      "size", po::value<std::vector<std::string>>()->value_name("NAME=N"),
      "a size of the batch, for --stage=loops and kernels, for the picture and the peak of --stage=memory, and for the "
      "numbers and kernels of html; may be repeated")(
      "device", po::value<std::string>()->value_name("NAME")->default_value("cpu"), kDeviceHelp)(
      "product-precision", po::value<std::string>()->value_name("NAME")->default_value("float32"),
      "for --stage=loops, kernels and memory: the rounding of products' factors: tf32, bfloat16 or float32 (none)")(
      "profile", po::value<std::string>()->value_name("FILE"),
      "for html: the trace that graphrun train --profile wrote, whose times are shown");
  po::options_description how("how to compile", kColumns);
  how.add_options()("training", "with dropout and label smoothing (as --minimize does)")("inference", "without them")(
      "minimize", po::value<std::string>()->value_name("OUTPUT"), "differentiate this output and update the parameters")(
      "optimizer", po::value<std::string>()->value_name("NAME")->default_value("sgd"),
      "sgd, adam, …: the name of an operator without its _update")(
      "fetch", po::value<std::vector<std::string>>()->value_name("NAME"),
      "a value to compute, instead of every output; may be repeated")(
      "precision", po::value<std::string>()->value_name("FLOAT")->default_value("float32"), "float32 or float64")(
      "disable-pass", po::value<std::vector<std::string>>()->value_name("NAME"),
      "a pass to disable, or recompute, share_memory or recurrent_kernels; may be repeated")(
      "time-passes", "print the time of each stage, and the number of nodes after it, to stderr");
  CommandLine line;
  line.usage = "graph-dump GRAPH|JOB [option ...]";
  line.about =
      "Prints a graph after any stage of the compiler. Text can be parsed back to the same graph; pbtxt can be loaded again\n"
      "up to the stage checked (later stages contain internal operators); svg is a picture; html is a page to explore the\n"
      "graph at every stage in a browser.";
  line.examples = {"graph-dump graphs/cells/atr.pbtxt --set input=3 --set hidden=4 --format=svg -o atr.svg",
                   "graph-dump graphs/jobs/segment_quick.pbtxt -o segmenter.html",
                   "graph-dump graphs/jobs/segment_quick.pbtxt --stage=hoist"};
  line.words = {{"FILE", true, false}};
  for (const po::options_description& group : {what, set_option(), how}) line.groups.push_back(group);
  return line;
}

[[noreturn]] void unknown(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
  const std::string near = what == "stage" || what == "pass" ? pass_hint(name, known) : did_you_mean(name, known);
  throw UsageError(fmt::format("there is no {} '{}'; {}there are {}", what, name,
                               near.empty() ? "" : near + (near.back() == '?' ? " " : "; "), listed(known)));
}

DumpFormat parse_format(const po::variables_map& options, const std::string& output) {
  const std::string given = option<std::string>(options, "format");
  if (const auto format = dump_format(given)) return *format;
  if (!given.empty()) unknown("format", given, {"text", "pbtxt", "dot", "svg", "json", "html"});
  const std::string ending = std::filesystem::path(output).extension().string();
  if (ending.empty() || ending == ".txt") return DumpFormat::kText;
  if (const auto format = dump_format(ending.substr(1))) return *format;
  throw UsageError(
      fmt::format("no format is called '{}'; use .svg, .html, .dot, .json, .pbtxt or .txt, or --format", ending.substr(1)));
}

SymbolValues parse_sizes(const std::vector<std::string>& texts) {
  SymbolValues sizes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto number = Dim::parse(equals == std::string::npos ? "" : std::string_view(text).substr(equals + 1));
    if (equals == 0 || !number || !number->is_constant() || number->constant() < 0) {
      throw UsageError(fmt::format("--size takes NAME=N, found '{}'", text));
    }
    const std::string name = text.substr(0, equals);
    if (!sizes.emplace(Symbol::named(name), number->constant()).second)
      throw UsageError(fmt::format("--size gives '{}' twice", name));
  }
  return sizes;
}

// The optimizers: ops NAME_update with a parameter `p`.
std::vector<std::string> optimizers() {
  std::vector<std::string> names;
  for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
    if (op->update && op->name.ends_with("_update") && op->input_index("p") == 0)
      names.push_back(op->name.substr(0, op->name.size() - std::string("_update").size()));
  }
  return names;
}

std::optional<TrainOptions> parse_training(const po::variables_map& options) {
  const std::string optimizer = options["optimizer"].as<std::string>();
  const std::vector<std::string> known = optimizers();
  if (std::find(known.begin(), known.end(), optimizer) == known.end()) unknown("optimizer", optimizer, known);
  if (options.count("minimize") == 0) return std::nullopt;
  if (options.count("inference") != 0) throw UsageError("--minimize trains: it does not go with --inference");
  TrainOptions train;
  train.minimize = options["minimize"].as<std::string>();
  train.optimizer = optimizer;
  return train;
}

// Reads a job's graph, with the job's arguments, and what training adds to it.
void read_job(const po::variables_map& options, Request& r) {
  const bool training = options.count("inference") == 0;
  const Network network = build_network(load_job(r.graph.path, option<std::vector<std::string>>(options, "set")));
  r.graph = network.request(training);
  if (training && !r.train && network.job.message.has_train()) {
    r.recipe = make_recipe(network.job);
    r.train = r.recipe->options;
  }
}

Request parse_request(const po::variables_map& options) {
  Request r;
  if (options.count("training") != 0 && options.count("inference") != 0)
    throw UsageError("--training or --inference, not both");
  r.graph.path = options["FILE"].as<std::string>();
  r.graph.bindings = set_bindings(options);
  r.graph.training = options.count("inference") == 0;
  r.train = parse_training(options);
  if (is_job(read_source(r.graph.path))) read_job(options, r);
  r.stage = option<std::string>(options, "stage", options.count("minimize") != 0 ? "differentiated" : "checked");
  const std::vector<std::string> stages = stage_names();
  if (std::find(stages.begin(), stages.end(), r.stage) == stages.end()) unknown("stage", r.stage, stages);
  if (r.stage == "differentiated" && !r.train) throw UsageError("--stage=differentiated needs --minimize OUTPUT");
  r.output = options["output"].as<std::string>();
  r.format = parse_format(options, r.output);
  r.sizes = parse_sizes(option<std::vector<std::string>>(options, "size"));
  for (const std::string& name : option<std::vector<std::string>>(options, "fetch")) {
    std::vector<std::string>& fetches = r.compile.fetches;
    if (std::find(fetches.begin(), fetches.end(), name) == fetches.end()) fetches.push_back(name);
  }
  r.compile.disabled_passes = option<std::vector<std::string>>(options, "disable-pass");
  const std::vector<std::string> passes = names_to_disable();
  for (const std::string& name : r.compile.disabled_passes) {
    if (std::find(passes.begin(), passes.end(), name) == passes.end()) unknown("pass", name, passes);
  }
  if (r.stage == "loaded" && r.format != DumpFormat::kText && r.format != DumpFormat::kPbtxt) {
    throw UsageError("--stage=loaded prints the files as they are: text or pbtxt");
  }
  if (r.stage == "memory" && r.format != DumpFormat::kText && r.format != DumpFormat::kSvg) {
    throw UsageError("--stage=memory prints text or svg");
  }
  const bool bound = r.stage == "loops" || r.stage == "kernels", page = r.format == DumpFormat::kHtml;
  if (page && options.count("stage") != 0) throw UsageError("html shows every stage: it does not go with --stage");
  r.profile = option<std::string>(options, "profile");
  if (!r.profile.empty() && !page) throw UsageError("--profile is for --format=html");
  if (!r.sizes.empty() && !bound && !page && r.stage != "memory") {
    throw UsageError(fmt::format("--stage={} depends on no size: --size is for loops, kernels and memory", r.stage));
  }
  if (bound && r.format != DumpFormat::kText) throw UsageError(fmt::format("--stage={} prints text", r.stage));
  r.target.products = parse_product_precision(options["product-precision"].as<std::string>());
  if (bound || page) r.target.device = &parse_device(options["device"].as<std::string>());
  const std::string precision = options["precision"].as<std::string>();
  if (precision != "float32" && precision != "float64") unknown("precision", precision, {"float32", "float64"});
  r.compile.precision = precision == "float64" ? Precision::kFloat64 : Precision::kFloat32;
  r.time_passes = options.count("time-passes") != 0;
  return r;
}

// ---- the stages

// Thrown by the observer when it has the requested stage: later stages need not run, and may be what the user is debugging.
struct Reached {};

void print_time(const std::string& stage, const ir::Graph& graph, double seconds) {
  fmt::print(stderr, "{:<24} {:>10.3f} ms {:>9} nodes\n", stage, 1e3 * seconds, graph.nodes.size());
}

// The graph after a stage from `checked` on.
ir::Graph compiled_until(const Request& r, const ir::Graph& checked) {
  std::optional<ir::Graph> found;
  const std::string stage = r.stage == "memory" ? "planned" : r.stage;
  CompileOptions options = r.compile;
  options.observe = [&](const std::string& name, const ir::Graph& graph, double seconds) {
    if (r.time_passes) print_time(name, graph, seconds);
    if (name != stage || found) return;  // for a pass that runs twice, the first time: before differentiation
    found = graph;
    if (!r.time_passes) throw Reached{};
  };
  try {
    compile(checked, options, r.train ? &*r.train : nullptr);
  } catch (const Reached&) {
  }
  if (!found && stage == "checked") return checked;
  if (!found) throw UsageError(fmt::format("the stage '{}' did not run: --disable-pass leaves it out", r.stage));
  return std::move(*found);
}

std::string loaded_files(const GraphRequest& request) {
  GraphSources sources;
  load_graph(request, nullptr, &sources);
  std::string text;
  for (const SourceFile& file : sources.files) {
    text += fmt::format("# ---- {}\n{}", file.path, file.text);
    if (!text.ends_with("\n")) text += "\n";
  }
  return text;
}

std::string memory(const Request& r, const ir::Graph& checked) {
  if (r.format == DumpFormat::kSvg) {
    return arena_svg(compile(checked, r.compile, r.train ? &*r.train : nullptr), r.sizes);
  }
  std::vector<TapeDecision> tape;
  Request noting = r;
  noting.compile.tape = &tape;
  const ir::Graph graph = compiled_until(noting, checked);
  const MemoryPlan plan = plan_memory(graph, {.reuse = r.compile.does(kShareMemory)});
  std::string text = describe(plan, graph, r.compile.precision);
  if (!tape.empty()) text += "from loops to their backward loops:\n";
  for (const TapeDecision& decision : tape) text += "  " + describe(decision, r.compile.precision) + "\n";
  if (r.sizes.empty()) {
    text += "peak: give the batch's sizes with --size NAME=N\n";
  } else {
    const Program program = compile(checked, r.compile, r.train ? &*r.train : nullptr);
    text += describe_peak(program, r.sizes) + describe_bound_memory(program, r.sizes, r.target);
  }
  return text;
}

std::string loops(const Request& r, const ir::Graph& checked) {
  const Program program = compile(checked, r.compile, r.train ? &*r.train : nullptr);
  const Device& device = *r.target.device;
  const std::string where = device.name() + (device.is_cpu() ? ", " + counted(threads(), "thread") : "");
  return fmt::format("loops on {}:\n{}", where, describe_loops(program, r.sizes, r.target));
}

std::string kernels(const Request& r, const ir::Graph& checked) {
  const Program program = compile(checked, r.compile, r.train ? &*r.train : nullptr);
  return describe_kernels(program, r.sizes, r.target);
}

// The time of each node in a trace, which Profiler::chrome_trace writes.
std::map<std::string, double> profiled_milliseconds(const std::string& path) {
  const auto bad = [&](const std::string& why) {
    return UserError(ExitCode::kBadData, "E0545 no-trace", fmt::format("'{}' is not a trace of a profile: {}", path, why),
                     {"help: graphrun train JOB --profile FILE writes one"});
  };
  constexpr std::uint64_t kLargestTrace = std::uint64_t{1} << 30;
  std::map<std::string, double> result;
  const nlohmann::json trace = nlohmann::json::parse(read_file(path, kLargestTrace), nullptr, false);
  if (trace.is_discarded() || !trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array()) {
    throw bad("it has no events");
  }
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (!event.is_object() || !event.contains("dur") || !event["dur"].is_number() || !event.contains("name") ||
        !event["name"].is_string()) {
      continue;
    }
    result[event["name"].get<std::string>()] += event["dur"].get<double>() / 1e3;
  }
  return result;
}

// Where results with memory of their own are stored; the others are views, or written in place.
void add_memory(Page& page, const Program& program) {
  const ProgramLayout arena = layout(program, page.sizes);
  page.arena = arena.bytes;
  for (std::size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    for (const Instruction& instruction : region.instructions) {
      PageMemory memory;
      for (const std::int32_t v : instruction.outputs) {
        const ValueSpec& value = region.values[static_cast<std::size_t>(v)];
        if (value.storage.kind != Storage::Kind::kBlock) continue;
        memory.bytes +=
            static_cast<double>(element_count(evaluate(value.shape, page.sizes))) * static_cast<double>(size_of(value.dtype));
        const auto b = static_cast<std::size_t>(value.storage.index);
        const BlockSpec& block = region.blocks[b];
        memory.blocks.push_back({arena.regions[r].blocks[b], block.bytes.evaluate(page.sizes), block.first, block.last});
      }
      if (!memory.blocks.empty()) page.memory[instruction.name] = std::move(memory);
    }
  }
}

// Every stage that changed the graph.
std::string page_of(const Request& r, const ir::Graph& checked) {
  Page page;
  page.title = checked.name;
  page.stages.push_back({"checked", outline(checked)});
  page.sizes = r.sizes;
  std::string last = ir::print(checked);
  CompileOptions options = r.compile;
  options.observe = [&](const std::string& name, const ir::Graph& graph, double) {
    std::string text = ir::print(graph);
    if (text == last) return;
    last = std::move(text);
    page.stages.push_back({name, outline(graph)});
  };
  const Program program = compile(checked, options, r.train ? &*r.train : nullptr);
  if (!r.sizes.empty()) {
    add_memory(page, program);
    page.kernels = describe_kernels(program, r.sizes, r.target);
  }
  if (!r.profile.empty()) page.milliseconds = profiled_milliseconds(r.profile);
  return html(page);
}

// Checks the names on the command line, even if the requested stage precedes their use.
void check_names(const Request& r, const ir::Graph& checked) {
  if (r.train && checked.output(r.train->minimize) == nullptr) {
    std::vector<std::string> outputs;
    for (const ir::Output& output : checked.outputs) outputs.push_back(output.name);
    unknown("output", r.train->minimize, outputs);
  }
  if (!r.compile.fetches.empty()) with_fetches(r.train ? add_training(checked, *r.train) : checked, r.compile.fetches);
  std::vector<std::string> known;
  for (const ir::Input& input : checked.inputs) {
    for (const Dim& size : checked.type(input.value).shape) {
      for (const Symbol symbol : size.symbols()) known.push_back(symbol.name());
    }
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  for (const auto& [symbol, size] : r.sizes) {
    if (std::find(known.begin(), known.end(), symbol.name()) == known.end()) unknown("size", symbol.name(), known);
  }
  const bool drawn = r.stage == "memory" && !(r.sizes.empty() && r.format == DumpFormat::kText);
  const bool page = r.format == DumpFormat::kHtml && !r.sizes.empty();
  if (!drawn && !page && r.stage != "loops" && r.stage != "kernels") return;
  const char* const what = page                 ? "what a page shows with sizes"
                           : drawn              ? "how much memory there is to show"
                           : r.stage == "loops" ? "how loops run"
                                                : "what kernels compute";
  std::vector<std::string> missing, options;
  for (const std::string& name : known) {
    if (r.sizes.count(Symbol::named(name)) != 0) continue;
    missing.push_back("'" + name + "'");
    options.push_back("--size " + name + "=N");
  }
  if (missing.empty()) return;
  throw UsageError(fmt::format("{} depends on the size{} {}: add {}", what, missing.size() == 1 ? "" : "s", listed(missing),
                               fmt::join(options, " ")));
}

std::string dump_of(Request& r, std::vector<Diagnostic>& warnings) {
  if (r.stage == "loaded") return loaded_files(r.graph);
  const ir::Graph expanded = expand_graph(r.graph, &warnings);
  if (r.stage == "expanded") return dump(expanded, r.format);
  ir::Graph checked = check_graph(expanded);
  if (r.recipe) checked = with_objective(std::move(checked), *r.recipe, *r.train, warnings);
  check_names(r, checked);
  if (r.format == DumpFormat::kHtml) return page_of(r, checked);
  if (r.stage == "checked" && !r.time_passes) return dump(checked, r.format);
  if (r.stage == "memory") return memory(r, checked);
  if (r.stage == "loops") return loops(r, checked);
  if (r.stage == "kernels") return kernels(r, checked);
  return dump(compiled_until(r, checked), r.format);
}

ExitCode run(const Arguments& arguments) {
  if (std::find(arguments.begin(), arguments.end(), "--version") != arguments.end()) {
    fmt::print("graph-dump {}\n", version());
    return ExitCode::kDone;
  }
  const auto options = parse(command_line(), arguments);
  if (!options) return ExitCode::kDone;
  Request request = parse_request(*options);
  refuse_to_overwrite("--output", request.output, {request.graph.path, request.profile});
  std::vector<Diagnostic> warnings;
  const std::string text = dump_of(request, warnings);
  if (!warnings.empty()) {
    const std::string rendered = render(warnings, color_on_stderr());
    std::fputs(rendered.c_str(), stderr);
  }
  write_output(request.output, text);
  return ExitCode::kDone;
}

}  // namespace
}  // namespace graphrun

int main(int count, char** words) {
  graphrun::secure_streams();
  return graphrun::guarded("graph-dump", [&] { return graphrun::run({words + 1, words + count}); });
}
