#include "tools/run/progress.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace graphrun {
namespace {

std::string contents(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  return text;
}

TEST(Progress, ClocksReadLikeClocks) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(59.6), "1:00");
  EXPECT_EQ(clock_text(272), "4:32");
  EXPECT_EQ(clock_text(7449), "2:04:09");
  EXPECT_EQ(clock_text(-1), "?");
}

TEST(Progress, NumbersAreShort) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(950), "950");
  EXPECT_EQ(short_number(999.6), "1.0k");
  EXPECT_EQ(short_number(12345), "12.3k");
  EXPECT_EQ(short_number(123456), "123k");
  EXPECT_EQ(short_number(1.2e6), "1.20M");
}

TEST(Progress, ALineSaysWhereTheRunIs) {
  EXPECT_EQ(progress_line({3, 50, 120, 433, 1.23456, 12345, 272}),
            "epoch 3/50  step 120/433  loss 1.2346  12.3k tokens/s  4:32 left");
  EXPECT_EQ(progress_line({1, 2, 7, 0, 0.5, 10, -1}), "epoch 1/2  step 7  loss 0.5000  10 tokens/s");
}

TEST(Progress, LinesAreCutByCharacters) {
  EXPECT_EQ(cut_to("abc", 5), "abc");
  EXPECT_EQ(cut_to("abc", 2), "ab");
  EXPECT_EQ(cut_to("中文字", 2), "中文");
}

TEST(Progress, PlainLinesComeNowAndThen) {
  std::FILE* out = std::tmpfile();
  double now = 100;
  {
    ProgressDisplay display({false, false, 80, 10, out, [&] { return now; }});
    display.update({1, 2, 1, 9, 1, 10, -1});
    now += 9;
    display.update({1, 2, 2, 9, 1, 10, -1});
    now += 2;
    display.update({1, 2, 3, 9, 1, 10, -1});
    display.log("done");
  }
  EXPECT_EQ(contents(out),
            "epoch 1/2  step 1/9  loss 1.0000  10 tokens/s\n"
            "epoch 1/2  step 3/9  loss 1.0000  10 tokens/s\n"
            "done\n");
  std::fclose(out);
}

TEST(Progress, ALiveLineIsOverwrittenAndWipedAway) {
  std::FILE* out = std::tmpfile();
  {
    ProgressDisplay display({false, true, 12, 10, out, [] { return 0.0; }});
    display.update({1, 2, 1, 9, 1, 10, -1});
    display.log("done");
  }
  EXPECT_EQ(contents(out), "\r\033[Kepoch 1/2  \r\033[Kdone\n");
  std::fclose(out);
}

TEST(Progress, QuietSaysWarningsAlone) {
  std::FILE* out = std::tmpfile();
  {
    ProgressDisplay display({true, false, 80, 10, out, {}});
    display.update({});
    display.log("a line");
    display.warn("warning: look");
  }
  EXPECT_EQ(contents(out), "warning: look\n");
  std::fclose(out);
}

}  // namespace
}  // namespace graphrun
