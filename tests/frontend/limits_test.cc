// Messages for files that are far too large, and that there are few of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/frontend/budget.h"
#include "compiler/frontend/source.h"
#include "tests/folders.h"
#include "tests/frontend/graph_file.h"

namespace graphrun {
namespace {

using frontend::Budget;
using ::testing::Contains;
using ::testing::HasSubstr;
using tests::mistakes_of;

const std::string kBegin = "name: \"net\"\ninput { name: \"x\" shape: \"[batch, 4]\" }\n";
const std::string kLayer = "graph { name: \"layer\" input { name: \"x\" shape: \"[batch, 4]\" } output: \"x = x + 1\" }\n";

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

// Graphs that each call the previous one twice.
std::string doubling(int levels) {
  std::string text = kBegin + "graph { name: \"g0\" input { name: \"x\" shape: \"[batch, 4]\" } output: \"y = tanh(x)\" }\n";
  for (int i = 1; i <= levels; ++i) {
    const std::string name = "g" + std::to_string(i), below = "g" + std::to_string(i - 1);
    text += "graph { name: \"" + name + "\" input { name: \"x\" shape: \"[batch, 4]\" } call { name: \"a\" graph: \"" + below +
            "\" input: \"x\" } call { name: \"b\" graph: \"" + below + "\" input: \"x\" } output: \"y = a.y + b.y\" }\n";
  }
  return text + "call { name: \"first\" graph: \"g" + std::to_string(levels) + "\" input: \"x\" }\noutput: \"y = first.y\"\n";
}

TEST(Limits, CallsInCallsAreToldOnceWithTheirChain) {
  const std::vector<Diagnostic> found = mistakes_of(doubling(24));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "E0250 graph-too-large");
  EXPECT_TRUE(found[0].at.known());
  EXPECT_THAT(found[0].text, HasSubstr(std::to_string(Budget::kMostInstances) + " calls"));
  EXPECT_THAT(found[0].notes, Contains(HasSubstr("first -> a -> a -> a -> a -> a -> … -> ")));
}

TEST(Limits, CallsInCallsBelowThemLoad) { EXPECT_TRUE(mistakes_of(doubling(10)).empty()); }

TEST(Limits, RepetitionsAreCalls) {
  const auto text = [](std::size_t times) {
    return kBegin + kLayer + "repeat { name: \"layers\" graph: \"layer\" times: \"" + std::to_string(times) +
           "\" carry: \"x\" }\noutput: \"y = layers.x\"\n";
  };
  EXPECT_TRUE(mistakes_of(text(Budget::kMostInstances)).empty());
  const std::vector<Diagnostic> found = mistakes_of(text(Budget::kMostInstances + 1));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "E0250 graph-too-large");
  EXPECT_THAT(found[0].notes, Contains("note: the calls that led here: layers -> " + std::to_string(Budget::kMostInstances)));
}

// The call is read only for its states.
TEST(Limits, CallsForTheirStatesCount) {
  const std::string cell =
      "graph { name: \"cell\" state { name: \"s\" shape: \"[4]\" next: \"s + 1\" } }\n"
      "graph { name: \"many\" repeat { name: \"cells\" graph: \"cell\" times: \"30000\" } output: \"one = 1\" }\n";
  const std::vector<Diagnostic> found = mistakes_of(
      kBegin + cell +
      "call { name: \"all\" graph: \"many\" }\nstate { name: \"c\" of: \"all\" next: \"c\" }\noutput: \"y = x, z = c\"\n");
  EXPECT_THAT(found, Contains(::testing::Field(&Diagnostic::code, "E0250 graph-too-large")));
}

TEST(Limits, ValuesAreCounted) {
  const std::string layer =
      "graph { name: \"layer\" input { name: \"x\" shape: \"[batch, 4]\" } output: \"x = x" + repeated(" + x", 900) + "\" }\n";
  const std::vector<Diagnostic> found = mistakes_of(
      kBegin + layer + "repeat { name: \"layers\" graph: \"layer\" times: \"2000\" carry: \"x\" }\noutput: \"y = layers.x\"\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "E0250 graph-too-large");
  EXPECT_THAT(found[0].text, HasSubstr(std::to_string(Budget::kMostValues) + " values"));
  EXPECT_THAT(found[0].notes, Contains(HasSubstr("layers -> ")));
}

TEST(Limits, AGraphThatCallsItselfIsTold) {
  const std::string again =
      "graph { name: \"again\" call { name: \"inner\" graph: \"again\" } output: \"y = inner.y\" }\n"
      "call { name: \"first\" graph: \"again\" }\n";
  for (const std::string output : {"first.y", "next(s)"}) {
    const std::string state = "state { name: \"s\" of: \"first\" next: \"first.end\" }\n";
    const std::vector<Diagnostic> found = mistakes_of(kBegin + again + state + "output: \"y = " + output + "\"\n");
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].code, "E0106 too-deep");
  }
}

// Each is reported; only the first gets a suggestion.
TEST(Limits, UnknownNamesAreAllTold) {
  std::string text = kBegin;
  for (int i = 0; i < 8000; ++i) {
    const std::string number = std::to_string(i);
    text += "let: \"known" + number + " = unknown" + number + " + x\"\noutput: \"y" + number + " = known" + number + "\"\n";
  }
  const std::vector<Diagnostic> found = mistakes_of(text);
  ASSERT_EQ(found.size(), 8000u);
  EXPECT_EQ(found[0].text, "nothing is called 'unknown0' in graph 'net'");
  EXPECT_THAT(found[0].notes, Contains(HasSubstr("did you mean 'known0'")));
  EXPECT_EQ(found[7999].text, "nothing is called 'unknown7999' in graph 'net'");
  EXPECT_TRUE(found[7999].notes.empty());
}

// All mistakes of one expression are reported, however many.
TEST(Limits, MistakesOfOneExpressionAreTold) {
  std::string sum = "x";
  for (int i = 0; i < 1000; ++i) sum += " + u" + std::to_string(i);
  EXPECT_EQ(mistakes_of(kBegin + "output: \"y = " + sum + "\"\n").size(), 1000u);
}

TEST(Limits, AHundredSyntaxErrorsAreTold) {
  const std::vector<Diagnostic> found = mistakes_of(kBegin + repeated("output: \"y = x +\"\n", 8000));
  ASSERT_EQ(found.size(), kMostSyntaxErrors);
  EXPECT_EQ(found[0].code, "E0105 syntax");
  EXPECT_TRUE(found[0].notes.empty());
  EXPECT_EQ(found[99].at.line, 102);
  EXPECT_THAT(found[99].notes, Contains("note: there are more like these; only the first 100 are shown"));
}

TEST(Limits, AHundredSyntaxErrorsAreNotMore) {
  const std::vector<Diagnostic> found = mistakes_of(kBegin + repeated("output: \"y = x +\"\n", kMostSyntaxErrors));
  ASSERT_EQ(found.size(), kMostSyntaxErrors);
  EXPECT_TRUE(found[99].notes.empty());
}

TEST(Limits, LiteralsOnOneLineKeepTheirPlaces) {
  const std::vector<Diagnostic> found =
      mistakes_of(kBegin + "output: " + repeated("\"\" ", 80000) + "\"y = wrong\" \" + x\"\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "E0207 unknown-name");
  EXPECT_EQ(found[0].at.line, 3);
  EXPECT_EQ(found[0].at.column, 9 + 3 * 80000 + 5);
  EXPECT_EQ(found[0].at.length, 5);
}

TEST(Limits, StringsOnOneLineAreOneMistake) {
  const std::vector<Diagnostic> found = mistakes_of(kBegin + "output: \"y = " + repeated("'a' ", 80000) + "\"\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "E0106 too-deep");
}

TEST(Limits, QuotesWithoutEndAreAHundredMistakesAtMost) {
  const std::vector<Diagnostic> found = mistakes_of(kBegin + repeated("\"'", 80000) + "\n");
  EXPECT_GE(found.size(), 1u);
  EXPECT_LE(found.size(), kMostSyntaxErrors);
}

// One behind the other, not one within the other: as many as one likes, with equations between them or not, in a scan or not.
TEST(Limits, ALongChainOfCallsLoads) {
  const std::string cell =
      "graph { name: \"cell\" input { name: \"x\" shape: \"[batch, 4]\" } parameter { name: \"W\" shape: \"[4, 4]\" }\n"
      "state { name: \"h\" shape: \"[batch, 4]\" next: \"tanh(x @ W + h)\" } output: \"y = next(h)\" }\n";
  constexpr int kCalls = 2000;
  std::string calls, mixed;
  for (int k = 1; k <= kCalls; ++k) {
    const std::string number = std::to_string(k), before = k == 1 ? "x" : "c" + std::to_string(k - 1) + ".y";
    calls += "call { name: \"c" + number + "\" graph: \"cell\" input: \"x = " + before + "\" }\n";
    mixed += "let: \"v" + number + " = 0.5 * " + before + "\"\n";
    mixed += "call { name: \"c" + number + "\" graph: \"cell\" input: \"x = v" + number + "\" }\n";
  }
  const std::string output = "output: \"y = c" + std::to_string(kCalls) + ".y\"\n";
  for (const std::string& chain : {calls, mixed}) {
    EXPECT_EQ(load_graph(tests::request_of(kBegin + cell + chain + output)).parameter_count(), 16 * kCalls);
    const std::string scan = "scan { name: \"all\" graph: \"chain\" each: \"x = x\" }\noutput: \"y = all.y\"\n";
    const std::string body = "graph { name: \"chain\" input { name: \"x\" shape: \"[batch, 4]\" }\n" + chain + output + "}\n";
    const std::string begin = "name: \"net\"\ninput { name: \"x\" shape: \"[time, batch, 4]\" }\n";
    EXPECT_EQ(load_graph(tests::request_of(begin + cell + body + scan)).parameter_count(), 16 * kCalls);
  }
}

// What a call is given that nothing reads does not exist, however long the chain.
TEST(Limits, ALongChainOfCallsBringsInWhatIsReadAlone) {
  const std::string cell =
      "graph { name: \"cell\" input { name: [\"x\", \"z\"] shape: \"[batch, 4]\" } arg { name: \"reads\" default: \"false\" }\n"
      "output: \"y = x + z if reads else x\" }\n";
  std::string text = kBegin + cell + "parameter { name: \"W\" shape: \"[4]\" }\n";
  constexpr int kCalls = 300;
  for (int k = 1; k <= kCalls; ++k) {
    const std::string number = std::to_string(k), before = k == 1 ? "x" : "c" + std::to_string(k - 1) + ".y";
    text += "call { name: \"c" + number + "\" graph: \"cell\" input: \"x = " + before + ", z = " + before + " + W\" }\n";
  }
  const ir::Graph graph = load_graph(tests::request_of(text + "output: \"y = c" + std::to_string(kCalls) + ".y\"\n"));
  EXPECT_TRUE(graph.variables.empty());
}

TEST(Limits, ALongChainOfCallsThatEndsWhereItBeganIsACycle) {
  std::string text = kBegin + kLayer;
  for (int k = 0; k < 100; ++k) {
    text += "call { name: \"c" + std::to_string(k) + "\" graph: \"layer\" input: \"x = c" + std::to_string((k + 99) % 100) +
            ".x\" }\n";
  }
  const std::vector<Diagnostic> found = mistakes_of(text + "output: \"y = c99.x + x\"\n");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].code, "E0225 cycle");
}

// Two thousand layers, each with a state of its own.
TEST(Limits, DeepNetworksLoad) {
  GraphRequest request;
  request.path = "language_model.pbtxt";
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  request.bindings = {{"vocabulary", "10", {}}, {"embed", "4", {}}, {"hidden", "4", {}}, {"depth", "2000", {}}};
  const ir::Graph graph = load_graph(request);
  const auto scans = std::count_if(graph.nodes.begin(), graph.nodes.end(), ir::is_scan);
  EXPECT_EQ(scans, 2000);
  request.bindings.back().text = "65536";
  try {
    load_graph(request);
    ADD_FAILURE() << "it loads";
  } catch (const UserError& error) {
    ASSERT_EQ(error.diagnostics().size(), 1u);
    EXPECT_EQ(error.diagnostics()[0].code, "E0250 graph-too-large");
  }
}

}  // namespace
}  // namespace graphrun
