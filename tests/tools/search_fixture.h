// Networks that generate, with many sentences for them of several greatest lengths: some are done before others.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/generation.h"
#include "runtime/execute/executable.h"
#include "runtime/tensor/safetensors.h"
#include "tests/compiler/network_fixture.h"
#include "tools/generate/beam_search.h"

namespace graphrun::tests {

struct GeneratingNetwork {
  std::string network;
  GenerationSpec spec;
  friend void PrintTo(const GeneratingNetwork& c, std::ostream* out) { *out << c.network; }
};
inline const std::vector<GeneratingNetwork> kGeneratingNetworks = {
    {"translator", {"decode", "y", "logits", {}}},  {"translator_ca_lstm", {"decode", "y", "logits", {}}},
    {"gnmt", {"decode", "y", "logits", {}}},        {"cyton_lstm", {"decode", "y", "logits", {}}},
    {"transformer", {"decode", "y", "logits", {}}}, {"ensemble", {"members.decode", "y", "score", {}}},
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

  // Of greedy search and of beams with every setting.
  std::vector<SearchOptions> settings() const {
    std::vector<SearchOptions> all(5, options_);
    all[1].beam = 3, all[1].n_best = 2;
    all[1].norm.kind = LengthNorm::Kind::kLength;
    all[2] = all[1];
    all[2].norm.kind = LengthNorm::Kind::kGnmt;
    all[2].min_length = 2;
    all[3] = all[2];
    all[3].beam = all[3].n_best = 12;  // nearly as many as there are words
    all[4] = all[1];
    all[4].beam = 20, all[4].n_best = 5;  // more
    return all;
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
        EXPECT_NEAR(mine.log_probability, theirs.log_probability, 1e-4);
        EXPECT_NEAR(mine.score, theirs.score, 1e-4);
      }
    }
  }

  const std::int64_t sentences_;
  std::optional<GenerationGraphs> cut_;
  Feeds feeds_;
  SearchOptions options_;
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
