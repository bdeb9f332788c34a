// graphrun new: every kind of project is checked, trained and used as its page says.
#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>

#include "tests/sanitized.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

class NewProject : public ProgramTest {
 protected:
  void SetUp() override { make_root(); }

  // Makes and trains a project. Returns what evaluate prints.
  std::string trained(const std::string& kind) {
    const Ran made = graphrun({"new", kind, "mine"});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("graphrun train mine/job.pbtxt --out mine/run"));
    const Ran checked = graphrun({"check", "mine/job.pbtxt"});
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_EQ(checked.err, "");
    const Ran ran = graphrun({"train", "mine/job.pbtxt", "--out", "mine/run", "--quiet"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const Ran evaluated = graphrun({"evaluate", "mine/run"});
    EXPECT_EQ(evaluated.code, 0) << evaluated.err;
    return evaluated.out;
  }
  // A number of the table: a line of names, then the line "test".
  static double number(const std::string& table, const std::string& report) {
    std::istringstream lines(table);
    std::string names, values, name, value;
    std::getline(lines, names);
    std::getline(lines, values);
    std::istringstream of_names(names), of_values(values);
    of_values >> value;
    EXPECT_EQ(value, "test") << table;
    while (of_names >> name && of_values >> value) {
      if (name == report) return std::stod(value);
    }
    ADD_FAILURE() << "no " << report << " in " << table;
    return -1;
  }
};

TEST_F(NewProject, Cell) {
  EXPECT_LT(number(trained("cell"), "mse"), 0.1);  // always predicting 1 gives 0.167
  EXPECT_EQ(graphrun({"gradcheck", "mine/graphs/cell.pbtxt", "--set", "input=3", "--set", "hidden=4"}).code, 0);
  EXPECT_EQ(graphrun({"infer", "mine/run"}, "{\"steps\": [[0.5, 1], [0.25, 0], [0.25, 1]]}\n").code, 0);
}

TEST_F(NewProject, LanguageModel) {
  EXPECT_LT(number(trained("language_model"), "perplexity"), 6);
  const Ran ran = graphrun({"infer", "mine/run"}, "the old cat\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::StartsWith("the old cat "));
}

TEST_F(NewProject, Tagger) {
  EXPECT_GT(number(trained("tagger"), "accuracy"), 0.95);
  EXPECT_EQ(graphrun({"infer", "mine/run"}, "the old cat sees a dog\n").out, "DET ADJ NOUN VERB DET NOUN\n");
}

TEST_F(NewProject, Classifier) {
  EXPECT_GT(number(trained("classifier"), "accuracy"), 0.9);
  EXPECT_EQ(graphrun({"infer", "mine/run"}, "the film was not boring\n").out, "good\n");
}

TEST_F(NewProject, Translator) {
  if (tests::address_sanitized()) GTEST_SKIP() << "the other kinds run the same code, faster";
  EXPECT_GT(number(trained("translator"), "bleu"), 60);
  EXPECT_EQ(graphrun({"infer", "mine/run"}, "three hundred and forty two\n").out, "drei hundert zwei und vierzig\n");
}

TEST_F(NewProject, OverwritesNothing) {
  write("mine/file", "text");
  const Ran full = graphrun({"new", "cell", "mine"});
  EXPECT_EQ(full.code, 2);
  EXPECT_THAT(full.err, HasSubstr("'mine' exists and is not empty"));
  EXPECT_EQ(graphrun({"new", "cell", "mine/file"}).code, 2);
  EXPECT_EQ(read("mine/file"), "text");
  const Ran unknown = graphrun({"new", "tager", "other"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'tagger'?"));
  EXPECT_FALSE(exists("other"));
}

}  // namespace
}  // namespace graphrun
