// Generation on the device compared with the search on the host.
#include <gmock/gmock.h>

#include "tests/cuda/device.h"
#include "tests/sanitized.h"
#include "tests/tools/search_fixture.h"
#include "tools/generate/graph_search.h"

namespace graphrun {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Le;

class CudaSearch : public tests::SearchFixture {
 protected:
  // The emulated device is slow, especially under sanitizers.
  CudaSearch() : SearchFixture(tests::all_tests() && !tests::address_sanitized() ? 11 : 4) {}
  void SetUp() override {
    tests::tested_device();
    SearchFixture::SetUp();
  }
  void expect_same(const SearchCase& options) {
    SCOPED_TRACE("beam " + std::to_string(options.beam));
    GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options, .target = tests::tested_device()},
                       variables_);
    expect_alike(search.run(feeds_, options), by_host(options));
  }
};

TEST_P(CudaSearch, FindsWhatTheHostFinds) {
  for (const SearchCase& options : settings()) expect_same(options);
}

TEST_P(CudaSearch, ContinuesWhatIsGiven) {
  SearchCase options = settings()[1];
  give_prefixes(options);
  expect_same(options);
}

TEST_P(CudaSearch, DrawsWhatTheHostDraws) {
  for (const SearchCase& options : sampling_settings()) expect_same(options);
}

// Among the words of a list, of which each sentence may use all but one of its own.
TEST_P(CudaSearch, SearchesTheWordsOfAShortlist) {
  GenerationSpec spec = GetParam().spec;
  spec.shortlist = true;
  const tests::NetworkFixtures fixtures("networks");
  const GenerationGraphs cut = cut_for_generation(load_graph(fixtures.request(GetParam().network, false)), spec);
  const std::int64_t count = cut.shortlist->vocabulary - 1;
  Tensor words(DType::kInt32, {count}), allowed(DType::kBool, {sentences_, count});
  for (std::int32_t k = 0; k < count; ++k) words.data<std::int32_t>()[k] = k < 4 ? k : k + 1;
  for (std::int64_t k = 0; k < allowed.count(); ++k) allowed.data<std::uint8_t>()[k] = k % count == 3 + k / count % 3 ? 0 : 1;
  Feeds feeds = feeds_;
  feeds[cut.shortlist->words.input] = words, feeds[cut.shortlist->allowed.input] = allowed;
  std::vector<SearchCase> cases = {settings()[1], settings()[2], sampling_settings()[0]};
  for (const SearchCase& options : cases) {
    SCOPED_TRACE("sampling " + std::to_string(options.sampling.has_value()));
    GraphSearch here(cut, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
    GraphSearch there(cut, GraphSearchOptions{.fetches = {}, .search = options, .target = tests::tested_device()}, variables_);
    const auto expected = here.run(feeds, options);
    expect_alike(there.run(feeds, options), expected);
    expect_alike(there.run(feeds, options), expected);
  }
}

// Equal batches have the same addresses once there is room for them, even if rows are laid out again as sentences end. The
// first step of a batch, and the first after rows are laid out again, come once in each batch: they are recorded in the third
// or, if the first batch made room, in the fourth. The others come more often.
TEST_P(CudaSearch, ReplaysSteps) {
  SearchCase beam = options_, sampled = sampling_settings()[0];
  beam.beam = 4;
  for (const SearchCase& options : {options_, beam, sampled}) {
    SCOPED_TRACE("beam " + std::to_string(options.beam) + ", sampling " + std::to_string(options.sampling.has_value()));
    const auto expected = by_host(options);
    GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options, .target = tests::tested_device()},
                       variables_);
    std::vector<std::size_t> not_played;  // by batch
    for (int batch = 0; batch < 5; ++batch) {
      const std::size_t before = search.steps_played();
      expect_alike(search.run(feeds_, options), expected);
      ASSERT_GE(search.steps_done(), 4u);
      not_played.push_back(search.steps_done() + before - search.steps_played());
    }
    EXPECT_THAT(not_played, ElementsAre(_, Le(2u), Le(1u), 0u, 0u));
  }
}

// Words, states and scores alternate between two sets of addresses, and only the first step has others: so the sixth step is
// the first to come for the third time.
TEST_P(CudaSearch, ReplaysTheStepsOfOneSentence) {
  for (const std::int64_t beam : {1, 4}) {
    SCOPED_TRACE("beam " + std::to_string(beam));
    SearchCase options = options_;
    options.beam = beam, options.max_length = {15}, options.min_length = 15;
    GraphSearch here(*cut_, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
    GraphSearch there(*cut_, GraphSearchOptions{.fetches = {}, .search = options, .target = tests::tested_device()},
                      variables_);
    expect_alike(there.run(feeds_of(0), options), here.run(feeds_of(0), options));
    EXPECT_EQ(there.steps_done(), 15u);
    EXPECT_EQ(there.steps_played(), 10u);
  }
}

// A launch takes longer than its work in such a step, so an op that no longer fuses with its neighbors, or a check that is a
// kernel of its own, costs time. The network's launches are in the number, but for those of the library's products.
TEST_P(CudaSearch, TakesFewLaunches) {
  if (!tests::is_emulated()) GTEST_SKIP() << "only the emulated device counts its launches";
  if (GetParam().network != "translator") GTEST_SKIP() << "one network shows what a search adds";
  for (const auto& [beam, most] : {std::pair<std::int64_t, std::size_t>{1, 26}, {4, 41}}) {
    SearchCase options = options_;
    options.beam = beam, options.max_length = {15}, options.min_length = 15;
    GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options, .target = tests::tested_device()},
                       variables_);
    const auto launches = [&](std::int64_t steps) {
      options.max_length = {steps};
      const std::size_t before = tests::emulated_launches();
      search.run(feeds_of(0), options);
      return tests::emulated_launches() - before;
    };
    launches(15);
    EXPECT_LE((launches(15) - launches(5)) / 10, most) << "beam " << beam;
  }
}

// Batches of several shapes need the memory of the largest, no matter how many there are.
TEST_P(CudaSearch, ReusesMemory) {
  if (!tests::is_emulated()) GTEST_SKIP() << "only the emulated device counts its memory";
  SearchCase options = options_, one = options_;
  options.beam = 3;
  one.beam = 3;
  GraphSearch search(*cut_, GraphSearchOptions{.fetches = {}, .search = options, .target = tests::tested_device()}, variables_);
  std::size_t after_first = 0;
  for (int round = 0; round < 6; ++round) {
    search.run(feeds_, options);
    for (std::int64_t s = 0; s < 3; ++s) {
      one.max_length = {3 + s};
      search.run(feeds_of(s), one);
    }
    if (round == 0) after_first = tests::emulated_bytes();
    EXPECT_EQ(tests::emulated_bytes(), after_first) << "after round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaSearch, ::testing::ValuesIn(tests::kGeneratingNetworks),
                         [](const auto& i) { return i.param.network; });

}  // namespace
}  // namespace graphrun
