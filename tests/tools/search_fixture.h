// Networks for generation, with many sentences of several greatest lengths, so that some end before others.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/generation.h"
#include "runtime/base/random.h"
#include "runtime/execute/executable.h"
#include "runtime/tensor/safetensors.h"
#include "tests/compiler/network_fixture.h"
#include "tests/tools/oracle/sampler.h"
#include "tests/tools/oracle/step_runner.h"

namespace graphrun::tests {

struct GeneratingNetwork {
  std::string network;
  GenerationSpec spec;
  friend void PrintTo(const GeneratingNetwork& c, std::ostream* out) { *out << c.network; }
};
inline const std::vector<GeneratingNetwork> kGeneratingNetworks = {
    {"translator", {"decode", "y", "logits", {}}},
    {"translator_ca_lstm", {"decode", "y", "logits", {}}},
    {"gnmt", {"decode", "y", "logits", {}}},
    {"cyton_lstm", {"decode", "y", "logits", {}}},
    {"transformer", {"decode", "y", "logits", {}}},
    {"student", {"decode", "y", "logits", {}}},
    {"ensemble", {"members.decode", "y", "score", {}}},
};

class SearchFixture : public ::testing::TestWithParam<GeneratingNetwork> {
 protected:
  explicit SearchFixture(std::int64_t sentences = 37) : sentences_(sentences) {}

  static constexpr std::int32_t kBegin = 1, kEnd = 2;

  void SetUp() override {
    const NetworkFixtures fixtures("networks");
    const NamedTensors tensors = read_safetensors(fixtures.tensors(GetParam().network));
    for (const auto& [name, tensor] : tensors) {
      if (name.rfind("parameter/", 0) == 0) variables_->set(name.substr(10), tensor.converted(DType::kFloat32));
    }
    for (const std::string name : {"source", "source_lengths"}) feeds_[name] = many(tensors.at("feed/" + name));
    for (std::int64_t s = 0; s < sentences_; ++s) options_.max_length.push_back(s % 7 == 3 ? 0 : 2 + s * 5 % 11);
    options_.begin = kBegin, options_.end = kEnd;
    cut_ = cut_for_generation(load_graph(fixtures.request(GetParam().network, false)), GetParam().spec);
  }

  // Options of greedy search, and of beam search with every setting.
  std::vector<SearchCase> settings() const {
    std::vector<SearchCase> all(5, options_);
    all[1].beam = 3, all[1].n_best = 2;
    all[1].norm.kind = LengthNorm::Kind::kLength;
    all[2] = all[1];
    all[2].norm.kind = LengthNorm::Kind::kGnmt;
    all[2].min_length = 2;
    all[3] = all[2];
    all[3].beam = all[3].n_best = 12;  // nearly as many as words
    all[4] = all[1];
    all[4].beam = 20, all[4].n_best = 5;  // more than words
    return all;
  }

  // Given prefixes of sentences: empty ones, whole sentences, and some longer than allowed.
  void give_prefixes(SearchCase& options) const {
    options.prefixes = true;
    for (std::int64_t s = 0; s < sentences_; ++s) {
      const auto w = static_cast<std::int32_t>(3 + s % 3);
      const std::vector<std::vector<std::int32_t>> kinds = {{}, {w, 4}, {w, w, 5, kEnd}, {w}, {4, w, 5, w, 3, w}, {kEnd}};
      options.prefix.push_back(kinds[static_cast<std::size_t>(s) % kinds.size()]);
    }
  }

  // Options of sampling from all words and from the best, with every setting.
  std::vector<SearchCase> sampling_settings() const {
    std::vector<SearchCase> all(3, options_);
    for (SearchCase& options : all) {
      options.sampling = Sampling{};
      for (std::int64_t s = 0; s < sentences_; ++s) options.keys.push_back(fold_coordinate(7, static_cast<std::uint64_t>(s)));
    }
    all[0].n_best = 3;
    all[1].sampling = {0.5, 3};
    all[1].min_length = 2;
    all[1].norm.kind = LengthNorm::Kind::kLength;
    all[2].sampling = {2, 0};
    all[2].min_length = 1, all[2].n_best = 2;
    give_prefixes(all[2]);
    return all;
  }

  // The results of the oracle, on the CPU.
  std::vector<std::vector<Hypothesis>> by_host(const SearchCase& options) const {
    StepRunner::Options running;
    running.most = (options.sampling ? 1000 : options.beam) + 1;
    running.asked = options.prefixes;
    StepRunner runner(*cut_, running, variables_);
    runner.begin(feeds_, sentences_, 20);
    return options.sampling ? sample(runner, sentences_, options, *options.sampling) : beam_search(runner, sentences_, options);
  }

  // The feeds of one sentence.
  Feeds feeds_of(std::int64_t sentence) const {
    Feeds one;
    for (const auto& [name, all] : feeds_) {
      Sizes sizes = all.sizes();
      sizes.back() = 1;
      Tensor own(DType::kInt32, sizes);
      for (std::int64_t i = 0; i < own.count(); ++i)
        own.data<std::int32_t>()[i] = all.data<std::int32_t>()[i * sentences_ + sentence];
      one[name] = own;
    }
    return one;
  }

  static void expect_alike(const std::vector<std::vector<Hypothesis>>& found,
                           const std::vector<std::vector<Hypothesis>>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t s = 0; s < found.size(); ++s) {
      ASSERT_EQ(found[s].size(), expected[s].size()) << "sentence " << s;
      for (std::size_t k = 0; k < found[s].size(); ++k) {
        const Hypothesis &mine = found[s][k], &theirs = expected[s][k];
        EXPECT_EQ(mine.words, theirs.words) << "sentence " << s << " best " << k;
        EXPECT_EQ(mine.ended, theirs.ended);
        EXPECT_EQ(mine.rows.size(), theirs.rows.size());
        EXPECT_NEAR(mine.log_probability, theirs.log_probability, 1e-5);
        EXPECT_NEAR(mine.score, theirs.score, 1e-5);
      }
    }
  }

  const std::int64_t sentences_;
  std::optional<GenerationGraphs> cut_;
  Feeds feeds_;
  SearchCase options_;
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();

 private:
  // Of few sentences, again and again.
  Tensor many(const Tensor& few) const {
    Sizes sizes = few.sizes();
    const std::int64_t had = sizes.back();
    sizes.back() = sentences_;
    Tensor all(DType::kInt32, sizes);
    for (std::int64_t i = 0; i < all.count(); ++i)
      all.data<std::int32_t>()[i] = few.data<std::int32_t>()[i / sentences_ * had + i % sentences_ % had];
    return all;
  }
};

}  // namespace graphrun::tests
