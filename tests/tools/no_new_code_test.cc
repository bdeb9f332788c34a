// Training and inference where memory may not be both written and executed, so no machine code is generated.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::HasSubstr;
using testing::Not;

class NoNewCode : public ProgramTest {
 protected:
  Ran without_new_code(std::vector<std::string> arguments, const std::string& input = "") const {
    arguments.insert(arguments.begin(), tests::build_folder() + "/graphrun");
    return run("no_new_code", arguments, input);
  }
  double last_loss(const std::string& folder) const {
    double loss = NAN;
    for (const nlohmann::json& line : json_lines(read(folder + "/metrics.jsonl"))) {
      if (line.contains("valid")) loss = line["valid"]["loss"];
    }
    return loss;
  }
};

TEST_F(NoNewCode, TrainsAndInfersAsElsewhere) {
  if (run("no_new_code", {"/bin/true"}).code == 3) GTEST_SKIP() << "this machine admits no system call filter";
  write_segmenter();
  const std::vector<std::string> job = {"train", "graphs/jobs/segment.pbtxt", "--set", "train.epochs=2", "--set", "hidden=96"};
  for (const std::string precision : {"FLOAT32", "BFLOAT16"}) {
    std::vector<std::string> arguments = job;
    arguments.insert(arguments.end(), {"--set", "product_precision=" + precision, "--out"});
    std::vector<std::string> usual = arguments;
    arguments.push_back("without_" + precision), usual.push_back("with_" + precision);
    const Ran ran = without_new_code(arguments);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("warning[E0512 no-run-time-code]"));
    const Ran before = graphrun(usual);
    ASSERT_EQ(before.code, 0) << before.err;
    EXPECT_THAT(before.err, Not(HasSubstr("E0512")));
    EXPECT_NEAR(last_loss("without_" + precision), last_loss("with_" + precision), 0.05) << precision;
  }
  const std::string text = "我天上你\n中国人大家\n";
  const Ran slow = without_new_code({"infer", "without_FLOAT32"}, text), usual = graphrun({"infer", "without_FLOAT32"}, text);
  EXPECT_EQ(slow.code, 0) << slow.err;
  EXPECT_EQ(slow.out, usual.out);
  EXPECT_THAT(slow.err, HasSubstr("warning[E0512 no-run-time-code]"));
}

}  // namespace
}  // namespace graphrun
