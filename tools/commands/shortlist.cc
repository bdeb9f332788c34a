// graphrun shortlist MODEL --data FILE … -o lex.txt.gz
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/base/file.h"
#include "tools/commands/command_line.h"
#include "tools/model/inference.h"
#include "tools/model/lexical_table.h"
#include "tools/model/loaded_models.h"
#include "tools/text/gzip.h"

namespace graphrun {
ExitCode run_shortlist(const Arguments& arguments) {
  po::options_description group("shortlist", 100);
  group.add_options()("data", po::value<std::vector<std::string>>()->multitoken()->value_name("FILE ..."),
                      "text with its translations, in the job's format; default: its training files")(
      "output,o", po::value<std::string>()->default_value("lex.txt.gz")->value_name("FILE"),
      "the table; compressed if it ends in .gz; - is stdout")(
      "best", po::value<std::int64_t>()->default_value(100)->value_name("N"), "translations of each word, at most")(
      "mode", po::value<std::string>()->value_name("NAME"), "the infer block of the job; default: the first")(
      "device", po::value<std::string>()->default_value("auto")->value_name("NAME"), kDeviceHelp);
  CommandLine line;
  line.usage = "graphrun shortlist MODEL [--data FILE ...] [-o FILE] [option ...]";
  line.about =
      "Makes the table by which generation searches only the words that a line can need: generate { shortlist { table: … } }.\n"
      "The model reads translations that are given, and its attention (align) says which words belong together. Lines of the\n"
      "table are \"target source probability\". MODEL is as for graphrun infer.";
  line.examples = {"graphrun shortlist run -o table.gz"};
  line.words = {{"MODEL"}};
  line.groups.push_back(group);
  line.groups.push_back(set_option());
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const auto best = option<std::int64_t>(*options, "best");
  if (best < 1) throw UsageError("--best takes a number from 1");
  const Model model = open_model(option<std::string>(*options, "MODEL"), option<std::vector<std::string>>(*options, "set"));
  const Network& network = model.network;
  const InferSpec& mode = infer_block(network.job, option<std::string>(*options, "mode"));
  const std::string& source = alignment_of(mode).field;
  const Device& device = parse_device(option<std::string>(*options, "device"));
  std::vector<std::string> files = option<std::vector<std::string>>(*options, "data");
  if (files.empty()) files = network.job.data.train;
  if (files.empty()) throw UsageError("the model's job names no training data: --data FILE is missing");
  const std::string output = option<std::string>(*options, "output");
  refuse_to_overwrite("--output", output, files);
  std::optional<AtomicFile> file;  // opened first, so that an unwritable path is reported before the work
  if (output != "-") file.emplace(output);
  const LexicalCounts counts = count_alignments(network.graph(false), network, mode, model.parameters, files, device);
  const std::string table = counts.text(network.vocabularies.at(source), network.vocabularies.at(mode.field), best);
  if (table.empty()) {
    throw UserError(
        ExitCode::kBadData,
        {Diagnostic{
            Severity::kError,
            "E0671 bad-lexicon",
            mode.generate->place("align.from"),
            fmt::format("no pairs of words: the attention gives no word of the input a weight of {:g} or more", kLeastWeight),
            {"help: train the model for longer, or give other text with --data"}}});
  }
  if (file) {
    file->write(output.ends_with(".gz") ? gzip(table) : table);
    file->commit();
  } else {
    write_output("-", table);
  }
  if (options->count("quiet") == 0 && output != "-") {
    const auto lines = std::count(table.begin(), table.end(), '\n');
    fmt::print(stderr, "{} in '{}': --set infer.{}.generate.shortlist.table={}\n", counted(lines, "pair"), output, mode.name,
               output);
  }
  return ExitCode::kDone;
}

}  // namespace graphrun
