// Exact matches of lines, and error rates: edits of characters or words, divided by their number in the reference.
#include <fmt/format.h>

#include <limits>
#include <unordered_map>

#include "tools/score/edit_distance.h"
#include "tools/score/text_score.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

// A line's words with one space between them, lowercased if requested.
std::string plain(const std::string& line, bool lower_case) {
  const std::string text = lower_case ? full_lower_case(line) : line;
  std::string out;
  for (const std::string_view word : split_at_spaces(text)) out.append(out.empty() ? "" : " ").append(word);
  return out;
}

// Numbers elements; equal ones get the same number.
class Numbers {
 public:
  std::vector<std::int32_t> of(const std::vector<std::string_view>& elements) {
    std::vector<std::int32_t> numbers;
    numbers.reserve(elements.size());
    for (const std::string_view e : elements)
      numbers.push_back(numbers_.emplace(e, static_cast<std::int32_t>(numbers_.size())).first->second);
    return numbers;
  }

 private:
  std::unordered_map<std::string_view, std::int32_t> numbers_;
};

template <class Real>
Real percentage(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return part == 0 ? Real(0) : Real(100);
  return Real(100) * static_cast<Real>(part) / static_cast<Real>(whole);
}

// A score that is a ratio of two counts: a part and a whole.
class Share : public TextScore {
 public:
  double score(const Counts& sums) const override { return percentage<double>(sums[0], sums[1]); }
  double single_score(const Counts& sums) const override { return percentage<float>(sums[0], sums[1]); }
};

class ErrorRate : public Share {
 public:
  ErrorRate(EditUnit unit, bool lower_case) : unit_(unit), lower_case_(lower_case) {}

  // If there are several references, the closest one counts.
  Counts counts(const std::string& output, std::span<const std::string> references) const override {
    const std::string ours = plain(output, lower_case_);
    Counts best;
    double least = std::numeric_limits<double>::infinity();
    for (const std::string& reference : references) {
      const std::string theirs = plain(reference, lower_case_);
      Numbers numbers;
      const std::vector<std::int32_t> a = numbers.of(elements(ours)), b = numbers.of(elements(theirs));
      Counts counts = {edit_distance(a, b), static_cast<std::int64_t>(b.size())};
      const double rate = percentage<double>(counts[0], counts[1]);
      if (rate >= least) continue;
      least = rate;
      best = std::move(counts);
    }
    return best;
  }
  std::string name() const override { return unit_ == EditUnit::kCharacters ? "CER" : "WER"; }
  std::string signature(std::size_t references) const override {
    return fmt::format("{}|refs:{}|case:{}", name(), references, lower_case_ ? "lower" : "mixed");
  }
  std::string figures(const Counts& sums) const override {
    return fmt::format("{:.2f} (edits = {} {} = {})", score(sums), sums[0],
                       unit_ == EditUnit::kCharacters ? "characters" : "words", sums[1]);
  }

 private:
  std::vector<std::string_view> elements(std::string_view text) const {
    return unit_ == EditUnit::kCharacters ? code_points(text) : split_at_spaces(text);
  }

  EditUnit unit_;
  bool lower_case_;
};

class ExactLines : public Share {
 public:
  explicit ExactLines(bool lower_case) : lower_case_(lower_case) {}

  Counts counts(const std::string& output, std::span<const std::string> references) const override {
    const std::string ours = plain(output, lower_case_);
    for (const std::string& reference : references)
      if (plain(reference, lower_case_) == ours) return {1, 1};
    return {0, 1};
  }
  std::string name() const override { return "exact"; }
  std::string signature(std::size_t references) const override {
    return fmt::format("exact|refs:{}|case:{}", references, lower_case_ ? "lower" : "mixed");
  }
  std::string figures(const Counts& sums) const override {
    return fmt::format("{:.2f} ({} of {} lines)", score(sums), sums[0], sums[1]);
  }

 private:
  bool lower_case_;
};

}  // namespace

std::unique_ptr<TextScore> make_error_rate(EditUnit unit, bool lower_case) {
  return std::make_unique<ErrorRate>(unit, lower_case);
}
std::unique_ptr<TextScore> make_exact(bool lower_case) { return std::make_unique<ExactLines>(lower_case); }

}  // namespace graphrun
