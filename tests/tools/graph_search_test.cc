// The search as a graph gives what the host's search gives, over real networks.
#include "tools/generate/graph_search.h"

#include <cmath>

#include "tests/tools/search_fixture.h"
#include "tools/generate/search_graph.h"
#include "tools/generate/settings.h"
#include "tools/generate/step_runner.h"

namespace graphrun {
namespace {

class GraphSearchTest : public tests::SearchFixture {};

TEST_P(GraphSearchTest, GivesWhatTheHostsSearchGives) {
  for (const SearchOptions& options : settings()) {
    SCOPED_TRACE("beam " + std::to_string(options.beam) + ", at least " + std::to_string(options.min_length) + " words");
    GraphSearch search(*cut_, GraphSearch::Options{.fetches = {}, .search = options}, variables_);
    StepRunner runner(*cut_, StepRunner::Options{.fetches = {}, .most = options.beam + 1}, variables_);
    runner.begin(feeds_, sentences_, 20);
    const auto expected = beam_search(runner, sentences_, options);
    expect_alike(search.run(feeds_, options.max_length), expected);
    expect_alike(search.run(feeds_, options.max_length), expected);  // it begins anew
  }
}

// What is fetched is found at the rows that a hypothesis names, though the batch has shrunk since.
TEST_P(GraphSearchTest, KeepsWhatIsFetched) {
  GenerationSpec spec = GetParam().spec;
  spec.fetches = {spec.score};
  const tests::NetworkFixtures fixtures("networks");
  const GenerationGraphs cut = cut_for_generation(load_graph(fixtures.request(GetParam().network, false)), spec);
  const SearchOptions options = settings()[1];
  GraphSearch search(cut, GraphSearch::Options{.fetches = spec.fetches, .search = options}, variables_);
  for (const auto& hypotheses : search.run(feeds_, options.max_length)) {
    for (const Hypothesis& h : hypotheses) {
      double sum = 0;
      for (std::size_t t = 0; t < h.rows.size(); ++t) {
        const std::vector<float> logits = search.fetched(0, static_cast<std::int64_t>(t), h.rows[t]).values;
        double all = 0;
        for (float x : logits) all += std::exp(static_cast<double>(x));
        const std::int32_t word = t < h.words.size() ? h.words[t] : kEnd;
        sum += logits.at(static_cast<std::size_t>(word)) - std::log(all);
      }
      EXPECT_NEAR(sum, h.log_probability, 1e-4);
    }
  }
}

// Steps that are begun ahead of the host's asking must not run out of what the network has for each.
TEST_P(GraphSearchTest, StandsStillWhenNobodyGoesOn) {
  SearchGraphOptions options;
  options.end = -1;  // no word
  Executable prologue(compile(cut_->prologue, in_float32()), variables_);
  Executable step(compile(with_search(*cut_, options), in_float32()), variables_);
  Feeds needed;
  for (const FeedSpec& f : prologue.program().feeds) needed[f.name] = feeds_.at(f.name);
  const std::vector<Tensor> made = prologue.run(needed);
  const Sizes one = {sentences_, 1};
  const auto filled = [&](float x) {
    return Tensor::of<float>(one, std::vector<float>(static_cast<std::size_t>(sentences_), x));
  };
  using namespace search_names;
  std::map<std::string, Tensor> all = {{kWordInput, Tensor(DType::kInt32, {sentences_})},
                                       {kStepInput, Tensor::of<std::int32_t>({}, {3})},
                                       {kEnded, Tensor(DType::kInt32, {sentences_})},
                                       {kBest, filled(kNothing)},
                                       {kBestSum, filled(0)},
                                       {kBestStep, Tensor(DType::kInt32, one)},
                                       {kBestPlace, Tensor(DType::kInt32, one)}};
  all[kMost] = Tensor::of<std::int32_t>({sentences_}, std::vector<std::int32_t>(static_cast<std::size_t>(sentences_), 9));
  std::size_t k = 0;
  for (const GenerationGraphs::Carried& c : cut_->constants) all[c.name] = made.at(k++);
  for (const GenerationGraphs::Carried& s : cut_->states)
    all[s.name] = s.zeros ? zeros_for(*cut_, s, sentences_, 9) : made.at(k++);
  for (const float live : {0.0F, kNothing}) {
    all[kLive] = filled(live);
    Feeds feeds;
    for (const FeedSpec& f : step.program().feeds) feeds[f.name] = all.at(f.name);
    const std::vector<Tensor> next = step.run(feeds);
    const auto at = [&](const std::string& name) -> const Tensor& {
      std::size_t i = 0;
      while (step.program().fetches.at(i).name != name) ++i;
      return next[i];
    };
    EXPECT_EQ(at(std::string(kNextPrefix) + kStepInput).at(0), live == 0 ? 4 : 3);
    for (std::int64_t s = 0; s < sentences_; ++s) EXPECT_EQ(at(search_names::kGoesOn).at(s), live == 0 ? 1 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, GraphSearchTest, ::testing::ValuesIn(tests::kGeneratingNetworks),
                         [](const auto& i) { return i.param.network; });

}  // namespace
}  // namespace graphrun
