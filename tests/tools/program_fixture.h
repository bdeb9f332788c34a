// A temporary folder with the shipped graphs, small data and jobs, in which the program runs as for a user.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace graphrun {

struct Ran {
  int code = 0;  // exit code, or 128 + the signal that ended it
  std::string out, err;
};

// The objects of a file of JSON lines.
std::vector<nlohmann::json> json_lines(const std::string& text);

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override;  // with the shipped graphs
  void TearDown() override;

  void make_root();  // only the folder

  std::string path(const std::string& name) const { return (root_ / name).string(); }
  void write(const std::string& name, const std::string& text);
  std::string read(const std::string& name) const;
  bool exists(const std::string& name) const { return std::filesystem::exists(root_ / name); }
  // The bytes of the only file in a folder of that name, at any depth below `folder`.
  std::string read_below(const std::string& folder, const std::string& name) const;

  // Runs graphrun in the folder with `input` as stdin.
  Ran graphrun(const std::vector<std::string>& arguments, const std::string& input = "") const;
  // The same for any program of the build, or one given by its path.
  Ran run(const std::string& program, const std::vector<std::string>& arguments, const std::string& input = "") const;
  // graphrun under a fault of tests/faults/file_faults.cc, which sends it a signal during a save:
  // "int:/checkpoints/:30+500". Empty: no fault.
  Ran graphrun_under(const std::string& fault, const std::vector<std::string>& arguments) const;
  // graphrun with a library of faults, "file_faults" or "memory_faults", and these environment variables.
  using Environment = std::vector<std::pair<std::string, std::string>>;
  Ran graphrun_with(const std::string& library, const Environment& environment, const std::vector<std::string>& arguments,
                    const std::string& input = "") const;

  // A training into `folder` that is stopped by each fault in turn, resumed each time, and then runs to its end. The first
  // fault must occur during the run; by the time of a later one it may have ended.
  void finish_with_stops(const std::vector<std::string>& arguments, const std::string& folder,
                         const std::vector<std::string>& faults) const;

  // The jobs segment.pbtxt and words.pbtxt in the temporary folder's graphs/jobs: a segmenter and a language model on a few
  // artificial lines.
  void write_segmenter();
  void write_language_model();
  // data/left and data/right: two languages of three words each that correspond one to one; lines of `least` to
  // `least + spread - 1` words.
  void write_word_pairs(int lines, int least, int spread);

  std::filesystem::path root_;
};

}  // namespace graphrun
