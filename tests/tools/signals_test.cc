// Signals at many moments of a run: a checkpoint each time, from which the run resumes.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/tools/program_fixture.h"
#include "tools/run/signals.h"

namespace graphrun {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;
using Action = StopPolicy::Action;

TEST(StopPolicy, CountsTwoSecondsAsOne) {
  StopPolicy policy;
  EXPECT_EQ(policy.at_signal(100s, false), Action::kStop);
  EXPECT_EQ(policy.at_signal(100s + 3us, true), Action::kNone);
  EXPECT_EQ(policy.at_signal(102s, false), Action::kNone);
  EXPECT_EQ(policy.at_signal(102s + 1ns, false), Action::kEnd);
}

TEST(StopPolicy, ReportsOneLaterSignalDuringASave) {
  StopPolicy policy;
  EXPECT_EQ(policy.at_signal(100s, true), Action::kStop);
  EXPECT_EQ(policy.at_signal(103s, true), Action::kReport);
  EXPECT_EQ(policy.at_signal(103s + 1us, true), Action::kEnd);
}

TEST(StopPolicy, EndsBehindAReportedSignalWithoutASaveToo) {
  StopPolicy policy;
  policy.at_signal(0s, false);
  EXPECT_EQ(policy.at_signal(3s, true), Action::kReport);
  EXPECT_EQ(policy.at_signal(4s, false), Action::kEnd);
}

// Three signals to a separate process: the first, one during a save after the two seconds, and a third.
TEST(StopSignals, ReportsALaterOneDuringASaveAndEndsAtTheNext) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts a new process, without earlier threads
  EXPECT_EXIT(
      {
        StopSignals signals;
        kill(getpid(), SIGTERM);
        std::this_thread::sleep_for(StopPolicy::kSameRequest + 100ms);
        if (signals.pending() != SIGTERM) std::exit(1);
        const StopSignals::Saving saving(signals);
        kill(getpid(), SIGINT);
        std::this_thread::sleep_for(100ms);
        std::fputs("the save is finished\n", stderr);
        kill(getpid(), SIGINT);
        std::this_thread::sleep_for(10s);
      },
      testing::ExitedWithCode(128 + SIGINT), "signal 2 during a save.*\nthe save is finished");
}

class Signals : public ProgramTest {
 protected:
  std::int64_t newest_checkpoint() const {
    std::int64_t newest = -1;
    for (const auto& entry : std::filesystem::directory_iterator(root_ / "model/checkpoints")) {
      newest = std::max<std::int64_t>(newest, std::stoll(entry.path().filename().string().substr(5)));
    }
    return newest;
  }
};

TEST_F(Signals, EachLeavesACheckpointToResume) {
  write_segmenter();
  // Layers are so wide that a signal mostly arrives during the products of a step, and there are enough epochs that none is the
  // last.
  const std::vector<std::string> train = {
      "train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "hidden=128", "--set", "embed=64",
      "--set", "train.epochs=100000"};
  std::int64_t before = -1;
  for (int moment = 0; moment < 8 || before <= 0; ++moment) {
    std::vector<std::string> words = train;
    if (moment > 0) words.push_back("--resume");
    // That many microseconds after the metrics are opened, wherever the run is then.
    const std::string fault = "int:metrics.jsonl:1+" + std::to_string(1 + 61000 * moment);
    const Ran ran = graphrun_under(fault, words);
    ASSERT_EQ(ran.code, 128 + SIGINT) << ran.err;
    if (before >= 0) {
      EXPECT_THAT(ran.err, HasSubstr("continuing from step " + std::to_string(before)));
    }
    const std::int64_t newest = newest_checkpoint();
    EXPECT_GE(newest, before);
    before = newest;
  }
}

// A signal to a process and to its group arrives twice, in an order that the system chooses.
TEST_F(Signals, TwoAtOnceAreOne) {
  write_segmenter();
  const Ran ran = graphrun_under("both:/checkpoints/:3",
                                 {"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=100000"});
  EXPECT_THAT(ran.code, AnyOf(128 + SIGINT, 128 + SIGTERM)) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("stopped by signal"));
  EXPECT_GE(newest_checkpoint(), 0);
}

TEST_F(Signals, AreExplainedByTheHelp) {
  EXPECT_THAT(graphrun({"train", "--help"}).out, HasSubstr("Signals within two seconds of the first count as one."));
}

}  // namespace
}  // namespace graphrun
