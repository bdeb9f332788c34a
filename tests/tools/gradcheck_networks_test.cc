// The derived gradients of every shipped network, and of their parts with each of their options, at sizes for which finite
// differences take little time.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "compiler/compile.h"
#include "tests/folders.h"
#include "tools/gradcheck/gradient_check.h"

namespace graphrun {
namespace {

using Bindings = std::vector<std::pair<std::string, std::string>>;

struct Case {
  std::string graph;
  Bindings bindings;
};

const Bindings kAttention = {{"query_width", "3"}, {"memory_width", "4"}};
const Bindings kEncoder = {{"embed", "3"}, {"hidden", "4"}};
const Bindings kDecoder = {{"embed", "3"}, {"hidden", "4"}, {"vocabulary", "5"}, {"memory_width", "2"}};
const Bindings kReadout = {{"embed", "3"}, {"hidden", "4"}, {"memory_width", "2"}};
const Bindings kTranslator = {{"source_vocabulary", "5"}, {"target_vocabulary", "5"}, {"embed", "4"}, {"hidden", "4"}};
const Bindings kTransformer = {{"source_vocabulary", "5"},
                               {"target_vocabulary", "5"},
                               {"width", "4"},
                               {"inner", "3"},
                               {"heads", "2"},
                               {"depth", "1"},
                               {"longest", "9"}};
const Bindings kCyton = {{"vocabulary", "5"}, {"embed", "3"}, {"hidden", "4"}};

Case with(std::string graph, const Bindings& common, const Bindings& more = {}) {
  Case made{std::move(graph), common};
  made.bindings.insert(made.bindings.end(), more.begin(), more.end());
  return made;
}

const std::vector<Case>& networks() {
  static const std::vector<Case> all = {
      with("attention/additive.pbtxt", kAttention),
      with("attention/additive.pbtxt", kAttention, {{"bias", "true"}, {"width", "2"}}),
      with("attention/multiplicative.pbtxt", kAttention),
      with("attention/heads.pbtxt", {{"width", "4"}, {"heads", "2"}}),
      with("encoders/bidirectional.pbtxt", kEncoder, {{"cell", "cells/lstm.pbtxt"}}),
      with("encoders/context_aware.pbtxt", kEncoder, {{"cell", "cells/lstm.pbtxt"}}),
      with("encoders/gnmt.pbtxt", kEncoder, {{"depth", "3"}}),
      with("encoders/deep.pbtxt", kEncoder, {{"depth", "3"}, {"dropout", "0.2"}}),
      with("encoders/cyton.pbtxt", kEncoder, {{"depth", "2"}, {"dropout", "0.2"}}),
      with("decoders/conditional.pbtxt", {{"embed", "3"}, {"hidden", "4"}, {"memory_width", "2"}},
           {{"squash", "true"}, {"bias", "true"}}),
      with("decoders/two_level.pbtxt", kDecoder, {{"cell", "cells/lstm.pbtxt"}}),
      with("decoders/two_level.pbtxt", kDecoder,
           {{"cell", "cells/adaptive_gru.pbtxt"}, {"tied", "false"}, {"squash", "false"}}),
      with("decoders/two_level.pbtxt", kDecoder, {{"conditional.attention", "attention/multiplicative.pbtxt"}}),
      with("decoders/deep.pbtxt", kDecoder, {{"depth", "3"}}),
      with("decoders/gnmt.pbtxt", kDecoder, {{"depth", "3"}}),
      with("decoders/gnmt.pbtxt", kDecoder, {{"depth", "2"}, {"tied", "false"}, {"readout", "readouts/luong.pbtxt"}}),
      with("decoders/cyton.pbtxt", kDecoder, {{"depth", "2"}, {"dropout", "0.2"}}),
      with("decoders/cyton.pbtxt", kDecoder,
           {{"depth", "1"}, {"dropout", "0"}, {"tied", "false"}, {"readout", "readouts/deep.pbtxt"}}),
      with("readouts/deep.pbtxt", kReadout, {{"bias", "true"}}),
      with("readouts/adaptive.pbtxt", kReadout),
      with("readouts/linear.pbtxt", kReadout, {{"reads_word", "true"}, {"reads_context", "true"}}),
      with("readouts/luong.pbtxt", kReadout, {{"reads_word", "true"}}),
      with("translator.pbtxt", kTranslator),
      with("translator.pbtxt", kTranslator, {{"shared", "true"}, {"label_smoothing", "0.1"}}),
      with("translator.pbtxt", kTranslator,
           {{"cell", "cells/adaptive_gru.pbtxt"}, {"decoder.readout", "readouts/adaptive.pbtxt"}}),
      with("cyton.pbtxt", kCyton),
      with("cyton.pbtxt", kCyton, {{"shared", "true"}, {"depth", "1"}}),
      with("transformer.pbtxt", kTransformer),
      with("transformer.pbtxt", kTransformer, {{"shared", "true"}, {"tied", "false"}}),
      with("transformer.pbtxt", kTransformer, {{"recurrent", "true"}, {"shared", "true"}, {"decoder_depth", "2"}}),
      with("transformer.pbtxt", kTransformer, {{"recurrent", "true"}, {"cell", "cells/atr.pbtxt"}}),
      with("classifier.pbtxt", {{"vocabulary", "5"}, {"labels", "3"}, {"embed", "3"}, {"hidden", "4"}}),
      with("crf.pbtxt", {{"labels", "3"}}),
      with("analysis/atr_attention.pbtxt", {}),
      with("analysis/atr_encoder.pbtxt", {{"embed", "3"}, {"hidden", "2"}}),
      with("bench/layer.pbtxt", {{"hidden", "3"}, {"time", "2"}, {"batch", "2"}}),
      with("regressor.pbtxt", {{"features", "2"}, {"hidden", "3"}}),
      with("regressor.pbtxt", {{"features", "2"}, {"hidden", "3"}, {"cell", "cells/stacked.pbtxt(cell = cells/lstm.pbtxt)"}}),
      with("language_model.pbtxt", {{"vocabulary", "5"}, {"embed", "3"}, {"hidden", "3"}, {"tied", "true"}}),
      with("tagger.pbtxt", {{"vocabulary", "5"}, {"labels", "3"}, {"embed", "3"}, {"hidden", "2"}}),
      with("ensemble.pbtxt", {{"model", "translator.pbtxt(embed = 3, hidden = 2)"},
                              {"models", "2"},
                              {"source_vocabulary", "5"},
                              {"target_vocabulary", "5"}}),
  };
  return all;
}

class GradientOf : public ::testing::TestWithParam<Case> {};

TEST_P(GradientOf, IsWhatDifferencesShow) {
  GraphRequest request;
  request.path = GetParam().graph;
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  for (const auto& [name, value] : GetParam().bindings) request.bindings.push_back({name, value, {}});
  const GradientCheckOptions options;
  const GradientCheckResult result = check_gradients(load_graph(request), options);
  EXPECT_TRUE(result.passed()) << result.error();
  EXPECT_FALSE(result.all_zero());
}

INSTANTIATE_TEST_SUITE_P(Shipped, GradientOf, ::testing::ValuesIn(networks()), [](const auto& i) {
  std::string name = std::to_string(i.index) + "_" + i.param.graph.substr(0, i.param.graph.size() - 6);
  for (char& c : name) c = c == '/' ? '_' : c;
  return name;
});

TEST(GradientOfShipped, LeavesOutNone) {
  namespace fs = std::filesystem;
  const fs::path root = tests::source_folder() + "/graphs";
  std::set<std::string> checked;
  for (const Case& c : networks()) checked.insert(c.graph);
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const fs::path path = entry.path().lexically_relative(root);
    const bool elsewhere = *path.begin() == "jobs" || *path.begin() == "cells";  // cells: gradcheck_test.cc
    if (path.extension() == ".pbtxt" && !elsewhere) {
      EXPECT_EQ(checked.count(path.generic_string()), 1) << path << " is missing here";
    }
  }
}

}  // namespace
}  // namespace graphrun
