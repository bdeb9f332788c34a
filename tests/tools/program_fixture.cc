#include "tests/tools/program_fixture.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/folders.h"

namespace graphrun {
namespace fs = std::filesystem;

void ProgramTest::make_root() {
  std::string name = (fs::temp_directory_path() / "graphrun-test-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  root_ = name;
}

void ProgramTest::SetUp() {
  make_root();
  fs::copy(fs::path(tests::source_folder()) / "graphs", root_ / "graphs", fs::copy_options::recursive);
}

void ProgramTest::TearDown() { fs::remove_all(root_); }

void ProgramTest::write(const std::string& name, const std::string& text) {
  fs::create_directories((root_ / name).parent_path());
  std::ofstream(root_ / name, std::ios::binary) << text;
}

std::string ProgramTest::read(const std::string& name) const {
  std::ifstream file(root_ / name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string ProgramTest::read_below(const std::string& folder, const std::string& name) const {
  std::string found;
  for (const auto& entry : fs::recursive_directory_iterator(root_ / folder)) {
    if (entry.path().filename() != name) continue;
    EXPECT_TRUE(found.empty()) << "two files " << name;
    found = entry.path().string();
  }
  std::ifstream file(found, std::ios::binary);
  EXPECT_TRUE(file.good()) << folder << "/…/" << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

Ran ProgramTest::graphrun(const std::vector<std::string>& arguments, const std::string& input) const {
  return run("graphrun", arguments, input);
}

Ran ProgramTest::graphrun_under(const std::string& fault, const std::vector<std::string>& arguments) const {
  return fault.empty() ? graphrun(arguments) : graphrun_with("file_faults", {{"FILE_FAULT", fault}}, arguments);
}

Ran ProgramTest::graphrun_with(const std::string& library, const Environment& environment,
                               const std::vector<std::string>& arguments, const std::string& input) const {
  const char* const sanitizer = std::getenv("ASAN_OPTIONS");
  const std::string options = sanitizer ? sanitizer : "";
  Environment all = environment;
  all.insert(all.end(), {{"LD_PRELOAD", tests::build_folder() + "/lib" + library + ".so"},
                         // A second start with other OpenMP settings would be one more program that can fail.
                         {"GOMP_SPINCOUNT", "2000"},
                         // By default AddressSanitizer requires that it is the first library.
                         {"ASAN_OPTIONS", options + ":verify_asan_link_order=0"}});
  for (const auto& [name, value] : all) setenv(name.c_str(), value.c_str(), 1);
  Ran ran = graphrun(arguments, input);
  for (const auto& [name, value] : all) unsetenv(name.c_str());
  if (sanitizer != nullptr) setenv("ASAN_OPTIONS", options.c_str(), 1);
  return ran;
}

Ran ProgramTest::run(const std::string& name, const std::vector<std::string>& arguments, const std::string& input) const {
  // Tests expect what the CPU gives, also on a machine with a GPU, which --device auto would take.
  setenv("GRAPHRUN_CUDA_LIBRARY", "none.so", 0);
  const fs::path in = root_ / "stdin", out = root_ / "stdout", err = root_ / "stderr";
  std::ofstream(in, std::ios::binary) << input;
  const std::string program = name.starts_with("/") ? name : tests::build_folder() + "/" + name;
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const auto redirect = [](const fs::path& file, int flags, int descriptor) {
      const int opened = open(file.c_str(), flags, 0666);
      if (opened < 0 || dup2(opened, descriptor) < 0) _exit(126);
    };
    redirect(in, O_RDONLY, STDIN_FILENO);
    redirect(out, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect(err, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    if (chdir(root_.c_str()) != 0) _exit(126);
    execv(program.c_str(), words.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Ran ran;
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = read("stdout");
  ran.err = read("stderr");
  return ran;
}

void ProgramTest::finish_with_stops(const std::vector<std::string>& arguments, const std::string& folder,
                                    const std::vector<std::string>& faults) const {
  std::vector<std::string> words = arguments;
  Ran ran;
  for (const std::string& fault : faults) {
    ran = graphrun_under(fault, words);
    if (ran.code == 0 && fault != faults.front()) return;
    ASSERT_EQ(ran.code, 128 + (fault.starts_with("kill:") ? SIGKILL : SIGTERM)) << fault << "\n" << ran.err;
    if (exists(folder + "/job.pbtxt") && words.back() != "--resume") words.push_back("--resume");
  }
  ran = graphrun(words);
  ASSERT_EQ(ran.code, 0) << ran.err;
}

void ProgramTest::write_segmenter() {
  // Words of one to three characters; the first character determines the length.
  const std::vector<std::string> words = {"我", "你", "天上", "天下", "中国人", "中间人", "大家"};
  std::string text;
  unsigned state = 1;
  for (int line = 0; line < 40; ++line) {
    const unsigned count = 1 + line % 5;
    for (unsigned i = 0; i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      text += (i == 0 ? "" : " ") + words[(state >> 16) % words.size()];
    }
    text += "\n";
  }
  write("data/train.seg", text);
  write("data/dev.seg", text.substr(0, text.find('\n', text.size() / 3) + 1));
  write("graphs/jobs/segment.pbtxt",
        "# proto-message: graphrun.Job\n"
        "graph: \"tagger.pbtxt\"\n"
        "arg: \"cell = cells/atr.pbtxt, embed = 16, hidden = 16, dropout = 0.1\"\n"
        "arg: \"vocabulary = vocabulary(characters), labels = vocabulary(tags)\"\n"
        "data {\n"
        "  train: \"../../data/train.seg\" valid: \"../../data/dev.seg\" test: \"../../data/dev.seg\" format: SEGMENTED\n"
        "  field { name: \"characters\" split: CHARACTER vocabulary { min_count: 1 } }\n"
        "  field { name: \"tags\" derive: BMES vocabulary { closed: true } }\n"
        "  feed: \"words = characters, tags, lengths = length(characters)\"\n"
        "  batch { rows: 8 bucket_by: \"characters\" }\n"
        "}\n"
        "train {\n"
        "  minimize: \"loss\" initialize { match: \"*\" uniform: 0.2 }\n"
        "  optimizer { adam { learning_rate: 0.02 } } clip { global_norm: 1 }\n"
        "  schedule { per_epoch { factor: 0.9 from: 3 } }\n"
        "  validate { every_epochs: 1 keep_highest: \"f1\" } epochs: 8\n"
        "}\n"
        "report: \"loss = sum(margin) / count(rows), f1 = segmentation(tags, path, lengths=lengths)\"\n"
        "infer { name: \"segment\" read: LINES write: SEGMENTED from: \"path\" }\n");
}

void ProgramTest::write_language_model() {
  const std::vector<std::string> lines = {"the cat sat on the mat", "a dog lay on the rug", "the dog saw a cat",
                                          "a cat saw the rug"};
  std::string text;
  unsigned state = 7;
  for (int line = 0; line < 120; ++line) {
    state = state * 1664525u + 1013904223u;
    text += lines[(state >> 16) % lines.size()] + "\n";
  }
  write("data/text.txt", text);
  write("graphs/jobs/words.pbtxt",
        "# proto-message: graphrun.Job\n"
        "graph: \"language_model.pbtxt\"\n"
        "arg: \"cell = cells/atr.pbtxt, embed = 16, hidden = 16, depth = 1, dropout = 0.1, vocabulary = vocabulary(text)\"\n"
        "data {\n"
        "  train: \"../../data/text.txt\" valid: \"../../data/text.txt\" format: STREAM\n"
        "  field { name: \"text\" split: SPACE vocabulary { size: 100 } }\n"
        "  feed: \"words = text[:-1], target = text[1:]\"\n"
        "  batch { rows: 4 window: 5 }\n"
        "}\n"
        "train {\n"
        "  minimize: \"loss\" initialize { match: \"*\" uniform: 0.3 }\n"
        "  optimizer { sgd { learning_rate: 0.2 } } clip { global_norm: 5 }\n"
        "  schedule { no_improvement { factor: 0.25 } }\n"
        "  validate { keep_lowest: \"perplexity\" } epochs: 4\n"
        "}\n"
        "report: \"perplexity = exp(mean(nll))\"\n"
        "infer { name: \"score\" read: LINES write: NUMBERS from: \"sum(nll, axis=0)\" }\n");
}

void ProgramTest::write_word_pairs(int lines, int least, int spread) {
  const std::vector<std::string> from = {"uno", "dos", "tres"}, to = {"one", "two", "three"};
  std::string left, right;
  unsigned state = 1;
  for (int n = 0; n < lines; ++n) {
    for (int k = 0; k < least + n % spread; ++k) {
      state = state * 1664525u + 1013904223u;
      left += (k ? " " : "") + from[(state >> 20) % 3], right += (k ? " " : "") + to[(state >> 20) % 3];
    }
    left += "\n", right += "\n";
  }
  write("data/left", left), write("data/right", right);
}

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace graphrun
