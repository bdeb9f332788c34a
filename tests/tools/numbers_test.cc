// Fields of numbers: their syntax, where they are in each format, and how they are fed.
#include "tools/data/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/tools/data_helpers.h"
#include "tests/tools/scratch.h"
#include "tools/data/batch_source.h"
#include "tools/data/inference_reader.h"
#include "tools/data/preview.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

FieldSpec numbers(std::string name, int column = 0, std::vector<Split> splits = {}) {
  FieldSpec field = make_field(std::move(name), column, std::move(splits));
  field.numbers = true;
  return field;
}

DataSpec spec_of(Format format, std::vector<FieldSpec> fields, const std::string& feeds, std::vector<std::string> train) {
  DataSpec data;
  data.format = format;
  data.fields = std::move(fields);
  data.feeds = make_feeds(feeds);
  data.train = std::move(train);
  data.rows = 8;
  return data;
}

Batch first_batch(const Prepared& p) {
  const Dataset set = p.train();
  return *BatchSource(p.data, p.plan, set, {}).next();
}

std::string mistake(DataSpec data) {
  return message_of([&] {
    const Prepared p(std::move(data));
    p.train();
  });
}

TEST(Numbers, AreWhatFloat32Holds) {
  for (const auto& [text, value] : {std::pair("0.5", 0.5f),
                                    {"-3", -3.0f},
                                    {"+7", 7.0f},
                                    {".25", 0.25f},
                                    {"2.", 2.0f},
                                    {"1e-3", 1e-3f},
                                    {"1E2", 100.0f},
                                    {"-0", -0.0f},
                                    {"0.1", 0.1f},
                                    {"3.4028235e38", std::numeric_limits<float>::max()},
                                    {"1e-60", 0.0f},
                                    {"1e-400", 0.0f}}) {
    const NumberText found = read_number(text);
    EXPECT_EQ(found.wrong, nullptr) << text;
    EXPECT_EQ(found.value, value) << text;
  }
  for (const char* text : {"", "x", "1x", "1 2", "--1", "+-1", "0x10", "1e", "1,5", "½", "١", "1_000"})
    EXPECT_STREQ(read_number(text).wrong, "is not a number") << text;
  for (const char* text : {"nan", "-NaN", "inf", "+Infinity"})
    EXPECT_STREQ(read_number(text).wrong, "is not a finite number") << text;
  for (const char* text : {"3.5e38", "-1e39", "1e999", "-1e999"})
    EXPECT_THAT(read_number(text).wrong, HasSubstr("beyond float32")) << text;
}

// Words with a number each, and lists of other lengths.
TEST(Numbers, OfColumnsStandBesideWords) {
  Scratch scratch;
  const Prepared p(spec_of(
      Format::kConll, {make_field("words", 0), numbers("weight", 1), numbers("features", 2, {Split::kSpace})},
      "words, weight, features, n = length(features)", {scratch.file("a", "the\t0.5\t1 2\nbird\t-1\t4\n\nsings\t2e1\t3\n")}));
  const Batch batch = first_batch(p);
  EXPECT_EQ(batch.feeds.at("words").dtype(), DType::kInt32);
  EXPECT_EQ(batch.feeds.at("weight").dtype(), DType::kFloat32);
  EXPECT_EQ(batch.feeds.at("weight").sizes(), (Sizes{2, 2}));
  EXPECT_THAT(elements<float>(batch.feeds.at("weight")), ElementsAre(0.5f, 20.0f, -1.0f, 0.0f));
  EXPECT_EQ(batch.feeds.at("features").sizes(), (Sizes{2, 2, 2}));
  EXPECT_THAT(elements<float>(batch.feeds.at("features")), ElementsAre(1, 3, 2, 0, 4, 0, 0, 0));
  EXPECT_THAT(elements<std::int32_t>(batch.feeds.at("n")), ElementsAre(2, 1, 1, 0));
}

TEST(Numbers, OfLinesTabsAndFilesSideBySide) {
  Scratch scratch;
  const Prepared lines(
      spec_of(Format::kLines, {numbers("x", 0, {Split::kSpace})}, "x, n = length(x)", {scratch.file("a", "1 2  3\n-4\n")}));
  EXPECT_THAT(elements<float>(first_batch(lines).feeds.at("x")), ElementsAre(1, -4, 2, 0, 3, 0));
  EXPECT_THAT(elements<std::int32_t>(first_batch(lines).feeds.at("n")), ElementsAre(3, 1));
  const Prepared one(spec_of(Format::kLines, {numbers("x")}, "x", {scratch.file("b", " 1.5 \r\n-4\n")}));
  EXPECT_THAT(elements<float>(first_batch(one).feeds.at("x")), ElementsAre(1.5f, -4));
  const Prepared tabs(spec_of(Format::kTsv, {make_field("text", 0, {Split::kSpace}), numbers("score", 1)}, "text, score",
                              {scratch.zipped("c", "a b\t0.25\nc\t4\n")}));
  EXPECT_THAT(elements<float>(first_batch(tabs).feeds.at("score")), ElementsAre(0.25f, 4));
  const Prepared files(spec_of(Format::kParallel, {make_field("text", 0, {Split::kSpace}), numbers("score", 1)}, "text, score",
                               {scratch.file("d", "a b\nc\n"), scratch.file("e", "1\n2\n")}));
  EXPECT_THAT(elements<float>(first_batch(files).feeds.at("score")), ElementsAre(1, 2));
}

TEST(Numbers, OfJsonAreNumbersListsAndTexts) {
  Scratch scratch;
  const Prepared p(spec_of(Format::kJsonl,
                           {numbers("sum"), numbers("list", 0, {Split::kList}),
                            numbers("pairs", 0, {Split::kList, Split::kList}), numbers("text", 0, {Split::kSpace})},
                           "sum, list, pairs, text, n = length(length(pairs))",
                           {scratch.file("a",
                                         "{\"sum\": 1.5, \"list\": [1, 2], \"pairs\": [[1, 2], [3]], \"text\": \"7 8\"}\n"
                                         "{\"text\": \"\", \"list\": [], \"pairs\": [], \"sum\": -2e-3}\n")}));
  const Batch batch = first_batch(p);
  EXPECT_THAT(elements<float>(batch.feeds.at("sum")), ElementsAre(1.5f, -2e-3f));
  EXPECT_THAT(elements<float>(batch.feeds.at("list")), ElementsAre(1, 0, 2, 0));
  EXPECT_THAT(elements<float>(batch.feeds.at("pairs")), ElementsAre(1, 0, 2, 0, 3, 0, 0, 0));
  EXPECT_THAT(elements<float>(batch.feeds.at("text")), ElementsAre(7, 0, 8, 0));
  EXPECT_THAT(elements<std::int32_t>(batch.feeds.at("n")), ElementsAre(2, 0));
}

TEST(Numbers, AreSlicedJoinedAndTakenOut) {
  Scratch scratch;
  const Prepared p(spec_of(Format::kLines, {numbers("x", 0, {Split::kSpace})},
                           "before = [0, -0.5, x[:-1]], last = x[-1], twice = [x, x]", {scratch.file("a", "1 2 3\n")}));
  const Batch batch = first_batch(p);
  EXPECT_THAT(elements<float>(batch.feeds.at("before")), ElementsAre(0, -0.5f, 1, 2));
  EXPECT_THAT(elements<float>(batch.feeds.at("last")), ElementsAre(3));
  EXPECT_THAT(elements<float>(batch.feeds.at("twice")), ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST(Numbers, ThatAreNoneAreToldWhereTheyStand) {
  Scratch scratch;
  const auto conll = [&](const std::string& text) {
    return mistake(spec_of(Format::kConll, {make_field("words", 0), numbers("weight", 1)}, "words, weight",
                           {scratch.file("a.conll", text)}));
  };
  EXPECT_THAT(conll("bird\t1\nsings\tloud\n"),
              HasSubstr("a.conll:2:7: error[E0654 no-number]: 'loud' is not a number; field 'weight' is FLOAT"));
  EXPECT_THAT(conll("é\tnan\n"), HasSubstr("a.conll:1:4: error[E0654 no-number]: 'nan' is not a finite number"));
  EXPECT_THAT(conll("bird\t1 2\n"), HasSubstr("split: SPACE reads a list of numbers"));
  EXPECT_THAT(conll("bird\t1,5\n"), HasSubstr("numbers are written with a point: 1.5"));
  const auto tsv = [&](const std::string& text) {
    return mistake(spec_of(Format::kTsv, {make_field("text", 0, {Split::kSpace}), numbers("list", 2, {Split::kSpace})},
                           "text, list", {scratch.file("a.tsv", text)}));
  };
  EXPECT_THAT(tsv("a\tb\t1 2\na\tb\t1 1e40 3\n"), HasSubstr("a.tsv:2:7: error[E0654 no-number]: '1e40' is beyond float32"));
  const auto parallel = mistake(spec_of(Format::kParallel, {numbers("x", 0), numbers("y", 1)}, "x, y",
                                        {scratch.file("x", "1\n2\n"), scratch.file("y", "1\n \n")}));
  EXPECT_THAT(parallel, HasSubstr("y:2:1: error[E0654 no-number]: field 'y' has nothing here; expected a number"));
  const auto json = [&](const std::string& line) {
    return mistake(spec_of(Format::kJsonl, {numbers("sum"), numbers("list", 0, {Split::kList})}, "sum, list",
                           {scratch.file("a.jsonl", line + "\n")}));
  };
  EXPECT_THAT(json("{\"a\": [\"sum\", {\"sum\": 1}], \"sum\": true, \"list\": []}"),
              HasSubstr("a.jsonl:1:35: error[E0652 bad-json]: the value of 'sum' has a truth value where field 'sum' expects "
                        "a number"));
  EXPECT_THAT(json("{\"sum\": 1, \"list\": [1, 2, \"x\"]}"),
              HasSubstr("a.jsonl:1:28: error[E0654 no-number]: 'x' is not a number"));
  EXPECT_THAT(json("{\"sum\": 1, \"list\": [1, 1e39]}"),
              AllOf(HasSubstr("a.jsonl:1:24: error[E0654 no-number]"), HasSubstr("is beyond float32")));
  EXPECT_THAT(json("{\"sum\": [1], \"list\": [1]}"), HasSubstr("help: split: LIST reads a list"));
  EXPECT_THAT(json("{\"sum\": 1, \"list\": 1}"), HasSubstr("has a number where field 'list' expects a list"));
  EXPECT_THAT(json("{\"sum\": \"\", \"list\": []}"), HasSubstr("field 'sum' has nothing here"));
}

// A plain line is what the one field that is read would find in a record.
TEST(Numbers, AreReadFromPlainLines) {
  for (const Format format : {Format::kConll, Format::kTsv, Format::kLines, Format::kJsonl}) {
    Scratch scratch;
    const std::vector<Split> splits = format == Format::kConll   ? std::vector<Split>()
                                      : format == Format::kJsonl ? std::vector<Split>{Split::kList}
                                                                 : std::vector<Split>{Split::kSpace};
    const DataSpec data = spec_of(format, {numbers("x", 0, splits)}, "x", {});
    FeedPlan plan = make_plan(data);
    plan.bind({});
    const Vocabularies none;
    const auto read = [&](const std::string& text) {
      InferenceReader reader(data, plan, none, std::make_unique<LineReader>(scratch.file("lines", text)), {});
      return *reader.next();
    };
    EXPECT_THAT(elements<float>(read("1 2.5\n\n-3\n").batch.feeds.at("x")), ElementsAre(1, -3, 2.5f, 0));
    const std::string said = message_of([&] { read("1 2 1x 2\n"); });
    EXPECT_THAT(
        said, HasSubstr(format == Format::kJsonl ? "lines:1:1: error[E0654 no-number]" : "lines:1:5: error[E0654 no-number]"));
  }
}

TEST(Numbers, AreShownAsTheyAre) {
  Scratch scratch;
  const Prepared p(
      spec_of(Format::kLines, {numbers("x", 0, {Split::kSpace})}, "x, n = length(x)", {scratch.file("a", "1 2.5\n-3\n")}));
  const Dataset set = p.train();
  EXPECT_THAT(describe_set(p.data, set, p.vocabularies),
              AllOf(HasSubstr("  too long" + std::string(11, ' ') + "range\n"), HasSubstr("  from -3 to 2.5\n")));
  const Batch batch = *BatchSource(p.data, p.plan, set, {}).next();
  EXPECT_THAT(describe_batch(p.plan, p.vocabularies, set, batch, {}),
              AllOf(HasSubstr("x  FLOAT[2, 2]  numbers\n    0  1  2.5\n    1  -3  ·\n"), HasSubstr("n  INT32[2]  lengths")));
}

}  // namespace
}  // namespace graphrun
