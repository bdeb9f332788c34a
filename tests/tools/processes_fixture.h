// Runs of graphrun in several processes, with each MPI library.
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/communicator/mpi_library.h"
#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// How often a text contains another.
inline std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class SeveralProcesses : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    // MPI libraries keep memory until the process ends, in modules that they have unloaded by then.
    const char* const options = std::getenv("ASAN_OPTIONS");
    sanitizer_options_ = options == nullptr ? "" : options;
    setenv("ASAN_OPTIONS", (*sanitizer_options_ + ":detect_leaks=0").c_str(), 1);
  }
  void TearDown() override {
    if (sanitizer_options_) setenv("ASAN_OPTIONS", sanitizer_options_->c_str(), 1);
    ProgramTest::TearDown();
  }

  static bool can_run(const std::string& plugin) { return has_mpi_plugin(plugin) && fs::exists("/usr/bin/mpirun." + plugin); }

  // Each epoch has five batches: an update of four and one of one.
  Words job(const std::string& out, const Words& more = {}) const {
    return Words{"train",     "graphs/jobs/segment.pbtxt",
                 "--out",     out,
                 "--threads", "1",
                 "--set",     "train.accumulate=4",
                 "--set",     "train.per=batch",
                 "--set",     "train.metrics.every_steps=1",
                 "--set",     "train.epochs=3"} +
           more;
  }

  // The segmenter with more than one bucket of gradients, and with everything that has slots.
  void write_large_segmenter() {
    std::string text = read("graphs/jobs/segment.pbtxt");
    const auto put = [&text](const std::string& old, const std::string& now) {
      const std::size_t at = text.find(old);
      ASSERT_NE(at, std::string::npos) << old;
      text.replace(at, old.size(), now);
    };
    put("embed = 16, hidden = 16", "embed = 150, hidden = 401");
    put("adam { learning_rate: 0.02 }", "adam { learning_rate: 0.02 } weight_decay: 0.1 l2: 0.01 no_decay: \"*b*\"");
    put("per_epoch { factor: 0.9 from: 3 }", "no_improvement { factor: 0.5 margin: 0.2 restart: true }");
    put("validate {", "moving_average { decay: 0.9 } validate {");
    write("graphs/jobs/segment.pbtxt", text);
  }

  // `start`: a script in the folder that starts its arguments; may be empty.
  Ran mpirun(const std::string& plugin, int processes, const Words& words, const std::string& start = "") const {
    Words all = plugin == "openmpi" ? Words{"-q", "--oversubscribe", "--bind-to", "none"} : Words{"-disable-auto-cleanup"};
    all = all + Words{"-np", std::to_string(processes)};
    if (!start.empty()) all.push_back(path(start));
    return run("/usr/bin/mpirun." + plugin, all + Words{tests::build_folder() + "/graphrun"} + words);
  }

  // Writes that script. `of_1`: what it does in process 1.
  void write_start(const std::string& name, const std::string& of_1) {
    write(name, "#!/bin/sh\nif [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 1 ]; then " + of_1 + "; fi\nexec \"$@\"\n");
    fs::permissions(root_ / name, fs::perms::owner_all);
  }
  // A shell command that makes the processes it starts load `plugin` with this fault (tests/faults/mpi_faults.cc).
  static std::string export_mpi_fault(const std::string& fault, const std::string& plugin) {
    const std::string library = tests::build_folder() + "/lib";
    return "export MPI_FAULT=" + fault + " GRAPHRUN_MPI_LIBRARY='" + library + "mpi_faults.so' MPI_FAULT_PLUGIN='" + library +
           "graphrun_mpi_" + plugin + ".so'";
  }

  // A language model on a stream in four parts, with 12 batches an update. write_language_model() writes the job.
  static Words stream_job(const std::string& out, const Words& more = {}) {
    return Words{"train",     "graphs/jobs/words.pbtxt",
                 "--out",     out,
                 "--threads", "1",
                 "--set",     "data.batch.parts=4",
                 "--set",     "train.accumulate=3",
                 "--set",     "train.per=batch",
                 "--set",     "train.metrics.every_steps=1",
                 "--set",     "train.epochs=2"} +
           more;
  }
  // The files of a run, except those that contain times or process ids.
  std::map<std::string, std::string> left_in(const std::string& out) const {
    const std::set<std::string> of_clocks = {"starts.jsonl", "speed.jsonl", "train.log", "run.lock"};
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / out)) {
      if (!entry.is_regular_file() || of_clocks.count(entry.path().filename().string()) != 0) continue;
      const std::string name = fs::relative(entry.path(), root_ / out).string();
      files[name] = read(out + "/" + name);
    }
    return files;
  }

  void expect_same(const std::string& out, const std::string& expected) const {
    const auto left = left_in(out), wanted = left_in(expected);
    std::set<std::string> names, all;
    for (const auto& [name, text] : left) names.insert(name);
    for (const auto& [name, text] : wanted) all.insert(name);
    EXPECT_EQ(names, all);
    for (const auto& [name, text] : wanted) {
      if (left.count(name) != 0) {
        EXPECT_TRUE(left.at(name) == text) << out << "/" << name;
      }
    }
  }

 private:
  std::optional<std::string> sanitizer_options_;  // those of other tests
};

class SeveralProcessesOf : public SeveralProcesses, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    if (!can_run(GetParam())) GTEST_SKIP() << "this MPI library is not installed here; tools/setup --mpi installs it";
    SeveralProcesses::SetUp();
  }
};

}  // namespace graphrun
