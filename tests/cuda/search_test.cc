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

INSTANTIATE_TEST_SUITE_P(Networks, CudaSearch, ::testing::ValuesIn(tests::kGeneratingNetworks),
                         [](const auto& i) { return i.param.network; });

}  // namespace
}  // namespace graphrun
