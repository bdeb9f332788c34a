// The search as a graph gives what the host's search gives, over real networks.
#include "tools/generate/graph_search.h"

#include <cmath>

#include "tests/tools/search_fixture.h"
#include "tools/generate/step_runner.h"

namespace graphrun {
namespace {

class GraphSearchTest : public testing::SearchFixture {};

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
  if (GetParam().network != "translator") return;
  spec.fetches = {"logits"};
  const testing::NetworkFixtures fixtures("networks");
  const GenerationGraphs cut = cut_for_generation(load_graph(fixtures.request("translator", false)), spec);
  SearchOptions options = settings()[1];
  GraphSearch search(cut, GraphSearch::Options{.fetches = {"logits"}, .search = options}, variables_);
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

INSTANTIATE_TEST_SUITE_P(Networks, GraphSearchTest, ::testing::ValuesIn(testing::kGeneratingNetworks),
                         [](const auto& i) { return i.param.network; });

}  // namespace
}  // namespace graphrun
