// graphrun infer MODEL [FILE]
#include <unistd.h>

#include <cmath>
#include <iostream>

#include "tools/commands/command_line.h"
#include "tools/model/inference.h"
#include "tools/model/loaded_models.h"
#include "tools/processes/processes.h"

namespace graphrun {
namespace {

GenerateOptions generate_options(const po::variables_map& options) {
  GenerateOptions g;
  g.beam = option<std::int64_t>(options, "beam");
  g.n_best = option<std::int64_t>(options, "n-best");
  for (const std::int64_t n : {g.beam, g.n_best}) {
    if (n < 0 || n > kMostBeam) throw UsageError("--beam and --n-best take numbers from 0 to " + std::to_string(kMostBeam));
  }
  g.prefix = option<std::string>(options, "prefix");
  g.force = option<std::string>(options, "force");
  g.alignments = option<std::string>(options, "alignments");
  g.json = options.count("json") != 0;
  g.all_words = options.count("no-shortlist") != 0;
  if (options.count("temperature") != 0) g.temperature = options["temperature"].as<double>();
  if (options.count("top-k") != 0) g.top_k = options["top-k"].as<std::int64_t>();
  g.seed = seed_option(options);
  if (g.temperature && !(*g.temperature > 0 && std::isfinite(*g.temperature)))
    throw UsageError("--temperature takes a number above 0");
  if (g.top_k && *g.top_k < 0) throw UsageError("--top-k takes a number from 0");
  return g;
}

ExitCode infer_together(const Arguments& arguments, Communicator* together) {
  po::options_description group("inference", 100);
  group.add_options()("mode", po::value<std::string>()->value_name("NAME"), "the infer block of the job; default: the first")(
      "beam", po::value<std::int64_t>()->default_value(0)->value_name("N"),
      "for generation: the number of hypotheses of a line; 0: as in the job")(
      "n-best", po::value<std::int64_t>()->default_value(0)->value_name("N"),
      "for generation: output lines for each line, best first (samples in the order drawn), in Moses' format; 0: as in the "
      "job")("json",
             "write JSON lines: entries or values; for generation words, scores, alignment, alternatives and fetched values")(
      "alignments", po::value<std::string>()->value_name("FILE"),
      "for generation with alignments: the file for links of input and output, \"0-0 1-2\", between pieces of words if the "
      "text is split into such, between words with --set infer.NAME.generate.align.units=WORDS")(
      "prefix", po::value<std::string>()->value_name("FILE"),
      "a text for each line, with which the output begins. A language model reads no other lines")(
      "force", po::value<std::string>()->value_name("FILE"),
      "a text for each line, whose log-probability and alignment are written instead of generating. A language model reads no "
      "other lines")("temperature", po::value<double>()->value_name("T"),
                     "draw words instead of searching; scores are divided by T")(
      "top-k", po::value<std::int64_t>()->value_name("N"), "draw words from the N best; 0: from all")(
      "seed", po::value<std::string>()->value_name("N"),
      "draw words with this seed: the same N gives the same words for the same line")("no-shortlist", kNoShortlistHelp)(
      "bad-lines", po::value<std::string>()->default_value("empty")->value_name("HOW"),
      "what happens to a line that is not UTF-8 or is longer than 1 MiB: empty warns and writes an empty line, stop ends the "
      "run")("rows", po::value<std::int64_t>()->default_value(0)->value_name("N"),
             "the most lines of a batch; 0: as in the job's training")(
      "read-ahead", po::value<std::int64_t>()->default_value(InferenceReader::kReadAhead)->value_name("N"),
      "how many lines are read ahead if available, to batch lines of similar length; the output keeps the input's order")(
      "fetch", po::value<std::vector<std::string>>()->value_name("NAME"),
      "a tensor anywhere in the graph, by name (read.forward.i); may be repeated")(
      "fetch-out", po::value<std::string>()->value_name("FILE"),
      "the safetensors file for the --fetch tensors: 0/NAME of the first batch, 1/NAME, ...")(
      "weights", po::value<std::string>()->value_name("FORM"), kWeightsHelp)(
      "device", po::value<std::string>()->default_value("auto")->value_name("NAME"), kDeviceOfEachHelp);
  CommandLine line;
  line.usage = "graphrun infer MODEL [FILE] [option ...]";
  line.about =
      "Runs a trained model on the lines of a file, or of stdin, as the job's infer block says, and writes the results to\n"
      "stdout in the same order: one line for each, several with --n-best, for CONLL one for each word of a sentence. The "
      "lines\n"
      "of a generating language model are prompts, which it continues; an empty line is an empty prompt.\n"
      "MODEL is a folder that graphrun train wrote, or a job whose infer block loads several such folders, an ensemble.\n"
      "Under mpirun or srun, the processes share the lines of FILE, and process 0 writes.";
  line.examples = {"echo 'the old cat' | graphrun infer run", "graphrun infer run lines.txt --weights int8 > answers.txt"};
  line.words = {{"MODEL"}, {"FILE", false}};
  line.groups.push_back(group);
  line.groups.push_back(set_option());
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  InferOptions infer_options;
  infer_options.mode = option<std::string>(*options, "mode");
  infer_options.rows = option<std::int64_t>(*options, "rows");
  infer_options.ahead = option<std::int64_t>(*options, "read-ahead");
  infer_options.fetches = option<std::vector<std::string>>(*options, "fetch");
  infer_options.fetch_file = option<std::string>(*options, "fetch-out");
  infer_options.generate = generate_options(*options);
  const std::string bad_lines = option<std::string>(*options, "bad-lines");
  if (bad_lines != "empty" && bad_lines != "stop")
    throw UsageError("--bad-lines takes empty or stop, found '" + bad_lines + "'");
  infer_options.stop_at_bad_lines = bad_lines == "stop";
  if (infer_options.rows < 0) throw UsageError("--rows takes a number from 0");
  if (infer_options.ahead < 0) throw UsageError("--read-ahead takes a number from 0");

  Model model = open_model(option<std::string>(*options, "MODEL"), option<std::vector<std::string>>(*options, "set"));
  if (const auto weights = weights_option(*options)) {
    for (InferSpec& mode : model.network.job.infer) mode.weights = *weights;
    infer_options.weights = *weights;
  }
  infer_options.device = &device_for(*options, model.network.job, together);
  const std::string file = option<std::string>(*options, "FILE", "-");
  infer_options.from_stdin = file == "-";
  infer_options.together = together;
  if (together != nullptr) {
    const GenerateOptions& g = infer_options.generate;
    if (file == "-" || g.prefix == "-" || g.force == "-") {
      throw UsageError("several processes do not share stdin: name files for the lines, --prefix and --force");
    }
    if (!infer_options.fetch_file.empty()) throw UsageError("--fetch-out works with one process only");
    if (const std::vector<Diagnostic> warnings = share_cores(*options, together); !warnings.empty()) {
      std::cerr << render(warnings, color_on_stderr()) << std::endl;
    }
  }
  auto lines = file == "-" ? std::make_unique<LineReader>(STDIN_FILENO, "stdin") : std::make_unique<LineReader>(file);
  infer(model.network, model.parameters, std::move(lines), infer_options);
  return ExitCode::kDone;
}

}  // namespace

ExitCode run_infer(const Arguments& arguments) {
  return in_processes("infer", kSilence, [&](Communicator* together) { return infer_together(arguments, together); });
}

}  // namespace graphrun
