#include "tools/infer/writers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/tools/scratch.h"
#include "tools/generate/step_values.h"
#include "tools/infer/generated.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

const Vocabulary& labels() {
  static const Vocabulary kLabels({"B", "M", "E", "S"}, true, "tags");
  return kLabels;
}

Record line(const std::string& text) {
  Record record;
  record.lines = {text};
  record.empty = text.empty();
  return record;
}

TEST(Writers, Text) {
  EXPECT_EQ(text_line(std::vector<std::int32_t>{0, 2}, labels()), "B E\n");
  EXPECT_EQ(text_line({}, labels()), "\n");
}

TEST(Writers, SegmentedKeepsEveryCharacterAndSpace) {
  EXPECT_EQ(segmented_line("我们是中国人", "BESBME"), "我们 是 中国人\n");
  EXPECT_EQ(segmented_line(" 甲 乙\u3000丙 ", "BME"), "甲 乙 丙\n");
  EXPECT_EQ(segmented_line("甲乙丙", "EMB"), "甲 乙 丙\n");
}

TEST(Writers, NumbersReadBack) { EXPECT_EQ(numbers_line(std::vector<double>{0.1f, -2, 1e30f}), "0.1 -2 1e+30\n"); }

TEST(Writers, ConllAddsAColumn) {
  Record sentence;
  sentence.lines = {"a\tx", "b\ty"};
  EXPECT_EQ(conll_lines(sentence, std::vector<std::int32_t>{3, 0}, labels()), "a\tx\tS\nb\ty\tB\n");
  sentence.closed = true;
  EXPECT_EQ(conll_lines(sentence, std::vector<std::int32_t>{3, 0}, labels()), "a\tx\tS\nb\ty\tB\n\n");
}

InferenceBatch two_rows() {
  InferenceBatch batch;
  batch.records = {line("甲乙"), line(""), line("丙")};
  batch.rows = {0, -1, 1};
  batch.batch.rows = 2;
  batch.batch.steps = {2, 1};
  return batch;
}

std::string texts(const InferenceBatch& batch, const Tensor& from, WriteAs write, const Vocabulary* vocabulary,
                  const RowSizes& sizes = {}) {
  std::string all;
  for (const std::string& text : record_texts(batch, from, write, vocabulary, sizes)) all += text;
  return all;
}

TEST(Writers, ABatchInOrderWithoutPadding) {
  const Tensor path = Tensor::of<int>({2, 2}, {0, 3, 2, 9});
  EXPECT_EQ(texts(two_rows(), path, WriteAs::kSegmented, &labels()), "甲乙\n\n丙\n");
  EXPECT_EQ(texts(two_rows(), path, WriteAs::kText, &labels()), "B E\n\nS\n");
  EXPECT_EQ(texts(two_rows(), Tensor::of<float>({2}, {1.5f, 2}), WriteAs::kNumbers, nullptr), "1.5\n\n2\n");
  EXPECT_EQ(texts(two_rows(), Tensor::of<float>({2, 2}, {1, 2, 3, 4}), WriteAs::kNumbers, nullptr), "1 3\n\n2\n");
}

// With the sizes of each row if they are known.
TEST(Writers, NumbersOfRowsAndMatrices) {
  const Tensor worth = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(texts(two_rows(), worth, WriteAs::kNumbers, nullptr, {{3, 0}}), "1 3 5\n\n\n");
  const Tensor matrix = Tensor::of<float>({2, 3, 2}, {1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12});
  EXPECT_EQ(texts(two_rows(), matrix, WriteAs::kMatrix, nullptr, {{2, 1}, {2, 3}}), "1 2\n4 5\n\n\n7 8 9\n\n");
  EXPECT_EQ(texts(two_rows(), matrix, WriteAs::kMatrix, nullptr), "1 2 3\n4 5 6\n\n\n7 8 9\n\n");
  EXPECT_THAT(message_of([&] {
                texts(two_rows(), matrix, WriteAs::kMatrix, nullptr, {{2, 1}, {2, 4}});
              }),
              HasSubstr("FLOAT[2, 3, 2], but an example has 4 steps on axis 1"));
  EXPECT_THAT(message_of([&] { texts(two_rows(), worth, WriteAs::kMatrix, nullptr); }), HasSubstr("E0417"));
}

// The same digits as in text; number_json's words for what is not finite.
TEST(Writers, NumbersInJson) {
  const Tensor from = Tensor::of<float>({2}, {0.11985965f, -std::numeric_limits<float>::infinity()});
  const std::vector<std::string> lines = record_texts(two_rows(), from, WriteAs::kNumbers, nullptr, {}, true);
  EXPECT_EQ(lines, (std::vector<std::string>{"{\"values\":0.11985965}\n", "{\"values\":[]}\n", "{\"values\":\"-inf\"}\n"}));
  const Tensor rows = Tensor::of<float>({2, 2}, {1, 0.1f, 1e-9f, 0});
  EXPECT_EQ(record_texts(two_rows(), rows, WriteAs::kNumbers, nullptr, {}, true)[0], "{\"values\":[1.0,1e-09]}\n");
  const Tensor integers = Tensor::of<int>({2}, {7, -1});
  EXPECT_EQ(record_texts(two_rows(), integers, WriteAs::kNumbers, nullptr, {}, true)[2], "{\"values\":-1}\n");
}

TEST(Writers, OnlyEmptyLines) {
  InferenceBatch batch;
  batch.records = {line("")};
  batch.rows = {-1};
  EXPECT_EQ(texts(batch, Tensor(), WriteAs::kSegmented, &labels()), "\n");
}

TEST(Writers, WhatDoesNotFit) {
  EXPECT_THAT(message_of([] {
                texts(two_rows(), Tensor::of<int>({2}, {0, 1}), WriteAs::kSegmented, &labels());
              }),
              HasSubstr("E0417"));
  EXPECT_THAT(message_of([] {
                texts(two_rows(), Tensor::of<float>({2, 2}, {0, 1, 0, 0}), WriteAs::kText, &labels());
              }),
              HasSubstr("FLOAT[2, 2]"));
  EXPECT_THAT(message_of([] {
                texts(two_rows(), Tensor::of<int>({1, 2}, {0, 1}), WriteAs::kText, &labels());
              }),
              HasSubstr("E0417"));
}

// A word is linked to the unit with the greatest weight, unless the position after the units has more.
TEST(Links, GoToTheGreatestUnitOrNowhere) {
  const Alignment alignment{{{0.1f, 0.7f}, {0.4f, 0.1f}, {0.5f, 0.1f}, {}, {-3.f, -2.f}},
                            {0.2f, 0.5f, 0.5f, 0.9f, -std::numeric_limits<float>::infinity()}};
  EXPECT_EQ(alignment.nearest(), (std::vector<std::int64_t>{1, 0, 0, -1, 1}));
  EXPECT_EQ(alignment.links(), (std::vector<std::int64_t>{1, -1, 0, -1, 1}));
  EXPECT_EQ(alignment_line(alignment), "1-0 0-2 1-4\n");
  EXPECT_EQ((Alignment{alignment.weights}.links()), alignment.nearest()) << "where nothing follows the units";
}

// A fetched value must not replace a standard field of a line of JSON.
TEST(JsonLines, KnowTheirOwnKeys) {
  Made made;
  made.words = {"B"}, made.units = {"b"};
  made.alignment = Alignment{{{1.f}}};
  const auto object = nlohmann::json::parse(json_line(std::vector<Made>{made, made}, labels()));
  EXPECT_EQ(object.size(), 8u);
  for (const char* name : {"text", "alternatives", "logits"}) made.whole[name] = Fetched{{2}, {1, 2}};
  const auto fetched = nlohmann::json::parse(json_line(std::vector<Made>{made, made}, labels()));
  EXPECT_EQ(fetched["text"], object["text"]);
  for (const char* name : {"fetched.text", "fetched.alternatives", "logits"}) EXPECT_EQ(fetched[name].size(), 2u) << name;
}

TEST(JsonLines, HaveTheDigitsOfAFloat) {
  Made made;
  made.words = {"B"}, made.units = {"b"};
  made.alignment = Alignment{{{0.1f}}};
  made.whole["mask"] = Fetched{{2}, {0.7f, -std::numeric_limits<float>::infinity()}};
  const std::string line = json_line(std::vector<Made>{made}, labels());
  EXPECT_THAT(line, HasSubstr("\"alignment\":[[0.1]]"));
  EXPECT_THAT(line, HasSubstr("\"mask\":[0.7,\"-inf\"]"));
}

TEST(FirstOfAxis, KeepsTheFirstPositions) {
  const Fetched all{{2, 3}, {1, 2, 3, 4, 5, 6}};
  const auto expect = [](const Fetched& found, const Sizes& sizes, const std::vector<float>& values) {
    EXPECT_EQ(found.sizes, sizes);
    EXPECT_EQ(found.values, values);
  };
  expect(first_of_axis(all, 1, 2), {2, 2}, {1, 2, 4, 5});
  expect(first_of_axis(all, 0, 1), {1, 3}, {1, 2, 3});
  expect(first_of_axis(all, 1, 9), {2, 3}, all.values);
  expect(first_of_axis(all, 0, 0), {0, 3}, {});
}

}  // namespace
}  // namespace graphrun
