#include "tests/tools/oracle/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/random.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

class Sampler {
 public:
  Sampler(StepModel& model, std::int64_t sentences, const SearchCase& options, const Sampling& sampling)
      : model_(model), options_(options), sampling_(sampling), all_(static_cast<std::size_t>(sentences)) {
    const auto count = static_cast<std::size_t>(sentences);
    GRAPHRUN_CHECK(options.max_length.size() == count && options.keys.size() == count, "sample: one for each sentence");
    GRAPHRUN_CHECK(sampling.temperature > 0, "sample: temperature");
  }

  std::vector<std::vector<Hypothesis>> run() {
    std::vector<Row> rows;
    for (std::size_t s = 0; s < all_.size(); ++s) {
      const auto sentence = static_cast<std::int64_t>(s);
      const Given given(options_, sentence);
      all_[s].resize(static_cast<std::size_t>(options_.n_best));
      for (std::int64_t n = 0; n < options_.n_best; ++n) {
        made(sentence, n).ended = false;
        if (most_of(sentence) == 0) continue;
        rows.push_back({sentence, options_.begin, sentence, given.at(0)});
        drawn_.push_back({sentence, n});
      }
    }
    // The end symbol may be the best word before it is allowed.
    const std::int64_t count =
        sampling_.top_k > 0 ? sampling_.top_k + (options_.min_length > 0 ? 1 : 0) : std::numeric_limits<std::int32_t>::max();
    while (!rows.empty()) rows = step(rows, count);
    for (auto& samples : all_) {
      for (Hypothesis& h : samples)
        h.score = options_.norm.score(h.log_probability, static_cast<std::int64_t>(h.words.size()) + (h.ended ? 1 : 0));
    }
    return std::move(all_);
  }

 private:
  struct Draw {
    std::int64_t sentence, number;  // of its samples
  };
  Hypothesis& made(std::int64_t sentence, std::int64_t number) {
    return all_[static_cast<std::size_t>(sentence)][static_cast<std::size_t>(number)];
  }
  std::int64_t most_of(std::int64_t sentence) const {
    return std::max(options_.max_length[static_cast<std::size_t>(sentence)], Given(options_, sentence).length());
  }

  std::vector<Row> step(const std::vector<Row>& rows, std::int64_t count) {
    const Candidates candidates = model_.step(rows, count);
    std::vector<Row> next;
    std::vector<Draw> going;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const Draw draw = drawn_[r];
      Hypothesis& h = made(draw.sentence, draw.number);
      const auto [word, log_probability] = rows[r].asked != kNoWord ? std::pair(rows[r].asked, candidates.asked.at(r))
                                                                    : choose(candidates, r, draw, h.words.size());
      h.log_probability += log_probability;
      h.rows.push_back(static_cast<std::int64_t>(r));
      h.ended = word == options_.end;
      if (h.ended) continue;
      h.words.push_back(word);
      const auto length = static_cast<std::int64_t>(h.words.size());
      if (length >= most_of(draw.sentence)) continue;
      next.push_back({static_cast<std::int64_t>(r), word, draw.sentence, Given(options_, draw.sentence).at(length)});
      going.push_back(draw);
    }
    drawn_ = std::move(going);
    return next;
  }

  // One of the candidates of the row, and its log-probability.
  std::pair<std::int32_t, double> choose(const Candidates& candidates, std::size_t row, const Draw& draw, std::size_t length) {
    const std::size_t count = static_cast<std::size_t>(candidates.count), first = row * count;
    const bool may_end = static_cast<std::int64_t>(length) >= options_.min_length;
    weights_.clear(), places_.clear();
    double sum = 0;
    for (std::size_t k = first; k < first + count; ++k) {
      if (candidates.words[k] == options_.end && !may_end) continue;
      if (sampling_.top_k > 0 && static_cast<std::int64_t>(places_.size()) == sampling_.top_k) break;
      if (places_.empty()) best_ = candidates.scores[k];
      sum += std::exp((candidates.scores[k] - best_) / sampling_.temperature);
      weights_.push_back(sum), places_.push_back(k);
    }
    GRAPHRUN_CHECK(!places_.empty(), "sample: nothing to draw from");
    const Philox random = philox(options_.keys[static_cast<std::size_t>(draw.sentence)],
                                 static_cast<std::uint32_t>(draw.number), static_cast<std::uint32_t>(length), 0, 0);
    const double at = unit_double(random.v[0], random.v[1]) * sum;
    const auto found = std::upper_bound(weights_.begin(), weights_.end(), at) - weights_.begin();
    const std::size_t k = places_[std::min(static_cast<std::size_t>(found), places_.size() - 1)];
    return {candidates.words[k], candidates.scores[k]};
  }

  StepModel& model_;
  const SearchCase& options_;
  const Sampling& sampling_;
  std::vector<std::vector<Hypothesis>> all_;
  std::vector<Draw> drawn_;  // by row
  std::vector<double> weights_;
  std::vector<std::size_t> places_;
  double best_ = 0;
};

}  // namespace

std::vector<std::vector<Hypothesis>> sample(StepModel& model, std::int64_t sentences, const SearchCase& options,
                                            const Sampling& sampling) {
  return Sampler(model, sentences, options, sampling).run();
}

}  // namespace graphrun
