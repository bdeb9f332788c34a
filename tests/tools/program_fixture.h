// A folder of its own with the shipped graphs, small data and jobs, and the program run in it as a user would.
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

  void make_root();  // the folder alone

  std::string path(const std::string& name) const { return (root_ / name).string(); }
  void write(const std::string& name, const std::string& text);
  std::string read(const std::string& name) const;
  bool exists(const std::string& name) const { return std::filesystem::exists(root_ / name); }
  // The one file in a folder of that name below `folder`, at any depth, as bytes.
  std::string read_below(const std::string& folder, const std::string& name) const;

  // Runs graphrun in the folder with `input` as stdin.
  Ran graphrun(const std::vector<std::string>& arguments, const std::string& input = "") const;
  // Any program of the build, or by its path, the same way.
  Ran run(const std::string& program, const std::vector<std::string>& arguments, const std::string& input = "") const;
  // graphrun under a fault of tests/faults/file_faults.cc, so that it is signalled at a save of its own:
  // "int:/checkpoints/:30+500". An empty one is none.
  Ran graphrun_under(const std::string& fault, const std::vector<std::string>& arguments) const;
  // graphrun with a library of faults, "file_faults" or "memory_faults", and these variables of its environment.
  using Environment = std::vector<std::pair<std::string, std::string>>;
  Ran graphrun_with(const std::string& library, const Environment& environment, const std::vector<std::string>& arguments,
                    const std::string& input = "") const;

  // A training into `folder` that is stopped by each fault in turn, resumed each time, and then runs to its end. The first must
  // come while it runs; others may find it done.
  void finish_with_stops(const std::vector<std::string>& arguments, const std::string& folder,
                         const std::vector<std::string>& faults) const;

  // The jobs segment.pbtxt and words.pbtxt in the scratch folder's graphs/jobs: a segmenter and a language model on a few
  // made-up lines.
  void write_segmenter();
  void write_language_model();
  // data/left and data/right: two languages of three words each, those of one the others' one by one; lines of `least` to
  // `least + spread - 1` words.
  void write_word_pairs(int lines, int least, int spread);

  std::filesystem::path root_;
};

}  // namespace graphrun
