// graphrun report DIR …: a page of one or several runs.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tools/commands/command_line.h"
#include "tools/model/evaluator.h"
#include "tools/model/loaded_models.h"
#include "tools/plot/curves.h"
#include "tools/plot/run_page.h"
#include "tools/run/signals.h"

namespace graphrun {
namespace {

// Classes, kinds, groups and confusions of a finished model, on the validation data of its job, or the test data.
std::vector<std::pair<std::string, std::vector<Table>>> details_of(const std::string& folder, const Device& device) {
  Model model = open_model(folder, {});
  const Network& network = model.network;
  const std::vector<std::string>& files = network.job.data.valid.empty() ? network.job.data.test : network.job.data.valid;
  if (files.empty()) return {};
  Evaluator evaluator(load_graph(network.request(false)), network, device);
  DatasetOptions reading;
  reading.texts = network.report->text_fields();
  reading.plan = network.job.plan.get();
  const Dataset set = read_dataset(network.job.data, network.vocabularies, files, reading);
  Variables variables;
  for (const auto& [name, tensor] : model.parameters.tensors) variables.set(name, tensor);
  evaluator.evaluate(set, variables);
  return network.report->details();
}

}  // namespace

ExitCode run_report(const Arguments& arguments) {
  po::options_description group("the page", 100);
  group.add_options()("out,o", po::value<std::string>()->default_value("-")->value_name("FILE"), "the HTML file; - is stdout")(
      "evaluate", "also evaluate the first run's model on its validation data: figures by class and group, confusions")(
      "alignments", po::value<std::string>()->value_name("FILE"),
      "also draw the alignments that `graphrun infer --json` wrote")(
      "live", "rewrite the page at intervals while the run is in progress; a browser that shows it reloads it")(
      "every", po::value<std::string>()->default_value("10")->value_name("SECONDS"), "with --live, how often")(
      "device", po::value<std::string>()->default_value("auto")->value_name("NAME"), kDeviceHelp);
  CommandLine line;
  line.usage = "graphrun report DIR ... -o FILE [option ...]";
  line.about =
      "Writes one HTML page about one or several runs: the last reports, the curves, what train { watch { … } } records, "
      "speed\n"
      "and memory, samples, machine, job and log. The page needs no other file and no network. DIR is the folder of a run, "
      "also\n"
      "of one in progress, or a folder of such folders, as with --seeds. With --live, the command ends when the run does.";
  line.examples = {"graphrun report build/janet -o run.html", "graphrun report build/janet build/lstm --evaluate -o runs.html",
                   "graphrun report build/janet --live --every 30 -o run.html"};
  line.words = {{"DIR", true, true}};
  line.groups.push_back(group);
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const auto out = option<std::string>(*options, "out");
  const bool live = options->count("live") != 0;
  if (const std::string kind = std::filesystem::path(out).extension(); !kind.empty() && kind != ".html" && kind != ".htm")
    throw UsageError(fmt::format("--out {}: the page is HTML; expected a name that ends in .html", out));
  if (live && out == "-") throw UsageError("--live needs --out FILE: the page is rewritten at intervals");
  const int every = whole_number("--every", option<std::string>(*options, "every"));
  RunPage page;
  for (const std::string& given : option<std::vector<std::string>>(*options, "DIR")) {
    const std::vector<std::string> held = runs_in(given);
    page.folders.insert(page.folders.end(), held.begin(), held.end());
  }
  page.names = names_of_runs(page.folders);
  if (options->count("alignments") != 0) {
    const auto file = option<std::string>(*options, "alignments");
    refuse_to_overwrite("--out", out, {file});
    page.alignments = parse_alignments(read_input(file), file == "-" ? "stdin" : file);
  }
  const bool evaluates = options->count("evaluate") != 0;
  if (evaluates && live) throw UsageError("--evaluate and --live do not go together: a run in progress validates by itself");
  if (evaluates) page.details = details_of(page.folders.front(), parse_device(option<std::string>(*options, "device")));
  StopSignals signals;
  while (live) {
    bool ended = true;
    for (const std::string& folder : page.folders) ended = ended && run_has_ended(folder);
    if (ended || signals.pending() != 0) break;
    page.refresh = every;
    write_output(out, run_page(page));
    for (int waited = 0; waited < 10 * every && signals.pending() == 0; ++waited)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  page.refresh = 0;
  write_output(out, run_page(page));
  return signals.pending() == 0 ? ExitCode::kDone : static_cast<ExitCode>(128 + signals.pending());
}

}  // namespace graphrun
