// The text form of graphs: printing, reading back, refusing what is no graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "compiler/ir/builder.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "tests/compiler/sample_graphs.h"

namespace graphrun {
namespace {

using ir::Graph;
using ::testing::HasSubstr;

std::string round_trip(const std::string& text) { return print(ir::parse(text, "test")); }

TEST(GraphText, ReadsAsDocumented) {
  const std::string text = print(test::recurrent_graph());
  EXPECT_THAT(text, HasSubstr("graph \"recurrent\" {\n"));
  EXPECT_THAT(text, HasSubstr("  symbol <steps> = <time+1>\n"));
  EXPECT_THAT(text, HasSubstr("  input %words: INT32[time, batch] below <10>\n"));
  EXPECT_THAT(text, HasSubstr("  input %lengths: INT32[batch] lengths_of <time>\n"));
  EXPECT_THAT(text, HasSubstr("  parameter %E: FLOAT[10, 4] = uniform(0.08) at \"model.pbtxt\":5:3\n"));
  EXPECT_THAT(text, HasSubstr("  state %cell.h: FLOAT[batch, 4] = constant(0.0) next %cell.h.1\n"));
  EXPECT_THAT(text,
              HasSubstr(" = scan(%cell.h, %embedded, %cell.U; each=1, states=1, steps=<time>) at \"model.pbtxt\":3:1 body "
                        "\"cell\" {\n"));
  EXPECT_THAT(text,
              HasSubstr("    %h_next: FLOAT[batch, 4] = tanh(%p.1) at \"cells/elman.pbtxt\":12:8+9 via \"model.pbtxt\":3:1\n"));
  EXPECT_THAT(text, HasSubstr("  %logits: FLOAT[time, batch, 10] = matmul(%cell.h.2, %E; transpose_b=true) at"));
  EXPECT_THAT(text, HasSubstr("  output \"loss\" = %loss\n  output \"h\" = %cell.h.2\n}\n"));
}

TEST(GraphText, TellsOfInputsThatLast) {
  const std::string text = "graph \"g\" {\n  input %P: FLOAT[4, n] lasting\n  output \"P\" = %P\n}\n";
  EXPECT_EQ(round_trip(text), text);
  EXPECT_TRUE(ir::parse(text, "test").inputs[0].lasting);
}

TEST(GraphText, LocationsMayBeLeftOut) {
  const std::string text = print(test::recurrent_graph(), {.locations = false});
  EXPECT_EQ(text.find(" at "), std::string::npos);
  EXPECT_EQ(print(ir::parse(text, "test")), text);
}

TEST(GraphText, ReadsBackExactly) {
  const std::string text = print(test::recurrent_graph());
  EXPECT_EQ(round_trip(text), text);
}

TEST(GraphText, RandomGraphsReadBackExactly) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const std::string text = print(test::random_graph(random, 15));
    ASSERT_EQ(round_trip(text), text);
  }
}

TEST(GraphText, FloatsReadBackBitForBit) {
  std::mt19937_64 random(3);
  std::vector<double> values = {0.0,
                                -0.0,
                                1,
                                -1,
                                0.1,
                                1e22,
                                1e23,
                                5e-324,
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity()};
  for (int i = 0; i < 2000; ++i) values.push_back(std::bit_cast<double>(random()));
  for (double value : values) {
    Graph g;
    ir::Builder b(g);
    b.set_name("c");
    g.outputs = {{"c", b.op("constant", {}, {{"value", value}, {"type", std::string("FLOAT")}})}};
    const Graph back = ir::parse(print(g), "test");
    const double read = back.nodes[0].attributes.number("value");
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(read));
      EXPECT_EQ(std::signbit(read), std::signbit(value));
    } else {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(read), std::bit_cast<std::uint64_t>(value)) << ir::print(value);
    }
  }
}

TEST(GraphText, HandWrittenTextMayLeaveOutTypesAndDefaults) {
  const Graph g = ir::parse(R"(graph "g" {
    input %x: FLOAT[batch, 4]   # a comment
    %y = softmax(%x)
    %z = dropout(%y; rate=0, key="k")
    output "z" = %z
  })",
                            "test");
  EXPECT_EQ(g.type(g.outputs[0].value).str(), "FLOAT[batch, 4]");
  EXPECT_EQ(g.nodes[0].attributes.integer("axis"), -1);
  EXPECT_EQ(g.nodes[1].attributes.number("rate"), 0.0);
}

TEST(GraphText, PrintsGraphsThatBreakInvariants) {
  Graph g = test::recurrent_graph();
  g.nodes[0].inputs[0] = 12345;
  g.outputs[0].value = ir::kNone;
  EXPECT_THAT(print(g), HasSubstr("gather(%<12345>, %words)"));
  EXPECT_THAT(print(g), HasSubstr("output \"loss\" = _"));
}

// ---- refusals

struct Refusal {
  const char* text;
  const char* code;
  int line, column;
  const char* message;
  friend void PrintTo(const Refusal& r, std::ostream* out) { *out << r.text; }
};

class GraphTextRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(GraphTextRefusal, NamesThePlace) {
  const Refusal& r = GetParam();
  try {
    ir::parse(r.text, "g.txt");
    FAIL() << "was read: " << r.text;
  } catch (const UserError& error) {
    ASSERT_EQ(error.diagnostics().size(), 1u);
    const Diagnostic& d = error.diagnostics()[0];
    EXPECT_THAT(d.code, HasSubstr(r.code));
    EXPECT_THAT(d.text, HasSubstr(r.message));
    EXPECT_EQ(*d.at.file, "g.txt");
    EXPECT_EQ(d.at.line, r.line) << d.text;
    EXPECT_EQ(d.at.column, r.column) << d.text;
    EXPECT_EQ(error.exit_code(), ExitCode::kInvalidGraph);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, GraphTextRefusal,
    ::testing::Values(
        Refusal{"", "E0190", 1, 1, "expected 'graph', found the end of the text"},
        Refusal{"graph", "E0190", 1, 6, "expected '\"'"}, Refusal{"graph \"g", "E0190", 1, 7, "this string has no end"},
        Refusal{"graph \"\\q\" {}", "E0190", 1, 9, "an escape is one of"},
        Refusal{"graph \"\\xg0\" {}", "E0190", 1, 8, "two hexadecimal digits"},
        Refusal{"graph \"g\" {", "E0190", 1, 12, "the end of the text"},
        Refusal{"graph \"g\" {} x", "E0190", 1, 14, "expected the end of the text"},
        Refusal{"graph \"g\" {\n  weight %x\n}", "E0190", 2, 3, "found 'weight'"},
        Refusal{"graph \"g\" {\n  input %x: REAL[2]\n}", "E0190", 2, 13, "expected FLOAT, INT32 or BOOL, found 'REAL'"},
        Refusal{"graph \"g\" {\n  input %x: FLOAT[2*]\n}", "E0190", 2, 19, "expected a size"},
        Refusal{"graph \"g\" {\n  input %x: FLOAT[9999999999999999999]\n}", "E0190", 2, 19, "expected a size"},
        Refusal{"graph \"g\" {\n  input %x: FLOAT[2]\n  input %x: FLOAT[2]\n}", "E0191", 3, 9, "\"x\" is defined twice"},
        Refusal{"graph \"g\" {\n  %y = tanh(%x)\n}", "E0191", 2, 13, "\"x\" is not defined above"},
        Refusal{"graph \"g\" {\n  %y = tahn()\n}", "E0191", 2, 8, "there is no op 'tahn'"},
        Refusal{"graph \"g\" {\n  %y = tanh()\n}", "E0193", 2, 3, "tanh: operand 'x' is absent, but not optional"},
        Refusal{"graph \"g\" {\n  input %x: BOOL[2]\n  %y: FLOAT[3] = tanh(%x)\n}", "E0193", 3, 3, "tanh: the shape rule says"},
        Refusal{"graph \"g\" {\n  input %x: FLOAT[2]\n  %y: FLOAT[3] = tanh(%x)\n}", "E0193", 3, 3,
                "'y' is FLOAT[3], the shape rule gives FLOAT[2]"},
        Refusal{"graph \"g\" {\n  input %x: FLOAT[2]\n  %y = softmax(%x; axis=1.5)\n}", "E0193", 3, 3, "'axis' is a float"},
        Refusal{"graph \"g\" {\n  input %x: FLOAT[2]\n  %y = tanh(%x; axis=1)\n}", "E0193", 3, 3, "unknown attribute 'axis'"},
        Refusal{"graph \"g\" {\n  %y = constant(; value=1, value=2)\n}", "E0191", 2, 28, "given twice"},
        Refusal{"graph \"g\" {\n  %y = constant(; value=1e999, type=\"FLOAT\")\n}", "E0190", 2, 25, "expected a number"},
        Refusal{"graph \"g\" {\n  %y = constant(; value=, type=\"FLOAT\")\n}", "E0190", 2, 25, "expected a number"},
        Refusal{"graph \"g\" {\n  input %x: FLOAT[2] below <3>\n}", "E0193", 1, 7, "has a bound or is a length"},
        Refusal{"graph \"g\" {\n  parameter %W: FLOAT[n] = uniform(1)\n}", "E0193", 1, 7, "has a size that is not a number"},
        Refusal{"graph \"g\" {\n  symbol <a> = <a+1>\n}", "E0193", 1, 7, "'a' is defined by itself"},
        Refusal{"graph \"g\" {\n  parameter %W: FLOAT[2] = uniform(1) next %V\n}", "E0191", 2, 44,
                "\"V\" is not defined above"},
        Refusal{"graph \"g\" {\n  input %x: FLOAT[2]\n  %y = tanh(%x) at \"f\":1\n}", "E0190", 4, 1, "expected ':'"}));

TEST(GraphTextRefusal, DeepNestingIsRefused) {
  std::string text = "graph \"g\" {";
  for (int i = 0; i < 100000; ++i) text += "%a: FLOAT[] = scan(; states=0, each=0, steps=<2>) body \"b\" {";
  try {
    ir::parse(text, "g.txt");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.diagnostics()[0].code, HasSubstr("E0192"));
  }
}

// Whatever the text, the answer is a graph or a UserError.
TEST(GraphTextRefusal, OfAProgramHasItsPlace) {
  const auto refusal = [](const std::string& code, const std::string& operands = "%x") {
    try {
      ir::parse(
          "graph \"g\" {\n  input %x: FLOAT[3]\n  %y = fused(" + operands + "; code=\"" + code + "\")\n  output \"y\" = %y\n}",
          "text");
    } catch (const UserError& error) {
      const Diagnostic& d = error.diagnostics().at(0);
      return std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + " " + d.code + ": " + d.text;
    }
    return std::string("read");
  };
  EXPECT_EQ(refusal("t0 = tanh(x0); return t0"), "read");
  EXPECT_THAT(refusal("t0 = tanh(x0; return t0"), testing::StartsWith("3:23 E0190 graph-text-syntax: fused: expected"));
  EXPECT_THAT(refusal("t0 = matmul(x0, x0); return t0"), testing::HasSubstr("expected a pointwise op, found 'matmul'"));
  EXPECT_THAT(refusal("t0 = add(x0, x1); return t0"), testing::HasSubstr("the code reads 2 inputs, the node has 1"));
}

TEST(GraphText, HostileTextIsRefusedInWords) {
  std::mt19937 random(11);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::vector<std::string> pieces = {"%",
                                           "\"",
                                           "{",
                                           "}",
                                           "(",
                                           ")",
                                           "[",
                                           "]",
                                           "<",
                                           ">",
                                           "=",
                                           ";",
                                           ",",
                                           "_",
                                           "body",
                                           "next",
                                           "at",
                                           "-9223372036854775808",
                                           "99999999999999999999",
                                           "nan",
                                           "*",
                                           "time",
                                           "scan",
                                           "each=3",
                                           "states=-1",
                                           "steps=<0>",
                                           std::string(1, '\0'),
                                           "\xff",
                                           "\\x",
                                           "input %q: INT32[] "};
  int read = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = print(round % 4 ? test::random_graph(random, 4) : test::recurrent_graph());
    for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0: text[at] = static_cast<char>(below(256)); break;
        case 1: text.erase(at, 1 + below(20)); break;
        case 2: text.insert(at, pieces[below(pieces.size())]); break;
        default: text.insert(at, text.substr(below(text.size()), below(60)));
      }
    }
    try {
      ir::verify(ir::parse(text, "hostile"), "reading");
      ++read;
    } catch (const UserError& error) {
      ASSERT_TRUE(error.diagnostics()[0].at.known()) << error.what();
    }
  }
  EXPECT_LT(read, 1250);
}

}  // namespace
}  // namespace graphrun
