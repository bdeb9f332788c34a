#include "tools/run/run_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "runtime/base/status.h"
#include "tests/tools/scratch.h"
#include "tools/run/metrics_log.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "graphrun-run-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  void write(const std::string& name, const std::string& text) { std::ofstream(root_ / name) << text; }
  std::string read(const std::string& name) {
    std::ifstream file(root_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path root_;
};

std::string code_of(const std::function<void()>& act, ExitCode expected) {
  try {
    act();
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), expected) << error.what();
    return error.diagnostics().at(0).code;
  }
  return "no error";
}

TEST_F(RunFolderTest, IsMadeAndHoldsARunOnce) {
  {
    RunFolder folder(path("a/model"), RunFolder::Begin::kNew);
    write("a/model/job.pbtxt", "graph: \"x\"");
  }
  EXPECT_EQ(code_of([&] { RunFolder again(path("a/model"), RunFolder::Begin::kNew); }, ExitCode::kUsage), "E0520 run-exists");
  EXPECT_NO_THROW(RunFolder(path("a/model"), RunFolder::Begin::kResume));
}

TEST_F(RunFolderTest, NothingIsResumedWhereThereIsNoRun) {
  EXPECT_EQ(code_of([&] { RunFolder folder(path("b"), RunFolder::Begin::kResume); }, ExitCode::kUsage), "E0521 no-run");
  EXPECT_FALSE(fs::exists(root_ / "b"));
}

TEST_F(RunFolderTest, TwoProcessesNeverHoldIt) {
  int ready[2], stop[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(stop), 0);
  const pid_t child = fork();
  if (child == 0) {
    {
      RunFolder folder(path("c"), RunFolder::Begin::kNew);
      write("c/job.pbtxt", "x");
      char c = 1;
      if (::write(ready[1], &c, 1) != 1 || ::read(stop[0], &c, 1) != 1) _exit(1);
    }
    _exit(0);
  }
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  const auto refused = [&] { RunFolder folder(path("c"), RunFolder::Begin::kResume); };
  EXPECT_EQ(code_of(refused, ExitCode::kRunFailed), "E0522 run-busy");
  EXPECT_NE(message_of(refused).find("process " + std::to_string(child) + " on machine '"), std::string::npos);
  ASSERT_EQ(::write(stop[1], &c, 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_NO_THROW(RunFolder(path("c"), RunFolder::Begin::kResume));
  for (const int file : {ready[0], ready[1], stop[0], stop[1]}) close(file);
}

TEST_F(RunFolderTest, MetricsAreCutBackToWhatACheckpointKnows) {
  std::int64_t at = 0;
  {
    MetricsLog log(path("metrics.jsonl"), 0);
    log.write({{"step", 1}, {"loss", 0.1}});
    at = log.bytes();
    log.write({{"step", 2}, {"loss", 1.0 / 3}});
    log.sync();
  }
  EXPECT_EQ(read("metrics.jsonl"), "{\"step\":1,\"loss\":0.1}\n{\"step\":2,\"loss\":0.3333333333333333}\n");
  {
    MetricsLog log(path("metrics.jsonl"), at);
    log.write({{"step", 3}});
  }
  EXPECT_EQ(read("metrics.jsonl"), "{\"step\":1,\"loss\":0.1}\n{\"step\":3}\n");
  EXPECT_EQ(code_of([&] { MetricsLog log(path("metrics.jsonl"), 1000); }, ExitCode::kBadData), "E0660 cut-metrics");
  EXPECT_EQ(code_of([&] { MetricsLog log(path("none/metrics.jsonl"), 0); }, ExitCode::kNoRoom), "E0502 unwritable-file");
}

}  // namespace
}  // namespace graphrun
