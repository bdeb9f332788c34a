// Networks with the sizes of their papers: how many numbers they learn, against what the papers (or their authors' programs)
// say.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "tests/bench/table4.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

using Bindings = std::vector<std::pair<std::string, std::string>>;

struct Paper {
  std::string name;
  double parameters;
  double tolerance;  // relative
  std::string graph;
  Bindings bindings;
  std::string apart = "";  // a parameter that is not counted
};

const char* const kBiased = "cells/gru.pbtxt(input_bias = true)";
const char* const kBoth = "(input_bias = true, hidden_bias = true)";

constexpr double kClose =
    0.001;  // a tenth of a per cent of what the papers' equations give; the papers' own figures are rounded
constexpr double kExact = 0;

Bindings translator_settings(const std::string& words, Bindings more) {
  more.insert(more.end(), {{"source_vocabulary", words}, {"target_vocabulary", words}, {"embed", "620"}, {"hidden", "1000"}});
  return more;
}

// dl4mt's network (Li et al. 2018).
Bindings adaptive(const std::string& cell, const std::string& readout) {
  return translator_settings("30000", {{"cell", cell},
                                       {"decoder", "decoders/two_level.pbtxt(squash = false, tied = false)"},
                                       {"decoder.conditional", "decoders/conditional.pbtxt(bias = true)"},
                                       {"decoder.conditional.attention.bias", "true"},
                                       {"decoder.readout", readout}});
}

// A network of Table 4 of Zhang et al. (2018) as the benchmarks build it.
Paper of_table4(const std::string& name, double parameters, double tolerance) {
  const auto is_it = [&](const Table4Network& network) { return network.name == name; };
  const Table4Network& network = *std::find_if(table4().begin(), table4().end(), is_it);
  return {"table4_" + name, parameters, tolerance, network.graph, network.settings};
}

const std::vector<Paper>& papers() {
  static const std::vector<Paper> all = {
      of_table4("gru", 83.43e6, kClose),
      of_table4("lstm", 93.29e6, kClose),
      of_table4("ran", 79.43e6, kClose),
      of_table4("atr", 67.71e6, kClose),
      of_table4("ca", 63.09e6, kClose),
      // Of these two, the paper gives sizes and totals (143.0 and 70.2 million) but not the equations that lead to the totals.
      of_table4("deep",
                2 * 40000 * 620 + 2 * 3 * 1620 * 1000 + 3 * 3000 * 1000 + 3 * 6000 * 1000 +  // embeddings, encoder
                    3 * 1620 * 1000 + 3000 * 1000 + 1000 + 6000 * 1000 +  // the decoder's two levels with start and attention
                    4 * 3 * 3000 * 1000 + 2620 * 620,                     // the layers above, readout
                kExact),
      of_table4("transformer",
                2 * 40000 * 512 + 6 * (4 * 512 * 512 + 2 * 512 * 2048 + 2048 + 5 * 512) +
                    6 * (8 * 512 * 512 + 2 * 512 * 2048 + 2048 + 7 * 512),
                kExact),
      {"adaptive_weighting_base", 89.67e6, kClose, "translator.pbtxt", adaptive(kBiased, "readouts/deep.pbtxt(bias = true)")},
      {"adaptive_weighting_gru", 97.53e6, kClose, "translator.pbtxt",
       adaptive("cells/adaptive_gru.pbtxt", "readouts/deep.pbtxt(bias = true)")},
      {"adaptive_weighting_output", 93.07e6, kClose, "translator.pbtxt", adaptive(kBiased, "readouts/adaptive.pbtxt")},
      {"adaptive_weighting_both", 100.94e6, kClose, "translator.pbtxt",
       adaptive("cells/adaptive_gru.pbtxt", "readouts/adaptive.pbtxt")},
      {"classifier_atr",
       1534804,
       kExact,
       "classifier.pbtxt",
       {{"cell", std::string("cells/atr.pbtxt") + kBoth},
        {"vocabulary", "5"},
        {"labels", "3"},
        {"conditional.attention.bias", "true"}},
       "E"},
      {"classifier_gru",
       3156004,
       kExact,
       "classifier.pbtxt",
       {{"cell", kBiased}, {"vocabulary", "5"}, {"labels", "3"}, {"conditional.attention.bias", "true"}},
       "E"},
      // The sizes of Bergamot's tiny11, by the equations of Kim et al. (2019): no paper tells this number.
      {"student",
       32000 * 256 + 6 * (4 * 256 * 256 + 2 * 256 * 1536 + 1536 + 5 * 256) +
           2 * (2 * 256 * 256 + 256 + 4 * 256 * 256 + 2 * 256 * 1536 + 1536 + 7 * 256),
       kExact,
       "transformer.pbtxt",
       {{"recurrent", "true"},
        {"shared", "true"},
        {"width", "256"},
        {"inner", "1536"},
        {"decoder_depth", "2"},
        {"source_vocabulary", "32000"},
        {"target_vocabulary", "32000"}}},
      {"language_model_atr", 14.70e6, kClose, "language_model.pbtxt", {{"vocabulary", "10000"}}},
      {"language_model_tied_atr",
       8.203e6,
       kClose,
       "language_model.pbtxt",
       {{"vocabulary", "10001"}, {"tied", "true"}, {"cell", std::string("cells/atr.pbtxt") + kBoth}}},
      {"language_model_tied_gru",
       11.588e6,
       kClose,
       "language_model.pbtxt",
       {{"vocabulary", "10001"}, {"tied", "true"}, {"cell", std::string("cells/gru.pbtxt") + kBoth}}},
      {"language_model_tied_lstm",
       13.280e6,
       kClose,
       "language_model.pbtxt",
       {{"vocabulary", "10001"}, {"tied", "true"}, {"cell", std::string("cells/lstm.pbtxt") + kBoth}}},
  };
  return all;
}

class ParameterCount : public ::testing::TestWithParam<Paper> {};

TEST_P(ParameterCount, MeetsThePaper) {
  const Paper& paper = GetParam();
  GraphRequest request;
  request.path = paper.graph;
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  for (const auto& [name, value] : paper.bindings) request.bindings.push_back({name, value, {}});
  const ir::Graph graph = load_graph(request);
  double count = 0;
  for (const ir::Variable& v : graph.variables) {
    if (v.kind != ir::Variable::Kind::kParameter || graph.value(v.value).name == paper.apart) continue;
    double size = 1;
    for (const Dim& d : graph.type(v.value).shape) size *= static_cast<double>(d.constant());
    count += size;
  }
  EXPECT_NEAR(count, paper.parameters, paper.tolerance * paper.parameters);
}

INSTANTIATE_TEST_SUITE_P(Papers, ParameterCount, ::testing::ValuesIn(papers()), [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace graphrun
