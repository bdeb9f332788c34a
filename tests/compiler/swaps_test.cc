// Any cell, encoder, attention and readout in any decoder, each by one setting: the network trains, and its step generates.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "compiler/generation.h"
#include "compiler/ir/verifier.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

using Parts = std::vector<std::pair<std::string, std::string>>;

ir::Graph translator(const Parts& settings, bool training) {
  GraphRequest request;
  request.path = "translator.pbtxt";
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  request.training = training;
  for (const auto& [name, value] :
       Parts{{"source_vocabulary", "7"}, {"target_vocabulary", "9"}, {"embed", "4"}, {"hidden", "4"}}) {
    request.bindings.push_back({name, value, {}});
  }
  for (const auto& [name, value] : settings) request.bindings.push_back({name, value, {}});
  return load_graph(request);
}

void expect_sound(const Parts& settings) {
  std::string said;
  for (const auto& [name, value] : settings) said += "--set " + name + "=" + value + " ";
  SCOPED_TRACE(said);
  ir::Graph graph = translator(settings, true);
  std::vector<ir::ValueId> parameters;
  for (const ir::Variable& v : graph.variables) parameters.push_back(v.value);
  ASSERT_GT(parameters.size(), 6U);
  for (const ir::ValueId gradient : differentiate(graph, graph.output("loss")->value, parameters))
    EXPECT_NE(gradient, ir::kNone);
  ir::verify(graph, "differentiate");
  EXPECT_FALSE(cut_for_generation(translator(settings, false), {"decode", "y", "logits", {"alignment"}}).states.empty());
}

const Parts kDecoders = {{"decoders/two_level.pbtxt", "decoder.conditional.attention"},
                         {"decoders/deep.pbtxt(depth = 2)", "decoder.conditional.attention"},
                         {"decoders/gnmt.pbtxt(depth = 2)", "decoder.attention"},
                         {"decoders/cyton.pbtxt(depth = 2, dropout = 0.2)", "decoder.attention"}};

TEST(Swaps, OfEncoders) {
  for (const char* encoder : {"encoders/bidirectional.pbtxt", "encoders/context_aware.pbtxt", "encoders/gnmt.pbtxt(depth = 2)",
                              "encoders/deep.pbtxt(depth = 2)", "encoders/cyton.pbtxt(depth = 2, dropout = 0.2)"}) {
    for (const auto& [decoder, unused] : kDecoders) expect_sound({{"decoder", decoder}, {"encoder", encoder}});
  }
}

TEST(Swaps, OfCells) {
  for (const char* cell : {"elman", "atr", "ran", "gru", "lstm", "adaptive_gru", "sru", "ssru", "lrn"}) {
    // sru's state is as wide as what it reads: in the two-level decoder alone, of annotations as wide as itself.
    const bool narrow = std::string(cell) == "sru";
    for (const auto& [decoder, unused] : kDecoders) {
      if (narrow && decoder != "decoders/two_level.pbtxt") continue;
      Parts settings = {{"decoder", decoder}, {"cell", std::string("cells/") + cell + ".pbtxt"}};
      if (narrow) settings.emplace_back("encoder", "encoders/context_aware.pbtxt");
      expect_sound(settings);
    }
  }
}

TEST(Swaps, OfAttentions) {
  for (const auto& [decoder, attention] : kDecoders) {
    for (const char* file : {"attention/additive.pbtxt", "attention/multiplicative.pbtxt"}) {
      expect_sound({{"decoder", decoder}, {attention, file}});
    }
  }
}

TEST(Swaps, OfReadouts) {
  for (const auto& [decoder, unused] : kDecoders) {
    for (const char* readout : {"readouts/deep.pbtxt", "readouts/adaptive.pbtxt", "readouts/luong.pbtxt",
                                "readouts/linear.pbtxt(reads_context = true)"}) {
      for (const char* tied : {"true", "false"}) {
        expect_sound({{"decoder", decoder}, {"decoder.readout", readout}, {"decoder.tied", tied}});
      }
    }
  }
}

}  // namespace
}  // namespace graphrun
