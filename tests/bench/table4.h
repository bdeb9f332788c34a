// The networks of Table 4 of Zhang et al. (2018), which compares how fast translators train and decode on one GPU.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace graphrun {

struct Table4Network {
  std::string name;   // of the cases: table4_NAME
  std::string graph;  // in graphs/
  std::vector<std::pair<std::string, std::string>> settings;
  std::int64_t batch;         // of a training step
  double millions;            // of parameters, as the paper counts them
  double training, decoding;  // the paper's words/s on a TITAN X; decoding: greedy, one sentence at a time
};

// Words of a sentence: as many as those that the paper decoded have on average, by its words/s and seconds per sentence.
constexpr std::int64_t kTable4Words = 22;

// In the order of the table: RNNSearch with three cells, DeepRNNSearch, the Transformer, ATR and ATR with the context-aware
// encoder. Sizes are those of graphs/jobs/translate.pbtxt, translate_deep.pbtxt and translate_transformer.pbtxt.
inline const std::vector<Table4Network>& table4() {
  using Settings = std::vector<std::pair<std::string, std::string>>;
  const auto sized = [](Settings settings, const Settings& sizes) {
    settings.insert(settings.end(), sizes.begin(), sizes.end());
    settings.insert(settings.end(), {{"source_vocabulary", "40000"}, {"target_vocabulary", "40000"}});
    return settings;
  };
  const auto rnnsearch = [&](const std::string& cell, const Settings& settings = {}) {
    return sized(settings, {{"cell", "cells/" + cell + ".pbtxt"}, {"embed", "620"}, {"hidden", "1000"}});
  };
  static const std::vector<Table4Network> all = {
      {"gru", "translator.pbtxt", rnnsearch("gru"), 80, 83.5, 1996, 168},
      {"lstm", "translator.pbtxt", rnnsearch("lstm"), 80, 93.3, 1919, 167},
      {"ran", "translator.pbtxt", rnnsearch("ran"), 80, 79.5, 2192, 170},
      {"deep", "translator.pbtxt",
       rnnsearch("gru", {{"encoder", "encoders/deep.pbtxt(depth = 5)"}, {"decoder", "decoders/deep.pbtxt(depth = 5)"}}), 80,
       143.0, 894, 70},
      {"transformer", "transformer.pbtxt", sized({}, {{"width", "512"}, {"inner", "2048"}, {"heads", "8"}, {"depth", "6"}}),
       256, 70.2, 4961, 44},
      {"atr", "translator.pbtxt", rnnsearch("atr"), 80, 67.8, 2518, 177},
      {"ca", "translator.pbtxt", rnnsearch("atr", {{"encoder", "encoders/context_aware.pbtxt"}}), 80, 63.1, 3993, 186},
  };
  return all;
}
inline const Table4Network& table4_gru() { return table4().front(); }

}  // namespace graphrun
