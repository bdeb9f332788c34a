// Generation on the device against the CPU: the search that the device does itself, and the steps that the host drives.
#include "tests/cuda/device.h"
#include "tests/sanitized.h"
#include "tests/tools/search_fixture.h"
#include "tools/generate/graph_search.h"
#include "tools/generate/sampler.h"
#include "tools/generate/step_runner.h"

namespace graphrun {
namespace {

class CudaSearch : public tests::SearchFixture {
 protected:
  // An emulated device is slow, and under sanitizers slower: there a few sentences touch the same memory.
  CudaSearch() : SearchFixture(tests::address_sanitized() ? 4 : 11) {}
  void SetUp() override {
    tests::tested_device();
    SearchFixture::SetUp();
  }
  StepRunner runner(Device device, std::int64_t most, bool asked) {
    StepRunner::Options options;
    options.most = most, options.asked = asked, options.target = device;
    return {*cut_, options, variables_};
  }
};

TEST_P(CudaSearch, FindsWhatTheCpuFinds) {
  for (const SearchOptions& options : settings()) {
    SCOPED_TRACE("beam " + std::to_string(options.beam));
    StepRunner cpu = runner(Device::kCpu, options.beam + 1, false);
    cpu.begin(feeds_, sentences_, 20);
    const auto expected = beam_search(cpu, sentences_, options);
    GraphSearch search(*cut_, GraphSearch::Options{.fetches = {}, .search = options, .target = Device::kCuda}, variables_);
    expect_alike(search.run(feeds_, options.max_length), expected);
  }
}

TEST_P(CudaSearch, GoesOnFromWhatIsGivenAsTheCpuDoes) {
  SearchOptions options = settings()[1];
  for (std::int64_t s = 0; s < sentences_; ++s)
    options.prefix.push_back(s % 3 == 0 ? std::vector<std::int32_t>{} : std::vector<std::int32_t>{3, 4});
  std::vector<std::vector<std::vector<Hypothesis>>> found;
  for (const Device device : {Device::kCpu, Device::kCuda}) {
    StepRunner model = runner(device, options.beam + 1, true);
    model.begin(feeds_, sentences_, 20);
    found.push_back(beam_search(model, sentences_, options));
  }
  expect_alike(found[1], found[0]);
}

TEST_P(CudaSearch, DrawsWhatTheCpuDraws) {
  SearchOptions options = settings()[0];
  Sampling sampling;
  sampling.top_k = 3;
  for (std::int64_t s = 0; s < sentences_; ++s) sampling.keys.push_back(static_cast<std::uint64_t>(s) + 1);
  std::vector<std::vector<std::vector<Hypothesis>>> found;
  for (const Device device : {Device::kCpu, Device::kCuda}) {
    StepRunner model = runner(device, 4, false);
    model.begin(feeds_, sentences_, 20);
    found.push_back(sample(model, sentences_, options, sampling));
  }
  expect_alike(found[1], found[0]);
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaSearch, ::testing::ValuesIn(tests::kGeneratingNetworks),
                         [](const auto& i) { return i.param.network; });

}  // namespace
}  // namespace graphrun
