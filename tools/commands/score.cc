// graphrun score OUTPUT REFERENCE …
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/commands/command_line.h"
#include "tools/json/json.h"
#include "tools/score/alignment.h"
#include "tools/score/significance.h"
#include "tools/score/text_score.h"
#include "tools/text/lines.h"
#include "tools/text/text.h"

namespace graphrun {
namespace {

struct File {
  std::string name;
  std::vector<std::string> lines;
};

File read(const std::string& path) {
  if (path != "-") return {path, read_lines(path)};
  File file{"stdin", {}};
  LineReader reader(STDIN_FILENO, "stdin");
  for (std::string line; reader.next(line);) file.lines.push_back(line);
  return file;
}

void check_equal(const File& a, const File& b) {
  if (a.lines.size() == b.lines.size()) return;
  throw UserError(ExitCode::kBadData, "E0653 unequal-files",
                  fmt::format("'{}' has {} lines, '{}' has {}", a.name, a.lines.size(), b.name, b.lines.size()),
                  {"help: line n of each file is one segment, so the files must have equally many lines"});
}

struct ScoreSettings {
  Tokenization tokenization = Tokenization::k13a;
  bool lower_case = false, json = false;
  std::int64_t samples = 1000, step = 10;
  std::uint64_t seed = 0;
  std::int64_t from = 0, gold_from = 1;  // the number of a sentence's first word
};

constexpr const char* kAlignmentErrorRate = "aer";
constexpr const char* kSoftAlignmentErrorRate = "saer";

std::unique_ptr<TextScore> make_score(const std::string& metric, const ScoreSettings& settings) {
  if (metric == "bleu") return make_bleu({settings.tokenization, settings.lower_case, true});
  if (metric == "multi-bleu") return make_multi_bleu(settings.lower_case);
  if (metric == "chrf" || metric == "chrf++")
    return make_chrf({ChrfOptions().characters, metric == "chrf" ? 0 : 2, settings.lower_case});
  if (metric == "cer") return make_error_rate(EditUnit::kCharacters, settings.lower_case);
  if (metric == "wer") return make_error_rate(EditUnit::kWords, settings.lower_case);
  if (metric == "exact") return make_exact(settings.lower_case);
  throw UsageError(fmt::format("--metric takes bleu, multi-bleu, chrf, chrf++, cer, wer, exact, {} or {}, found '{}'",
                               kAlignmentErrorRate, kSoftAlignmentErrorRate, metric));
}

// What is scored: outputs (the others are compared with the first) and references.
struct Segments {
  std::vector<File> outputs, references;
  std::optional<File> source;

  std::vector<std::string> references_of(std::size_t line) const {
    std::vector<std::string> all;
    for (const File& file : references) all.push_back(file.lines[line]);
    return all;
  }
};

// One score of all outputs, and how it is printed.
class Scored {
 public:
  Scored(const TextScore& score, const Segments& segments, const ScoreSettings& settings)
      : score_(score), segments_(segments), settings_(settings), counts_(segments.outputs.size()) {
    for (std::size_t line = 0; line < segments.outputs.front().lines.size(); ++line) {
      const std::vector<std::string> references = segments.references_of(line);
      for (std::size_t o = 0; o < counts_.size(); ++o)
        counts_[o].push_back(score.counts(segments.outputs[o].lines[line], references));
    }
  }

  void write(nlohmann::ordered_json& json) const {
    write_whole(json);
    if (segments_.source) write_by_length(json);
    if (counts_.size() > 1) write_comparison(json);
  }

 private:
  void write_whole(nlohmann::ordered_json& json) const {
    const Counts sums = sums_of(counts_.front(), [](std::size_t) { return true; });
    const std::string signature =
        fmt::format("{}|program:graphrun {}", score_.signature(segments_.references.size()), version());
    json["score"] = score_.score(sums);
    json["signature"] = signature;
    json["figures"] = score_.figures(sums);
    if (!settings_.json) fmt::print("{} = {}\n", signature, score_.figures(sums));
  }

  template <class Wanted>
  static Counts sums_of(const std::vector<Counts>& segments, const Wanted& wanted) {
    Counts sums;
    for (std::size_t i = 0; i < segments.size(); ++i)
      if (wanted(i)) add_counts(sums, segments[i]);
    return sums;
  }

  // Scores by length of the source in words, in groups of `step` lengths.
  void write_by_length(nlohmann::ordered_json& json) const {
    std::vector<std::int64_t> group;
    for (const std::string& line : segments_.source->lines)
      group.push_back((std::max<std::int64_t>(static_cast<std::int64_t>(words_of(line).size()), 1) - 1) / settings_.step);
    const std::int64_t last = group.empty() ? -1 : *std::max_element(group.begin(), group.end());
    if (!settings_.json) fmt::print("\n{:>12}  {:>8}  {}\n", "source words", "segments", score_.name());
    for (std::int64_t g = 0; g <= last; ++g) {
      const auto count = std::count(group.begin(), group.end(), g);
      if (count == 0) continue;
      const Counts sums = sums_of(counts_.front(), [&](std::size_t i) { return group[i] == g; });
      const std::int64_t least = g * settings_.step + 1, most = (g + 1) * settings_.step;
      json["by_length"].push_back({{"from", least}, {"to", most}, {"segments", count}, {"score", score_.score(sums)}});
      if (!settings_.json) fmt::print("{:>12}  {:>8}  {:.2f}\n", fmt::format("{}-{}", least, most), count, score_.score(sums));
    }
  }

  void write_comparison(nlohmann::ordered_json& json) const {
    const std::vector<Bootstrap> results = paired_bootstrap(score_, counts_, settings_.samples, settings_.seed);
    std::size_t width = 0;
    for (const File& file : segments_.outputs) width = std::max(width, file.name.size());
    if (!settings_.json)
      fmt::print("\npaired bootstrap|samples:{}|seed:{}\n{:<{}}  {:>6}  {:>14}  {:>6}\n", settings_.samples, settings_.seed, "",
                 width, score_.name(), "mean ± 95 %", "p");
    for (std::size_t o = 0; o < results.size(); ++o) {
      const Bootstrap& r = results[o];
      nlohmann::ordered_json entry = {
          {"file", segments_.outputs[o].name}, {"score", r.score}, {"mean", r.mean}, {"margin", r.margin}};
      if (o > 0) entry["p"] = r.p_value;
      json["bootstrap"].push_back(std::move(entry));
      if (settings_.json) continue;
      fmt::print("{:<{}}  {:>6.2f}  {:>14}  {:>6}\n", segments_.outputs[o].name, width, r.score,
                 fmt::format("{:.2f} ± {:.2f}", r.mean, r.margin), o > 0 ? fmt::format("{:.4f}", r.p_value) : "");
    }
  }

  const TextScore& score_;
  const Segments& segments_;
  const ScoreSettings& settings_;
  std::vector<std::vector<Counts>> counts_;  // by output, then by segment
};

void write_alignment(bool soft, const Segments& segments, const ScoreSettings& settings, nlohmann::ordered_json& json) {
  if (segments.references.size() > 1 || segments.outputs.size() > 1 || segments.source)
    throw UsageError("alignments are scored against one file of gold ones, without --against and --by-length");
  const File &output = segments.outputs.front(), &gold = segments.references.front();
  AlignmentErrorRate rate;
  for (std::size_t i = 0; i < gold.lines.size(); ++i) {
    const auto line = static_cast<std::int64_t>(i) + 1;
    const GoldAlignment links = parse_gold(gold.lines[i], settings.gold_from, {gold.name, line});
    if (soft)
      rate.add(parse_weights(output.lines[i], {output.name, line}), links);
    else
      rate.add(parse_links(output.lines[i], settings.from, {output.name, line}), links);
  }
  json = {{"score", rate.rate()}, {"precision", rate.precision()}, {"recall", rate.recall()}};
  if (!settings.json)
    fmt::print("{}|program:graphrun {} = {:.4f} (precision = {:.4f} recall = {:.4f})\n", soft ? "SAER" : "AER", version(),
               rate.rate(), rate.precision(), rate.recall());
}

std::int64_t number(const po::variables_map& options, const char* name, std::int64_t least) {
  const std::int64_t value = option<std::int64_t>(options, name);
  if (value < least) throw UsageError(fmt::format("--{} takes a number from {}", name, least));
  return value;
}

ScoreSettings read_settings(const po::variables_map& options) {
  ScoreSettings settings;
  const std::string name = option<std::string>(options, "tokenize");
  const auto tokenization = parse_tokenization(name);
  if (!tokenization) throw UsageError(fmt::format("--tokenize takes 13a, none, char or zh, found '{}'", name));
  settings.tokenization = *tokenization;
  settings.lower_case = options.count("lowercase") != 0;
  settings.json = options.count("json") != 0;
  settings.samples = number(options, "samples", 1);
  settings.step = number(options, "length-step", 1);
  settings.from = number(options, "links-from", 0);
  settings.gold_from = number(options, "gold-from", 0);
  constexpr std::uint64_t kSeed = 12345;  // sacreBLEU's
  settings.seed = seed_option(options).value_or(kSeed);
  return settings;
}

po::options_description score_options() {
  po::options_description group("scores", 100);
  const auto names = [](const char* what) { return po::value<std::vector<std::string>>()->value_name(what); };
  const auto count = [](std::int64_t value) { return po::value<std::int64_t>()->default_value(value)->value_name("N"); };
  auto add = group.add_options();
  add("metric", names("NAME"),
      "bleu (as sacreBLEU; unless given), multi-bleu, chrf, chrf++, cer, wer, exact, aer or saer; may be repeated");
  add("tokenize", po::value<std::string>()->default_value("13a")->value_name("NAME"), "for bleu: 13a, none, char or zh");
  add("lowercase", "letters are compared in lower case");
  add("against", names("FILE"),
      "another output: is it better or worse than OUTPUT by more than chance? (paired bootstrap); may be repeated");
  add("samples", count(1000), "the number of bootstrap samples of all segments");
  add("seed", po::value<std::string>()->value_name("N"), "the seed of the bootstrap, as in sacreBLEU; 12345 unless given");
  add("by-length", po::value<std::string>()->value_name("FILE"), "the source: also the scores by its segments' words");
  add("length-step", count(10), "how many lengths of the source make a group");
  add("links-from", count(0), "aer: the number of a sentence's first word in OUTPUT");
  add("gold-from", count(1), "aer, saer: the same in REFERENCE");
  add("json", "one JSON object instead of text");
  return group;
}

}  // namespace

ExitCode run_score(const Arguments& arguments) {
  CommandLine line;
  line.usage = "graphrun score OUTPUT REFERENCE [REFERENCE ...] [option ...]";
  line.about =
      "Scores lines of text against references, line by line, and prints each score with how it was computed. cer and wer\n"
      "are edits of characters and words relative to the length of the reference, exact is the share of correct lines; all\n"
      "three are percentages over the whole set. For aer and saer, OUTPUT contains alignments: links as Moses writes them\n"
      "(0-0 1-2) or weights as Marian does (0.9,0.1 0.2,0.8, by target word). REFERENCE contains sure and possible links\n"
      "(1-1 2p3).";
  line.examples = {"graphrun score output.txt reference.txt --metric bleu",
                   "graphrun score output.txt first.txt second.txt --metric chrf"};
  line.words = {{"OUTPUT"}, {"REFERENCE", true, true}};
  line.groups.push_back(score_options());
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const ScoreSettings settings = read_settings(*options);
  auto metrics = option<std::vector<std::string>>(*options, "metric");
  if (metrics.empty()) metrics = {"bleu"};
  const auto is_alignment = [](const std::string& m) { return m == kAlignmentErrorRate || m == kSoftAlignmentErrorRate; };
  for (const std::string& metric : metrics)
    if (!is_alignment(metric)) make_score(metric, settings);  // an unknown metric is reported before files are read

  Segments segments;
  segments.outputs.push_back(read(option<std::string>(*options, "OUTPUT")));
  for (const std::string& path : option<std::vector<std::string>>(*options, "against")) segments.outputs.push_back(read(path));
  for (const std::string& path : option<std::vector<std::string>>(*options, "REFERENCE"))
    segments.references.push_back(read(path));
  if (options->count("by-length") != 0) segments.source = read(option<std::string>(*options, "by-length"));
  const File& first = segments.outputs.front();
  for (const File& file : segments.outputs) check_equal(first, file);
  for (const File& file : segments.references) check_equal(first, file);
  if (segments.source) check_equal(first, *segments.source);
  if (first.lines.empty()) throw UserError(ExitCode::kBadData, "E0649 no-examples", fmt::format("no line in '{}'", first.name));

  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const std::string& metric : metrics) {
    if (is_alignment(metric))
      write_alignment(metric == kSoftAlignmentErrorRate, segments, settings, all[metric]);
    else
      Scored(*make_score(metric, settings), segments, settings).write(all[metric]);
  }
  if (settings.json) fmt::print("{}\n", json_text(all));
  return ExitCode::kDone;
}

}  // namespace graphrun
