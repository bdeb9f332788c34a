// Mistakes in jobs, data, models and on the command line, with the exact message for each.
//
//   jobs/NAME.pbtxt    a job: `graphrun check` prints NAME.txt, and `graphrun train` ends the same way before it starts
//   FOLDER/NAME.sh     commands, run by `sh` in a copy of tests/errors/shared, whose stderr is NAME.txt
//
// The last line of NAME.txt is the exit code. GRAPHRUN_UPDATE=1 in the environment rewrites the files; read them before you
// commit them.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tests/folders.h"
#include "tests/runtime/temporary_folder.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(tests::source_folder()) / "tests/errors";

// The files with an extension in the folders: "data/empty.sh".
std::vector<std::string> files_of_cases(const std::string& extension) {
  std::vector<std::string> names;
  for (const auto& folder : fs::directory_iterator(kFolder)) {
    if (!folder.is_directory() || folder.path().filename() == "shared") continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == extension) names.push_back(fs::relative(entry.path(), kFolder).string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = fs::path(info.param).replace_extension().string();
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

class Mistakes : public ProgramTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    make_root();
    fs::copy(kFolder / "shared", root_, fs::copy_options::recursive);
  }

  // Compares stderr and the exit code with NAME.txt.
  void expect_said(const Ran& ran) const {
    std::string said = ran.err;
    for (const std::string& part : {path(""), tests::source_folder() + "/"}) {
      for (std::size_t at; (at = said.find(part)) != std::string::npos;) said.erase(at, part.size());
    }
    if (!said.empty() && said.back() != '\n') said += '\n';
    said += "exit " + std::to_string(ran.code) + "\n";
    const std::string expected = (kFolder / fs::path(GetParam()).replace_extension(".txt")).string();
    if (std::getenv("GRAPHRUN_UPDATE")) put_bytes(expected, said);
    EXPECT_EQ(said, get_bytes(expected));
  }
};

class MistakeOfJob : public Mistakes {};

TEST_P(MistakeOfJob, IsToldBeforeAnythingBegins) {
  const std::string name = fs::path(GetParam()).filename().string();
  fs::copy(kFolder / GetParam(), root_ / name);
  const Ran checked = graphrun({"check", name});
  expect_said(checked);
  if (checked.code == 0) return;  // only a warning
  EXPECT_EQ(checked.code, 3);
  const Ran trained = graphrun({"train", name, "--out", "model"});
  EXPECT_EQ(trained.code, checked.code);
  EXPECT_EQ(trained.err, checked.err);
  EXPECT_FALSE(exists("model"));
}

class MistakeOfUse : public Mistakes {};

TEST_P(MistakeOfUse, GetsItsMessage) {
  const std::string path_before = std::getenv("PATH");
  setenv("PATH", (tests::build_folder() + ":" + path_before).c_str(), 1);
  const Ran ran = run("/bin/sh", {"-e", (kFolder / GetParam()).string()});
  setenv("PATH", path_before.c_str(), 1);
  expect_said(ran);
}

INSTANTIATE_TEST_SUITE_P(Errors, MistakeOfJob, testing::ValuesIn(files_of_cases(".pbtxt")), test_name);
INSTANTIATE_TEST_SUITE_P(Errors, MistakeOfUse, testing::ValuesIn(files_of_cases(".sh")), test_name);

}  // namespace
}  // namespace graphrun
