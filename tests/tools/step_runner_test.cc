// Beam search over real networks: the score of a hypothesis is the log-probability that the trained graph computes for its
// words, and a sentence has the same result alone and with others.
#include "tests/tools/oracle/step_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/tensor/safetensors.h"
#include "tests/frontend/graph_file.h"
#include "tests/tools/search_fixture.h"

namespace graphrun {
namespace {

constexpr std::int32_t kFirstWord = 1, kLastWord = 2;

class StepRunnerTest : public ::testing::TestWithParam<tests::GeneratingNetwork> {
 protected:
  void SetUp() override {
    const tests::NetworkFixtures fixtures("networks");
    for (const auto& [name, tensor] : read_safetensors(fixtures.tensors(GetParam().network))) {
      if (name.rfind("feed/", 0) == 0) feeds_[name.substr(5)] = tensor;
      if (name.rfind("parameter/", 0) == 0) variables_->set(name.substr(10), tensor.converted(DType::kFloat32));
    }
    graph_ = load_graph(fixtures.request(GetParam().network, false));
    runner_ = std::make_unique<StepRunner>(cut_for_generation(graph_, GetParam().spec),
                                           StepRunner::Options{.fetches = {}, .most = kMost, .asked = true}, variables_);
  }

  // The sentence alone, without the padding for others.
  Feeds only(std::int64_t sentence) const {
    const Tensor& source = feeds_.at("source");
    const auto length = static_cast<std::int64_t>(feeds_.at("source_lengths").at(sentence)), rows = source.sizes()[1];
    Tensor words(DType::kInt32, {length, 1});
    for (std::int64_t t = 0; t < length; ++t) {
      words.data<std::int32_t>()[t] = static_cast<std::int32_t>(source.at(t * rows + sentence));
    }
    return {{"source", words}, {"source_lengths", Tensor::of<std::int32_t>({1}, {static_cast<std::int32_t>(length)})}};
  }

  std::vector<std::vector<Hypothesis>> search(const Feeds& feeds, std::int64_t beam) {
    const std::int64_t sentences = feeds.at("source").sizes()[1];
    SearchCase options;
    options.begin = kFirstWord, options.end = kLastWord;
    options.beam = beam, options.n_best = std::min<std::int64_t>(beam, 3);
    options.max_length.assign(static_cast<std::size_t>(sentences), 6);
    options.norm.kind = LengthNorm::Kind::kLength;
    runner_->begin(feeds, sentences, 7);
    return beam_search(*runner_, sentences, options);
  }

  // Computed by the trained graph, with the words as feeds.
  double log_probability(std::int64_t sentence, const Hypothesis& h) {
    const auto steps = static_cast<std::int64_t>(h.words.size()) + (h.ended ? 1 : 0);
    Feeds all = only(sentence);
    Tensor previous(DType::kInt32, {steps, 1}), target(DType::kInt32, {steps, 1});
    for (std::int64_t t = 0; t < steps; ++t) {
      const auto k = static_cast<std::size_t>(t);
      previous.data<std::int32_t>()[t] = t == 0 ? kFirstWord : h.words[k - 1];
      target.data<std::int32_t>()[t] = k < h.words.size() ? h.words[k] : kLastWord;
    }
    all["previous"] = previous, all["target"] = target;
    all["target_lengths"] = Tensor::of<std::int32_t>({1}, {static_cast<std::int32_t>(steps)});
    CompileOptions options;
    options.fetches = {"nll"};
    Executable executable(compile(graph_, options), variables_);
    Feeds feeds;
    for (const FeedSpec& f : executable.program().feeds) feeds[f.name] = all.at(f.name);
    const Tensor nll = executable.run(feeds)[0];
    double sum = 0;
    for (std::int64_t t = 0; t < nll.count(); ++t) sum -= nll.at(t);
    return sum;
  }

  static constexpr std::int64_t kMost = 12;
  ir::Graph graph_;
  Feeds feeds_;
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  std::unique_ptr<StepRunner> runner_;
};

TEST_P(StepRunnerTest, SaysWhatTheTrainedGraphSays) {
  for (std::int64_t beam : {1, 3, 12}) {
    const auto found = search(feeds_, beam);
    for (std::size_t s = 0; s < found.size(); ++s) {
      ASSERT_FALSE(found[s].empty());
      for (const Hypothesis& h : found[s]) {
        EXPECT_NEAR(h.log_probability, log_probability(static_cast<std::int64_t>(s), h), 1e-4)
            << "beam " << beam << " sentence " << s;
      }
    }
  }
}

TEST_P(StepRunnerTest, GivesASentenceTheSameAloneAndInCompany) {
  for (std::int64_t beam : {1, 5}) {
    const auto together = search(feeds_, beam);
    for (std::size_t s = 0; s < together.size(); ++s) {
      const auto alone = search(only(static_cast<std::int64_t>(s)), beam)[0];
      ASSERT_EQ(alone.size(), together[s].size());
      for (std::size_t k = 0; k < alone.size(); ++k) {
        EXPECT_EQ(alone[k].words, together[s][k].words) << "sentence " << s << " best " << k;
        EXPECT_NEAR(alone[k].log_probability, together[s][k].log_probability, 1e-5);
      }
    }
  }
}

// Given words have the score that the trained graph computes, and the best continuation follows.
TEST_P(StepRunnerTest, WordsMayBeGiven) {
  const std::int64_t sentences = feeds_.at("source").sizes()[1];
  SearchCase options;
  options.begin = kFirstWord, options.end = kLastWord;
  options.max_length.assign(static_cast<std::size_t>(sentences), 5);
  for (std::int64_t s = 0; s < sentences; ++s) {
    const auto w = static_cast<std::int32_t>(3 + s % 2);
    options.prefix.push_back(s % 2 == 0 ? std::vector<std::int32_t>{w, 4, w, kLastWord} : std::vector<std::int32_t>{w, w});
  }
  runner_->begin(feeds_, sentences, 6);
  const auto found = beam_search(*runner_, sentences, options);
  for (std::size_t s = 0; s < found.size(); ++s) {
    ASSERT_EQ(found[s].size(), 1u);
    const Hypothesis& h = found[s][0];
    std::vector<std::int32_t> words = h.words;
    if (h.ended) words.push_back(kLastWord);
    ASSERT_GE(words.size(), options.prefix[s].size());
    EXPECT_TRUE(std::equal(options.prefix[s].begin(), options.prefix[s].end(), words.begin()));
    EXPECT_NEAR(h.log_probability, log_probability(static_cast<std::int64_t>(s), h), 1e-4) << "sentence " << s;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, StepRunnerTest, ::testing::ValuesIn(tests::kGeneratingNetworks),
                         [](const auto& i) { return i.param.network; });

// In a language model whose state starts as a constant, no input determines the number of sentences.
TEST(StepRunnerOfConstants, BeginsAsManySentencesAsItIsAskedFor) {
  GraphRequest request = tests::request_of(
      "name: \"net\"\ninput { name: \"words\" shape: \"[time, batch]\" type: INT32 }\n"
      "parameter { name: \"E\" shape: \"[3, 3]\" }\nscan { name: \"read\" graph: \"cell\" each: \"x = gather(E, words)\" }\n"
      "output: \"logits = read.h\"\n"
      "graph { name: \"cell\" input { name: \"x\" shape: \"[batch, 3]\" }\n"
      "state { name: \"h\" shape: \"[batch, 3]\" begin: \"full(shape=[batch, 3], value=2)\" next: \"x * h\" }\n"
      "output: \"h = next(h)\" }\n");
  request.training = false;
  const auto variables = std::make_shared<Variables>();
  variables->set("E", Tensor::of<float>({3, 3}, {0, 1, 2, 2, 1, 0, 1, 1, 1}));
  StepRunner runner(cut_for_generation(load_graph(request), {"read", "x", "logits", {}}),
                    StepRunner::Options{.fetches = {}, .most = 1}, variables);
  runner.begin({}, 2, 4);
  const Candidates best = runner.step({{.word = 0, .sentence = 0}, {.word = 1, .sentence = 1}}, 1);
  EXPECT_EQ(best.words, (std::vector<std::int32_t>{2, 0}));
  const double expected = 4 - std::log(std::exp(0.0) + std::exp(2.0) + std::exp(4.0));
  EXPECT_NEAR(best.scores[0], expected, 1e-5);
  EXPECT_NEAR(best.scores[1], expected, 1e-5);
}

}  // namespace
}  // namespace graphrun
