// Training data read once, for vocabularies and examples together, has the same result as two readings.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/tools/data_helpers.h"
#include "tests/tools/scratch.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

struct Case {
  std::string name;
  DataSpec data;
  std::vector<std::string> texts;  // the contents of the training files
  std::string needed;              // a feed of shape [batch] that the network reads
  std::string told = {};           // the reported mistake; empty: none
};

DataSpec spec(Format format, std::vector<FieldSpec> fields, const std::string& feeds) {
  DataSpec data;
  data.format = format;
  data.fields = std::move(fields);
  data.feeds = make_feeds(feeds);
  return data;
}

FieldSpec subwords(FieldSpec field, std::int64_t size) {
  field.vocabulary.size = size;
  field.coverage = 1;
  return field;
}

FieldSpec longest(FieldSpec field, std::int64_t steps) {
  field.longest = steps;
  return field;
}

FieldSpec sharing(FieldSpec field, const std::string& owner) {
  field.shares = owner;
  return field;
}

FieldSpec numbers(FieldSpec field) {
  field.numbers = true;
  return field;
}

// Built from the data and closed: entries that it omits are mistakes.
FieldSpec closed(FieldSpec field, std::int64_t min_count) {
  field.vocabulary.closed = true;
  field.vocabulary.min_count = min_count;
  return field;
}

FieldSpec limited(FieldSpec field, std::int64_t size) {
  field.vocabulary.size = size;
  return field;
}

const std::string kPairs = "low lower lowest\ta slow low hut\nnew newer newest\tnew house\n\t\nhouse\tlow\nzz zz\tlow hut\n";

std::vector<Case> cases() {
  const auto words = [](const char* name, int column = 0) { return make_field(name, column, {Split::kSpace}); };
  const auto pieces = [](const char* name, int column = 0) { return make_field(name, column, {Split::kSubwords}); };
  const FieldSpec word_pieces = make_field("text", 0, {Split::kSpace, Split::kSubwords});
  return {
      {"Lines", spec(Format::kLines, {limited(words("text"), 4)}, "['<s>', text]"), {"b a b\n\nc\n", "b d\n"}, ""},
      {"Stream", spec(Format::kStream, {words("text")}, "x = text[:-1], y = text[1:]"), {" a b \n\nc <unk>\n", "d\n"}, ""},
      {"StreamOfSubwords", spec(Format::kStream, {subwords(pieces("text"), 30)}, "text"), {"low lower\n\nlowest new\n"}, ""},
      {"Conll",
       spec(Format::kConll, {words("a"), make_field("b", 0, {Split::kCharacter}), closed(make_field("tag", 1), 0)},
            "a, b, tag"),
       {"\nAb\tN\nc\tV\n\n\nd\tN\n"},
       ""},
      {"Segmented",
       spec(Format::kSegmented, {longest(make_field("x", 0, {Split::kCharacter}), 5), make_field("tags", 0, {}, Derive::kBmes)},
            "x, tags"),
       {"ab c\n\nabcd ef\nd\n"},
       ""},
      {"Shared", spec(Format::kTsv, {words("one"), sharing(words("two", 1), "one")}, "one, two"), {kPairs}, ""},
      {"TooLong", spec(Format::kTsv, {longest(words("one"), 2), longest(words("two", 1), 1)}, "one, two"), {kPairs}, ""},
      {"AllTooLong", spec(Format::kLines, {longest(words("one"), 1)}, "one"), {"a b\nc d\n"}, "", "E0649 no-examples"},
      {"Numbers", spec(Format::kTsv, {words("one"), numbers(words("n", 1))}, "one, n"), {"a b\t1 -2.5\nc\t3\n"}, ""},
      {"Subwords",
       spec(Format::kTsv, {longest(subwords(pieces("one"), 30), 9), sharing(words("two", 1), "")}, "one, two"),
       {kPairs},
       ""},
      {"SharedSubwords",
       spec(Format::kTsv, {subwords(pieces("one"), 40), sharing(subwords(pieces("two", 1), 40), "one")}, "one, ['</s>', two]"),
       {kPairs},
       ""},
      {"SubwordsOfWords", spec(Format::kTsv, {subwords(word_pieces, 30), words("two", 1)}, "text, two"), {kPairs}, ""},
      {"SubwordsOfTokens",
       spec(Format::kConll, {subwords(pieces("t"), 20), make_field("u", 1)}, "t, u"),
       {"low\tA\nlower\tB\n\nlowest\tA\n"},
       ""},
      {"NoExamples", spec(Format::kLines, {words("text")}, "text"), {"\n \n"}, "", "E0649 no-examples"},

      // Mistakes: the first one is reported, in any field.
      {"NoNumber",
       spec(Format::kTsv, {numbers(make_field("n", 1)), words("one")}, "one, n"),
       {"a\t1\nb\tx\nc\ty\n"},
       "",
       ":2:3: error[E0654"},
      {"EmptyLabelBehindNoNumber",
       spec(Format::kTsv, {numbers(make_field("n", 1)), make_field("label")}, "label, n"),
       {"a\tx\n\t1\n"},
       "",
       ":2:1: error[E0643"},
      {"LacksAnEntry",
       spec(Format::kTsv, {words("one"), closed(make_field("label", 1), 2)}, "one, label"),
       {"a\tx\nb\tx\nc\ty\nd\tz\n"},
       "",
       ":3:1: error[E0644"},
      {"LacksAnEntryOfAnExampleThatIsDropped",
       spec(Format::kTsv, {longest(words("one"), 1), closed(make_field("label", 1), 2)}, "one, label"),
       {"a\tx\nb b\ty\nc\tx\n"},
       "",
       ":2:1: error[E0644"},
      {"LacksAnEntryBeforeNoNumber",
       spec(Format::kTsv, {closed(make_field("label"), 2), numbers(make_field("n", 1))}, "label, n"),
       {"x\t1\ny\tz\nx\t2\n"},
       "",
       ":2:1: error[E0644"},
      {"NoNumberBeforeItLacksAnEntry",
       spec(Format::kTsv, {numbers(make_field("n", 1)), closed(make_field("label"), 2)}, "label, n"),
       {"x\t1\ny\tz\nx\t2\n"},
       "",
       ":2:3: error[E0654"},
      {"NoNumberBeforeALineThatIsCut",
       spec(Format::kTsv, {subwords(pieces("one"), 30), numbers(make_field("n", 1))}, "one, n"),
       {"low lower lowest\t1\na slow low hut\tx\nnew newer newest\t3\n"},
       "",
       ":2:16: error[E0654"},
      {"LacksALetter",
       spec(Format::kConll, {closed(make_field("l", 0, {Split::kCharacter}), 2)}, "l"),
       {"aa\nab\n\nb\nac\n"},
       "",
       ":5:1: error[E0644"},
      {"DoesNotFit",
       spec(Format::kLines, {words("text")}, "third = text[2]"),
       {"a b c\n\nd e f\n", "\ng h\ni\n"},
       "third",
       ":2:1: error[E0648"},
      {"DoesNotFitBeforeNoNumber",
       spec(Format::kTsv, {words("text"), numbers(make_field("n", 1))}, "second = text[1], n"),
       {"a b\t1\nc\t2\nd e\tx\n"},
       "second",
       ":2:1: error[E0648"},
      {"NoNumberBeforeItDoesNotFit",
       spec(Format::kTsv, {words("text"), numbers(make_field("n", 1))}, "second = text[1], n"),
       {"a b\t1\nc d\tx\ne\t2\n"},
       "second",
       ":2:5: error[E0654"},
  };
}

// Everything observable of a set, or its mistake.
std::string contents(const Case& c, bool once) {
  std::string text;
  const auto read = [&] {
    FeedPlan plan = make_plan(c.data);
    std::optional<ReadExamples> examples;
    const Vocabularies vocabularies = build_vocabularies(c.data, plan, once ? &examples : nullptr);
    plan.bind(vocabularies);
    if (!c.needed.empty()) plan.need(c.needed, {Dim(Symbol::named("batch"))});
    EXPECT_EQ(examples.has_value(), once);
    DatasetOptions options;
    options.training = true;
    options.plan = &plan;
    const Dataset set =
        once ? std::move(*examples).take(c.data, plan) : read_dataset(c.data, vocabularies, c.data.train, options);
    for (const auto& [field, vocabulary] : vocabularies) text += field + ":\n" + vocabulary.text();
    text += testing::PrintToString(set.size()) + " " + testing::PrintToString(set.blank()) + "\n";
    for (std::size_t f = 0; f < c.data.fields.size(); ++f) {
      const FieldCounts& n = set.counts(f);
      for (const std::int64_t count : {n.entries, n.unknown, n.longest, n.too_long}) text += std::to_string(count) + " ";
      text += std::to_string(n.least) + " " + std::to_string(n.greatest) + "\n";
    }
    for (std::int64_t i = 0; i < set.size(); ++i)
      for (const Nested& field : set.example(i))
        text += testing::PrintToString(field.values) + testing::PrintToString(field.lengths) + "\n";
  };
  const std::string message = message_of(read);
  return message.empty() ? text : message;
}

class ReadOnce : public testing::TestWithParam<Case> {};

TEST_P(ReadOnce, GivesWhatTwoReadingsGive) {
  const Scratch scratch;
  Case c = GetParam();
  for (std::size_t i = 0; i < c.texts.size(); ++i) c.data.train.push_back(scratch.file(std::to_string(i), c.texts[i]));
  const std::string twice = contents(c, false);
  if (c.told.empty())
    EXPECT_THAT(twice, HasSubstr(c.data.fields.front().name + ":\n"));
  else
    EXPECT_THAT(twice, HasSubstr(c.told));
  EXPECT_EQ(contents(c, true), twice);
  setenv("GRAPHRUN_DATA_MEMORY", "8", 1);  // everything is stored in files
  EXPECT_EQ(contents(c, true), twice);
  unsetenv("GRAPHRUN_DATA_MEMORY");
}

INSTANTIATE_TEST_SUITE_P(Data, ReadOnce, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

// A pipe can be read only once.
TEST(TrainingFiles, OfAPipe) {
  const Scratch scratch;
  const std::string pipe = scratch.file("pipe", "");
  ASSERT_EQ(unlink(pipe.c_str()), 0);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "b a b\nc\n"; });
  DataSpec data = spec(Format::kLines, {make_field("text", 0, {Split::kSpace})}, "text");
  data.train = {pipe};
  FeedPlan plan = make_plan(data);
  std::optional<ReadExamples> examples;
  const Vocabularies vocabularies = build_vocabularies(data, plan, &examples);
  writer.join();
  plan.bind(vocabularies);
  const Dataset set = std::move(examples.value()).take(data, plan);
  ASSERT_EQ(set.size(), 2);
  EXPECT_EQ(vocabularies.at("text").text_of(set.values(0, 0)), "b a b");
}

// Files from which no vocabulary is built are not read for one.
TEST(TrainingFiles, AreNotReadWhereVocabulariesAreGiven) {
  const Scratch scratch;
  DataSpec data = spec(Format::kLines, {make_field("text", 0, {Split::kSpace})}, "text");
  data.fields[0].vocabulary_file = scratch.file("words", "a\n");
  data.train = {"/no/such/file"};
  const FeedPlan plan = make_plan(data);
  std::optional<ReadExamples> examples;
  build_vocabularies(data, plan, &examples);
  EXPECT_FALSE(examples.has_value());
}

}  // namespace
}  // namespace graphrun
