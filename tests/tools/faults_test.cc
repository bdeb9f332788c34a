// Every file operation and every allocation of a short training with many saves, of its resumption and of `infer` fails once.
// Each failure ends as a table says, with graphrun's message and the system's reason; `--resume` then leaves the same bytes as
// an undisturbed run. The test runs a sample. For tests/faults/fail_each_operation, GRAPHRUN_EVERY_FAULT selects more:
// "places", the first and the last operation of each place in the code on each file, or "all".
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "tests/folders.h"
#include "tests/sanitized.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

// Files that record a run's starts and clocks, and so differ in every run.
const std::set<std::string> kOfEachStart = {"starts.jsonl", "speed.jsonl", "train.log", "run.lock"};

constexpr int kAllocations = 200;       // of each program that fail if all faults are tried
constexpr int kSampledAllocations = 4;  // in the test

// Exit codes that a failure may end with. 0 among others: some files are not needed, or an older checkpoint serves as well.
struct Failing {
  const char* call;
  const char* error;
  std::vector<int> codes;
  const char* reason;  // that the message contains
};
const std::vector<Failing> kTable = {
    {"open", "EINTR", {0}, ""},
    {"open", "EIO", {0, 3, 4, 5}, "Input/output error"},
    {"open", "ENOMEM", {0, 5}, "Cannot allocate memory"},
    {"read", "EINTR", {0}, ""},
    {"read", "short", {0}, ""},
    {"read", "EIO", {0, 3, 4}, "Input/output error"},
    {"read", "ENOMEM", {0, 5}, "Cannot allocate memory"},
    {"write", "EINTR", {0}, ""},
    {"write", "short", {0}, ""},
    {"write", "EIO", {5}, "Input/output error"},
    {"write", "ENOSPC", {5}, "No space left on device"},
    {"fsync", "EINTR", {0}, ""},
    {"fsync", "EIO", {5}, "Input/output error"},
    {"fsync", "ENOSPC", {5}, "No space left on device"},
    {"rename", "EIO", {0, 5}, "Input/output error"},  // if names cannot be exchanged, two renames replace the exchange
    {"rename", "ENOSPC", {0, 5}, "No space left on device"},
    {"remove", "EIO", {0, 5}, "Input/output error"},
    {"mmap", "ENOMEM", {5}, "memory"},
};

bool all_of_them() { return std::getenv("GRAPHRUN_EVERY_FAULT") != nullptr; }

// Which of a program's operations fail, counted from 1. `places`: the place in the code of each.
std::vector<int> failing_numbers(const std::vector<std::string>& places, std::mt19937& draw) {
  std::vector<int> numbers;
  if (!all_of_them()) {
    if (!places.empty()) numbers = {std::uniform_int_distribution<int>(1, static_cast<int>(places.size()))(draw)};
    return numbers;
  }
  const bool each = std::string(std::getenv("GRAPHRUN_EVERY_FAULT")) == "all";
  std::map<std::string, std::pair<int, int>> ends;  // by place: its first and last operation
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    ends.try_emplace(places[i], number, number).first->second.second = number;
    if (each) numbers.push_back(number);
  }
  if (each) return numbers;
  std::set<int> chosen;
  for (const auto& [place, first_and_last] : ends) chosen.insert({first_and_last.first, first_and_last.second});
  return {chosen.begin(), chosen.end()};
}

class EachFault : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_language_model();
    // Keeps so little of the data in memory that the rest is mapped from files in the folder whose operations fail.
    fs::create_directory(root_ / "tmp");
    setenv("TMPDIR", path("tmp").c_str(), 1);
    setenv("GRAPHRUN_DATA_MEMORY", "64", 1);
    ASSERT_EQ(train("whole").code, 0);
    left_ = left_by("whole");
    ASSERT_EQ(graphrun_under("kill:/checkpoints/:45", words("half", false)).code, 128 + 9);
    write("lines.txt", "the cat sat on the mat\na dog lay on the rug\n");
    const Ran inferred = graphrun(infer_words());
    ASSERT_EQ(inferred.code, 0) << inferred.err;
    answers_ = inferred.out;
  }

  void TearDown() override {
    unsetenv("TMPDIR");
    unsetenv("GRAPHRUN_DATA_MEMORY");
    ProgramTest::TearDown();
  }

  static std::vector<std::string> words(const std::string& out, bool resume) {
    std::vector<std::string> all = {"train", "graphs/jobs/words.pbtxt", "--out", out, "--threads", "2", "--quiet"};
    for (const char* set : {"train.checkpoint.every_steps=15", "train.epochs=1", "train.validate.times_per_epoch=2",
                            "train.validate.every_epochs=0", "train.average.last=2"})
      all.insert(all.end(), {"--set", set});
    if (resume) all.push_back("--resume");
    return all;
  }
  static std::vector<std::string> infer_words() { return {"infer", "whole", "lines.txt", "--threads", "2"}; }

  Ran train(const std::string& out) const {
    bool begun = false;  // from the point of view of the program
    for (const char* name : {"/job.pbtxt", "/manifest.json", "/checkpoints", "/metrics.jsonl"}) begun |= exists(out + name);
    return graphrun_with("file_faults", {{"FILE_FAULT", "count:/:1"}}, words(out, begun));
  }

  // The model, the checkpoints and the metrics, by file.
  std::map<std::string, std::string> left_by(const std::string& out) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / out)) {
      const std::string name = fs::relative(entry.path(), root_ / out).string();
      if (entry.is_regular_file() && !kOfEachStart.contains(name)) files[name] = read(out + "/" + name);
    }
    return files;
  }

  // One of the programs that must fail: its command line, and the folder that it starts with.
  struct Program {
    std::string name;
    std::vector<std::string> words;
    std::string from;  // the folder that is copied to "parts"
  };
  static std::vector<Program> programs() {
    return {{"train", words("parts", false), ""}, {"resume", words("parts", true), "half"}, {"infer", infer_words(), ""}};
  }
  void prepare(const Program& program) const {
    fs::remove_all(root_ / "parts");
    if (!program.from.empty()) fs::copy(root_ / program.from, root_ / "parts", fs::copy_options::recursive);
  }

  // Checks that the exit code is one of `codes`, with a message, and that nothing is lost.
  void check(const Program& program, const Ran& ran, const std::vector<int>& codes, const std::string& reason,
             const std::string& what) {
    SCOPED_TRACE(program.name + ": " + what + "\n" + ran.err);
    ++ends_[ran.code];
    EXPECT_NE(std::find(codes.begin(), codes.end(), ran.code), codes.end()) << "exit " << ran.code;
    EXPECT_TRUE(ran.code == 0 || ran.err.find(reason) != std::string::npos);
    if (program.name == "infer") {
      EXPECT_TRUE(ran.code != 0 || ran.out == answers_);
      return;
    }
    const Ran rest = train("parts");
    EXPECT_EQ(rest.code, 0) << "resumed: " << rest.err;
    const auto left = left_by("parts");
    std::string differs;
    for (const auto& files : {left, left_})
      for (const auto& [name, bytes] : files)
        if (!left.count(name) || !left_.count(name) || left.at(name) != left_.at(name)) differs += name + " ";
    EXPECT_EQ(differs, "");
  }

  void tell(const std::string& what) const {
    if (!all_of_them()) return;
    std::string ends;
    for (const auto& [code, count] : ends_) ends += " " + std::to_string(code) + ": " + std::to_string(count);
    std::fprintf(stderr, "%s; ends so far by exit code:%s\n", what.c_str(), ends.c_str());
  }

  std::map<std::string, std::string> left_;
  std::string answers_;
  std::map<int, int> ends_;
};

TEST_F(EachFault, OfFileOperationsLosesNothing) {
  std::mt19937 draw(1);
  for (std::size_t which = 0; which < programs().size(); ++which) {
    const Program program = programs()[which];
    prepare(program);
    const std::string about = root_.string();
    ASSERT_EQ(graphrun_with("file_faults", {{"FILE_FAULT", "count:" + about + ":1"}, {"FILE_FAULT_COUNT", path("counts")}},
                            program.words)
                  .code,
              0);
    std::map<std::string, std::vector<std::string>> places;
    std::istringstream lines(read("counts"));
    for (std::string line, call; std::getline(lines, line);) {
      std::istringstream words(line);
      words >> call;
      for (std::string place; words >> place;) places[call].push_back(place);
    }
    for (std::size_t row = 0; row < kTable.size(); ++row) {
      const Failing& failing = kTable[row];
      if (!all_of_them() && row % programs().size() != which) continue;
      const std::vector<int> numbers = failing_numbers(places[failing.call], draw);
      for (const int number : numbers) {
        const std::string fault = std::string(failing.call) + "=" + failing.error + ":" + about + ":" + std::to_string(number);
        prepare(program);
        fs::remove(root_ / "stack");
        const Ran ran =
            graphrun_with("file_faults", {{"FILE_FAULT", fault}, {"FILE_FAULT_STACK", path("stack")}}, program.words);
        check(program, ran, failing.codes, failing.reason, fault + "\n" + (exists("stack") ? read("stack") : "none failed"));
      }
      tell(program.name + ": " + failing.call + " with " + failing.error + " at " + std::to_string(numbers.size()) + " of " +
           std::to_string(places[failing.call].size()) + " operations");
    }
  }
}

// Two libraries end the program themselves if they get no memory, so graphrun cannot report it: OpenSSL crashes while it
// creates its default context, and libgomp has its own message and exit code.
bool ends_by_itself(const Ran& ran, const std::string& stack) {
  const std::size_t ours = std::min(stack.find("libgraphrun"), stack.find("/graphrun("));
  const bool openssl = ran.code == 128 + SIGSEGV && stack.find("(OPENSSL_init_crypto+") < ours;
  const bool libgomp = ran.code == 1 && stack.find("libgomp.so") < ours && ran.err.find("libgomp: ") != std::string::npos;
  return openssl || libgomp;
}

TEST_F(EachFault, OfAllocationsIsOutOfMemory) {
  if (tests::address_sanitized()) GTEST_SKIP() << "the sanitizer allocates itself";
  std::mt19937 draw(1);
  for (const Program& program : programs()) {
    prepare(program);
    ASSERT_EQ(graphrun_with("memory_faults", {{"MEMORY_FAULT_COUNT", path("counts")}}, program.words).code, 0);
    std::uniform_int_distribution<long> any(1, std::stol(read("counts")));
    for (int i = 0; i < (all_of_them() ? kAllocations : kSampledAllocations); ++i) {
      const std::string number = std::to_string(any(draw));
      prepare(program);
      fs::remove(root_ / "stack");
      const Ran ran =
          graphrun_with("memory_faults", {{"MEMORY_FAULT", number}, {"MEMORY_FAULT_STACK", path("stack")}}, program.words);
      const std::string stack = exists("stack") ? read("stack") : "none failed";
      if (ends_by_itself(ran, stack)) {
        ++ends_[ran.code];
        continue;
      }
      check(program, ran, {0, 5}, "memory", "allocation " + number + "\n" + stack);
    }
    tell(program.name + ": allocations");
  }
}

}  // namespace
}  // namespace graphrun
