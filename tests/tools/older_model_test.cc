// A model and its checkpoints, written by an older program: every later program loads and resumes them.
// tests/fixtures/older_model was written by `graphrun train job.pbtxt --out model --threads 1` of commit 0864666.
#include <gmock/gmock.h>

#include <cstdlib>
#include <sstream>

#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

class OlderModel : public ProgramTest {
 protected:
  void SetUp() override {
    make_root();
    std::filesystem::copy(tests::source_folder() + "/tests/fixtures/older_model", root_,
                          std::filesystem::copy_options::recursive);
  }
};

TEST_F(OlderModel, Infers) {
  const Ran ran = graphrun({"infer", "model"}, "the cat sat\na dog saw the mat\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::istringstream out(ran.out);
  double first = 0, second = 0;
  out >> first >> second;
  EXPECT_NEAR(first, 12.028968, 1e-3);
  EXPECT_NEAR(second, 11.843348, 1e-3);
}

TEST_F(OlderModel, IsGoneOnWith) {
  const Ran ran = graphrun({"train", "job.pbtxt", "--out", "model", "--resume", "--set", "train.epochs=3"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("continuing from step 20"));
  EXPECT_NEAR(json_lines(read("model/metrics.jsonl")).back()["valid"]["perplexity"].get<double>(), 8.447943, 1e-3);
}

}  // namespace
}  // namespace graphrun
