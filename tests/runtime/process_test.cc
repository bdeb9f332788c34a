#include "runtime/base/process.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace graphrun {
namespace {

TEST(RunProgram, PassesWordsAndStreams) {
  const EndedProgram ended = run_program({"sh", "-c", "cat; echo \"$1\" >&2; exit 3", "sh", "a b '$HOME'"}, "text\n");
  EXPECT_EQ(ended.error, 0);
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.output, "text\n");
  EXPECT_EQ(ended.errors, "a b '$HOME'\n");
}

TEST(RunProgram, TakesMoreThanAPipeHolds) {
  const std::string text(3 << 20, 'x');
  EXPECT_EQ(run_program({"cat"}, text).output, text);
  EXPECT_EQ(run_program({"true"}, text).code, 0);  // reads nothing
}

TEST(RunProgram, TellsHowItEnded) {
  EXPECT_EQ(run_program({"sh", "-c", "kill -KILL $$"}).code, 128 + SIGKILL);
  EXPECT_EQ(run_program({"no-such-program"}).error, ENOENT);
  EXPECT_EQ(run_program({"/"}).error, EACCES);
}

}  // namespace
}  // namespace graphrun
