// graphrun plot MODEL …: the curves of training runs; with options, pictures of what models compute.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <sstream>

#include "tools/cli/program.h"
#include "tools/commands/command_line.h"
#include "tools/plot/alignments.h"
#include "tools/plot/chart.h"
#include "tools/plot/figures.h"
#include "tools/plot/page.h"

namespace graphrun {
namespace {

const std::vector<std::string> kPictures = {"alignments", "groups", "arcs", "matrix", "surface"};

// "-6,6": two numbers, the first one less.
std::pair<double, double> range_of(const std::string& text) {
  const std::size_t comma = text.find(',');
  std::pair<double, double> range;
  const auto number = [&](const std::string& part, double& value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && end == part.data() + part.size();
  };
  if (comma == std::string::npos || !number(text.substr(0, comma), range.first) ||
      !number(text.substr(comma + 1), range.second) || !(range.first < range.second)) {
    throw UsageError("--range takes two numbers, LOW,HIGH, with LOW less than HIGH; found '" + text + "'");
  }
  return range;
}

std::string name_of_input(const std::string& file) { return file == "-" ? "stdin" : file; }

std::string alignments_picture(const std::string& file) {
  const std::vector<AlignedSentence> sentences = parse_alignments(read_input(file), name_of_input(file));
  if (sentences.empty())
    throw UserError(ExitCode::kBadData, "E0691 bad-alignments", "there is nothing to draw: no line has words");
  return draw_alignments(sentences);
}

std::string groups_picture(const po::variables_map& options, const std::string& file) {
  std::vector<std::pair<std::string, Table>> groups = parse_groups(read_input(file), name_of_input(file)), chosen;
  const auto wanted = option<std::vector<std::string>>(options, "report");
  if (wanted.empty()) return draw_groups(groups);
  std::vector<std::string> known;
  for (const auto& [name, table] : groups) known.push_back(name);
  for (const std::string& name : wanted) {
    const auto before = chosen.size();
    for (const auto& group : groups) {
      if (group.first == name) chosen.push_back(group);
    }
    if (chosen.size() > before) continue;
    const std::string near = did_you_mean(name, known);
    throw UsageError(fmt::format("--report {}: '{}' has no groups of that report; {}it has those of {}", name, file,
                                 near.empty() ? "" : near + " ", fmt::join(known, ", ")));
  }
  return draw_groups(chosen);
}

std::string words_picture(const po::variables_map& options, const std::string& kind) {
  const auto file = option<std::string>(options, kind);
  std::vector<WordWeights> found =
      parse_word_weights(read_input(file), name_of_input(file), option<std::string>(options, "key"));
  std::vector<std::string> given;
  if (options.count("words") != 0) {
    std::istringstream words(option<std::string>(options, "words"));
    for (std::string word; words >> word;) given.push_back(word);
  }
  for (WordWeights& sentence : found) {
    if (options.count("words") != 0) sentence.words = given;
    if (sentence.words.empty()) throw UsageError(fmt::format("--words is missing: '{}' names no words", file));
    if (sentence.words.size() == sentence.weights.size()) continue;
    throw UsageError(fmt::format("{} {}; '{}' has weights of {}", given.empty() ? "there are" : "--words has",
                                 counted(static_cast<std::int64_t>(sentence.words.size()), "word"), file,
                                 sentence.weights.size()));
  }
  return kind == "arcs" ? draw_arcs(found) : draw_matrices(found);
}

std::string surfaces_picture(const po::variables_map& options) {
  const auto [low, high] = range_of(option<std::string>(options, "range"));
  std::vector<Surface> surfaces;
  for (const std::string& expression : option<std::vector<std::string>>(options, "surface"))
    surfaces.push_back(surface_of(expression, low, high, 61));
  return draw_surfaces(surfaces);
}

std::string curves_picture(const po::variables_map& options) {
  if (options.count("MODEL") == 0) throw UsageError("MODEL is missing: the folder of a run, or several");
  std::vector<std::string> folders;
  for (const std::string& given : option<std::vector<std::string>>(options, "MODEL")) {
    const std::vector<std::string> held = runs_in(given);
    folders.insert(folders.end(), held.begin(), held.end());
  }
  const std::vector<std::string> names = names_of_runs(folders);
  std::vector<RunCurves> runs;
  bool any = false;
  for (std::size_t r = 0; r < folders.size(); ++r) {
    runs.push_back(read_run(folders[r]));
    runs.back().name = names[r];
    any = any || !runs.back().order.empty();
  }
  if (!any)
    throw UserError(ExitCode::kBadData, "E0690 bad-metrics", "there is nothing to draw: no run has any figures yet",
                    {"help: a run has its first figures after 100 steps or an epoch"});
  return draw_runs(runs);
}

}  // namespace

ExitCode run_plot(const Arguments& arguments) {
  po::options_description group("pictures instead of curves", 100), how("the picture", 100);
  group.add_options()("alignments", po::value<std::string>()->value_name("FILE"),
                      "the alignments that `graphrun infer --json` wrote, as heat maps")(
      "groups", po::value<std::string>()->value_name("FILE"),
      "the groups that `graphrun evaluate --details --json` wrote: lines over numbers, with a band of one deviation, else "
      "bars")("report", po::value<std::vector<std::string>>()->value_name("NAME"),
              "with --groups, only this report; may be repeated")(
      "arcs", po::value<std::string>()->value_name("FILE"),
      "words, and from each an arc to the earlier word with the greatest weight; FILE: a JSON object with a square matrix, or "
      "one a line")("matrix", po::value<std::string>()->value_name("FILE"), "the same weights as a heat map")(
      "key", po::value<std::string>()->default_value("weights")->value_name("NAME"),
      "the matrix in the object of --arcs or --matrix")("words", po::value<std::string>()->value_name("TEXT"),
                                                        "the words of --arcs or --matrix, if the object has none")(
      "surface", po::value<std::vector<std::string>>()->value_name("EXPRESSION"),
      "an expression of the language over x and y, as colors with contours; may be repeated")(
      "range", po::value<std::string>()->default_value("-6,6")->value_name("LOW,HIGH"), "of x and y in --surface");
  how.add_options()("out,o", po::value<std::string>()->default_value("-")->value_name("FILE"),
                    "the SVG file, or an HTML page if the name ends in .html; - is stdout");
  CommandLine line;
  line.usage =
      "graphrun plot MODEL ... [-o FILE]\n       graphrun plot --groups FILE|--arcs FILE|--surface EXPRESSION ... [-o FILE]";
  line.about =
      "Draws the curves of training runs, several in one picture: loss, gradient norm, learning rate, each report on the\n"
      "validation data, and what train { watch { … } } records. MODEL is a folder to which graphrun train wrote or is "
      "writing,\n"
      "or a folder of such folders, as with --seeds. With options, draws what models compute.";
  line.examples = {"graphrun plot runs/lstm runs/atr -o both.svg",
                   "graphrun evaluate build/janet --details --json | graphrun plot --groups - -o gates.svg",
                   "graphrun plot --surface 'sigmoid(x + y)' --surface 'sigmoid(x - y)' -o gates.html",
                   "graphrun infer graphs/jobs/attention_multi30k.pbtxt --json --fetch encode.attention lines.en |\n"
                   "    graphrun plot --arcs - --key encode.attention -o arcs.svg"};
  line.words = {{"MODEL", false, true}};
  line.groups.push_back(group);
  line.groups.push_back(how);
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const auto out = option<std::string>(*options, "out");
  const std::string ending = std::filesystem::path(out).extension();
  if (!ending.empty() && ending != ".svg" && ending != ".html" && ending != ".htm")
    throw UsageError(
        fmt::format("--out {}: the picture is SVG, or an HTML page; expected a name that ends in .svg or .html", out));
  std::string kind;
  for (const std::string& picture : kPictures) {
    if (options->count(picture) == 0) continue;
    if (!kind.empty()) throw UsageError(fmt::format("--{} and --{} are two pictures: draw one at a time", kind, picture));
    kind = picture;
  }
  if (!kind.empty() && options->count("MODEL") != 0) throw UsageError(fmt::format("--{} takes the place of MODEL", kind));
  std::string svg;
  if (kind.empty()) {
    svg = curves_picture(*options);
  } else if (kind == "surface") {
    svg = surfaces_picture(*options);
  } else if (kind == "alignments") {
    svg = alignments_picture(option<std::string>(*options, kind));
  } else if (kind == "groups") {
    svg = groups_picture(*options, option<std::string>(*options, kind));
  } else {
    svg = words_picture(*options, kind);
  }
  const bool page = ending == ".html" || ending == ".htm";
  write_output(out, page ? html_page("graphrun plot", {{kind.empty() ? "Curves" : kind, svg_image(svg, kind)}}) : svg);
  return ExitCode::kDone;
}

}  // namespace graphrun
