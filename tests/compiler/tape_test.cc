// What loops keep for their gradients.
#include "compiler/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "compiler/ir/builder.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<TapeDecision> tape_of(const std::string& cell) {
  GraphRequest request;
  request.path = "language_model.pbtxt";
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  request.bindings = {{"cell", "cells/" + cell + ".pbtxt", {}},
                      {"vocabulary", "50", {}},
                      {"embed", "6", {}},
                      {"hidden", "8", {}},
                      {"depth", "1", {}}};
  TrainOptions train;
  train.minimize = "loss";
  std::vector<TapeDecision> tape;
  CompileOptions options;
  options.tape = &tape;
  compile(load_graph(request), options, &train);
  return tape;
}

GraphRequest translator_request() {
  GraphRequest request;
  request.path = "translator.pbtxt";
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  request.bindings = {
      {"source_vocabulary", "50", {}}, {"target_vocabulary", "60", {}}, {"embed", "6", {}}, {"hidden", "8", {}}};
  return request;
}

// Whether a product of this name runs in a loop.
bool product_in_loop(const ir::Graph& graph, const std::string& name, bool inside = false) {
  for (const ir::Node& node : graph.nodes) {
    if (inside && node.op->family == "matmul" && graph.value(node.outputs[0]).name.find(name) != std::string::npos) return true;
    for (const ir::Graph& region : node.regions) {
      if (product_in_loop(region, name, true)) return true;
    }
  }
  return false;
}

std::vector<std::string> names(const std::vector<TapeDecision::TapedValue>& values) {
  std::vector<std::string> out;
  for (const TapeDecision::TapedValue& v : values) out.push_back(v.name.substr(v.name.find("read.") + 5));
  return out;
}

TEST(Tape, OfAtrKeepsBothProductsAndTheState) {
  const std::vector<TapeDecision> tape = tape_of("atr");
  ASSERT_EQ(tape.size(), 1u);
  EXPECT_THAT(names(tape[0].saved), UnorderedElementsAre("wx", "uh", "h.before"));
  EXPECT_THAT(names(tape[0].recomputed), UnorderedElementsAre("f", "i"));
  EXPECT_THAT(describe(tape[0]), HasSubstr("layers.0.read keeps "));
  EXPECT_THAT(describe(tape[0]), HasSubstr(": 96*batch*time bytes; recomputes "));
  EXPECT_THAT(describe(tape[0]), HasSubstr(": saves 32*batch*time bytes"));
  EXPECT_THAT(describe(tape[0], Precision::kFloat64), HasSubstr(": 192*batch*time bytes; "));
}

// Scores of pairs of labels are recomputed from scores of labels, whatever the number of labels.
TEST(Tape, OfACrfKeepsNothingOverPairs) {
  GraphRequest request;
  request.path = "crf.pbtxt";
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  request.bindings = {{"labels", "7", {}}};
  const ir::Graph graph = load_graph(request);
  for (const char* output : {"nll", "margin"}) {
    ir::Graph by = graph;
    const ir::ValueId loss = ir::Builder(by).op("sum", {by.output(output)->value});
    std::vector<TapeDecision> tape;
    differentiate(by, loss, {by.variables[0].value}, {true, &tape});
    ASSERT_FALSE(tape.empty());
    for (const TapeDecision& loop : tape) {
      for (const TapeDecision::TapedValue& v : loop.saved) EXPECT_LE(v.type.shape.size(), 2u) << output << ": " << v.name;
    }
  }
}

// A decoder reads tables and an attention's keys, the same ones for every word: none is kept once a word, and what derives from
// them is taken once a sentence. The scores of every pair of words are recomputed from query and keys.
TEST(Tape, OfADecoderKeepsNothingThatIsTheSameForEveryWord) {
  TrainOptions train;
  train.minimize = "loss";
  std::vector<TapeDecision> tape;
  CompileOptions options;
  options.tape = &tape;
  bool in_loop = true;
  options.observe = [&](const std::string& stage, const ir::Graph& graph, double) {
    if (stage == "differentiated") in_loop = product_in_loop(graph, "attend.keys");
  };
  const ir::Graph graph = load_graph(translator_request());
  compile(graph, options, &train);
  EXPECT_FALSE(in_loop);
  ASSERT_FALSE(tape.empty());
  for (const TapeDecision& loop : tape) {
    for (const TapeDecision::TapedValue& v : loop.saved) {
      const std::string shape = str(v.type.shape);
      EXPECT_NE(shape.find("batch"), std::string::npos) << v.name;
      const bool of_pairs = shape.find("source_time") != std::string::npos;
      EXPECT_TRUE(!of_pairs || v.type.shape.size() < 3 || v.type.shape.back() == Dim(1)) << v.name << ": " << shape;
    }
  }
  options.disabled_passes = {"hoist_invariants"};
  compile(graph, options, &train);
  EXPECT_TRUE(in_loop);
}

// Nothing is saved by keeping an LSTM's four products and its state instead of its gates, so its gates are kept.
TEST(Tape, OfLstmKeepsResultsWhereTheirSourcesAreNotFewer) {
  const std::vector<TapeDecision> tape = tape_of("lstm");
  ASSERT_EQ(tape.size(), 1u);
  for (const std::string& name : names(tape[0].saved)) EXPECT_EQ(name.find("uh"), std::string::npos) << name;
}

}  // namespace
}  // namespace graphrun
