// The search as a graph has the same results as the host's search, over real networks.
#include "tools/generate/graph_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/threads/own_threads.h"
#include "tests/frontend/graph_file.h"
#include "tests/tools/oracle/sampler.h"
#include "tests/tools/oracle/step_runner.h"
#include "tests/tools/search_fixture.h"
#include "tools/generate/search_graph.h"
#include "tools/generate/settings.h"

namespace graphrun {
namespace {

class GraphSearchTest : public tests::SearchFixture {};

TEST_P(GraphSearchTest, GivesWhatTheHostsSearchGives) {
  for (const SearchCase& options : settings()) {
    SCOPED_TRACE("beam " + std::to_string(options.beam) + ", at least " + std::to_string(options.min_length) + " words");
    GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
    const auto expected = by_host(options);
    expect_alike(search.run(feeds_, options), expected);
    expect_alike(search.run(feeds_, options), expected);  // a second search starts from the beginning
  }
}

TEST_P(GraphSearchTest, GivesTheSameHoweverOftenHistoriesGrow) {
  for (const SearchCase& options : settings()) {
    GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options, .room = 1}, variables_);
    const auto expected = by_host(options);
    expect_alike(search.run(feeds_, options), expected);
    expect_alike(search.run(feeds_, options), expected);
  }
}

// Sentences so long that histories grow by an eighth, which is more than their first room.
TEST_P(GraphSearchTest, GivesTheSameHoweverMuchHistoriesGrow) {
  GraphRequest request = tests::NetworkFixtures("networks").request(GetParam().network, false);
  for (GraphRequest::Setting& b : request.bindings) {
    if (b.name == "longest") b.text = "64";  // positions, which are not parameters
  }
  const GenerationGraphs cut = cut_for_generation(load_graph(request), GetParam().spec);
  SearchCase options = settings()[1];
  options.min_length = 20;
  for (std::int64_t& most : options.max_length) most *= 4;
  const auto found_with = [&](std::int64_t room) {
    return GraphSearch(cut, GraphSearchOptions{.fetches = {}, .search = options, .room = room}, variables_)
        .run(feeds_, options);
  };
  expect_alike(found_with(1), found_with(64));
}

TEST_P(GraphSearchTest, ContinuesWhatIsGivenAsTheHostDoes) {
  for (SearchCase options : settings()) {
    SCOPED_TRACE("beam " + std::to_string(options.beam) + ", at least " + std::to_string(options.min_length) + " words");
    give_prefixes(options);
    GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
    expect_alike(search.run(feeds_, options), by_host(options));
    options.prefix.clear();
    expect_alike(search.run(feeds_, options), by_host(options));
  }
}

TEST_P(GraphSearchTest, DrawsWhatTheHostDraws) {
  for (const SearchCase& options : sampling_settings()) {
    SCOPED_TRACE("of " + std::to_string(options.sampling->top_k) + ", prefixes " + std::to_string(options.prefixes));
    GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
    expect_alike(search.run(feeds_, options), by_host(options));
  }
}

// The hypotheses of a sentence read one copy of its attention's keys and values. Nothing copies rows of them at a step.
TEST_P(GraphSearchTest, HypothesesShareTheirSentencesValues) {
  std::vector<SearchCase> all = settings();
  all.resize(2);
  all.push_back(sampling_settings()[0]);
  for (const SearchCase& options : all) {
    const GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
    const Program& steps = search.steps();
    const bool shares = std::any_of(steps.feeds.begin(), steps.feeds.end(),
                                    [](const FeedSpec& f) { return f.name == search_names::kSourceOf; });
    EXPECT_EQ(shares, options.beam > 1 || options.n_best > 1);
    for (const GenerationGraphs::Carried& c : cut_->constants) {
      if (c.type.shape.size() < 3 || c.row_axis < 0) continue;  // keys and values are [source_time, rows, …]
      const auto feed =
          std::find_if(steps.feeds.begin(), steps.feeds.end(), [&](const FeedSpec& f) { return f.name == c.name; });
      ASSERT_NE(feed, steps.feeds.end()) << c.name;
      EXPECT_EQ(feed->shape == c.type.shape, !shares) << c.name;
    }
    for (const Instruction& i : steps.regions.at(0).instructions) EXPECT_NE(i.op, "select_rows") << i.name;
  }
}

// Searches that share a network's weights give the same at the same time, each on its own thread.
TEST_P(GraphSearchTest, RunsOnSeveralThreadsAtOnce) {
  const SearchCase options = settings()[1];
  GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
  ASSERT_TRUE(search.can_share());
  const auto expected = search.run(feeds_, options);
  std::vector<std::unique_ptr<GraphSearch>> searches;
  for (int i = 0; i < 4; ++i) searches.push_back(search.share());
  on_own_threads(4, [&](int i) {
    for (int k = 0; k < 3; ++k) expect_alike(searches[static_cast<std::size_t>(i)]->run(feeds_, options), expected);
  });
}

// A sentence samples the same words alone and with others.
TEST_P(GraphSearchTest, DrawsOfASentenceDoNotDependOnItsBatch) {
  const SearchCase options = sampling_settings()[0];
  GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
  const auto together = search.run(feeds_, options);
  SearchCase alone = options;
  for (const std::int64_t s : {0, 4}) {
    const auto k = static_cast<std::size_t>(s);
    alone.max_length = {options.max_length[k]}, alone.keys = {options.keys[k]};
    expect_alike(search.run(feeds_of(s), alone), {together[k]});
  }
}

// In int8, where a difference of one bit can grow to a step of a rounded number: the same bits alone and with others.
TEST_P(GraphSearchTest, InInt8ASentenceHasTheSameScoresAlone) {
  const SearchCase options = settings()[1];
  const GraphSearchOptions all{.fetches = {}, .search = options, .target = Target(cpu_device(), WeightForm::kInt8)};
  GraphSearch search(*cut_, all, variables_);
  const auto together = search.run(feeds_, options);
  SearchCase alone = options;
  for (std::int64_t s = 0; s < sentences_; ++s) {
    const auto k = static_cast<std::size_t>(s);
    alone.max_length = {options.max_length[k]};
    const auto found = search.run(feeds_of(s), alone);
    ASSERT_EQ(found[0].size(), together[k].size());
    for (std::size_t h = 0; h < found[0].size(); ++h) {
      EXPECT_EQ(found[0][h].words, together[k][h].words) << "sentence " << s;
      EXPECT_EQ(found[0][h].log_probability, together[k][h].log_probability) << "sentence " << s;
    }
  }
}

// A search begins in the memory of the last one, which had more or fewer rows and steps, or failed.
TEST_P(GraphSearchTest, DoesNotDependOnTheSearchBefore) {
  const SearchCase options = settings()[1];
  GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
  const auto expected = by_host(options);
  SearchCase alone = options;
  for (const std::int64_t s : {4, 0, 36}) {
    const auto k = static_cast<std::size_t>(s);
    alone.max_length = {options.max_length[k]};
    expect_alike(search.run(feeds_of(s), alone), {expected[k]});
    expect_alike(search.run(feeds_, options), expected);
    Feeds wrong = feeds_;
    wrong["source"] = feeds_.at("source").clone();
    wrong["source"].data<std::int32_t>()[0] = 1 << 20;
    EXPECT_ANY_THROW(search.run(wrong, options));
    if (s == 0) search.free_histories();
  }
}

// A search that fails after some steps leaves nothing to the next one.
TEST_P(GraphSearchTest, DoesNotDependOnASearchThatFailedAfterSomeSteps) {
  SearchCase options = settings()[1];
  options.prefixes = true;
  GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
  const auto expected = search.run(feeds_, options);
  SearchCase wrong = options;
  wrong.prefix.assign(static_cast<std::size_t>(sentences_), {3, 4, 3, 1 << 20, 3, 4});
  for (int i = 0; i < 2; ++i) {
    EXPECT_ANY_THROW(search.run(feeds_, wrong));
    EXPECT_EQ(search.steps_done(), 3);
    expect_alike(search.run(feeds_, options), expected);
  }
}

// Fetched values are found at the rows that a hypothesis names, although the batch has shrunk since.
TEST_P(GraphSearchTest, KeepsWhatIsFetched) {
  GenerationSpec spec = GetParam().spec;
  spec.fetches = {spec.score};
  const tests::NetworkFixtures fixtures("networks");
  const GenerationGraphs cut = cut_for_generation(load_graph(fixtures.request(GetParam().network, false)), spec);
  const SearchCase options = settings()[1];
  GraphSearch search(cut, GraphSearchOptions{.fetches = spec.fetches, .search = options}, variables_);
  for (const auto& hypotheses : search.run(feeds_, options)) {
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

// Steps that start before the host checks for the end must not exceed the values that the network has per step.
TEST_P(GraphSearchTest, StopsWhenNoHypothesisIsLeft) {
  SearchOptions options;
  options.end = -1;  // no word
  Executable prologue(compile(cut_->prologue, in_float32()), variables_);
  Executable step(compile(with_search(*cut_, options, {}), in_float32()), variables_);
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
                                       {kBestStep, Tensor(DType::kInt32, one)},
                                       {kBestPlace, Tensor(DType::kInt32, one)},
                                       {kRowOf, Tensor(DType::kInt32, one)}};
  std::iota(all[kRowOf].data<std::int32_t>(), all[kRowOf].data<std::int32_t>() + sentences_, 0);
  all[kFirstPlace] = Tensor(DType::kInt32, {sentences_});  // the beam is 1
  std::iota(all[kFirstPlace].data<std::int32_t>(), all[kFirstPlace].data<std::int32_t>() + sentences_, 0);
  all[kMost] = Tensor::of<std::int32_t>({sentences_}, std::vector<std::int32_t>(static_cast<std::size_t>(sentences_), 9));
  std::size_t k = 0;
  for (const GenerationGraphs::Carried& c : cut_->constants) all[c.name] = made.at(k++);
  for (const GenerationGraphs::Carried& s : cut_->states)
    all[s.name] = s.zeros ? Tensor(dtype_of_state(s), sizes_of_state(*cut_, s, sentences_, 9)) : made.at(k++);
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
    for (std::int64_t s = 0; s < sentences_; ++s) EXPECT_EQ(at(kLives).at(s), live == 0 ? 1 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, GraphSearchTest, ::testing::ValuesIn(tests::kGeneratingNetworks),
                         [](const auto& i) { return i.param.network; });

// A word of probability 0 is last, but it can be given, and among few words it is one of the best.
TEST(GraphSearchOfImpossibleWords, FindsThemLast) {
  GraphRequest request = tests::request_of(
      "name: \"net\"\ninput { name: \"words\" shape: \"[time, batch]\" type: INT32 }\n"
      "parameter { name: \"E\" shape: \"[3, 3]\" }\nscan { name: \"read\" graph: \"cell\" each: \"x = gather(E, words)\" }\n"
      "output: \"logits = read.y\"\n"
      "graph { name: \"cell\" input { name: \"x\" shape: \"[batch, 3]\" }\n"
      "state { name: \"h\" shape: \"[batch, 3]\" next: \"h + 1\" }\noutput: \"y = x + next(h)\" }\n");
  request.training = false;
  const float never = -std::numeric_limits<float>::infinity();
  const auto variables = std::make_shared<Variables>();
  variables->set("E", Tensor::of<float>({3, 3}, {0, never, 2, 1, 1, 1, 2, 1, 0}));
  const GenerationGraphs cut = cut_for_generation(load_graph(request), {"read", "x", "logits", {}});
  SearchOptions options;
  options.end = -1;  // no word
  options.beam = options.n_best = 3, options.prefixes = true;
  GraphSearch search(cut, GraphSearchOptions{.fetches = {}, .search = options}, variables);
  const auto found = search.run({}, {{1, 1}, {{}, {1}}, {}});
  ASSERT_EQ(found[0].size(), 3u);
  for (const std::size_t k : {0u, 1u, 2u})
    EXPECT_EQ(found[0][k].words, (std::vector<std::int32_t>{k == 0 ? 2 : k == 1 ? 0 : 1}));
  EXPECT_NEAR(found[0][0].log_probability, -std::log1p(std::exp(-2.0)), 1e-6);
  EXPECT_EQ(found[0][2].log_probability, never);
  ASSERT_EQ(found[1].size(), 1u);
  EXPECT_EQ(found[1][0].words, (std::vector<std::int32_t>{1}));
  EXPECT_EQ(found[1][0].log_probability, never);
}

}  // namespace
}  // namespace graphrun
