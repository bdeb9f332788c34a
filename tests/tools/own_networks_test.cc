// A user's own network in various places: next to its job, in a project's graphs folder, named on the command line.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// A tagger of single words, which imports `cell` as its cell.
std::string network(const std::string& name, const std::string& cell = "cells/atr.pbtxt") {
  return "name: \"" + name + "\"\nimport: \"crf = crf.pbtxt, cell = " + cell +
         "\"\n"
         "arg { name: [\"vocabulary\", \"labels\"] }\n"
         "input { name: \"words\" shape: \"[time, batch]\" type: INT32 below: \"vocabulary\" }\n"
         "input { name: \"lengths\" shape: \"[batch]\" type: INT32 lengths_of: \"time\" }\n"
         "input { name: \"tags\" shape: \"[time, batch]\" type: INT32 below: \"labels\" }\n"
         "parameter { name: \"E\" shape: \"[vocabulary, 4]\" }\n"
         "parameter { name: \"P\" shape: \"[4, labels]\" }\n"
         "let: \"x = gather(E, words)\"\n"
         "scan { name: \"read\" graph: \"cell\" arg: \"hidden = 4\" each: \"x\" lengths: \"lengths\" }\n"
         "call { name: \"crf\" graph: \"crf\" input: \"emissions = read.h @ P, gold = tags, lengths\" }\n"
         "output: \"path = crf.path, loss = mean(crf.margin)\"\n";
}

class OwnNetwork : public ProgramTest {
 protected:
  void SetUp() override {
    make_root();
    write("train.conll", "a\tN\nb\tV\n\nb\tV\na\tN\na\tN\n\n");
  }
  // A cell whose parameter has its own name, which shows which cell a graph uses.
  static std::string cell(const std::string& parameter) {
    return "name: \"cell\"\narg { name: \"hidden\" }\ninput { name: \"x\" shape: \"[batch, input]\" }\n"
           "parameter { name: \"" +
           parameter +
           "\" shape: \"[input, hidden]\" }\n"
           "state { name: \"h\" shape: \"[batch, hidden]\" next: \"tanh(x @ " +
           parameter + " + h)\" }\noutput: \"h = next(h)\"\n";
  }
  void write_job(const std::string& name, const std::string& graph, const std::string& data) {
    write(name, "# proto-message: graphrun.Job\ngraph: \"" + graph +
                    "\"\narg: \"vocabulary = vocabulary(words), labels = vocabulary(tags)\"\ndata {\n  train: \"" + data +
                    "\" format: CONLL\n"
                    "  field { name: \"words\" column: 0 vocabulary { min_count: 1 } }\n"
                    "  field { name: \"tags\" column: 1 vocabulary { closed: true } }\n"
                    "  feed: \"words, tags, lengths = length(words)\"\n  batch { rows: 2 bucket_by: \"words\" }\n}\n"
                    "train { minimize: \"loss\" optimizer { sgd { learning_rate: 0.1 } } epochs: 1 }\n"
                    "infer { name: \"tag\" write: TEXT field: \"tags\" from: \"path\" }\n");
  }
  Ran train(const std::string& job, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train", job, "--out", "model", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return graphrun(words);
  }
  // Checks that the model's folder is sufficient after everything else is removed.
  void expect_whole(const std::string& parameter) {
    const std::string graph = read("model/graph.txt");
    EXPECT_THAT(graph, HasSubstr("%read." + parameter + ":"));
    for (const auto& entry : fs::directory_iterator(root_)) {
      if (entry.path().filename() != "model") fs::remove_all(entry.path());
    }
    fs::create_directories(root_ / "elsewhere");
    fs::rename(root_ / "model", root_ / "elsewhere/moved");
    const Ran ran = graphrun({"infer", "elsewhere/moved"}, "a b\nb\n");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 2) << ran.out;
  }
};

TEST_F(OwnNetwork, LiesBesideItsJobAndTakesAShippedCell) {
  write("n/mytagger.pbtxt", network("mine"));
  write_job("n/my.pbtxt", "mytagger.pbtxt", "../train.conll");
  const Ran ran = train("n/my.pbtxt");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(exists("model/graphs/mytagger.pbtxt"));
  EXPECT_TRUE(exists("model/graphs/cells/atr.pbtxt"));
  EXPECT_FALSE(exists("model/graphs.json"));
  expect_whole("W");
}

TEST_F(OwnNetwork, LiesInAProjectsFolderGraphsWithoutACopyOfTheShippedOnes) {
  write("proj/graphs/nets/mine.pbtxt", network("mine"));
  write_job("proj/job.pbtxt", "nets/mine.pbtxt", "../train.conll");
  write_job("proj/graphs/inside.pbtxt", "nets/mine.pbtxt", "../../train.conll");
  EXPECT_EQ(graphrun({"check", "proj/job.pbtxt"}).code, 0);
  const Ran ran = train("proj/graphs/inside.pbtxt");
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_whole("W");
}

TEST_F(OwnNetwork, ImportsFromBesideItselfFirst) {
  write("n/parts/mine.pbtxt", network("mine", "own.pbtxt"));
  write("n/parts/own.pbtxt", cell("Beside"));
  write("n/own.pbtxt", cell("Above"));
  write_job("n/my.pbtxt", "parts/mine.pbtxt", "../train.conll");
  ASSERT_EQ(train("n/my.pbtxt").code, 0);
  expect_whole("Beside");
}

// Both are called cells/atr.pbtxt; the shipped graphs still import the shipped one.
TEST_F(OwnNetwork, KeepsTwoFilesOfOneNameApart) {
  write("n/mine.pbtxt", network("mine", "cells/atr.pbtxt") +
                            "import: \"encoder = encoders/bidirectional.pbtxt\"\n"
                            "call { name: \"encode\" graph: \"encoder\" arg: \"hidden = 4\" input: \"words = x, lengths\" }\n"
                            "output: \"size = sum(encode.annotations)\"\n");
  write("n/cells/atr.pbtxt", cell("Mine"));
  write_job("n/my.pbtxt", "mine.pbtxt", "../train.conll");
  const Ran ran = train("n/my.pbtxt");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read("model/graphs/cells/atr.pbtxt"), cell("Mine"));
  EXPECT_THAT(read("model/graphs/cells/atr-2.pbtxt"), HasSubstr("Zhang"));
  EXPECT_THAT(read("model/graph.txt"), HasSubstr("%encode.forward.U:"));
  const Ran again = train("n/my.pbtxt", {"--resume", "--set", "train.epochs=2"});
  EXPECT_EQ(again.code, 0) << again.err;
  expect_whole("Mine");
}

TEST_F(OwnNetwork, IsNamedOnTheCommandLineFromWhereTheProgramRuns) {
  write("mytagger.pbtxt", network("mine"));
  write("own/cell.pbtxt", cell("Own"));
  write_job("n/my.pbtxt", "tagger.pbtxt", "../train.conll");
  const std::string whole = path("own/cell.pbtxt");
  for (const std::string& named : std::vector<std::string>{"own/cell.pbtxt", whole, "n/../own/cell.pbtxt"}) {
    EXPECT_EQ(graphrun({"check", "n/my.pbtxt", "--set", "graph=mytagger.pbtxt", "--set", "cell=" + named}).code, 0) << named;
  }
  const Ran ran = train("n/my.pbtxt", {"--set", "graph=" + path("mytagger.pbtxt"), "--set", "cell=" + whole});
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_whole("Own");
}

// As in the shipped jobs.
TEST_F(OwnNetwork, MayHaveTheNameOfAJobBesideIt) {
  write("proj/graphs/mine.pbtxt", network("mine"));
  write_job("proj/graphs/jobs/mine.pbtxt", "mine.pbtxt", "../../../train.conll");
  write_job("proj/graphs/jobs/other.pbtxt", "mine.pbtxt", "../../../train.conll");
  for (const char* job : {"proj/graphs/jobs/mine.pbtxt", "proj/graphs/jobs/other.pbtxt"}) {
    const Ran ran = graphrun({"check", job});
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
}

TEST_F(OwnNetwork, ThatIsNowhereIsToldWithAllPlaces) {
  write("n/mytager.pbtxt", network("mine"));
  write("n/graphs/other.pbtxt", network("other"));
  write_job("n/my.pbtxt", "mytagger.pbtxt", "../train.conll");
  const Ran ran = graphrun({"check", "n/my.pbtxt"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("n/my.pbtxt:2:8: error[E0221 no-file]: no graph 'mytagger.pbtxt'"),
                             HasSubstr("looked for n/mytagger.pbtxt, n/graphs/mytagger.pbtxt, " + tests::source_folder() +
                                       "/graphs/mytagger.pbtxt"),
                             HasSubstr("'mytager.pbtxt'")));
}

TEST_F(OwnNetwork, LeavesNoFolderByWhatAFileSays) {
  write("n/parts/mine.pbtxt", network("mine", "../own.pbtxt"));
  write("n/own.pbtxt", cell("Above"));
  write_job("n/up.pbtxt", "parts/mine.pbtxt", "../train.conll");
  EXPECT_THAT(graphrun({"check", "n/up.pbtxt"}).err, HasSubstr("E0220 outside"));
  write("outside.pbtxt", network("outside"));
  fs::create_symlink("../outside.pbtxt", root_ / "n/link.pbtxt");
  write_job("n/linked.pbtxt", "link.pbtxt", "../train.conll");
  EXPECT_THAT(graphrun({"check", "n/linked.pbtxt"}).err, HasSubstr("E0220 outside"));
}

TEST_F(OwnNetwork, IsNotTwoByOnePath) {
  write("n/mine.pbtxt", network("mine"));
  write("mine.pbtxt", cell("OfCommandLine"));
  write_job("n/my.pbtxt", "mine.pbtxt", "../train.conll");
  const Ran ran = graphrun({"check", "n/my.pbtxt", "--set", "cell=mine.pbtxt"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("E0249 two-graphs"), HasSubstr("'mine.pbtxt'"), HasSubstr("./mine.pbtxt")));
  EXPECT_EQ(graphrun({"check", "n/my.pbtxt", "--set", "cell=./mine.pbtxt"}).code, 0);
}

}  // namespace
}  // namespace graphrun
