// graphrun check, and what commands refuse before they start.
#include <gmock/gmock.h>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Check : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
  }
  // The segmenter's job with `from` instead of "path".
  void write_from(const std::string& from) {
    std::string job = read("graphs/jobs/segment.pbtxt");
    const std::string old = "from: \"path\"";
    job.replace(job.find(old), old.size(), "from: \"" + from + "\"");
    write("graphs/jobs/from.pbtxt", job);
  }
};

TEST_F(Check, InferIsCheckedBeforeTraining) {
  const auto mistake = [&](const std::string& from) {
    write_from(from);
    const Ran checked = graphrun({"check", "graphs/jobs/from.pbtxt"});
    EXPECT_EQ(checked.code, 3) << checked.err;
    EXPECT_THAT(checked.err, AllOf(HasSubstr("graphs/jobs/from.pbtxt:19:6"), HasSubstr("E0417")));
    const Ran trained = graphrun({"train", "graphs/jobs/from.pbtxt", "--out", "none"});
    EXPECT_EQ(trained.code, 3) << trained.err;
    EXPECT_FALSE(exists("none"));
    return checked.err;
  };
  EXPECT_THAT(mistake("pth"), AllOf(HasSubstr(":19:61:"), HasSubstr("'pth'"), HasSubstr("did you mean 'path'")));
  EXPECT_THAT(mistake("sun(margin)"), AllOf(HasSubstr("no op 'sun'"), HasSubstr("'sum'")));
  EXPECT_THAT(mistake("margin"), HasSubstr("expected INT32[time, batch]"));
  EXPECT_THAT(mistake("path[0]"), HasSubstr("may only contain the graph's outputs, ops and numbers"));
  EXPECT_THAT(mistake("concat(path, loss)"), HasSubstr("concat"));
}

TEST_F(Check, MissingFilesAreToldTogetherAndWithOtherMistakes) {
  const std::vector<std::string> missing = {"check", "graphs/jobs/segment.pbtxt", "--set", "data.valid=no.seg",
                                            "--set", "data.test=none.seg"};
  const Ran files = graphrun(missing);
  EXPECT_EQ(files.code, 4);
  EXPECT_THAT(files.err, AllOf(HasSubstr("no.seg"), HasSubstr("none.seg"), HasSubstr("--set:1:"), HasSubstr("--set:2:")));
  std::vector<std::string> more = missing;
  more.insert(more.end(), {"--set", "hiden=3"});
  const Ran both = graphrun(more);
  EXPECT_EQ(both.code, 3);
  EXPECT_THAT(both.err, AllOf(HasSubstr("no.seg"), HasSubstr("none.seg"), HasSubstr("'hiden'")));
  more.insert(more.end(), {"--set", "data.train=nothing.seg"});
  EXPECT_THAT(graphrun(more).err, AllOf(HasSubstr("nothing.seg"), HasSubstr("none.seg")));
}

TEST_F(Check, RefusesNumbersThatAreNotNumeric) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& text) {
    const Ran ran = graphrun(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(text));
  };
  const std::vector<std::string> cell = {"gradcheck", "graphs/cells/atr.pbtxt", "--set", "input=3", "--set", "hidden=2"};
  const auto with = [&](const std::string& option, const std::string& value) {
    std::vector<std::string> words = cell;
    words.insert(words.end(), {option, value});
    return words;
  };
  for (const std::string seed : {"-1", "1.5", "x", "18446744073709551616"}) {
    refused({"train", "graphs/jobs/segment.pbtxt", "--out", "none", "--seed=" + seed}, "--seed takes");
    refused(with("--seed=" + seed, "--quiet"), "--seed takes");
  }
  refused(with("--tolerance=-1", "--quiet"), "--tolerance takes");
  refused(with("--tolerance=nan", "--quiet"), "--tolerance");
  EXPECT_THAT(graphrun({"gradcheck", "--help"}).out, HasSubstr("(=1e-06)"));
  EXPECT_EQ(graphrun(with("--seed", "7")).code, 0);
}

TEST_F(Check, ANameFetchedTwiceIsFetchedOnce) {
  ASSERT_EQ(graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1"}).code, 0);
  const Ran ran = graphrun({"infer", "model", "--fetch", "path", "--fetch", "path", "--fetch-out", "f.safetensors"}, "我\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran binary = graphrun({"infer", "model", "--bad-lines", "stop"}, std::string("a\0b\n", 4));
  EXPECT_EQ(binary.code, 4);
  EXPECT_THAT(binary.err, AllOf(HasSubstr("NUL byte"), Not(HasSubstr("GB18030"))));
}

}  // namespace
}  // namespace graphrun
