// graphrun verify DIR and graphrun replay DIR: parts of a run, computed again.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "runtime/base/file.h"
#include "runtime/tensor/checkpoint.h"
#include "tools/cli/build.h"
#include "tools/commands/command_line.h"
#include "tools/data/preview.h"
#include "tools/json/json.h"
#include "tools/run/run_folder.h"
#include "tools/run/start_record.h"
#include "tools/runs/repeat.h"
#include "tools/train/objective.h"
#include "tools/train/state.h"
#include "tools/train/watcher.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestReplayed = std::uint64_t{1} << 30;
constexpr const char* kRepeatDevice = "the kind of device on which the run began, or another: cpu, cuda or cuda:N";

std::vector<std::string> replayed_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string read_if_there(const std::string& path) { return is_there(path) ? read_file(path, kLargestReplayed) : ""; }

const Device& device_of_run(const po::variables_map& options, const std::string& folder) {
  const auto given = option<std::string>(options, "device");
  const bool on_cpu = !holds_run(folder) || began_on_cpu(folder);  // where there is no run, that is what is reported
  return parse_device(!given.empty() ? given : on_cpu ? "cpu" : "cuda");
}

// ---- verify

bool has_step(const nlohmann::json& line) {
  return line.is_object() && line.contains("step") && line["step"].is_number_integer();
}
// Whether an update gives this line of metrics, not a validation or the end of an epoch.
bool is_of_update(const nlohmann::json& line) {
  return has_step(line) && (line.contains("gradient_norm") || line.contains("watch"));
}

// The lines of metrics that the first `steps` updates determine: those of earlier steps, and of the last one what the update
// itself gives; a run also validates at its end.
std::vector<std::string> comparable_lines(const std::string& metrics, std::int64_t steps) {
  std::vector<std::string> lines;
  for (const std::string& text : replayed_lines(metrics)) {
    const auto line = parse_json_or_discard(text);
    if (!has_step(line)) continue;
    const auto step = line["step"].get<std::int64_t>();
    if (step < steps || (step == steps && is_of_update(line))) lines.push_back(text);
  }
  return lines;
}

// Which tensors of a checkpoint differ from those of the stepper.
std::vector<std::string> different_tensors(const std::string& folder, const Stepper& stepper, std::int64_t& compared) {
  std::vector<std::string> different;
  const CheckpointReader checkpoint(folder);
  for (const auto& [group, tensors] : stepper.groups()) {
    const NamedTensors kept = checkpoint.has_group(group) ? checkpoint.group(group) : NamedTensors();
    for (const auto& [name, tensor] : tensors) {
      ++compared;
      const auto found = kept.find(name);
      const Tensor now = tensor.to_host();
      const bool same = found != kept.end() && found->second.bytes() == now.bytes() &&
                        std::equal(static_cast<const char*>(now.raw()), static_cast<const char*>(now.raw()) + now.bytes(),
                                   static_cast<const char*>(found->second.raw()));
      if (!same) different.push_back(name);
    }
  }
  return different;
}

// Why a checkpoint need not have the tensors that its last update left; empty if it has them.
std::string changed_since(const std::string& folder, const Recipe& recipe, const std::string& metrics, std::int64_t step) {
  const TrainState state = parse_state(CheckpointReader(folder).text("state.json"), folder + "/state.json");
  if (state.pending.batches > 0) {
    return fmt::format("that of update {} was saved after {} of the next update", step,
                       counted(state.pending.batches, "batch", "es"));
  }
  if (!recipe.schedule.restart) return "";
  // The model was kept at the first of the validations with the best value.
  bool validated = false;
  std::int64_t best_step = -1;
  for (const std::string& text : replayed_lines(metrics)) {
    const auto valid = parse_results(text, "valid");
    if (!valid) continue;
    const std::int64_t at = parse_json(text).value("step", std::int64_t{-1});
    validated = validated || at == step;
    if (best_step < 0 && state.best && result_of(*valid, recipe.keep) == *state.best) best_step = at;
  }
  if (!validated || best_step == step) return "";
  return fmt::format("after update {}, the schedule may have gone back to the best parameters", step);
}

struct Receipt {
  std::vector<std::pair<std::string, std::string>> lines;
  bool same = true;
  bool compared_bits = false;  // of an update
  void add(const std::string& what, const std::string& text) { lines.emplace_back(what, text); }
  void add_difference(const std::string& what, const std::string& text) {
    lines.emplace_back(what, text);
    same = false;
  }
};

void compare_build(const ModelLayout& layout, Receipt& receipt) {
  const std::vector<std::string> starts = replayed_lines(read_if_there(layout.starts()));
  const auto first = starts.empty() ? nlohmann::json() : parse_json_or_discard(starts.front());
  const auto text_at = [&](const char* key) {
    return first.is_object() && first.contains(key) && first[key].is_string() ? first[key].get<std::string>() : std::string();
  };
  const Build& build = this_build();
  const std::string program = text_at("program"), library = text_at("library");
  if (program.empty() || library.empty()) {
    receipt.add("build", "the run does not record its own");
  } else if (program == build.program_id && library == build.library_id) {
    receipt.add("build", fmt::format("the same: graphrun {}, program {}, library {}", build.version, program, library));
  } else {
    receipt.add("build", fmt::format("different: program {}, library {}; the run's program {}, library {}", build.program_id,
                                     build.library_id, program, library));
  }
}

// The first update from `wanted` on of which the run recorded what can be compared: in metrics.jsonl, or in a checkpoint. If
// there is none, `wanted`.
std::int64_t next_recorded(const ModelLayout& layout, std::int64_t wanted) {
  std::optional<std::int64_t> next;
  const auto consider = [&](std::int64_t step) {
    if (step >= wanted && (!next || step < *next)) next = step;
  };
  for (const std::string& text : replayed_lines(read_if_there(layout.metrics()))) {
    const auto line = parse_json_or_discard(text);
    if (is_of_update(line)) consider(line["step"].get<std::int64_t>());
  }
  for (const std::string& folder : complete_checkpoints(layout.root, "checkpoints")) {
    const CheckpointReader reader(folder);
    consider(parse_state(reader.text("state.json"), folder + "/state.json").step);
  }
  return next.value_or(wanted);
}

void compare_metrics(const std::string& recorded, const std::string& repeated, std::int64_t steps, Receipt& receipt) {
  const std::vector<std::string> before = comparable_lines(recorded, steps), now = comparable_lines(repeated, steps);
  if (!before.empty()) receipt.compared_bits = true;
  for (std::size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    const std::string was = i < before.size() ? before[i] : "no line", is = i < now.size() ? now[i] : "no line";
    if (was == is) continue;
    receipt.add_difference("metrics", fmt::format("line {} differs\n  recorded  {}\n  repeated  {}", i + 1, was, is));
    return;
  }
  receipt.add("metrics", before.empty() ? "no line of these updates is recorded"
                                        : counted(static_cast<std::int64_t>(before.size()), "line") + ", the same bits");
}

}  // namespace

ExitCode run_verify(const Arguments& arguments) {
  po::options_description group("the verification", 100);
  group.add_options()(
      "steps", po::value<std::string>()->value_name("N"),
      "repeat this many updates, from the beginning, and on to the next one that the run recorded; default: 200, "
      "or all of a shorter run")("json", "the receipt as one JSON object")(
      "device", po::value<std::string>()->value_name("NAME"), kRepeatDevice);
  CommandLine line;
  line.usage = "graphrun verify DIR [--steps N]";
  line.about =
      "Repeats the first updates of the run in DIR, from the job, graphs and vocabularies that the folder keeps and the data\n"
      "that they name, and compares: the hashes of data, graphs and vocabularies; the build; every line of metrics.jsonl; "
      "and,\n"
      "if a checkpoint of the last of these updates is kept, every tensor in it. Prints a receipt. The exit code is 1 if a "
      "bit\n"
      "differs, or if nothing could be compared. DIR stays as it is.";
  line.examples = {"graphrun verify build/janet --steps 200", "graphrun verify build/janet --steps 1000 --json > receipt.json"};
  line.words = {{"DIR"}};
  line.groups.push_back(group);
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  RepeatRequest request;
  request.folder = option<std::string>(*options, "DIR");
  const ModelLayout layout{request.folder};
  constexpr std::int64_t kUsualUpdates = 200;
  const std::int64_t done = recorded_updates(read_if_there(layout.metrics()));
  const std::int64_t wanted = options->count("steps") != 0 ? whole_number("--steps", option<std::string>(*options, "steps"))
                                                           : std::min(kUsualUpdates, std::max<std::int64_t>(done, 1));
  request.step = holds_run(layout.root) ? next_recorded(layout, wanted) : wanted;
  request.from_checkpoint = false;
  request.device = &device_of_run(*options, request.folder);
  Receipt receipt;
  compare_build(layout, receipt);
  RepeatVisits visits;
  visits.after = [&](const Repeated& repeated) {
    receipt.add("data", "the same: the sizes and SHA-256 that data.json lists");
    receipt.add("graphs", "the same, with job and vocabularies: the SHA-256 that manifest.json lists");
    compare_metrics(read_if_there(layout.metrics()), repeated.metrics, request.step, receipt);
    const std::string checkpoint = checkpoint_folder(layout.root, request.step);
    if (!is_there(checkpoint)) {
      receipt.add("tensors", fmt::format("not compared: no checkpoint of update {} is kept", request.step));
      return;
    }
    const std::string why = changed_since(checkpoint, repeated.prepared->recipe, read_if_there(layout.metrics()), request.step);
    if (!why.empty()) {
      receipt.add("tensors", "not compared: " + why);
      return;
    }
    std::int64_t compared = 0;
    const std::vector<std::string> different = different_tensors(checkpoint, repeated.prepared->stepper, compared);
    if (compared > 0) receipt.compared_bits = true;
    if (different.empty()) {
      receipt.add("tensors", fmt::format("{} of the checkpoint of update {}, the same bits", compared, request.step));
    } else {
      receipt.add_difference("tensors", fmt::format("{} of {} differ: {}{}", different.size(), compared, different.front(),
                                                    different.size() > 1 ? ", …" : ""));
    }
  };
  if (const ExitCode code = repeat_run(request, visits); code != ExitCode::kDone) return code;
  receipt.lines.insert(receipt.lines.begin(), {"updates", fmt::format("{} of '{}' repeated on {}", request.step, request.folder,
                                                                      request.device->name())});
  receipt.add("result", !receipt.same           ? "different bits"
                        : receipt.compared_bits ? "the same bits"
                                                : "nothing to compare: the run recorded no figure of these updates");
  if (options->count("json") != 0) {
    nlohmann::ordered_json json;
    for (const auto& [what, text] : receipt.lines) json[what] = text;
    json["same"] = receipt.same;
    json["compared"] = receipt.compared_bits;
    fmt::print("{}\n", json_text(json, 1));
  } else {
    for (const auto& [what, text] : receipt.lines) fmt::print("{:<9}{}\n", what, text);
  }
  return receipt.same && receipt.compared_bits ? ExitCode::kDone : ExitCode::kRunFailed;
}

// ---- replay

namespace {

// The objective of each row of a batch alone, in inference: without dropout. Empty for a stream.
std::vector<double> losses_by_row(const Prepared& prepared, const TrainingData& data, const Batch& batch) {
  std::vector<double> losses;
  if (batch.examples.empty()) return losses;
  std::vector<Diagnostic> ignored;
  TrainOptions of;
  const ir::Graph graph = with_objective(prepared.graphs.inference, prepared.recipe, of, ignored);
  CompileOptions options;
  options.fetches = {of.minimize};
  const bool divided = !of.per.empty() && of.per != of.minimize;
  if (divided) options.fetches.push_back(of.per);
  const auto variables = std::make_shared<Variables>();
  for (const auto& [name, tensor] : prepared.stepper.variables().all()) variables->set(name, tensor.clone());
  Executable executable(compile(graph, options), variables, prepared.target());
  const FeedPlan& plan = *prepared.network.job.plan;
  const std::vector<std::size_t> chosen = choose_feeds(plan, prepared.stepper.feeds());
  for (const std::int64_t example : batch.examples) {
    const Batch row = make_batch(plan, chosen, {data.train().example(example)});
    Feeds feeds;
    for (const FeedSpec& feed : executable.program().feeds) feeds[feed.name] = row.feeds.at(feed.name);
    const std::vector<Tensor> fetched = executable.run(feeds);
    losses.push_back(fetched[0].at(0) / (divided ? fetched[1].at(0) : 1));
  }
  return losses;
}

std::string numbers_text(const std::vector<double>& numbers) {
  std::string text;
  for (const double x : numbers) text += std::isnan(x) ? " -" : fmt::format(" {:.4g}", x);
  return text;
}

void print_watched(const Watcher& watcher, const nlohmann::ordered_json& figures) {
  const auto number = [](const nlohmann::ordered_json& x) { return fmt::format("{:.4g}", number_of(x)); };
  std::size_t width = 9;
  for (const auto& kind : figures) {
    for (const auto& [name, of] : kind.items()) width = std::max(width, name.size());
  }
  if (!figures["parameters"].empty())
    fmt::print("\n{:<{}}  {:>10}  {:>10}  {:>10}\n", "parameter", width, "gradient", "weight", "update");
  for (const auto& [name, of] : figures["parameters"].items())
    fmt::print("{:<{}}  {:>10}  {:>10}  {:>10}\n", name, width, number(of["gradient"]), number(of["weight"]),
               number(of["update"]));
  if (!figures["gates"].empty()) fmt::print("\n{:<{}}  {:>10}  {:>10}  {:>10}\n", "gate", width, "low", "high", "mean");
  for (const auto& [name, of] : figures["gates"].items())
    fmt::print("{:<{}}  {:>10}  {:>10}  {:>10}\n", name, width, number(of["low"]), number(of["high"]), number(of["mean"]));
  if (!watcher.gates_by_step().empty()) fmt::print("\ngates, mean by step\n");
  for (const auto& [name, means] : watcher.gates_by_step()) fmt::print("{:<{}} {}\n", name, width, numbers_text(means));
  if (!figures["states"].empty()) fmt::print("\nnorm of the gradient of a state by step\n");
  for (const auto& [name, of] : figures["states"].items()) {
    std::vector<double> norms;
    for (const auto& x : of["gradient"]) norms.push_back(number_of(x));
    fmt::print("{:<{}} {}\n", name, width, numbers_text(norms));
  }
}

}  // namespace

ExitCode run_replay(const Arguments& arguments) {
  po::options_description group("the update", 100);
  group.add_options()("step", po::value<std::string>()->value_name("N"), "the update to show, counted from 1")(
      "watch", po::value<std::vector<std::string>>()->value_name("PATTERN"),
      "parameters, states, and results of sigmoid and tanh to show, by name, where * is any run of characters; may be "
      "repeated")("rows", po::value<std::string>()->default_value("4")->value_name("N"), "rows of the batch to show; 0: all")(
      "device", po::value<std::string>()->value_name("NAME"), kRepeatDevice);
  CommandLine line;
  line.usage = "graphrun replay DIR --step N [--watch PATTERN] [option ...]";
  line.about =
      "Repeats the run in DIR with the same bits, from the nearest checkpoint that it keeps, or from its beginning, up to "
      "update\n"
      "N, and shows that update: its batch, its loss, the loss of each row (without dropout), and for what --watch names\n"
      "the gradients, the changes, saturated gates (within 0.01 of a limit), gates by step, and gradients of states by step.\n"
      "DIR stays as it is.";
  line.examples = {"graphrun replay build/janet --step 120 --watch 'read.*'",
                   "graphrun replay build/translate --step 5000 --watch 'decode.*' --watch '*.E' --rows 0"};
  line.words = {{"DIR"}};
  line.groups.push_back(group);
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  RepeatRequest request;
  request.folder = option<std::string>(*options, "DIR");
  if (options->count("step") == 0) throw UsageError("--step N is missing: which update to show");
  request.step = whole_number("--step", option<std::string>(*options, "step"));
  const std::string rows = option<std::string>(*options, "rows");
  PreviewLimits limits;
  limits.rows = rows == "0" ? 0 : whole_number("--rows", rows);
  request.device = &device_of_run(*options, request.folder);
  std::vector<NamePattern> patterns;
  for (const std::string& pattern : option<std::vector<std::string>>(*options, "watch")) patterns.push_back({pattern, {}});
  std::optional<Watcher> watcher;
  std::string batch_text;
  std::vector<double> losses;
  RepeatVisits visits;
  visits.before = [&](const Prepared& prepared, const TrainingData& data, const Batch& batch) {
    std::vector<Diagnostic> warnings;
    if (!patterns.empty()) {
      watcher.emplace(prepared.stepper, patterns, prepared.target(), warnings);
      watcher->before(prepared.stepper, batch, request.step - 1, prepared.stepper.pending().batches);
    }
    if (!warnings.empty()) fmt::print(stderr, "{}\n", render(warnings, color_on_stderr()));
    batch_text = describe_batch(*prepared.network.job.plan, prepared.network.vocabularies, data.train(), batch, limits);
    losses = losses_by_row(prepared, data, batch);
  };
  visits.after = [&](const Repeated& repeated) {
    fmt::print("update {} of '{}', epoch {}, batch {} of {}; repeated from {} on {}\n", request.step, request.folder,
               repeated.at.epoch, repeated.at.batch + 1, repeated.data->batches().batches(),
               repeated.from == 0 ? "the beginning" : fmt::format("the checkpoint of update {}", repeated.from),
               request.device->name());
    fmt::print("loss {}, norm of the gradient {}, learning rate {}\n\n{}", repeated.result.loss, repeated.result.gradient_norm,
               repeated.rate, batch_text);
    if (!losses.empty()) fmt::print("\nloss of each row alone, without dropout\n");
    for (std::size_t row = 0; row < losses.size(); ++row) {
      if (limits.rows == 0 || static_cast<std::int64_t>(row) < limits.rows) fmt::print("{:>5}  {:.6g}\n", row, losses[row]);
    }
    if (watcher) print_watched(*watcher, watcher->after(repeated.prepared->stepper, repeated.result.gradient_norm));
  };
  return repeat_run(request, visits);
}

}  // namespace graphrun
