#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "tools/score/text_score.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

constexpr int kRecallWeight = 2;  // chrF's beta

using NgramCounts = std::unordered_map<std::string, std::int64_t>;

bool is_punctuation(std::string_view point) {
  constexpr std::string_view kMarks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  return point.size() == 1 && kMarks.find(point) != std::string_view::npos;
}

// Words, with one punctuation mark separated at the end or, if there is none, at the beginning.
std::vector<std::string_view> words_and_marks(std::string_view text) {
  std::vector<std::string_view> parts;
  for (const std::string_view word : split_at_spaces(text)) {
    const auto points = code_points(word);
    if (points.size() > 1 && is_punctuation(points.back())) {
      parts.insert(parts.end(), {word.substr(0, word.size() - 1), points.back()});
    } else if (points.size() > 1 && is_punctuation(points.front())) {
      parts.insert(parts.end(), {points.front(), word.substr(1)});
    } else {
      parts.push_back(word);
    }
  }
  return parts;
}

NgramCounts character_ngrams(const std::vector<std::string_view>& parts, std::size_t n, std::string_view between) {
  NgramCounts ngrams;
  for (std::size_t begin = 0; begin + n <= parts.size(); ++begin) {
    std::string ngram;
    for (std::size_t i = 0; i < n; ++i) ngram.append(i == 0 ? "" : between).append(parts[begin + i]);
    ++ngrams[ngram];
  }
  return ngrams;
}

// The F-score; precision and recall are means over the orders that both texts have.
template <class Real>
Real f_score(const Counts& sums) {
  Real precision = 0, recall = 0;
  int orders = 0;
  for (std::size_t i = 0; i + 2 < sums.size(); i += 3) {
    if (sums[i] == 0 || sums[i + 1] == 0) continue;
    precision += static_cast<Real>(sums[i + 2]) / static_cast<Real>(sums[i]);
    recall += static_cast<Real>(sums[i + 2]) / static_cast<Real>(sums[i + 1]);
    ++orders;
  }
  if (orders == 0) return 0;
  precision /= static_cast<Real>(orders);
  recall /= static_cast<Real>(orders);
  if (precision + recall == 0) return 0;
  constexpr int kFactor = kRecallWeight * kRecallWeight;
  return 100 * ((1 + kFactor) * precision * recall / (kFactor * precision + recall));
}

class Chrf : public TextScore {
 public:
  explicit Chrf(const ChrfOptions& options) : options_(options) {}

  // By order: the n-grams of the output, of the best reference, and of both.
  Counts counts(const std::string& output, std::span<const std::string> references) const override {
    const std::vector<NgramCounts> ours = orders_of(output);
    Counts best;
    double highest = -1;
    for (const std::string& reference : references) {
      Counts counts = matches(ours, orders_of(reference));
      const double score = f_score<double>(counts);
      if (score <= highest) continue;
      highest = score;
      best = std::move(counts);
    }
    return best;
  }
  double score(const Counts& sums) const override { return f_score<double>(sums); }
  double single_score(const Counts& sums) const override { return f_score<float>(sums); }
  std::string name() const override { return options_.words == 0 ? "chrF" : "chrF++"; }
  std::string signature(std::size_t references) const override {
    return fmt::format("{}|refs:{}|case:{}|characters:{}|words:{}|beta:{}", name(), references,
                       options_.lower_case ? "lower" : "mixed", options_.characters, options_.words, kRecallWeight);
  }
  std::string figures(const Counts& sums) const override { return fmt::format("{:.2f}", score(sums)); }

 private:
  std::vector<NgramCounts> orders_of(const std::string& given) const {
    const std::string text = options_.lower_case ? full_lower_case(given) : given;
    std::vector<std::string_view> characters;
    for (const std::string_view word : split_at_spaces(text))
      for (const std::string_view point : code_points(word)) characters.push_back(point);
    std::vector<NgramCounts> orders;
    for (int n = 1; n <= options_.characters; ++n)
      orders.push_back(character_ngrams(characters, static_cast<std::size_t>(n), ""));
    const auto words = words_and_marks(text);
    for (int n = 1; n <= options_.words; ++n) orders.push_back(character_ngrams(words, static_cast<std::size_t>(n), " "));
    return orders;
  }

  static Counts matches(const std::vector<NgramCounts>& ours, const std::vector<NgramCounts>& theirs) {
    Counts counts(3 * ours.size());
    for (std::size_t n = 0; n < ours.size(); ++n) {
      for (const auto& [ngram, count] : ours[n]) {
        if (!theirs[n].empty())
          counts[3 * n] += count;  // n-grams that the reference cannot match do not count against the output
        const auto found = theirs[n].find(ngram);
        if (found != theirs[n].end()) counts[3 * n + 2] += std::min(count, found->second);
      }
      for (const auto& [ngram, count] : theirs[n]) counts[3 * n + 1] += count;
    }
    return counts;
  }

  ChrfOptions options_;
};

}  // namespace

std::unique_ptr<TextScore> make_chrf(const ChrfOptions& options) { return std::make_unique<Chrf>(options); }

}  // namespace graphrun
