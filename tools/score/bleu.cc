#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

#include "tools/score/text_score.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

constexpr std::size_t kOrder = 4;
// The counts of a segment: the lengths of the output and of the closest reference, then for each order the matches and all
// n-grams.
constexpr std::size_t kOutput = 0, kReference = 1, kCorrect = 2, kTotal = kCorrect + kOrder, kCounts = kTotal + kOrder;

using Ngrams = std::unordered_map<std::string, std::int64_t>;

// All n-grams up to kOrder. Each word of a key is followed by a line break, which words do not contain.
Ngrams ngrams_of(const std::vector<std::string>& words) {
  Ngrams ngrams;
  for (std::size_t begin = 0; begin < words.size(); ++begin) {
    std::string ngram;
    for (std::size_t n = 0; n < kOrder && begin + n < words.size(); ++n) {
      ngram.append(words[begin + n]).push_back('\n');
      ++ngrams[ngram];
    }
  }
  return ngrams;
}

template <class Real>
struct Parts {
  std::array<Real, kOrder> precisions{};  // in percent
  double brevity = 1;
  double score = 0;
};

template <class Real>
Parts<Real> parts_of(const Counts& sums, bool smooth) {
  Parts<Real> parts;
  const auto output = static_cast<double>(sums[kOutput]), reference = static_cast<double>(sums[kReference]);
  if (output < reference) parts.brevity = output > 0 ? std::exp(1 - reference / output) : 0;
  if (std::all_of(sums.begin() + kCorrect, sums.begin() + kTotal, [](std::int64_t n) { return n == 0; })) return parts;
  Real smoothing = 1;
  for (std::size_t n = 0; n < kOrder; ++n) {
    const auto correct = static_cast<Real>(sums[kCorrect + n]), total = static_cast<Real>(sums[kTotal + n]);
    if (total == 0) break;
    if (correct > 0) {
      parts.precisions[n] = 100 * correct / total;
    } else if (smooth) {
      smoothing *= 2;
      parts.precisions[n] = 100 / (smoothing * total);
    }
  }
  double logarithms = 0;
  for (const Real precision : parts.precisions) logarithms += precision > 0 ? std::log(precision) : -9999999999.0;
  parts.score = parts.brevity * std::exp(logarithms / static_cast<double>(kOrder));
  return parts;
}

class Bleu : public TextScore {
 public:
  explicit Bleu(const BleuOptions& options) : options_(options) {}

  Counts counts(const std::string& output, std::span<const std::string> references) const override {
    const std::vector<std::string> words = words_of(output);
    Ngrams allowed;
    Counts counts(kCounts);
    std::int64_t nearest = -1;
    const auto length = static_cast<std::int64_t>(words.size());
    counts[kOutput] = length;
    for (const std::string& reference : references) {
      const std::vector<std::string> theirs = words_of(reference);
      for (const auto& [ngram, count] : ngrams_of(theirs)) allowed[ngram] = std::max(allowed[ngram], count);
      // If two are equally close, the shorter counts.
      const auto other = static_cast<std::int64_t>(theirs.size()), distance = std::abs(length - other);
      if (nearest >= 0 && (distance > nearest || (distance == nearest && other >= counts[kReference]))) continue;
      nearest = distance;
      counts[kReference] = other;
    }
    for (const auto& [ngram, count] : ngrams_of(words)) {
      const auto n = static_cast<std::size_t>(std::count(ngram.begin(), ngram.end(), '\n')) - 1;
      counts[kTotal + n] += count;
      const auto known = allowed.find(ngram);
      if (known != allowed.end()) counts[kCorrect + n] += std::min(count, known->second);
    }
    return counts;
  }
  double score(const Counts& sums) const override { return parts_of<double>(sums, options_.smooth).score; }
  double single_score(const Counts& sums) const override { return parts_of<float>(sums, options_.smooth).score; }
  std::string name() const override { return "BLEU"; }
  std::string signature(std::size_t references) const override {
    return fmt::format("BLEU|refs:{}|case:{}|tok:{}|smooth:{}", references, options_.lower_case ? "lower" : "mixed",
                       name_of(options_.tokenization), options_.smooth ? "exp" : "none");
  }
  std::string figures(const Counts& sums) const override {
    const Parts<double> parts = parts_of<double>(sums, options_.smooth);
    const auto& p = parts.precisions;
    return fmt::format("{:.2f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", parts.score,
                       p[0], p[1], p[2], p[3], parts.brevity, ratio(sums), sums[kOutput], sums[kReference]);
  }

 protected:
  static double ratio(const Counts& sums) {
    return sums[kReference] == 0 ? 0 : static_cast<double>(sums[kOutput]) / static_cast<double>(sums[kReference]);
  }

  BleuOptions options_;

 private:
  std::vector<std::string> words_of(const std::string& text) const {
    if (!options_.lower_case) return tokenize(text, options_.tokenization);
    const bool bytes = options_.tokenization == Tokenization::kBytes;
    return tokenize(bytes ? ascii_lower_case(text) : full_lower_case(text), options_.tokenization);
  }
};

class MultiBleu : public Bleu {
 public:
  explicit MultiBleu(bool lower_case) : Bleu({Tokenization::kBytes, lower_case, false}) {}
  std::string name() const override { return "multi-bleu"; }
  std::string signature(std::size_t references) const override {
    return fmt::format("multi-bleu|refs:{}|case:{}", references, options_.lower_case ? "lower" : "mixed");
  }
  std::string figures(const Counts& sums) const override {
    const Parts<double> parts = parts_of<double>(sums, false);
    const auto& p = parts.precisions;
    return fmt::format("{:.2f}, {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP={:.3f}, ratio={:.3f}, hyp_len={}, ref_len={})", parts.score,
                       p[0], p[1], p[2], p[3], parts.brevity, ratio(sums), sums[kOutput], sums[kReference]);
  }
};

}  // namespace

std::unique_ptr<TextScore> make_bleu(const BleuOptions& options) { return std::make_unique<Bleu>(options); }
std::unique_ptr<TextScore> make_multi_bleu(bool lower_case) { return std::make_unique<MultiBleu>(lower_case); }

void add_counts(Counts& sums, const Counts& counts) {
  if (sums.size() < counts.size()) sums.resize(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) sums[i] += counts[i];
}

}  // namespace graphrun
