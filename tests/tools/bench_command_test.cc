// graphrun bench: a row for each cell, and the line that keeps a loop from being one kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class BenchCommand : public ProgramTest {
 protected:
  Ran bench(std::vector<std::string> words) const {
    words.insert(words.begin(), "bench");
    words.insert(words.end(), {"--device", "cpu", "--threads", "2", "--size", "time=4", "--size", "batch=3"});
    if (std::find(words.begin(), words.end(), "--rounds") == words.end()) words.insert(words.end(), {"--rounds", "1"});
    return graphrun(words);
  }
};

// The LSTM has 8 matrices and keeps i, f, o, g, c, h and tanh(c) of 3 rows; ATR has 2 matrices.
TEST_F(BenchCommand, ARowForEachCell) {
  const Ran ran = bench({"lstm", "--against", "atr", "--set", "hidden=16"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("on the CPU, 2 threads, the median of 1 round\n"));
  EXPECT_THAT(ran.out, ContainsRegex("\nlstm +[0-9.]+ +[0-9.]+ +[0-9]+ % +1344 +2048 "));
  EXPECT_THAT(ran.out, ContainsRegex("\natr +[0-9.]+ +[0-9.]+ +[0-9]+ % +[0-9]+ +512 "));
  EXPECT_THAT(ran.out, HasSubstr("\natr: every loop is one kernel for all steps\n"));
}

TEST_F(BenchCommand, TheLineThatPreventsOneKernel) {
  write("squares.pbtxt", R"x(name: "squares"
arg { name: "hidden" }
arg { name: "plain" default: "false" }
input     { name: "x" shape: "[batch, input]" }
parameter { name: "W" shape: "[input, hidden]" }
let: "s = transpose(h) @ h"
state { name: "h" shape: "[batch, hidden]" next: "tanh(x @ W + (h if plain else h @ s))" }
output: "h = next(h)"
)x");
  const Ran ran = bench({"squares.pbtxt", "--set", "hidden=8", "--set", "width=5"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              ContainsRegex("\nsquares.pbtxt, forward: the loop '[^']+' runs kernel by kernel: .*no kernel for columns"));
  EXPECT_THAT(ran.out, HasSubstr("\n  squares.pbtxt:6:24: s = transpose(h) @ h\n"));
  // A setting of the cell changes only that cell, not those that it is compared with.
  const Ran plain = bench({"squares.pbtxt", "--against", "elman", "--set", "hidden=8", "--set", "cell.plain=true"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_THAT(plain.out, Not(HasSubstr("transpose")));
}

TEST_F(BenchCommand, Mistakes) {
  const auto refused = [&](const std::vector<std::string>& words, int code, const std::string& text) {
    const Ran ran = bench(words);
    EXPECT_EQ(ran.code, code) << text;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(text));
  };
  refused({"ltsm"}, 2, "there is no cell 'ltsm'; did you mean 'lstm'?");
  refused({"lstm", "--size", "tme=3"}, 2, "a layer has no size 'tme'; did you mean 'time'?");
  refused({"lstm", "--size", "batch=0"}, 2, "--size batch takes a whole number from 1");
  refused({"lstm", "--against", "atr,,gru"}, 2, "--against takes cells with commas between them");
  refused({"lstm", "--rounds", "none"}, 2, "--rounds takes a whole number from 1");
  refused({"lstm", "--set", "cell.foo=3"}, 3, "graph 'lstm' has no arg 'foo'");
  refused({"nothere.pbtxt"}, 3, "no graph 'nothere.pbtxt'");
}

}  // namespace
}  // namespace graphrun
