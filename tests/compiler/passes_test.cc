// The passes: every case of tests/passes/*.test, and what holds for all of them.
//
// A case is  === title / pass: name / a graph / --- / the graph that the pass makes of it, or "unchanged".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "compiler/compile.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/pass.h"
#include "compiler/rewrite/rewrite.h"
#include "runtime/base/random.h"
#include "runtime/execute/executable.h"
#include "tests/compiler/sample_graphs.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

using ir::Graph;

struct Case {
  std::string file, title, pass, before, after;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.file << ": " << c.title; }
};

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \n"), end = text.find_last_not_of(" \n");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& path : test::files_in("tests/passes", ".test")) {
    std::istringstream in(test::file_text(path));
    std::string* into = nullptr;
    for (std::string line; std::getline(in, line);) {
      if (line.rfind("=== ", 0) == 0) {
        all.push_back({path.substr(path.rfind('/') + 1), line.substr(4), "", "", ""});
        into = &all.back().before;
      } else if (into && line.rfind("pass: ", 0) == 0) {
        all.back().pass = line.substr(6);
      } else if (into && line == "---") {
        into = &all.back().after;
      } else if (into) {
        *into += line + "\n";
      }
    }
  }
  return all;
}

const Pass& pass_named(const std::string& name) {
  for (const Pass& pass : all_passes()) {
    if (pass.name == name) return pass;
  }
  throw InternalError("no pass is called '" + name + "'");
}

class PassCase : public ::testing::TestWithParam<Case> {};

TEST_P(PassCase, TextInTextOut) {
  const Case& c = GetParam();
  const Graph before = ir::parse(c.before, c.file);
  const PassResult result = pass_named(c.pass).run(before);
  ir::verify(result.graph, c.pass);
  const bool unchanged = trimmed(c.after) == "unchanged";
  EXPECT_EQ(print(result.graph), print(unchanged ? before : ir::parse(c.after, c.file)));
  EXPECT_EQ(result.changed, !unchanged);
  // What it made, it leaves alone.
  EXPECT_EQ(print(pass_named(c.pass).run(result.graph).graph), print(result.graph));
}

INSTANTIATE_TEST_SUITE_P(All, PassCase, ::testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.file + "_" + info.param.title;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return std::to_string(info.index) + "_" + name;
});

// ---- the same numbers before and after

// Small sizes that differ, so that no two axes are confused.
SymbolValues sizes_of(const Graph& g) {
  SymbolValues sizes;
  std::int64_t next = 2;
  for (const ir::Input& i : g.inputs) {
    for (const Dim& dim : g.type(i.value).shape) {
      for (Symbol s : dim.symbols()) {
        if (sizes.count(s) == 0) sizes[s] = s == Symbol::named("time") ? 9 : next++;
      }
    }
  }
  return sizes;
}

Tensor random_tensor(DType dtype, const Sizes& sizes, std::mt19937& random) {
  Tensor t(DType::kFloat64, sizes);
  for (double& x : t.span<double>()) {
    x = dtype == DType::kFloat64 ? std::uniform_real_distribution<>(-2, 2)(random)
                                 : std::uniform_int_distribution<>(0, 1)(random);
  }
  return t.converted(dtype);
}

std::map<std::string, Tensor> run_without_passes(const Graph& g) {
  CompileOptions options;
  options.precision = Precision::kFloat64;
  options.disabled_passes = names_to_disable();
  auto variables = std::make_shared<Variables>();
  Executable executable(compile(g, options), variables);
  initialize(executable.program(), *variables, 3);
  const SymbolValues sizes = sizes_of(g);
  Feeds feeds;
  for (const FeedSpec& feed : executable.program().feeds) {
    std::mt19937 random(static_cast<unsigned>(hash_name(feed.name.data(), feed.name.size())));
    feeds[feed.name] = random_tensor(feed.dtype, evaluate(feed.shape, sizes), random);
    if (feed.name != "lengths") continue;
    for (std::int32_t& length : feeds[feed.name].span<std::int32_t>()) length = std::uniform_int_distribution<>(0, 9)(random);
  }
  const std::vector<Tensor> fetched = executable.run(feeds, {.seed = 5, .step = 1});
  std::map<std::string, Tensor> results;
  for (std::size_t i = 0; i < fetched.size(); ++i) results["output " + executable.program().fetches[i].name] = fetched[i];
  for (const auto& [name, tensor] : variables->all()) results["variable " + name] = tensor;
  return results;
}

TEST_P(PassCase, TheNumbersAreTheSame) {
  const Case& c = GetParam();
  if (trimmed(c.after) == "unchanged") return;
  const Graph before = ir::parse(c.before, c.file);
  if (before.outputs.empty()) return;
  const auto expected = run_without_passes(before), found = run_without_passes(ir::parse(c.after, c.file));
  ASSERT_EQ(expected.size(), found.size());
  for (const auto& [name, tensor] : expected) {
    const auto it = found.find(name);
    ASSERT_NE(it, found.end()) << name;
    ASSERT_EQ(it->second.sizes(), tensor.sizes()) << name;
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      const double x = tensor.at(i), y = it->second.at(i);
      ASSERT_TRUE(std::abs(x - y) <= 1e-12 * (1 + std::abs(x)) || (std::isnan(x) && std::isnan(y)))
          << name << ": " << x << " " << y;
    }
  }
}

TEST(Passes, EveryPassHasACaseThatFiresAndOneThatDoesNot) {
  for (const Pass& pass : all_passes()) {
    int fires = 0, rests = 0;
    for (const Case& c : cases()) {
      if (c.pass == pass.name) ++(trimmed(c.after) == "unchanged" ? rests : fires);
    }
    EXPECT_GT(fires, 0) << pass.name;
    EXPECT_GT(rests, 0) << pass.name;
    EXPECT_FALSE(pass.doc.empty()) << pass.name;
  }
}

TEST(Passes, KeepRandomGraphsSoundAndTheirInterface) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    const Graph before = test::random_graph(random, 30);
    const Graph after = run_passes(before);
    ir::verify(after, "all passes");
    ASSERT_EQ(after.inputs.size(), before.inputs.size());
    ASSERT_EQ(after.variables.size(), before.variables.size());
    ASSERT_EQ(after.outputs.size(), before.outputs.size());
    for (std::size_t o = 0; o < before.outputs.size(); ++o) {
      EXPECT_EQ(after.outputs[o].name, before.outputs[o].name);
      EXPECT_EQ(after.type(after.outputs[o].value), before.type(before.outputs[o].value));
    }
  }
}

TEST(Passes, SettleAfterTwoRounds) {
  std::mt19937 random(6);
  for (int i = 0; i < 100; ++i) {
    const Graph once = run_passes(run_passes(test::random_graph(random, 30)));
    EXPECT_EQ(print(run_passes(once)), print(once));
  }
}

TEST(Passes, DisabledOnesDoNotRun) {
  const Graph g = ir::parse(R"(graph "g" {
    input %x: FLOAT[2]
    %one = constant(; value=1, type="FLOAT")
    %y = mul(%x, %one)
    output "y" = %y
  })",
                            "test");
  std::vector<std::string> ran;
  const auto observe = [&](const std::string& pass, const Graph&, double seconds) {
    ran.push_back(pass);
    EXPECT_GE(seconds, 0);
  };
  EXPECT_EQ(run_passes(g, {}, observe).nodes.size(), 0u);
  EXPECT_EQ(ran.size(), all_passes().size());
  EXPECT_EQ(run_passes(g, {"simplify"}).nodes.size(), 2u);
  EXPECT_EQ(run_passes(g, {"dead_code"}).nodes.size(), 1u);
}

TEST(Passes, AnUnknownNameIsAUsageError) {
  try {
    run_passes(test::recurrent_graph(), {"dead_cod"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("there is no pass 'dead_cod'"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("did you mean 'dead_code'"));
  }
  try {
    run_passes(test::recurrent_graph(), {"factor"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("help: it is now called 'logsumexp_to_matmul'"));
  }
}

// The names in the first column of the table behind a heading: of rows "| `name` | … |".
std::vector<std::string> named_in_table(const std::string& markdown, const std::string& heading) {
  std::vector<std::string> names;
  std::istringstream in(markdown.substr(std::min(markdown.find("\n" + heading), markdown.size())));
  bool in_table = false;
  for (std::string line; std::getline(in, line);) {
    if (in_table && line.empty()) break;
    if (!line.starts_with("| `")) continue;
    in_table = true;
    names.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  return names;
}

TEST(Passes, StandInTheReadmeInTheirOrder) {
  std::vector<std::string> names;
  for (const Pass& pass : all_passes()) names.push_back(pass.name);
  EXPECT_EQ(named_in_table(test::file_text(tests::source_folder() + "/compiler/README.md"), "## passes/"), names)
      << "the table of passes in compiler/README.md is not the list in compiler/passes/passes.cc";
}

TEST(Passes, TablesOfAReadmeAreRead) {
  const std::string markdown =
      "# a\n| `no` | … |\n\n## passes/: b\nText.\n\n| pass | effect |\n|---|---|\n| `one` | `x` |\n| `two` | y |\n\n| `no` | z "
      "|\n";
  EXPECT_EQ(named_in_table(markdown, "## passes/"), (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(named_in_table(markdown, "## other").empty());
}

// A second or two; a walk that is quadratic in the nodes would take many minutes.
TEST(Passes, GoThroughAHundredThousandNodes) {
  Graph g;
  ir::Builder b(g);
  ir::ValueId x = b.input("x", {Type::kFloat, {Symbol::named("batch"), 4}});
  const ir::ValueId one = b.constant(1);
  const ir::ValueId start = x;
  for (int i = 0; i < 20000; ++i) {
    b.set_name("layer." + std::to_string(i));
    const ir::ValueId a = b.op("tanh", {b.op("mul", {x, one})});
    const ir::ValueId c = b.op("add", {b.op("add", {x, a}), b.op("add", {a, start})});
    x = c;
  }
  g.outputs = {{"y", x}};
  ASSERT_GE(g.nodes.size(), 100000u);
  ir::verify(g, "start");
  const Graph after = run_passes(std::move(g));
  // No product with one; the first layer adds x and a once; the rest in programs of 64 ops.
  EXPECT_EQ(after.nodes.size(), (79999u + 63) / 64);
}

TEST(RewriteInnerFirst, VisitsRegionsBeforeWhatIsAroundThem) {
  Graph g = ir::parse(R"(graph "g" {
    input %x: FLOAT[time, 2]
    %all: FLOAT[time, 2] = scan(%x; states=0, each=1, steps=<time>, reverse=false) body "b" {
      input %x: FLOAT[2]
      input %step: INT32[]
      %y = tanh(%x)
      output "y" = %y
    }
    output "y" = %all
  })",
                      "test");
  std::vector<std::string> visited;
  const auto visit = [&](Graph& graph, const ir::Node* around) {
    visited.push_back(graph.name);
    EXPECT_EQ(around != nullptr, graph.name == "b");
    if (around) {
      EXPECT_TRUE(ir::is_scan(*around));
    }
    return around != nullptr;
  };
  EXPECT_TRUE(rewrite_inner_first(g, visit));
  EXPECT_THAT(visited, ::testing::ElementsAre("b", "g"));
  EXPECT_FALSE(rewrite_inner_first(g, [](Graph&, const ir::Node*) { return false; }));
}

TEST(DropUnneeded, TakesInputsAndVariablesThatNoOutputNeeds) {
  Graph g = ir::parse(R"(graph "g" {
    input %x: FLOAT[2]
    input %unused: FLOAT[2]
    parameter %W: FLOAT[2] = constant(1) next %V
    parameter %V: FLOAT[2] = constant(1)
    parameter %U: FLOAT[2] = constant(1) next %u_next
    %y = add(%x, %W)
    %u_next = add(%U, %unused)
    output "y" = %y
  })",
                      "test");
  g = drop_unneeded(std::move(g));
  ir::verify(g, "drop_unneeded");
  EXPECT_EQ(g.inputs.size(), 1u);
  EXPECT_EQ(g.variables.size(), 2u);
  EXPECT_EQ(g.nodes.size(), 1u);
}

}  // namespace
}  // namespace graphrun
