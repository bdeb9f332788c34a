// What can be wrong with an infer block that generates: each mistake names its setting.
#include <gmock/gmock.h>

#include "tests/tools/generate_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(Generate, NamesTheSettingThatIsWrong) {
  const auto refused = [&](const std::string& setting, const std::string& message) {
    const Ran ran = graphrun({"check", "graphs/jobs/say.pbtxt", "--set", setting});
    EXPECT_EQ(ran.code, 3) << setting;
    EXPECT_THAT(ran.err, AllOf(testing::ContainsRegex("(--set:1|say.pbtxt:19):[0-9]+: error"), HasSubstr(message))) << setting;
  };
  refused("infer.say.generate.align.field=right", "align: generation does not read field 'right'");
  refused("infer.say.generate.score=nll", "score: generation would need 'target'");
  refused("infer.say.generate.align.from=nothing", "align.from: graph 'translator' has no output or value 'nothing'");
  // Unusual, but it runs.
  const auto warned = [&](const std::string& setting, const std::string& message) {
    const Ran ran = graphrun({"check", "graphs/jobs/say.pbtxt", "--set", setting});
    EXPECT_EQ(ran.code, 0) << setting;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("warning[E0421 unused-setting]"), HasSubstr(message))) << setting;
  };
  warned("infer.say.generate.length.alpha=0.5", "alpha has no effect without normalize: GNMT");
  warned("infer.say.generate.sample.temperature=2", "beam has no effect: sample draws words");
  const Ran graph = graphrun({"train", "graphs/translator.pbtxt", "--out", "no"});
  EXPECT_EQ(graph.code, 3);
  EXPECT_THAT(graph.err, HasSubstr("'graphs/translator.pbtxt' is a graph; expected a job"));
}

TEST_F(Generate, MistakesAreFoundBeforeAnyTraining) {
  const std::string g = "infer.say.generate.";
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {g + "scan=decod", "has no scan 'decod' to generate with"},
      {g + "feed=x", "takes no sequence 'x'"},
      {g + "score=nll", "generation would need 'target', which is known only in training"},
      {g + "score=alignment", "must give a number for each word"},
      {g + "begin=<start>", "'<start>' is not an entry of the vocabulary of field 'right'"},
      {g + "max_length=2 * target_time", "no input that generation reads holds the lengths of 'target_time'"},
      {g + "max_length=2 ^ source_time", "max_length is a sum of numbers and sizes"},
      {g + "n_best=4", "n_best is 4, above the beam of 3"},
      {g + "beam=4096", "beam is 4096; expected at most 4095"},
      {g + "beam=-1", "beam is -1; expected 1 or more"},
      {g + "min_length=-1", "min_length is -1; expected 0 or more"},
      {g + "max_length=0", "max_length is 0; expected 1 or more"},
      {g + "max_length=source_time + 100001", "max_length has 100001 words; expected at most 100000"},
      {"infer.say.field=left", "scores 6 words, but the vocabulary of field 'left' has 5"},
      {"infer.say.write=NUMBERS", "what is generated is written as TEXT or JSON"},
      {g + "align.from=logits", "must give a number for each position of the input"},
      {g + "align.field=lefd", "lefd"},
      {g + "align.replace=<none>", "'<none>', which is to be replaced, is not an entry of the vocabulary of field 'right'"},
      {g + "sample.temperature=0", "temperature is 0; expected a number above 0"},
      {"infer.say.from=alignment", "generate and `from` exclude each other"},
  };
  for (const auto& [set, message] : mistakes) {
    const Ran ran = graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model", "--set", set});
    EXPECT_EQ(ran.code, 3) << set;
    EXPECT_THAT(ran.err, HasSubstr(message)) << set;
    EXPECT_FALSE(exists("model/manifest.json")) << set;
  }
}

}  // namespace
}  // namespace graphrun
