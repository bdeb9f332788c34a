// graphrun evaluate MODEL --data FILE …
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "runtime/base/file.h"
#include "tools/commands/command_line.h"
#include "tools/json/json.h"
#include "tools/model/evaluator.h"
#include "tools/model/loaded_models.h"
#include "tools/processes/processes.h"

namespace graphrun {
namespace {

void keep_reports(Report& report, const std::vector<std::string>& wanted) {
  const std::vector<std::string> known = report.entry_names();
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = did_you_mean(name, known);
    throw UsageError(fmt::format("--report {}: the job has no report '{}'; {}it has {}", name, name,
                                 near.empty() ? "" : near + " ", fmt::join(known, ", ")));
  }
  report.keep(wanted);
}

ExitCode evaluate_together(const Arguments& arguments, Communicator* together) {
  po::options_description group("evaluation", 100);
  group.add_options()("data", po::value<std::vector<std::string>>()->multitoken()->value_name("FILE ..."),
                      "data in the job's format; its test files unless given")("json", "one JSON object instead of a table")(
      "details", "also results by class, kind or group, and confusions")(
      "report", po::value<std::vector<std::string>>()->value_name("NAME"), "only this report; may be repeated")(
      "each", po::value<std::string>()->value_name("FILE"),
      "also the reports of every example, in FILE: one JSON object a line, in the data's order; without reports that compare "
      "text")("no-shortlist", kNoShortlistHelp)("weights", po::value<std::string>()->value_name("FORM"), kWeightsHelp)(
      "device", po::value<std::string>()->default_value("auto")->value_name("NAME"), kDeviceOfEachHelp);
  CommandLine line;
  line.usage = "graphrun evaluate MODEL [--data FILE ...] [option ...]";
  line.about =
      "Prints the job's reports of a trained model on data. MODEL is a folder that graphrun train wrote, or a\n"
      "job whose infer block loads several such folders, an ensemble.\n"
      "Under mpirun or srun, the processes share the batches; the reports have the same bits as with one process.";
  line.examples = {"graphrun evaluate run", "graphrun evaluate run --data other.txt",
                   "graphrun evaluate run --details --report gate --set 'report+=gate = mean(read.forward.i) by tags'"};
  line.words = {{"MODEL"}};
  line.groups.push_back(group);
  line.groups.push_back(set_option());
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  if (const std::vector<Diagnostic> warnings = share_cores(*options, together); !warnings.empty()) {
    std::cerr << render(warnings, color_on_stderr()) << std::endl;
  }
  Model model = open_model(option<std::string>(*options, "MODEL"), option<std::vector<std::string>>(*options, "set"));
  const Network& network = model.network;
  const std::optional<WeightForm> weights = weights_option(*options);
  if (weights) {
    for (InferSpec& mode : model.network.job.infer) mode.weights = *weights;
  }
  const Device& device = device_for(*options, network.job, together);
  for (InferSpec& mode : model.network.job.infer) {
    if (options->count("no-shortlist") != 0 && mode.generate) mode.generate->shortlist.reset();
  }
  if (const auto wanted = option<std::vector<std::string>>(*options, "report"); !wanted.empty()) {
    keep_reports(*model.network.report, wanted);
  }
  const auto each_file = option<std::string>(*options, "each");
  if (each_file == "-") throw UsageError("--each takes a file: stdout has the set's figures");
  if (!each_file.empty() && network.job.data.format == Format::kStream)
    throw UsageError("--each: the job's data is a stream, which has no examples to report one by one");
  std::vector<std::string> files = option<std::vector<std::string>>(*options, "data");
  const bool given = !files.empty();
  if (!given) files = network.job.data.test;
  if (files.empty()) throw UsageError("the model's job names no test data: --data FILE is missing");
  refuse_to_overwrite("--each", each_file, files);
  Evaluator evaluator(load_graph(network.request(false)), network, device, weights.value_or(WeightForm::kFloat32));
  DatasetOptions reading;
  reading.texts = network.report->text_fields();
  reading.plan = network.job.plan.get();
  if (!given) reading.at = network.job.data.at.test;
  const Dataset set = read_dataset(network.job.data, network.vocabularies, files, reading);
  Variables variables;
  for (const auto& [name, tensor] : model.parameters.tensors) variables.set(name, tensor);
  std::optional<AtomicFile> each;  // opened first, so that an unwritable path is reported before the work
  const bool writes = together == nullptr || together->rank() == 0;
  if (!each_file.empty() && writes) each.emplace(each_file);
  const std::optional<ReportResults> evaluated = evaluator.evaluate(set, variables, {}, together);
  if (!writes) {
    if (!each_file.empty()) evaluator.evaluate_each(set, variables, {}, together);
    return ExitCode::kDone;
  }
  const ReportResults& results = *evaluated;
  const bool json = options->count("json") != 0, details = options->count("details") != 0;
  nlohmann::ordered_json object = results_json(results);
  if (!json) fmt::print("{}", results_table({{given ? "data" : "test", results}}));
  if (details) {
    const auto all = network.report->details();
    if (all.empty())
      fmt::print(stderr, "no report of this job has details: accuracy, spans and those of text (bleu, chrf, cer, …) do\n");
    for (const auto& [name, tables] : all) {
      for (const Table& table : tables) {
        object["details"][name].push_back(table_json(table));
        if (!json) fmt::print("\n{}: {}", name, table_text(table));
      }
    }
  }
  if (json) fmt::print("{}\n", json_text(object));
  if (each) {
    const auto write_one = [&](std::int64_t example, const ReportResults& of) {
      nlohmann::ordered_json of_one = {{"example", example + 1}};
      of_one.update(results_json(of));
      each->write(json_text(of_one) + "\n");
    };
    evaluator.evaluate_each(set, variables, write_one, together);
    each->commit();
  }
  return ExitCode::kDone;
}

}  // namespace

ExitCode run_evaluate(const Arguments& arguments) {
  return in_processes("evaluate", kSilence, [&](Communicator* together) { return evaluate_together(arguments, together); });
}

}  // namespace graphrun
