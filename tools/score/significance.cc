#include "tools/score/significance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/base/status.h"
#include "tools/score/numpy_random.h"

namespace graphrun {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Half the width of the interval that contains 95 % of the values.
double margin_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t lower = values.size() / 40, upper = values.size() - lower - 1;
  return 0.5 * (values[upper] - values[lower]);
}

double score_of(const TextScore& score, const std::vector<Counts>& segments) {
  Counts sums;
  for (const Counts& counts : segments) add_counts(sums, counts);
  return score.score(sums);
}

}  // namespace

double bootstrap_p_value(const std::vector<double>& baseline, const std::vector<double>& other, double difference) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < other.size(); ++i) differences.push_back(std::abs(other[i] - baseline[i]));
  const double mean = mean_of(differences);
  if (!std::isfinite(mean) || !std::isfinite(difference)) return std::numeric_limits<double>::quiet_NaN();
  const auto further = std::count_if(differences.begin(), differences.end(), [&](double d) { return d - mean > difference; });
  return static_cast<double>(further + 1) / static_cast<double>(differences.size() + 1);
}

std::vector<Bootstrap> paired_bootstrap(const TextScore& score, const std::vector<std::vector<Counts>>& outputs,
                                        std::int64_t samples, std::uint64_t seed) {
  GRAPHRUN_CHECK(!outputs.empty() && !outputs.front().empty() && samples > 0, "paired_bootstrap: nothing to draw from");
  const std::size_t segments = outputs.front().size();
  for (const auto& output : outputs) GRAPHRUN_CHECK(output.size() == segments, "paired_bootstrap: segments");
  std::vector<std::vector<double>> drawn(outputs.size());
  NumpyRandom random(seed);
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    std::vector<Counts> sums(outputs.size());
    for (std::size_t i = 0; i < segments; ++i) {
      const std::uint32_t segment = random.below(static_cast<std::uint32_t>(segments));
      for (std::size_t o = 0; o < outputs.size(); ++o) add_counts(sums[o], outputs[o][segment]);
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) drawn[o].push_back(score.single_score(sums[o]));
  }
  std::vector<Bootstrap> results;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    Bootstrap result;
    result.score = score_of(score, outputs[o]);
    result.mean = mean_of(drawn[o]);
    result.margin = margin_of(drawn[o]);
    if (o > 0) result.p_value = bootstrap_p_value(drawn[0], drawn[o], std::abs(result.score - results[0].score));
    results.push_back(result);
  }
  return results;
}

}  // namespace graphrun
