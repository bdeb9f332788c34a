#include "tools/shortlist/lexicon.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>

#include "tools/text/lines.h"

namespace graphrun {
namespace {

constexpr std::string_view kColumnSpace = " \t";
constexpr std::string_view kNullWord = "NULL";  // a word that is aligned to nothing
constexpr const char* kBadLexicon = "E0671 bad-lexicon";
constexpr const char* kLexiconHelp = "help: a line is \"target source number\"; graphrun shortlist MODEL writes such a table";

struct LexicalPair {
  std::int32_t source = 0, target = 0;
  double number = 0;
};

// The columns of a line and where each begins.
struct TableLine {
  std::array<std::string_view, 3> text;
  std::array<std::size_t, 3> at{};
  std::size_t count = 0;  // may be above 3
};

TableLine columns_of(std::string_view line) {
  TableLine columns;
  for (std::size_t begin = line.find_first_not_of(kColumnSpace); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kColumnSpace, begin), line.size());
    if (columns.count < columns.text.size()) {
      columns.text[columns.count] = line.substr(begin, end - begin), columns.at[columns.count] = begin;
    }
    ++columns.count;
    begin = line.find_first_not_of(kColumnSpace, end);
  }
  return columns;
}

double number_in(std::string_view text, const LineReader& reader, std::size_t at) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_out_of_range = error == std::errc::result_out_of_range;
  if (is_out_of_range) number = std::strtod(std::string(text).c_str(), nullptr);  // 0 if it is too small
  if ((error != std::errc() && !is_out_of_range) || end != text.data() + text.size() || !std::isfinite(number)) {
    data_error(kBadLexicon, reader.name(), reader.line(), static_cast<std::int64_t>(at) + 1,
               fmt::format("'{}' is not a number", text), {kLexiconHelp});
  }
  return number;
}

// The better pair of a source word first.
bool comes_first(const LexicalPair& a, const LexicalPair& b) {
  if (a.source != b.source) return a.source < b.source;
  if (a.number != b.number) return a.number > b.number;
  return a.target < b.target;
}

// With the words in the order of their numbers, the better ones first, calls `take` with those that are kept.
template <class Take>
void for_best(std::vector<LexicalPair> pairs, std::int64_t best, const Take& take) {
  std::sort(pairs.begin(), pairs.end(), comes_first);
  std::set<std::int32_t> taken;  // target words of this source word; a table may give a pair twice
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (i > 0 && pairs[i].source != pairs[i - 1].source) taken.clear();
    if (static_cast<std::int64_t>(taken.size()) < best && taken.insert(pairs[i].target).second) take(pairs[i]);
  }
}

}  // namespace

Lexicon Lexicon::read(const std::string& path, const Vocabulary& source, const Vocabulary& target, std::int64_t best,
                      const std::function<void(const Diagnostic&)>& warn) {
  LineReader reader(path);
  std::vector<LexicalPair> pairs;
  std::int64_t unknown = 0;
  std::string first_unknown;
  for (std::string line; reader.next(line);) {
    const TableLine columns = columns_of(line);
    if (columns.count == 0) continue;
    if (columns.count != columns.text.size()) {
      data_error(kBadLexicon, reader.name(), reader.line(), 0,
                 fmt::format("the line has {}; expected a target word, a source word and a number",
                             counted(static_cast<std::int64_t>(columns.count), "column")),
                 {kLexiconHelp});
    }
    const double number = number_in(columns.text[2], reader, columns.at[2]);
    const auto is_none = [](std::string_view word, const Vocabulary& v) { return word == kNullWord && !v.has(word); };
    if (is_none(columns.text[0], target) || is_none(columns.text[1], source)) continue;
    const bool has_target = target.has(columns.text[0]);
    if (!has_target || !source.has(columns.text[1])) {
      if (++unknown == 1) first_unknown = columns.text[has_target ? 1 : 0];
      continue;
    }
    pairs.push_back({source.number(columns.text[1]), target.number(columns.text[0]), number});
  }
  if (pairs.empty()) {
    throw UserError(
        ExitCode::kBadData, kBadLexicon, fmt::format("{}: no line has words of the model's vocabularies", path),
        {"help: a line is \"target source number\", with the target word first; words are entries of the vocabularies: "
         "subwords, where the model has such"});
  }
  if (unknown > 0) {
    warn({Severity::kWarning,
          kBadLexicon,
          {},
          fmt::format("{}: {} passed over, with words that the model's vocabularies lack ('{}', for one)", path,
                      counted(unknown, "line"), first_unknown),
          {}});
  }
  Lexicon lexicon;
  lexicon.begin_.assign(static_cast<std::size_t>(source.size()) + 1, 0);
  for_best(std::move(pairs), best, [&](const LexicalPair& pair) {
    lexicon.words_.push_back(pair.target);
    lexicon.begin_[static_cast<std::size_t>(pair.source) + 1] = lexicon.words_.size();
  });
  for (std::size_t i = 1; i < lexicon.begin_.size(); ++i)
    lexicon.begin_[i] = std::max(lexicon.begin_[i], lexicon.begin_[i - 1]);
  return lexicon;
}

std::span<const std::int32_t> Lexicon::of(std::int32_t source) const {
  const auto s = static_cast<std::size_t>(source);
  return std::span(words_).subspan(begin_.at(s), begin_.at(s + 1) - begin_.at(s));
}

void LexicalCounts::add(std::int32_t source, std::int32_t target, double weight) {
  const std::int64_t units = std::llround(weight / kUnit);
  const std::uint64_t pair =
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32 | static_cast<std::uint32_t>(target);
  if (units > 0) counts_[pair] += units;
}

void LexicalCounts::add(const LexicalCounts& other) {
  for (const auto& [pair, units] : other.counts_) counts_[pair] += units;
}

std::string LexicalCounts::text(const Vocabulary& source, const Vocabulary& target, std::int64_t best) const {
  std::vector<LexicalPair> pairs;
  std::vector<double> sums(static_cast<std::size_t>(source.size()));
  for (const auto& [pair, units] : counts_) {
    const auto s = static_cast<std::int32_t>(pair >> 32), t = static_cast<std::int32_t>(pair & 0xFFFFFFFFU);
    sums[static_cast<std::size_t>(s)] += static_cast<double>(units);  // whole numbers: exact
    const auto is_cut = [](const std::string& entry) {
      return entry.empty() || entry.find_first_of(kColumnSpace) != std::string::npos;
    };
    if (!is_cut(source.entry(s)) && !is_cut(target.entry(t))) pairs.push_back({s, t, static_cast<double>(units)});
  }
  std::string text;
  for_best(std::move(pairs), best, [&](const LexicalPair& pair) {
    text += fmt::format("{} {} {:.6g}\n", target.entry(pair.target), source.entry(pair.source),
                        pair.number / sums[static_cast<std::size_t>(pair.source)]);
  });
  return text;
}

}  // namespace graphrun
