// What several processes watch is what one process watches, byte for byte.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/tools/event_file.h"
#include "tests/tools/processes_fixture.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

class WatchInProcesses : public SeveralProcessesOf {
 protected:
  static Words watching(int every_steps, const std::string& match = "*") {
    return {"--set", "train.watch.match=" + match, "--set", "train.watch.every_steps=" + std::to_string(every_steps)};
  }
  // The numbers of the updates whose figures were recorded; each has gates and states.
  std::vector<int> watched(const std::string& out) const {
    std::vector<int> steps;
    for (const auto& line : json_lines(read(out + "/metrics.jsonl"))) {
      if (!line.contains("watch")) continue;
      steps.push_back(line["step"]);
      for (const char* kind : {"parameters", "gates", "states"}) EXPECT_FALSE(line["watch"][kind].empty()) << kind;
    }
    return steps;
  }
  // The events for TensorBoard without their times, and metrics.jsonl.
  void expect_same_figures(const std::string& out, const std::string& expected) const {
    EXPECT_EQ(read(out + "/metrics.jsonl"), read(expected + "/metrics.jsonl"));
    const auto events = [&](const std::string& of) {
      std::vector<std::string> texts;
      for (events::Event& event : tests::read_events(path(of + "/tensorboard"))) {
        event.clear_wall_time();
        texts.push_back(event.SerializeAsString());
      }
      return texts;
    };
    EXPECT_EQ(events(out), events(expected));
  }
};

INSTANTIATE_TEST_SUITE_P(Libraries, WatchInProcesses, testing::Values("openmpi", "mpich"),
                         [](const auto& info) { return info.param; });

// The short update at the end of an epoch is not watched.
TEST_P(WatchInProcesses, RecordsTheFiguresOfOne) {
  const Words more = watching(1) + Words{"--tensorboard"};
  const Ran one = graphrun(job("one", more));
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(watched("one"), (std::vector<int>{1, 3, 5}));
  for (const int n : {2, 3, 4}) {
    const std::string out = "of" + std::to_string(n);
    const Ran ran = mpirun(GetParam(), n, job(out, more));
    ASSERT_EQ(ran.code, 0) << ran.err;
    expect_same_figures(out, "one");
    EXPECT_TRUE(read_below(out + "/best", "parameters.safetensors") == read_below("one/best", "parameters.safetensors"));
  }
  const Ran unused = mpirun(GetParam(), 2, job("unused", watching(1, "decode.*")));
  EXPECT_EQ(unused.code, 0) << unused.err;
  EXPECT_EQ(times(unused.err, "E0422 unused-pattern"), 1u) << unused.err;
}

// Each process has only its slices of the sums and of the averages; the schedule goes back to the best parameters.
TEST_P(WatchInProcesses, BringsShardedSumsTogether) {
  write_large_segmenter();
  const Words more = watching(1) + Words{"--tensorboard", "--set", "train.shard_optimizer=true", "--set", "data.batch.rows=4"};
  const Ran one = graphrun(job("one", more));
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(watched("one").size(), 6u);  // two full updates in each epoch
  EXPECT_THAT(one.err, HasSubstr("from the best parameters on"));
  const Ran three = mpirun(GetParam(), 3, job("three", more));
  ASSERT_EQ(three.code, 0) << three.err;
  EXPECT_THAT(three.err, HasSubstr("; the optimizer is sharded\n"));
  expect_same_figures("three", "one");
  // If each process first adds its own gradients, too, sharding changes no figure.
  const Words by_process = more + Words{"--set", "train.sum=BY_PROCESS"};
  const Ran two = mpirun(GetParam(), 2, job("two", by_process + Words{"--set", "train.shard_optimizer=false"}));
  ASSERT_EQ(two.code, 0) << two.err;
  const Ran two_sharded = mpirun(GetParam(), 2, job("two_sharded", by_process));
  ASSERT_EQ(two_sharded.code, 0) << two_sharded.err;
  expect_same_figures("two_sharded", "two");
}

// The process that has a part of a stream has its states. One process stops within an update, two and three continue.
TEST_P(WatchInProcesses, SeesTheStatesOfAStream) {
  write_language_model();
  const auto words = [](const std::string& out, const Words& more = {}) {
    return stream_job(out, watching(3) + Words{"--tensorboard"} + more);
  };
  const Ran one = graphrun(words("one"));
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_GT(watched("one").size(), 5u);
  const Ran four = mpirun(GetParam(), 4, words("four"));
  ASSERT_EQ(four.code, 0) << four.err;
  expect_same_figures("four", "one");
  EXPECT_EQ(graphrun_under("int:metrics.jsonl:5", words("parts")).code, 128 + SIGINT);
  const Ran two = mpirun(GetParam(), 2, words("parts", {"--resume", "--set", "train.updates=11"}));
  ASSERT_EQ(two.code, 0) << two.err;
  const Ran three = mpirun(GetParam(), 3, words("parts", {"--resume"}));
  ASSERT_EQ(three.code, 0) << three.err;
  EXPECT_EQ(watched("parts"), watched("one"));
  EXPECT_TRUE(read_below("parts/best", "parameters.safetensors") == read_below("one/best", "parameters.safetensors"));
}

}  // namespace
}  // namespace graphrun
