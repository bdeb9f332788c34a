#include "tools/infer/in_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/data_helpers.h"
#include "tests/tools/scratch.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(InOrder, WritesWhatNothingIsMissingBefore) {
  std::vector<std::string> written;
  InOrder order([&](const std::string& text) { written.push_back(text); });
  order.add({1, 4}, {"b", "e"});
  EXPECT_TRUE(written.empty());
  order.add({0, 2}, {"a", "c"});
  EXPECT_THAT(written, ElementsAre("abc"));
  order.add({3}, {"d"});
  EXPECT_THAT(written, ElementsAre("abc", "de"));
}

enum class Trouble { kNone, kNoShare, kNoRoomApart, kInternalError };

// Gives back each line, and fails at one.
class TextsOf : public Answerer {
 public:
  explicit TextsOf(std::string fails, Trouble trouble = Trouble::kNone, bool is_apart = false)
      : fails_(std::move(fails)), trouble_(trouble), is_apart_(is_apart) {}
  Answers answer(const InferenceBatch& batch) override {
    std::vector<std::string> texts;
    if (is_apart_ && trouble_ == Trouble::kNoRoomApart) throw UserError(ExitCode::kNoRoom, "E0503 out-of-memory", "no memory");
    for (const Record& record : batch.records) {
      if (trouble_ == Trouble::kInternalError && record.text() == fails_) throw InternalError("of " + fails_);
      if (record.text() == fails_) throw UserError(ExitCode::kBadData, "E0611 slice-out-of-range", "of " + record.text());
      texts.push_back(record.text() + ";");
    }
    return {texts, {}};
  }
  std::unique_ptr<Answerer> share() const override {
    if (trouble_ == Trouble::kNoShare) return nullptr;
    return std::make_unique<TextsOf>(fails_, trouble_, true);
  }

 private:
  const std::string fails_;
  const Trouble trouble_;
  const bool is_apart_;
};

// Notes the first record of each batch.
class Noting : public TextsOf {
 public:
  explicit Noting(std::vector<std::int64_t>* firsts) : TextsOf("none", Trouble::kNoShare), firsts_(firsts) {}
  Answers answer(const InferenceBatch& batch) override {
    firsts_->push_back(batch.numbers.front());
    return TextsOf::answer(batch);
  }

 private:
  std::vector<std::int64_t>* firsts_;
};

// Lines "1", "2 2" and so on, in batches of two, some of which fail.
class AnswerInOrder : public ::testing::Test {
 protected:
  // The stdout of answering `lines` lines, and the error of the end.
  std::pair<std::string, std::string> answered(const std::vector<std::string>& lines, const std::string& fails,
                                               Trouble trouble = Trouble::kNone) {
    return answered(lines, std::make_unique<TextsOf>(fails, trouble));
  }
  std::pair<std::string, std::string> answered(const std::vector<std::string>& lines, std::unique_ptr<Answerer> answerer,
                                               std::size_t most_waiting = kMostWaiting) {
    DataSpec data;
    data.rows = 2;
    data.fields = {make_field("words", 0, {Split::kSpace})};
    data.feeds = make_feeds("words");
    data.train = {scratch_.file("train", "1 2 3\n")};
    const Prepared p(data);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    ReadingOptions options;
    options.feeds = {"words"};
    options.ahead = 100;
    InferenceReader reader(p.data, p.plan, p.vocabularies, std::make_unique<LineReader>(scratch_.file("in", text)), options);
    testing::internal::CaptureStdout();
    const std::string error = message_of([&] { answer_in_order(reader, *answerer, {}, nullptr, most_waiting); });
    return {testing::internal::GetCapturedStdout(), error};
  }
  Scratch scratch_;
};

TEST_F(AnswerInOrder, WhateverTheOrderOfBatches) {
  EXPECT_EQ(answered({"1", "1 2", "", "1 2 3", "2", "1 2 3 4"}, "none").first, "1;1 2;;1 2 3;2;1 2 3 4;");
}

// Over several windows, each with batches for all threads.
TEST_F(AnswerInOrder, OfManyLines) {
  std::vector<std::string> lines;
  std::string expected;
  for (int i = 0; i < 1001; ++i) {
    lines.push_back(i % 97 == 0 ? "" : std::to_string(i));
    for (int k = 0; k < i * 7 % 11 && i % 97 != 0; ++k) lines.back() += " 1";
    expected += lines.back() + ";";
  }
  for (const Trouble trouble : {Trouble::kNone, Trouble::kNoShare, Trouble::kNoRoomApart}) {
    const auto [out, error] = answered(lines, "none", trouble);
    EXPECT_EQ(out, expected) << static_cast<int>(trouble);
    EXPECT_EQ(error, "");
  }
  lines[700] = "3 3";
  const auto [out, error] = answered(lines, "3 3");
  EXPECT_EQ(error, "error[E0611 slice-out-of-range]: of 3 3");
  std::string before;  // the lines of the windows before its own, which it begins
  for (int i = 0; i < 700; ++i) before += lines[static_cast<std::size_t>(i)] + ";";
  EXPECT_EQ(out, before);
  EXPECT_THROW(answered(lines, "3 3", Trouble::kInternalError), InternalError);
  testing::internal::GetCapturedStdout();
}

// The longest lines come last and are answered first, until their answers are too large to hold.
TEST_F(AnswerInOrder, HoldsFewLargeAnswers) {
  std::vector<std::string> lines;
  std::string expected;
  for (int i = 0; i < 8; ++i) {
    lines.push_back((i == 0 ? "" : lines.back() + " ") + "1");
    expected += lines.back() + ";";
  }
  std::vector<std::int64_t> firsts;
  EXPECT_EQ(answered(lines, std::make_unique<Noting>(&firsts)).first, expected);
  EXPECT_THAT(firsts, ElementsAre(6, 4, 2, 0));
  firsts.clear();
  EXPECT_EQ(answered(lines, std::make_unique<Noting>(&firsts), 20).first, expected);
  EXPECT_THAT(firsts, ElementsAre(6, 0, 2, 4));
}

TEST_F(AnswerInOrder, AllBeforeABatchThatFails) {
  const auto [out, error] = answered({"1", "2 2 2", "3 3", "2"}, "3 3");  // batches: the two longest, the others
  EXPECT_EQ(out, "1;");
  EXPECT_THAT(error, HasSubstr("of 3 3"));
}

}  // namespace
}  // namespace graphrun
