// The search among the words of a list.
#include <algorithm>
#include <numeric>
#include <set>

#include "runtime/threads/own_threads.h"
#include "tests/tools/search_fixture.h"
#include "tools/generate/graph_search.h"

namespace graphrun {
namespace {

using Words = std::vector<std::int32_t>;

class ShortlistSearch : public tests::SearchFixture {
 protected:
  void SetUp() override {
    SearchFixture::SetUp();
    GenerationSpec spec = GetParam().spec;
    spec.shortlist = true;
    const tests::NetworkFixtures fixtures("networks");
    listed_ = cut_for_generation(load_graph(fixtures.request(GetParam().network, false)), spec);
  }

  std::int64_t vocabulary() const { return listed_->shortlist->vocabulary; }
  Words all_words() const {
    Words words(static_cast<std::size_t>(vocabulary()));
    std::iota(words.begin(), words.end(), 0);
    return words;
  }

  // The feeds with a list of `words`, which are ascending, of which row r may use allowed[r].
  Feeds with_list(Feeds feeds, const Words& words, const std::vector<Words>& allowed) const {
    const auto rows = static_cast<std::int64_t>(allowed.size()), count = static_cast<std::int64_t>(words.size());
    Tensor mask(DType::kBool, {rows, count});
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int32_t word : allowed[static_cast<std::size_t>(row)]) {
        const auto at = std::lower_bound(words.begin(), words.end(), word) - words.begin();
        static_cast<std::uint8_t*>(mask.raw())[row * count + at] = 1;
      }
    }
    feeds[listed_->shortlist->words.input] = Tensor::of<std::int32_t>({count}, words);
    feeds[listed_->shortlist->allowed.input] = mask;
    return feeds;
  }

  GraphSearch search_of(const SearchCase& options) const {
    return GraphSearch(*listed_, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
  }

  std::optional<GenerationGraphs> listed_;
};

TEST_P(ShortlistSearch, OfAllWordsIsTheSearchWithoutIt) {
  std::vector<SearchCase> cases = settings();
  for (const SearchCase& options : settings()) {
    cases.push_back(options);
    give_prefixes(cases.back());
  }
  for (const SearchCase& options : sampling_settings()) cases.push_back(options);
  const Feeds feeds = with_list(feeds_, all_words(), std::vector<Words>(static_cast<std::size_t>(sentences_), all_words()));
  for (const SearchCase& options : cases) {
    SCOPED_TRACE("beam " + std::to_string(options.beam) + ", at least " + std::to_string(options.min_length) +
                 " words, prefixes " + std::to_string(options.prefixes));
    GraphSearch without(*cut_, GraphSearchOptions{.fetches = {}, .search = options}, variables_);
    GraphSearch search = search_of(options);
    const auto expected = without.run(feeds_, options);
    expect_alike(search.run(feeds, options), expected);
    expect_alike(search.run(feeds, options), expected);
  }
}

// Each sentence uses its own words alone, and finds the same as with a list that has no others.
TEST_P(ShortlistSearch, DoesNotDependOnTheOtherSentences) {
  std::vector<Words> allowed;
  std::set<std::int32_t> listed;
  for (std::int64_t s = 0; s < sentences_; ++s) {
    std::set<std::int32_t> own = {0, kBegin, kEnd, static_cast<std::int32_t>(3 + s % (vocabulary() - 3)),
                                  static_cast<std::int32_t>(3 + s * 5 % (vocabulary() - 3))};
    allowed.emplace_back(own.begin(), own.end());
    listed.insert(own.begin(), own.end());
  }
  std::vector<SearchCase> cases(2, options_);
  cases[1].beam = 3, cases[1].n_best = 2, cases[1].min_length = 2;
  cases[1].norm.kind = LengthNorm::Kind::kLength;
  cases.push_back(sampling_settings()[0]);
  for (const SearchCase& options : cases) {
    SCOPED_TRACE("beam " + std::to_string(options.beam) + ", sampling " + std::to_string(options.sampling.has_value()));
    GraphSearch search = search_of(options);
    const auto together = search.run(with_list(feeds_, {listed.begin(), listed.end()}, allowed), options);
    for (const std::int64_t s : {0, 4, 9, 11}) {
      const auto k = static_cast<std::size_t>(s);
      for (const Hypothesis& h : together[k]) {
        for (std::int32_t word : h.words) EXPECT_TRUE(std::binary_search(allowed[k].begin(), allowed[k].end(), word)) << word;
      }
      SearchCase alone = options;
      alone.max_length = {options.max_length[k]};
      if (!options.keys.empty()) alone.keys = {options.keys[k]};
      expect_alike(search.run(with_list(feeds_of(s), allowed[k], {allowed[k]}), alone), {together[k]});
    }
  }
}

// Searches on several threads have lists of their own, and what is packed of one is not another's.
TEST_P(ShortlistSearch, HasAListForEachThread) {
  for (const WeightForm form : {WeightForm::kFloat32, WeightForm::kBFloat16, WeightForm::kInt8}) {
    SearchCase options = options_;
    options.beam = 3;
    GraphSearchOptions running{.fetches = {}, .search = options};
    running.target = Target(cpu_device(), form, ProductPrecision::kFloat32);
    GraphSearch search(*listed_, running, variables_);
    ASSERT_TRUE(search.can_share());
    std::vector<Feeds> feeds;
    std::vector<std::vector<std::vector<Hypothesis>>> expected;
    for (std::int32_t left_out = 3; left_out < 7; ++left_out) {
      Words words = all_words();
      std::erase(words, left_out);
      feeds.push_back(with_list(feeds_, words, std::vector<Words>(static_cast<std::size_t>(sentences_), words)));
      expected.push_back(search.run(feeds.back(), options));
    }
    std::vector<std::unique_ptr<GraphSearch>> searches;
    for (int i = 0; i < 4; ++i) searches.push_back(search.share());
    on_own_threads(4, [&](int i) {
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t which = (k + static_cast<std::size_t>(i)) % 4;
        expect_alike(searches[static_cast<std::size_t>(i)]->run(feeds[which], options), expected[which]);
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, ShortlistSearch, ::testing::ValuesIn(tests::kGeneratingNetworks),
                         [](const auto& i) { return i.param.network; });

}  // namespace
}  // namespace graphrun
