// Whether the job or the graph determines the initial value of a parameter.
#include "tools/train/initializers.h"

#include <gmock/gmock.h>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Init = VariableSpec::Init;

InitializeRule rule(const std::string& match, double amount) {
  InitializeRule rule;
  rule.match.text = match;
  rule.init = Init::kUniform;
  rule.amount = amount;
  return rule;
}

VariableSpec parameter(const std::string& name, bool declared) {
  VariableSpec spec;
  spec.name = name;
  spec.init_amount = declared ? 1 : 0;
  spec.init_declared = declared;
  return spec;
}

TEST(Initializers, APatternWinsOverWhatIsDeclaredAndThatOverTheStar) {
  Program program;
  program.variables = {parameter("g", true), parameter("cell.g", true), parameter("b", false), parameter("cell.b", false)};
  std::vector<Diagnostic> warnings;
  const std::vector<std::string> lines =
      apply_initializers({rule("*", 0.1), rule("cell.*", 0.2), rule("cell.g", 0.3)}, program, warnings);
  EXPECT_THAT(lines, ElementsAre("declared by the graph, constant 1: g", "match: \"cell.*\", uniform 0.2: cell.{g, b}",
                                 "match: \"*\", uniform 0.1: b"));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].text, HasSubstr("cell.g"));
}

TEST(Initializers, WithoutAJobsTheDefaultStandsAndEachIsNamed) {
  Program program;
  for (const char* name : {"a", "b", "r.c", "r.d", "r.s.e", "r.s.f", "r.g", "h"})
    program.variables.push_back(parameter(name, false));
  std::vector<Diagnostic> warnings;
  EXPECT_THAT(apply_initializers({}, program, warnings),
              ElementsAre("default, constant 0: a, b, r.{c, d}, r.s.{e, f}, r.g, h"));
}

TEST(Initializers, VectorsOfEveryParameterSpareADeclaredOne) {
  InitializeRule vectors = rule("*", 0);
  vectors.vectors = "glove.txt";
  const std::vector<InitializeRule> rules = {vectors, rule("*", 0.1)};
  EXPECT_EQ(initializer_of(rules, parameter("E", true), true), nullptr);
  EXPECT_EQ(initializer_of(rules, parameter("E", false), true), &rules[0]);
  EXPECT_EQ(initializer_of(rules, parameter("E", false), false), &rules[1]);
}

class Beginning : public ProgramTest {};

TEST_F(Beginning, TrainAndCheckTellIt) {
  write_segmenter();
  const std::string declared = "declared by the graph, constant 1: read.forward.{gw, gu}, read.backward.{gw, gu}";
  const std::vector<std::string> with_gains = {"--set", "cell.layer_norm=true"};
  std::vector<std::string> train = {"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1"};
  train.insert(train.end(), with_gains.begin(), with_gains.end());
  const Ran trained = graphrun(train);
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("initialize: " + declared));
  EXPECT_THAT(trained.err, HasSubstr("initialize: match: \"*\", uniform 0.2: "));
  std::vector<std::string> check = {"check", "graphs/jobs/segment.pbtxt"};
  check.insert(check.end(), with_gains.begin(), with_gains.end());
  EXPECT_THAT(graphrun(check).out, HasSubstr("initialize:\n"));
  EXPECT_THAT(graphrun(check).out, HasSubstr("  " + declared + "\n"));
  train[5] = "train.epochs=2";
  train.push_back("--resume");
  EXPECT_THAT(graphrun(train).err, Not(HasSubstr("initialize:")));
}

}  // namespace
}  // namespace graphrun
