// Failures of a full machine or a broken disk, one by one: each ends with its exit code and the system's reason.
#include <gmock/gmock.h>

#include <new>

#include "tests/sanitized.h"
#include "tests/tools/compressed.h"
#include "tests/tools/program_fixture.h"
#include "tests/tools/scratch.h"
#include "tools/cli/program.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Guarded, OutOfMemoryIsNoRoom) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(guarded("graphrun", []() -> ExitCode { throw std::bad_alloc(); }), static_cast<int>(ExitCode::kNoRoom));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "graphrun: out of memory\n");
}

class ErrorPaths : public ProgramTest {
 protected:
  void expect(const Ran& ran, int code, const std::string& text) const {
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr(text), Not(HasSubstr("internal error"))));
  }
};

TEST_F(ErrorPaths, AGraphThatCannotBeRead) {
  const std::vector<std::string> check = {"check", "graphs/cells/atr.pbtxt", "--set", "input=3", "--set", "hidden=4"};
  for (const std::string call : {"open", "read"}) {
    expect(graphrun_under(call + "=EIO:/cells/atr.pbtxt:1", check), 3, "atr.pbtxt: Input/output error");
    expect(graphrun_under(call + "=ENOMEM:/cells/atr.pbtxt:1", check), 5, "atr.pbtxt': Cannot allocate memory");
    EXPECT_EQ(graphrun_under(call + "=EINTR:/cells/atr.pbtxt:1", check).code, 0);
  }
  // For an import, the place that names it is shown too.
  expect(graphrun_under("read=EIO:/cells/lstm.pbtxt:1",
                        {"check", "graphs/language_model.pbtxt", "--set", "vocabulary=9", "--set", "cell=cells/lstm.pbtxt"}),
         3, "Input/output error");
}

TEST_F(ErrorPaths, NoMemoryToOpenData) {
  write_segmenter();
  expect(graphrun_under("open=ENOMEM:/data/train.seg:1", {"train", "graphs/jobs/segment.pbtxt", "--out", "model"}), 5,
         "cannot read 'data/train.seg': Cannot allocate memory");
}

// An error names the file and the reason of the call that failed, whatever was called since. No other file remains.
TEST_F(ErrorPaths, AFileThatCannotBeWritten) {
  write_segmenter();
  ASSERT_EQ(graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1"}).code, 0);
  const std::vector<std::string> plot = {"plot", "model", "-o", "curves.svg"};
  write("curves.svg", "old");
  for (const std::string call : {"open", "write", "fsync", "rename"}) {
    expect(graphrun_under(call + "=EIO:/curves.svg:1", plot), 5, "curves.svg'");
    const Ran full = graphrun_under(call + "=ENOSPC:/curves.svg:1", plot);
    expect(full, 5, "No space left on device");
    EXPECT_THAT(full.err, HasSubstr("E0505 no-room-on-disk")) << call;
  }
  EXPECT_EQ(read("curves.svg"), "old");
  EXPECT_EQ(graphrun_under("write=short:/curves.svg:1", plot).code, 0);
  EXPECT_THAT(read("curves.svg"), testing::EndsWith("</svg>\n"));
  for (const auto& entry : std::filesystem::directory_iterator(root_))
    EXPECT_FALSE(entry.path().filename().string().starts_with("curves.svg.")) << entry.path();
}

// Each library allocates memory when it starts, and again for the first bytes or, in the case of zlib, for more than one piece
// of input.
TEST_F(ErrorPaths, NoMemoryToDecompress) {
  if (tests::address_sanitized()) GTEST_SKIP() << "the sanitizer allocates itself";
  write_segmenter();
  Scratch scratch;
  std::string text;
  while (text.size() < (1 << 18)) text += read("data/train.seg");
  using Compress = std::string (*)(std::string_view);
  for (const auto& [library, compress] :
       {std::pair<std::string, Compress>{"libz.so", gzip_of}, {"libzstd.so", zstd_of}, {"liblzma.so", xz_of}}) {
    const std::string compressed = scratch.file("train." + library, compress(text));
    const std::vector<std::string> words = {"data", "graphs/jobs/segment.pbtxt", "--set", "data.train=" + compressed};
    const auto with = [&](const std::string& number) {
      return graphrun_with("memory_faults",
                           {{"MEMORY_FAULT", number}, {"MEMORY_FAULT_OF", library}, {"MEMORY_FAULT_COUNT", path("count")}},
                           words);
    };
    const Ran sound = with("0");
    ASSERT_EQ(sound.code, 0) << sound.err;
    ASSERT_GE(std::stoi(read("count")), 2) << library << " allocates through another one";
    for (const std::string number : {"1", "2"}) {
      const Ran ran = with(number);
      expect(ran, 5, "E0503 out-of-memory");
      EXPECT_THAT(ran.err, AllOf(HasSubstr(compressed), HasSubstr("no memory for the decompression")));
    }
  }
}

// An old checkpoint that cannot be removed ends the run with a message. The new one is complete, and a run resumed from it
// leaves the files of an undisturbed run.
TEST_F(ErrorPaths, AnOldCheckpointThatCannotBeRemoved) {
  write_language_model();
  const auto words = [](const std::string& out, bool resume) {
    std::vector<std::string> all = {
        "train", "graphs/jobs/words.pbtxt",       "--out", out, "--threads", "1", "--quiet", "--set", "train.epochs=1",
        "--set", "train.checkpoint.every_steps=5"};
    if (resume) all.push_back("--resume");
    return all;
  };
  ASSERT_EQ(graphrun(words("whole", false)).code, 0);
  for (const std::string path : {"/step-000005/manifest.json:1", "/checkpoints/step-000005:3"}) {
    std::filesystem::remove_all(root_ / "run");
    expect(graphrun_under("remove=EIO:" + path, words("run", false)), 5, "Input/output error");
    const Ran resumed = graphrun(words("run", true));
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_FALSE(exists("run/checkpoints/step-000005"));
    EXPECT_EQ(read("run/metrics.jsonl"), read("whole/metrics.jsonl"));
    EXPECT_EQ(read("run/manifest.json"), read("whole/manifest.json"));
  }
}

// Training needs a thread that waits for signals and one that prepares batches. `infer` works with what it has.
TEST_F(ErrorPaths, AThreadThatIsRefused) {
  write_segmenter();
  const std::vector<std::string> train = {
      "train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1", "--threads", "2"};
  const auto without = [&](const std::string& first_refused, const std::vector<std::string>& words, const std::string& input) {
    return graphrun_with("thread_faults", {{"THREAD_FAULT", first_refused}, {"THREAD_FAULT_OF", "libstdc++"}}, words, input);
  };
  for (const std::string first : {"1", "2"}) {
    expect(without(first, train, ""), 5, "E0515 no-thread");
    std::filesystem::remove_all(path("model"));
  }
  ASSERT_EQ(graphrun(train).code, 0);
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += "上海浦东\n";
  const std::vector<std::string> infer = {"infer", "model", "--rows", "4", "--threads", "2"};
  const Ran whole = graphrun(infer, lines);
  ASSERT_EQ(whole.code, 0) << whole.err;
  const Ran alone = without("1", infer, lines);
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(alone.out, whole.out);
}

}  // namespace
}  // namespace graphrun
