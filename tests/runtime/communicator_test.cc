// Tests of several processes with each MPI library. The launcher starts this program once more in each process, to run a test
// whose name begins with DISABLED.
#include "runtime/communicator/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/communicator/mpi_library.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr int kFailed = 77;  // exit code of a process whose test fails; no launcher uses it

struct Launched {
  int code = 0;
  std::string text;
};

std::string launcher_of(const std::string& plugin) { return "/usr/bin/mpirun." + plugin; }
bool can_launch(const std::string& plugin) { return has_mpi_plugin(plugin) && std::filesystem::exists(launcher_of(plugin)); }

// Runs a test in several processes.
Launched launch(const std::string& plugin, int processes, const std::string& test, const std::string& environment = "") {
  const std::string options = plugin == "openmpi" ? " -q --oversubscribe --bind-to none" : " -disable-auto-cleanup";
  // MPI libraries keep memory until the process ends, in modules that they have unloaded by then.
  const std::string command =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 " + environment +
      " timeout 250 " + launcher_of(plugin) + options + " -np " + std::to_string(processes) + " " + tests::build_folder() +
      "/runtime_tests --gtest_also_run_disabled_tests --gtest_filter=" + test + " 2>&1 </dev/null";
  Launched ran;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), [](FILE*) { return 0; });
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) ran.text.append(buffer.data(), n);
  const int status = pclose(pipe.get());
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

class Communicators : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_launch(GetParam())) GTEST_SKIP() << "this MPI library is not installed here; tools/setup --mpi installs it";
  }
};
INSTANTIATE_TEST_SUITE_P(Libraries, Communicators, testing::Values("openmpi", "mpich"),
                         [](const auto& info) { return info.param; });

// A number of a batch. Their magnitudes differ, so that each order of addition has another result. `sparse`: most are zeros of
// either sign, in sequences that begin anywhere.
float number(std::size_t batch, std::size_t i, bool sparse) {
  if (sparse && (i / 100 + batch) % 5 != 0) return i / 1000 % 3 == 0 && i % 7 == 0 ? -0.0f : 0.0f;
  const auto bits = static_cast<std::uint32_t>(batch * 2654435761u + i * 40503u + 12345u);
  const std::uint32_t mixed = (bits ^ bits >> 15) * 2246822519u;
  return std::ldexp(static_cast<float>(mixed % 2000001u) - 1e6f, static_cast<int>(mixed >> 28) - 8);
}

TEST(CommunicatorProcesses, DISABLED_AddInOrder) {
  Communicator together(this_launcher(), 60);
  together.introduce();
  const int n = together.size(), me = together.rank();
  const std::vector<std::pair<std::size_t, bool>> cases = {{1, false}, {1100003, false}, {1100003, true}, {64, true}};
  for (const auto& [count, sparse] : cases) {
    OrderedSum sum(together, count);
    std::vector<float> expected(count);
    float* const numbers = sum.numbers().data<float>();
    std::size_t batch = 0;
    // Updates of two rounds; the second round has fewer batches. From the second update on, each begins with a sum that all
    // processes have.
    for (int update = 0; update < 3; ++update) {
      for (int round = 0; round < 2; ++round) {
        const int first = round == 1 && n > 2 ? 1 : 0, last = n - 1;
        const bool begins = round == 0 && update == 0;
        if (round == 0 && update > 0) sum.begin_from_numbers();
        sum.begin({first, last, begins, round == 1 ? OrderedSum::Result::kAll : OrderedSum::Result::kNowhere});
        // Bucket by bucket, also by parts that end within one.
        for (std::size_t end = 0; end < count;) {
          const std::size_t begin = end;
          end = std::min(count, end + 700001);
          for (std::size_t i = begin; i < end; ++i) numbers[i] = number(batch + static_cast<std::size_t>(me), i, sparse);
          sum.ready(end);
        }
        for (int r = first; r <= last; ++r) {
          for (std::size_t i = 0; i < count; ++i) {
            const float x = number(batch + static_cast<std::size_t>(r), i, sparse);
            expected[i] = begins && r == first ? x : expected[i] + x;
          }
        }
        batch += static_cast<std::size_t>(n);
        sum.finish();
      }
      ASSERT_EQ(std::memcmp(numbers, expected.data(), count * sizeof(float)), 0) << count << " " << sparse << " " << update;
    }
  }
}

// Owners keep the sums of their elements, change them, and hand them out.
TEST(CommunicatorProcesses, DISABLED_HandOut) {
  Communicator together(this_launcher(), 60);
  together.introduce();
  const int n = together.size(), me = together.rank();
  constexpr std::size_t kUnit = 4096;
  for (const std::size_t count : {std::size_t{1}, 3 * kUnit + 5, std::size_t{1100003}}) {
    OrderedSum sum(together, count, kUnit);
    float* const numbers = sum.numbers().data<float>();
    std::vector<float> expected(count), changed(count);
    for (int round = 0; round < 2; ++round) {
      sum.begin({0, n - 1, round == 0, round == 0 ? OrderedSum::Result::kNowhere : OrderedSum::Result::kOwners});
      for (std::size_t i = 0; i < count; ++i) numbers[i] = number(static_cast<std::size_t>(round * n + me), i, false);
      for (int r = 0; r < n; ++r) {
        for (std::size_t i = 0; i < count; ++i) {
          const float x = number(static_cast<std::size_t>(round * n + r), i, false);
          expected[i] = round == 0 && r == 0 ? x : expected[i] + x;
        }
      }
      sum.ready(count);
      sum.finish();
    }
    std::vector<int> owners(count);
    for (int r = 0; r < n; ++r) {
      for (const auto& [begin, end] : sum.owned(r)) {
        EXPECT_EQ(begin % kUnit, 0u);
        for (std::size_t i = begin; i < end; ++i) ++owners[i];
      }
    }
    EXPECT_EQ(owners, std::vector<int>(count, 1));
    const Tensor array(DType::kFloat32, {static_cast<std::int64_t>(count)});
    for (std::size_t i = 0; i < count; ++i) array.data<float>()[i] = static_cast<float>(me), changed[i] = 2 * expected[i];
    for (const auto& [begin, end] : sum.owned(me)) {
      ASSERT_EQ(std::memcmp(numbers + begin, expected.data() + begin, (end - begin) * sizeof(float)), 0);
      for (std::size_t i = begin; i < end; ++i) array.data<float>()[i] = 2 * numbers[i];
    }
    sum.hand_out(array);
    ASSERT_EQ(std::memcmp(array.raw(), changed.data(), array.bytes()), 0) << count;
  }
}

TEST_P(Communicators, AddInOrder) {
  for (const int n : {2, 3, 4}) {
    for (const std::string test : {"*DISABLED_AddInOrder", "*DISABLED_HandOut"}) {
      const Launched ran = launch(GetParam(), n, test);
      EXPECT_EQ(ran.code, 0) << ran.text;
      EXPECT_THAT(ran.text, HasSubstr("PASSED")) << n;
    }
  }
}

TEST(CommunicatorProcesses, DISABLED_PassBytes) {
  Communicator together(this_launcher(), 60);
  together.introduce();
  const std::string own(static_cast<std::size_t>(together.rank()) * 100000, static_cast<char>('a' + together.rank()));
  const std::vector<std::string> all = together.gather(own);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(together.size()));
  for (int r = 0; r < together.size(); ++r) {
    EXPECT_EQ(all[static_cast<std::size_t>(r)], std::string(static_cast<std::size_t>(r) * 100000, static_cast<char>('a' + r)));
  }
  EXPECT_EQ(together.broadcast(together.rank() == 0 ? "what 0 says" : "what nobody reads"), "what 0 says");
  EXPECT_EQ(together.broadcast(""), "");
  EXPECT_THAT(together.name(1), testing::StartsWith("process 1 on '"));
}

TEST_P(Communicators, PassBytes) {
  const Launched ran = launch(GetParam(), 3, "*DISABLED_PassBytes");
  EXPECT_EQ(ran.code, 0) << ran.text;
}

// Long before it counts as lost by its silence.
TEST(CommunicatorProcesses, DISABLED_OneIsKilled) {
  Communicator together(this_launcher(), 1e6);
  together.introduce();
  std::signal(SIGUSR1, SIG_IGN);  // from MPICH's launcher
  std::signal(SIGTERM, SIG_IGN);  // from Open MPI's
  together.gather("");
  if (together.rank() == 1) kill(getpid(), SIGKILL);
  try {
    together.gather("");
    ADD_FAILURE() << "process 1 is not missed";
  } catch (const PeerEnd& end) {
    EXPECT_EQ(end.rank(), together.rank() == 0 ? 1 : 0);  // the others end because of process 0
    EXPECT_EQ(end.code(), 1);
    std::fprintf(stderr, "[%d] %s\n", together.rank(), end.what());
    if (together.rank() == 0) together.end_all(end.code());
  }
  std::_Exit(testing::Test::HasFailure() ? kFailed : 1);
}

TEST_P(Communicators, NameAProcessThatWasKilled) {
  const Launched ran = launch(GetParam(), 3, "*DISABLED_OneIsKilled");
  EXPECT_NE(ran.code, 0);
  // MPICH's launcher may end the others before one of them can say so; then it says so itself.
  const auto named = HasSubstr("[0] error[E0532 lost-process]: process 1 on '");
  EXPECT_THAT(ran.text, AnyOf(named, HasSubstr("Killed (signal 9)")));
}

TEST(CommunicatorProcesses, DISABLED_OneIsSilent) {
  Communicator together(this_launcher(), 2);
  together.introduce();
  const std::vector<std::string> pids = together.gather(std::to_string(getpid()));
  if (together.rank() == 2) kill(getpid(), SIGSTOP);
  try {
    together.gather("");
    ADD_FAILURE() << "process 2 is not missed";
  } catch (const PeerEnd& end) {
    EXPECT_EQ(end.rank(), together.rank() == 0 ? 2 : 0);
    std::fprintf(stderr, "[%d] %s\n", together.rank(), end.what());
    if (together.rank() == 0) {
      together.end_all(end.code());
      kill(std::atoi(pids[2].c_str()), SIGKILL);
    }
  }
  std::_Exit(testing::Test::HasFailure() ? kFailed : 1);
}

TEST_P(Communicators, NameAProcessThatIsSilent) {
  const Launched ran = launch(GetParam(), 3, "*DISABLED_OneIsSilent");
  EXPECT_NE(ran.code, 0);
  EXPECT_NE(ran.code, kFailed) << ran.text;
  EXPECT_THAT(ran.text, HasSubstr("[0] error[E0532 lost-process]: process 2 on '"));
}

// A failure may reach process 0 before it knows the names of all processes.
TEST(CommunicatorProcesses, DISABLED_OneFails) {
  Communicator together(this_launcher(), 60);
  if (together.rank() == 2) {
    EXPECT_EQ(together.report_failure(4, "bad data here"), 4);
  } else {
    try {
      together.introduce();
      ADD_FAILURE() << "nobody failed";
    } catch (const PeerEnd& end) {
      EXPECT_EQ(end.code(), 4);
      EXPECT_EQ(std::string(end.what()), together.rank() == 0 ? "process 2 on '" + machine_name() + "':\nbad data here" : "");
      if (together.rank() == 0) together.end_all(end.code());
    }
  }
  std::_Exit(testing::Test::HasFailure() ? kFailed : 4);
}

TEST_P(Communicators, EndWithTheCodeOfTheOneThatFails) {
  const Launched ran = launch(GetParam(), 3, "*DISABLED_OneFails");
  EXPECT_EQ(ran.code, 4) << ran.text;
}

// A failure on the communication thread of process 1 reaches the thread that waits for it, and then process 0.
TEST(CommunicatorProcesses, DISABLED_OneFailsInAStage) {
  Communicator together(this_launcher(), 60);
  together.introduce();
  try {
    if (together.rank() == 1) {
      const auto fail = []() -> Stage { throw UserError(ExitCode::kNoRoom, "E0503 no-memory", "no room for a bucket"); };
      const char byte = 'x';
      const std::uint64_t number = together.start({{{2, &byte, nullptr, 1, 1}}, fail});
      together.wait(number);
      ADD_FAILURE() << "nothing thrown";
    } else if (together.rank() == 2) {
      char byte = 0;
      together.wait(together.start({{{1, nullptr, &byte, 1, 1}}, {}}));
      EXPECT_EQ(byte, 'x');
    }
    together.gather("");
    ADD_FAILURE() << "nobody failed";
  } catch (const UserError& error) {
    EXPECT_EQ(together.rank(), 1);
    EXPECT_EQ(error.diagnostics()[0].text, "no room for a bucket");
    EXPECT_EQ(together.report_failure(static_cast<int>(error.exit_code()), error.what()), 5);
  } catch (const PeerEnd& end) {
    EXPECT_NE(together.rank(), 1);
    EXPECT_EQ(end.code(), 5);
    if (together.rank() == 0) {
      EXPECT_THAT(std::string(end.what()),
                  HasSubstr("process 1 on '" + machine_name() + "':\nerror[E0503 no-memory]: no room"));
      together.end_all(end.code());
    }
  }
  std::_Exit(testing::Test::HasFailure() ? kFailed : 5);
}

TEST_P(Communicators, ReportAFailureOfTheCommunicationThread) {
  const Launched ran = launch(GetParam(), 3, "*DISABLED_OneFailsInAStage");
  EXPECT_EQ(ran.code, 5) << ran.text;
}

TEST(CommunicatorProcesses, DISABLED_JoinNobody) {
  try {
    const Communicator together(this_launcher(), 60);
    ADD_FAILURE() << together.size();
  } catch (const UserError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
}

TEST_P(Communicators, SayThatAnotherLibrarysLauncherStartedThem) {
  const std::string other = GetParam() == "mpich" ? "openmpi" : "mpich";
  if (!can_launch(other)) GTEST_SKIP() << "only one MPI library is installed here; tools/setup --mpi installs two";
  const Launched ran = launch(other, 2, "*DISABLED_JoinNobody",
                              "GRAPHRUN_MPI_LIBRARY=" + tests::build_folder() + "/libgraphrun_mpi_" + GetParam() + ".so");
  EXPECT_THAT(ran.text, HasSubstr("E0531 foreign-launcher]: mpirun started 2 processes, but "));
}

TEST(CommunicatorLauncher, SaysWhatIsMissing) {
  setenv("GRAPHRUN_MPI_LIBRARY", "/none.so", 1);
  try {
    const Communicator together({"mpirun", "openmpi", 2}, 60);
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_THAT(error.what(),
                HasSubstr("error[E0530 no-mpi]: mpirun started several processes, which need MPI to work together: "
                          "this graphrun was built without it (no '/none.so')"));
  }
  unsetenv("GRAPHRUN_MPI_LIBRARY");
}

TEST(CommunicatorLauncher, IsRecognizedByItsEnvironment) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_NTASKS"}) unsetenv(name);
  setenv("SLURM_NTASKS", "4", 1);
  EXPECT_EQ(this_launcher().name, "");
  unsetenv("SLURM_NTASKS");
  setenv("PMI_SIZE", "4", 1);
  EXPECT_EQ(this_launcher().plugin, "mpich");
  EXPECT_EQ(this_launcher().processes, 4);
  setenv("PMI_SIZE", "1", 1);
  EXPECT_EQ(this_launcher().name, "");
  unsetenv("PMI_SIZE");
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  EXPECT_EQ(this_launcher().plugin, "openmpi");
  unsetenv("OMPI_COMM_WORLD_SIZE");
}

}  // namespace
}  // namespace graphrun
