// What loops keep for their gradients.
#include "compiler/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "compiler/ir/builder.h"

namespace graphrun {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<TapeDecision> tape_of(const std::string& cell) {
  GraphRequest request;
  request.path = "language_model.pbtxt";
  request.from_graphs = true;
  request.graphs_root = GRAPHRUN_SOURCE_DIR "/graphs";
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

std::vector<std::string> names(const std::vector<TapeDecision::Value>& values) {
  std::vector<std::string> out;
  for (const TapeDecision::Value& v : values) out.push_back(v.name.substr(v.name.find("read.") + 5));
  return out;
}

TEST(Tape, OfAtrKeepsBothProductsAndTheState) {
  const std::vector<TapeDecision> tape = tape_of("atr");
  ASSERT_EQ(tape.size(), 1u);
  EXPECT_THAT(names(tape[0].kept), UnorderedElementsAre("wx", "uh", "h.before"));
  EXPECT_THAT(names(tape[0].remade), UnorderedElementsAre("f.1", "i.1"));
  EXPECT_THAT(describe(tape[0]), HasSubstr("layers.0.read keeps "));
  EXPECT_THAT(describe(tape[0]), HasSubstr(": 96*batch*time bytes; makes again "));
  EXPECT_THAT(describe(tape[0]), HasSubstr(": saves 64*batch*time bytes"));
  EXPECT_THAT(describe(tape[0], Precision::kFloat64), HasSubstr(": 192*batch*time bytes; "));
}

// Scores of pairs of labels are made of scores of labels, whatever the numbers of them.
TEST(Tape, OfACrfKeepsNothingOverPairs) {
  GraphRequest request;
  request.path = "crf.pbtxt";
  request.from_graphs = true;
  request.graphs_root = GRAPHRUN_SOURCE_DIR "/graphs";
  request.bindings = {{"labels", "7", {}}};
  const ir::Graph graph = load_graph(request);
  for (const char* output : {"nll", "margin"}) {
    ir::Graph by = graph;
    const ir::ValueId loss = ir::Builder(by).op("sum", {by.output(output)->value});
    std::vector<TapeDecision> tape;
    differentiate(by, loss, {by.variables[0].value}, &tape);
    ASSERT_FALSE(tape.empty());
    for (const TapeDecision& loop : tape) {
      for (const TapeDecision::Value& v : loop.kept) EXPECT_LE(v.type.shape.size(), 2u) << output << ": " << v.name;
    }
  }
}

// Nothing is saved by keeping an LSTM's four products and its state instead of its gates, so its gates are kept.
TEST(Tape, OfLstmKeepsResultsWhereTheirSourcesAreNotFewer) {
  const std::vector<TapeDecision> tape = tape_of("lstm");
  ASSERT_EQ(tape.size(), 1u);
  for (const std::string& name : names(tape[0].kept)) EXPECT_EQ(name.find("uh"), std::string::npos) << name;
}

}  // namespace
}  // namespace graphrun
