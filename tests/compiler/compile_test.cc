// The compiler from end to end on the shipped graphs: they load, have the papers' numbers of parameters, and large or hostile
// files end in a graph or in a message.
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "compiler/compile.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kRoot = tests::source_folder();
using Args = std::vector<std::pair<std::string, std::string>>;

ir::Graph load(const std::string& path, const Args& args) {
  GraphRequest request;
  request.path = path;
  request.from_graphs = true;
  request.graphs_root = (kRoot / "graphs").string();
  for (const auto& [name, value] : args) request.bindings.push_back({name, value, {}});
  return load_graph(request);
}

// A file of its own in a folder that goes with the test.
class Written {
 public:
  explicit Written(const std::string& text) {
    static int count = 0;
    path_ = fs::temp_directory_path() /
            ("graphrun_compile_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++) + ".pbtxt");
    std::ofstream(path_) << text;
  }
  ~Written() { fs::remove(path_); }
  ir::Graph load(const Args& args = {}) const {
    GraphRequest request;
    request.path = path_.string();
    request.graphs_root = (kRoot / "graphs").string();
    for (const auto& [name, value] : args) request.bindings.push_back({name, value, {}});
    return load_graph(request);
  }
  std::string mistake() const {
    try {
      load();
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  }

 private:
  fs::path path_;
};

struct Count {
  std::string what, path;
  Args args;
  double millions;
};

TEST(ShippedGraphs, HaveThePapersNumbersOfParameters) {
  const std::string both = "(input_bias = true, hidden_bias = true)";
  const auto dl4mt = [](const std::string& readout, const std::string& cell) {
    return Args{
        {"source_vocabulary", "30000"},
        {"target_vocabulary", "30000"},
        {"cell", cell},
        {"decoder",
         "decoders/two_level.pbtxt(squash = false, tied = false, readout = " + readout +
             ", conditional = decoders/conditional.pbtxt(bias = true, attention = attention/additive.pbtxt(bias = true)))"}};
  };
  const auto rnnsearch = [](Args more) {
    more.insert(more.end(), {{"source_vocabulary", "40000"}, {"target_vocabulary", "40000"}});
    return more;
  };
  const std::string gru = "cells/gru.pbtxt(input_bias = true)", deep = "readouts/deep.pbtxt(bias = true)";
  const std::string adaptive = "cells/adaptive_gru.pbtxt";
  const std::vector<Count> counts = {
      {"PTB, TF recipe", "language_model.pbtxt", {{"vocabulary", "10000"}}, 14.70},
      {"PTB tied ATR",
       "language_model.pbtxt",
       {{"vocabulary", "10001"}, {"tied", "true"}, {"cell", "cells/atr.pbtxt" + both}},
       8.203},
      {"PTB tied GRU",
       "language_model.pbtxt",
       {{"vocabulary", "10001"}, {"tied", "true"}, {"cell", "cells/gru.pbtxt" + both}},
       11.588},
      {"PTB tied LSTM",
       "language_model.pbtxt",
       {{"vocabulary", "10001"}, {"tied", "true"}, {"cell", "cells/lstm.pbtxt" + both}},
       13.281},
      {"RNNSearch ATR", "translator.pbtxt", rnnsearch({}), 67.71},
      {"RNNSearch GRU", "translator.pbtxt", rnnsearch({{"cell", "cells/gru.pbtxt"}}), 83.43},
      {"RNNSearch LSTM", "translator.pbtxt", rnnsearch({{"cell", "cells/lstm.pbtxt"}}), 93.29},
      {"RNNSearch RAN", "translator.pbtxt", rnnsearch({{"cell", "cells/ran.pbtxt"}}), 79.43},
      {"ATR + CA", "translator.pbtxt", rnnsearch({{"encoder", "encoders/context_aware.pbtxt"}}), 63.09},
      {"dl4mt", "translator.pbtxt", dl4mt(deep, gru), 89.67},
      {"dl4mt, adaptive GRU", "translator.pbtxt", dl4mt(deep, adaptive), 97.534},
      {"dl4mt, adaptive output", "translator.pbtxt", dl4mt("readouts/adaptive.pbtxt", gru), 93.07},
      {"dl4mt, both", "translator.pbtxt", dl4mt("readouts/adaptive.pbtxt", adaptive), 100.94},
  };
  for (const Count& c : counts) {
    const double found = static_cast<double>(load(c.path, c.args).parameter_count()) / 1e6;
    EXPECT_NEAR(found, c.millions, 0.0006 * c.millions) << c.what;
  }
}

TEST(ShippedGraphs, NliHasTheAuthorsNumberOfParameters) {
  const std::string attention = "decoders/conditional.pbtxt(attention = attention/additive.pbtxt(bias = true))";
  const std::vector<std::pair<std::string, std::int64_t>> counts = {
      {"cells/atr.pbtxt(input_bias = true, hidden_bias = true)", 1534804}, {"cells/gru.pbtxt(input_bias = true)", 3156004}};
  for (const auto& [cell, count] : counts) {
    const ir::Graph g =
        load("classifier.pbtxt", {{"vocabulary", "5"}, {"labels", "3"}, {"cell", cell}, {"conditional", attention}});
    EXPECT_EQ(g.parameter_count() - 5 * 300, count) << cell;
  }
}

TEST(ShippedGraphs, AllLoad) {
  // Values for the args of all files; each file uses those that it has.
  const Args offers = {{"hidden", "4"},
                       {"input", "4"},
                       {"embed", "4"},
                       {"vocabulary", "9"},
                       {"labels", "3"},
                       {"depth", "2"},
                       {"dropout", "0.1"},
                       {"models", "2"},
                       {"width", "8"},
                       {"memory_width", "6"},
                       {"query_width", "4"},
                       {"source_vocabulary", "9"},
                       {"target_vocabulary", "9"},
                       {"features", "2"}};
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "graphs")) {
    if (entry.path().extension() != ".pbtxt" || entry.path().string().find("/jobs/") != std::string::npos) continue;
    const std::string path = entry.path().lexically_relative(kRoot / "graphs").string();
    Args args;
    std::string message;
    // What it does not know, it names.
    for (const auto& offer : offers) {
      try {
        load(path, {offer});
        args.push_back(offer);
      } catch (const UserError& e) {
        if (std::string(e.what()).find("E0229") == std::string::npos) args.push_back(offer);
      }
    }
    try {
      EXPECT_FALSE(load(path, args).outputs.empty());
      ++files;
    } catch (const UserError& e) {
      ADD_FAILURE() << path << ": " << e.what();
    }
  }
  EXPECT_GE(files, 26);
}

TEST(LargeGraphs, AHundredThousandNodesCompile) {
  std::string text =
      "name: \"deep\"\ninput { name: \"x\" shape: \"[batch, 4]\" }\ngraph {\n name: \"layer\"\n input { name: \"x\" shape: "
      "\"[batch, 4]\" }\n";
  for (int k = 0; k < 100; ++k) {
    const std::string before = k == 0 ? "x" : "v" + std::to_string(k - 1);
    text += " let: \"v" + std::to_string(k) + " = tanh(" + before + ")\"\n";
  }
  text +=
      " output: \"x = v99\"\n}\nrepeat { name: \"layers\" graph: \"layer\" times: \"1000\" carry: \"x\" }\noutput: \"y = "
      "layers.x\"\n";
  const ir::Graph graph = Written(text).load();
  EXPECT_EQ(graph.nodes.size(), 100000u);
  const Program program = compile(graph);
  EXPECT_EQ(program.fetches.size(), 1u);
}

TEST(LargeGraphs, ALongChainOfEquationsNeedsNoDeepStack) {
  std::string text = "name: \"chain\"\ninput { name: \"x\" shape: \"[batch]\" }\noutput: \"y = v20000\"\nlet: \"v0 = x\"\n";
  // From the last to the first: the order of the lines does not matter.
  for (int k = 20000; k > 0; --k) text += "let: \"v" + std::to_string(k) + " = tanh(v" + std::to_string(k - 1) + ")\"\n";
  EXPECT_EQ(Written(text).load().nodes.size(), 20000u);
}

// A state keeps its name, although its next value was created first with the same name.
TEST(States, KeepTheirNameWhereTheNextIsReadFirst) {
  const Written file(
      "name: \"cell\"\n"
      "input { name: \"x\" shape: \"[batch, 3]\" }\n"
      "parameter { name: \"W\" shape: \"[3, 4]\" }\n"
      "parameter { name: \"U\" shape: \"[4, 4]\" }\n"
      "state { name: \"h\" shape: \"[batch, 4]\" next: \"x @ W\" }\n"
      "output: \"h = next(h), g = h @ U\"\n");
  const ir::Graph graph = file.load();
  ASSERT_EQ(graph.variables.size(), 3u);
  for (const ir::Variable& v : graph.variables) {
    if (v.kind == ir::Variable::Kind::kState) {
      EXPECT_EQ(graph.value(v.value).name, "h");
      EXPECT_NE(v.next, v.value);
    }
  }
  EXPECT_NE(graph.output("h"), nullptr);
}

TEST(HostileFiles, EndInAMessage) {
  const std::string head = "name: \"g\"\ninput { name: \"x\" shape: \"[batch]\" }\n";
  EXPECT_THAT(Written(head + "output: \"y = " + std::string(100000, '(') + "\"\n").mistake(), HasSubstr("E0106 too-deep"));
  std::string sum = "x";
  for (int k = 0; k < 100000; ++k) sum += " + x";
  EXPECT_THAT(Written(head + "output: \"y = " + sum + "\"\n").mistake(), HasSubstr("E0106 too-deep"));
  std::string nested;
  for (int k = 0; k < 100000; ++k) nested += "graph { ";
  EXPECT_THAT(Written(head + nested).mistake(), HasSubstr("E0110"));
  EXPECT_THAT(Written(std::string("\x00\xff\xfe{{{", 6)).mistake(), HasSubstr("error["));
  EXPECT_THAT(Written(head + "parameter { name: \"W\" shape: \"[1000000000, 1000000000]\" }\noutput: \"y = sum(W)\"").mistake(),
              HasSubstr("E0309"));
  EXPECT_THAT(Written(head + "output: \"y = x @ 99999999999999999999\"").mistake(), HasSubstr("E0103"));
}

}  // namespace
}  // namespace graphrun
