// Beam search over artificial models whose best sequences are found by enumerating all sequences.
#include "tests/tools/oracle/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/tools/oracle/sampler.h"

namespace graphrun {
namespace {

constexpr std::int32_t kEnd = 0, kBegin = 1;

// A model whose probabilities are a function of the sentence and the words so far, as a network's are.
class MadeUp : public StepModel {
 public:
  // `numbers`: the identity of each sentence, so that a sentence can be searched for separately.
  explicit MadeUp(std::vector<std::int64_t> numbers, std::int32_t words = 5) : numbers_(std::move(numbers)), words_(words) {}

  std::vector<double> scores(std::int64_t number, const std::vector<std::int32_t>& so_far) const {
    std::uint64_t hash = 88172645463325252ull + static_cast<std::uint64_t>(number) * 7919;
    for (std::int32_t w : so_far) hash = (hash ^ static_cast<std::uint64_t>(w + 1)) * 0x9E3779B97F4A7C15ull;
    std::vector<double> p;
    double sum = 0;
    for (std::int32_t w = 0; w < words_; ++w) {
      hash ^= hash << 13, hash ^= hash >> 7, hash ^= hash << 17;
      p.push_back(0.05 + static_cast<double>(hash % 1000) / 1000 * (w == kBegin ? 0 : 1));
      sum += p.back();
    }
    for (double& x : p) x = std::log(x / sum);
    return p;
  }

  Candidates step(const std::vector<Row>& rows, std::int64_t count) override {
    std::vector<std::vector<std::int32_t>> now;
    largest = std::max(largest, rows.size());
    ++steps;
    Candidates out;
    out.count = std::min<std::int64_t>(count, words_);
    for (const Row& row : rows) {
      std::vector<std::int32_t> words;
      if (!so_far_.empty()) {
        words = so_far_.at(static_cast<std::size_t>(row.parent));
        words.push_back(row.word);
      }
      const std::vector<double> p = scores(numbers_.at(static_cast<std::size_t>(row.sentence)), words);
      std::vector<std::int32_t> order(static_cast<std::size_t>(words_));
      for (std::size_t w = 0; w < order.size(); ++w) order[w] = static_cast<std::int32_t>(w);
      std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return p[static_cast<std::size_t>(a)] > p[static_cast<std::size_t>(b)];
      });
      out.asked.push_back(row.asked == kNoWord ? 0 : p.at(static_cast<std::size_t>(row.asked)));
      for (std::int64_t k = 0; k < out.count; ++k) {
        out.words.push_back(order[static_cast<std::size_t>(k)]);
        out.scores.push_back(p[static_cast<std::size_t>(out.words.back())]);
      }
      now.push_back(std::move(words));
    }
    so_far_ = std::move(now);
    return out;
  }

  std::size_t largest = 0;
  int steps = 0;

 private:
  const std::vector<std::int64_t> numbers_;
  const std::int32_t words_;
  std::vector<std::vector<std::int32_t>> so_far_;
};

SearchCase options(std::int64_t beam, std::int64_t n_best, std::vector<std::int64_t> max_length, LengthNorm norm = {}) {
  SearchCase o;
  o.begin = kBegin, o.end = kEnd;
  o.beam = beam, o.n_best = n_best;
  o.max_length = std::move(max_length);
  o.norm = norm;
  return o;
}

// Every sequence up to a length, with its score; best first.
std::vector<Hypothesis> all_of(const MadeUp& model, std::int64_t number, std::int64_t most, const LengthNorm& norm,
                               std::int64_t least = 0) {
  std::vector<Hypothesis> out;
  std::vector<std::pair<std::vector<std::int32_t>, double>> open = {{{}, 0}};
  while (!open.empty()) {
    auto [words, p] = open.back();
    open.pop_back();
    const auto length = static_cast<std::int64_t>(words.size());
    const std::vector<double> next = model.scores(number, words);
    if (length == most) {
      out.push_back({words, p, norm.score(p, length), false, {}});
      continue;
    }
    if (length >= least) out.push_back({words, p + next[kEnd], norm.score(p + next[kEnd], length + 1), true, {}});
    for (std::int32_t w = 1; w < static_cast<std::int32_t>(next.size()); ++w) {
      std::vector<std::int32_t> longer = words;
      longer.push_back(w);
      open.emplace_back(longer, p + next[static_cast<std::size_t>(w)]);
    }
  }
  std::sort(out.begin(), out.end(), [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  return out;
}

void expect_equal(const Hypothesis& found, const Hypothesis& expected) {
  EXPECT_EQ(found.words, expected.words);
  EXPECT_EQ(found.ended, expected.ended);
  EXPECT_NEAR(found.log_probability, expected.log_probability, 1e-12);
  EXPECT_NEAR(found.score, expected.score, 1e-12);
}

TEST(BeamSearch, AWideBeamFindsTheBest) {
  for (LengthNorm::Kind kind : {LengthNorm::Kind::kNone, LengthNorm::Kind::kLength, LengthNorm::Kind::kGnmt}) {
    const LengthNorm norm{kind, 0.6};
    for (std::int64_t number = 0; number < 10; ++number) {
      MadeUp model({number});
      const auto found = beam_search(model, 1, options(2000, 4, {4}, norm));
      const std::vector<Hypothesis> expected = all_of(model, number, 4, norm);
      ASSERT_EQ(found[0].size(), 4u);
      for (std::size_t k = 0; k < 4; ++k) expect_equal(found[0][k], expected[k]);
    }
  }
}

TEST(BeamSearch, OfOneIsGreedy) {
  for (std::int64_t number = 0; number < 20; ++number) {
    MadeUp model({number});
    const Hypothesis found = beam_search(model, 1, options(1, 1, {6})).at(0).at(0);
    std::vector<std::int32_t> words;
    double p = 0;
    bool ended = false;
    while (!ended && words.size() < 6) {
      const std::vector<double> next = model.scores(number, words);
      const auto best = std::max_element(next.begin(), next.end());
      p += *best;
      ended = best == next.begin();
      if (!ended) words.push_back(static_cast<std::int32_t>(best - next.begin()));
    }
    EXPECT_EQ(found.words, words);
    EXPECT_EQ(found.ended, ended);
    EXPECT_NEAR(found.log_probability, p, 1e-12);
    EXPECT_EQ(found.rows.size(), words.size() + (ended ? 1 : 0));
  }
}

// A sentence has the same result alone, with any other sentences, and at any position among them.
TEST(BeamSearch, SentencesDoNotTouchEachOther) {
  for (std::int64_t beam : {1, 3, 8}) {
    const std::vector<std::int64_t> numbers = {7, 3, 3, 11, 0, 5}, most = {5, 3, 8, 0, 4, 6};
    MadeUp together(numbers);
    const auto all = beam_search(together, 6, options(beam, beam, most, {LengthNorm::Kind::kLength, 0}));
    for (std::size_t s = 0; s < numbers.size(); ++s) {
      MadeUp alone({numbers[s]});
      const auto one = beam_search(alone, 1, options(beam, beam, {most[s]}, {LengthNorm::Kind::kLength, 0}));
      ASSERT_EQ(all[s].size(), one[0].size());
      for (std::size_t k = 0; k < one[0].size(); ++k) expect_equal(all[s][k], one[0][k]);
    }
    EXPECT_LE(together.largest, 6 * static_cast<std::size_t>(beam));
  }
}

TEST(BeamSearch, KeepsTheLeastLength) {
  for (std::int64_t number = 0; number < 10; ++number) {
    MadeUp model({number});
    SearchCase o = options(2000, 3, {4});
    o.min_length = 3;
    const auto found = beam_search(model, 1, o);
    const std::vector<Hypothesis> expected = all_of(model, number, 4, {}, 3);
    for (std::size_t k = 0; k < 3; ++k) expect_equal(found[0].at(k), expected[k]);
  }
}

TEST(BeamSearch, EndsWhereNothingCanChangeTheResult) {
  // The same with and without a bound: a larger n_best continues the search.
  for (std::int64_t number = 0; number < 20; ++number) {
    MadeUp few({number}), many({number});
    const auto one = beam_search(few, 1, options(6, 1, {30}, {LengthNorm::Kind::kNone, 0}));
    const auto six = beam_search(many, 1, options(6, 6, {30}, {LengthNorm::Kind::kNone, 0}));
    expect_equal(one[0][0], six[0][0]);
    EXPECT_LE(few.steps, many.steps);
  }
}

// The best of the sequences with this prefix, whatever the beam's score of the prefix.
TEST(BeamSearch, ContinuesAPrefix) {
  for (std::int64_t number = 0; number < 10; ++number) {
    MadeUp model({number, number, number});
    SearchCase o = options(2000, 2, {4, 4, 2});
    o.prefix = {{3, 2}, {}, {4, 2, kEnd}};
    const auto found = beam_search(model, 3, o);
    std::vector<Hypothesis> all = all_of(model, number, 4, {});
    expect_equal(found[1].at(0), all[0]);
    std::erase_if(all, [](const Hypothesis& h) { return h.words.size() < 2 || h.words[0] != 3 || h.words[1] != 2; });
    for (std::size_t k = 0; k < 2; ++k) expect_equal(found[0].at(k), all[k]);
    ASSERT_EQ(found[2].size(), 1u);
    EXPECT_EQ(found[2][0].words, (std::vector<std::int32_t>{4, 2}));
    EXPECT_TRUE(found[2][0].ended);
    EXPECT_NEAR(found[2][0].log_probability,
                model.scores(number, {})[4] + model.scores(number, {4})[2] + model.scores(number, {4, 2})[kEnd], 1e-12);
    EXPECT_EQ(found[2][0].rows.size(), 3u);
  }
}

std::vector<std::vector<Hypothesis>> sampled(std::vector<std::int64_t> numbers, SearchCase o, const Sampling& how,
                                             std::vector<std::uint64_t> keys) {
  MadeUp model(numbers);
  o.keys = std::move(keys);
  return sample(model, static_cast<std::int64_t>(numbers.size()), o, how);
}

// Frequencies are the model's probabilities at temperature 1.
TEST(Sampling, DrawsByProbability) {
  const std::int64_t draws = 20000;
  const MadeUp model({4});
  const auto all = sampled({4}, options(1, draws, {2}), {1, 0}, {99})[0];
  ASSERT_EQ(static_cast<std::int64_t>(all.size()), draws);
  std::map<std::vector<std::int32_t>, double> times;
  for (const Hypothesis& h : all) {
    std::vector<std::int32_t> words = h.words;
    if (h.ended) words.push_back(kEnd);
    times[words] += 1.0 / static_cast<double>(draws);
    EXPECT_EQ(h.rows.size(), words.size());
  }
  for (const Hypothesis& h : all_of(model, 4, 2, {})) {
    std::vector<std::int32_t> words = h.words;
    if (h.ended) words.push_back(kEnd);
    const double p = std::exp(h.log_probability);
    EXPECT_NEAR(times[words], p, 5 * std::sqrt(p / static_cast<double>(draws)) + 1e-4);
  }
}

TEST(Sampling, KeepsToTheBestAndTheLengths) {
  const MadeUp model({2});
  SearchCase o = options(1, 200, {4});
  o.min_length = 2;
  const auto all = sampled({2}, o, {1, 2}, {1});
  for (const Hypothesis& h : all[0]) {
    EXPECT_GE(h.words.size(), 2u);
    std::vector<std::int32_t> so_far;
    for (const std::int32_t word : h.words) {
      std::vector<double> p = model.scores(2, so_far);
      if (so_far.size() < 2) p[kEnd] = -100;
      EXPECT_LT(std::count_if(p.begin(), p.end(), [&](double x) { return x > p[static_cast<std::size_t>(word)]; }), 2);
      so_far.push_back(word);
    }
  }
  // At a low temperature the sample is the greedy one.
  MadeUp greedy({2});
  const auto best = beam_search(greedy, 1, options(1, 1, {4}));
  EXPECT_EQ(sampled({2}, options(1, 1, {4}), {1e-6, 0}, {7})[0][0].words, best[0][0].words);
}

TEST(Sampling, AKeyGivesTheSameInAnyCompany) {
  const SearchCase three = options(1, 4, {5, 6, 5}), one = options(1, 4, {5});
  const auto together = sampled({8, 1, 8}, three, {1, 0}, {11, 12, 13});
  const auto alone = sampled({8}, one, {1, 0}, {13});
  for (std::size_t n = 0; n < 4; ++n) expect_equal(together[2][n], alone[0][n]);
  EXPECT_NE(together[0][0].words.size() + together[0][1].words.size() * 10 + together[0][2].words.size() * 100,
            together[2][0].words.size() + together[2][1].words.size() * 10 + together[2][2].words.size() * 100);
}

TEST(BeamSearch, NothingIsSearchedForNoSentencesOrNoWords) {
  MadeUp model({1});
  EXPECT_TRUE(beam_search(model, 0, options(3, 1, {})).empty());
  const auto found = beam_search(model, 1, options(3, 2, {0}));
  ASSERT_EQ(found[0].size(), 1u);
  EXPECT_TRUE(found[0][0].words.empty());
  EXPECT_FALSE(found[0][0].ended);
  EXPECT_TRUE(found[0][0].rows.empty());
  EXPECT_EQ(model.steps, 0);
}

}  // namespace
}  // namespace graphrun
