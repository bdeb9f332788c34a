// Generation on the device compared with the search on the host.
#include "tests/cuda/device.h"
#include "tests/sanitized.h"
#include "tests/tools/search_fixture.h"
#include "tools/generate/graph_search.h"

namespace graphrun {
namespace {

class CudaSearch : public tests::SearchFixture {
 protected:
  // The emulated device is slow, especially under sanitizers: a few sentences use the same memory there.
  CudaSearch() : SearchFixture(tests::address_sanitized() ? 4 : 11) {}
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

INSTANTIATE_TEST_SUITE_P(Networks, CudaSearch, ::testing::ValuesIn(tests::kGeneratingNetworks),
                         [](const auto& i) { return i.param.network; });

}  // namespace
}  // namespace graphrun
