// Data formats other than lines and columns: tabs, parallel files, JSON lines; and words split into characters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/data_helpers.h"
#include "tests/tools/scratch.h"
#include "tools/data/batch_source.h"
#include "tools/data/inference_reader.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Split kSpace = Split::kSpace, kCharacter = Split::kCharacter, kList = Split::kList;

DataSpec spec_of(Format format, std::vector<FieldSpec> fields, const std::string& feeds, std::vector<std::string> train) {
  DataSpec data;
  data.format = format;
  data.fields = std::move(fields);
  data.feeds = make_feeds(feeds);
  data.train = std::move(train);
  return data;
}

std::string mistake(DataSpec data) {
  return message_of([&] {
    const Prepared p(std::move(data));
    p.train();
  });
}

TEST(Formats, FilesSideBySide) {
  Scratch scratch;
  const Prepared p(
      spec_of(Format::kParallel, {make_field("german", 0, {kSpace}), make_field("english", 1, {kSpace})}, "german, english",
              {scratch.zipped("a.de",
                              "\xEF\xBB\xBF"
                              "ein Haus\r\n\r\nja\r\n"),
               scratch.file("a.en", "a house\n\nyes\n"), scratch.file("b.de", "nein"), scratch.file("b.en", "no")}));
  const Dataset set = p.train();
  ASSERT_EQ(set.size(), 3);
  EXPECT_EQ(set.blank(), 1);
  EXPECT_THAT(p.entries("german", set.example(0)[0].values), ElementsAre("ein", "Haus"));
  EXPECT_THAT(p.entries("english", set.example(0)[1].values), ElementsAre("a", "house"));
  EXPECT_THAT(p.entries("german", set.example(2)[0].values), ElementsAre("nein"));
  EXPECT_THAT(p.entries("english", set.example(2)[1].values), ElementsAre("no"));
}

TEST(Formats, FilesSideBySideMustMatch) {
  Scratch scratch;
  const std::vector<FieldSpec> fields = {make_field("german", 0, {kSpace}), make_field("english", 1, {kSpace})};
  const std::string a = scratch.file("a", "1\n2\n3\n"), b = scratch.file("b", "1\n2\n");
  EXPECT_THAT(mistake(spec_of(Format::kParallel, fields, "german, english", {a, b})),
              HasSubstr(b + ":2:1: error[E0653 unequal-files]: the file ends after 2 lines; '" + a + "'"));
  EXPECT_THAT(mistake(spec_of(Format::kParallel, fields, "german, english", {b, a})),
              HasSubstr(b + ":2:1: error[E0653 unequal-files]: the file ends after 2 lines"));
  EXPECT_THAT(mistake(spec_of(Format::kParallel, fields, "german, english", {a, b, a})), HasSubstr("3 files, in groups of 2"));
  const std::string bad = scratch.file("c", "1\n\xFFx\n3\n");
  EXPECT_THAT(mistake(spec_of(Format::kParallel, fields, "german, english", {a, bad})), HasSubstr(bad + ":2:1: error[E0641"));
}

TEST(Formats, ALabelBesideOthersIsNamedInItsFile) {
  Scratch scratch;
  std::vector<FieldSpec> fields = {make_field("text", 0, {kSpace}), make_field("label", 1)};
  const std::string text = scratch.file("a", "x\ny\n"), labels = scratch.file("b", "yes\n\n");
  EXPECT_THAT(mistake(spec_of(Format::kParallel, fields, "text, label", {text, labels})),
              HasSubstr(labels + ":2:1: error[E0643 wrong-columns]: the line is empty"));
}

TEST(Formats, AnEmptyLabelIsAMistakeAnEmptyTextIsNone) {
  Scratch scratch;
  const std::vector<FieldSpec> fields = {make_field("text", 0, {kSpace}), make_field("label", 1)};
  EXPECT_EQ(mistake(spec_of(Format::kTsv, fields, "text, label", {scratch.file("a", "\tyes\n")})), "");
  const std::string bad = scratch.file("b", "x\tyes\ny\t\n");
  EXPECT_THAT(mistake(spec_of(Format::kTsv, fields, "text, label", {bad})),
              HasSubstr(bad + ":2:1: error[E0643 wrong-columns]: column 1 is empty"));
  const std::string unequal = scratch.file("c", "x\tyes\ny\n");
  EXPECT_THAT(
      mistake(spec_of(Format::kTsv, fields, "text, label", {unequal})),
      HasSubstr(unequal + ":2:1: error[E0643 wrong-columns]: 1 column separated by tabs; the job's fields need at least 2"));
}

TEST(Formats, JsonLines) {
  Scratch scratch;
  FieldSpec label = make_field("label");
  label.key = "gold label";
  const Prepared p(
      spec_of(Format::kJsonl,
              {make_field("text", 0, {kSpace}), label, make_field("tokens", 0, {kList}),
               make_field("letters", 0, {kList, kCharacter}), make_field("score")},
              "text, label, tokens, letters, n = length(letters), score",
              {scratch.zipped("a",
                              "{\"text\": \"one two\", \"gold label\": true, \"tokens\": [\"a b\", \"c\"], \"letters\": "
                              "[\"xy\", \"\", \"z\"], \"score\": 2.5, \"more\": {}}\r\n\r\n"
                              "{\"text\": \"\", \"gold label\": \"no\", \"tokens\": [], \"letters\": [], \"score\": 3}")}));
  const Dataset set = p.train();
  ASSERT_EQ(set.size(), 2);
  EXPECT_EQ(set.blank(), 1);
  const auto fields = set.example(0);
  EXPECT_THAT(p.entries("text", fields[0].values), ElementsAre("one", "two"));
  EXPECT_THAT(p.entries("label", fields[1].values), ElementsAre("true"));
  EXPECT_THAT(p.entries("tokens", fields[2].values), ElementsAre("a b", "c"));
  EXPECT_THAT(p.entries("letters", fields[3].values), ElementsAre("x", "y", "z"));
  EXPECT_THAT(p.plan.evaluate(4, fields).values, ElementsAre(2, 0, 1));
  EXPECT_THAT(p.entries("score", fields[4].values), ElementsAre("2.5"));
  EXPECT_EQ(set.steps(0, 1), 0);
}

TEST(Formats, MistakesInJsonLines) {
  Scratch scratch;
  const std::vector<FieldSpec> fields = {make_field("text", 0, {kSpace}), make_field("tokens", 0, {kList})};
  const auto said = [&](const std::string& line) {
    return mistake(spec_of(Format::kJsonl, fields, "text, tokens",
                           {scratch.file("a", "{\"text\": \"x\", \"tokens\": [\"x\"]}\n" + line + "\n")}));
  };
  EXPECT_THAT(said("{\"text\": x}"), HasSubstr("a:2:10: error[E0652 bad-json]: the line is not a JSON object: "));
  EXPECT_THAT(said("{\"text\": \"x\", \"tokens\": [1e999]}"),
              HasSubstr("the line has a number that is too large for a double"));
  EXPECT_THAT(said("[1]"), HasSubstr("a:2:1: error[E0652 bad-json]: the line is a list; expected an object"));
  EXPECT_THAT(said("{\"txt\": \"x\"}"), HasSubstr("the object has no 'text', which a field reads"));
  EXPECT_THAT(said("{\"txt\": \"x\"}"), HasSubstr("did you mean 'txt'?"));
  EXPECT_THAT(said("{\"text\": null}"), HasSubstr("'text', which a field reads, is null"));
  EXPECT_THAT(said("{\"text\": [\"x\"], \"tokens\": []}"), HasSubstr("a list where field 'text' expects a string or a number"));
  EXPECT_THAT(said("{\"text\": \"x\", \"tokens\": \"x y\"}"), HasSubstr("a string where field 'tokens' expects a list"));
  EXPECT_THAT(said("{\"text\": \"x\", \"tokens\": [\"x\\ny\"]}"), HasSubstr("a line end or a NUL in it"));
  EXPECT_THAT(said("{\"text\": \"x\", \"tokens\": [\"\"]}"), HasSubstr("the value of 'tokens' is empty"));
  EXPECT_THAT(said("{\"text\": 1e999, \"tokens\": []}"), HasSubstr("a:2:10: error[E0652 bad-json]"));
}

TEST(Formats, CharactersOfTheWordsOfALine) {
  Scratch scratch;
  DataSpec data =
      spec_of(Format::kLines, {make_field("words", 0, {kSpace}), make_field("letters", 0, {kSpace, kCharacter})},
              "words, letters, lengths = length(letters), count = length(length(letters))", {scratch.file("a", "ab c\ndéf\n")});
  data.rows = 2;
  const Prepared p(data);
  const Dataset set = p.train();
  EXPECT_EQ(p.plan.feed("letters")->depth, 2);
  EXPECT_EQ(p.plan.feed("lengths")->depth, 1);
  EXPECT_EQ(p.plan.feed("count")->depth, 0);
  BatchSource source(p.data, p.plan, set, {});
  const auto batch = source.next();
  EXPECT_EQ(batch->feeds.at("letters").sizes(), (Sizes{2, 3, 2}));
  EXPECT_THAT(elements<std::int32_t>(batch->feeds.at("lengths")), ElementsAre(2, 3, 1, 0));
  EXPECT_THAT(elements<std::int32_t>(batch->feeds.at("count")), ElementsAre(2, 1));
  const auto number = [&](const char* letter) { return p.vocabularies.at("letters").number(letter); };
  EXPECT_THAT(elements<std::int32_t>(batch->feeds.at("letters")),
              ElementsAre(number("a"), number("d"), number("b"), number("é"), 0, number("f"),  //
                          number("c"), 0, 0, 0, 0, 0));
}

TEST(Formats, TwoFieldsShareAVocabulary) {
  Scratch scratch;
  DataSpec data = spec_of(Format::kTsv, {make_field("a", 0, {kSpace}), make_field("b", 1, {kSpace})},
                          "a, b, both = [a, '<sep>', b]", {scratch.file("a", "x y\ty z\n")});
  data.fields[1].shares = "a";
  const Prepared p(data);
  EXPECT_THAT(p.vocabularies.at("a").entries(), ElementsAre("<sep>", "<unk>", "y", "x", "z"));
  EXPECT_EQ(p.vocabularies.at("b").entries(), p.vocabularies.at("a").entries());
  EXPECT_THAT(p.entries("a", p.plan.evaluate(2, p.train().example(0)).values), ElementsAre("x", "y", "<sep>", "y", "z"));
}

TEST(Formats, AClosedVocabularyNamesTheTokensLine) {
  Scratch scratch;
  DataSpec data = spec_of(Format::kConll, {make_field("words"), make_field("letters", 0, {kCharacter}), make_field("tags", 1)},
                          "words, letters, tags", {scratch.file("a", "ab\tN\n\nb\tN\n")});
  data.fields[1].vocabulary.closed = data.fields[2].vocabulary.closed = true;
  const Prepared p(data);
  const auto read = [&](const char* text) {
    return message_of([&] { read_dataset(p.data, p.vocabularies, {scratch.file("b", text)}); });
  };
  EXPECT_THAT(read("a\tN\n\na\tN\nb\tV\n"), HasSubstr("b:4:1: error[E0644 unknown-entry]: 'V'"));
  EXPECT_THAT(read("a\tN\nab\tN\nbx\tN\n"), HasSubstr("b:3:1: error[E0644 unknown-entry]: 'x'"));
}

ReadingOptions reading(Format read, std::vector<std::string> feeds) {
  ReadingOptions options;
  options.read = read;
  options.feeds = std::move(feeds);
  return options;
}

TEST(Formats, InputToRunAModelOn) {
  Scratch scratch;
  DataSpec pairs = spec_of(Format::kParallel, {make_field("german", 0, {kSpace}), make_field("english", 1, {kSpace})},
                           "german, english", {scratch.file("a", "x y\n"), scratch.file("b", "z\n")});
  pairs.rows = 4;
  const Prepared p(pairs);
  const auto lines = [&](const char* text) { return std::make_unique<LineReader>(scratch.file("in", text)); };
  InferenceReader plain(p.data, p.plan, p.vocabularies, lines("y x\n\nx\n"), reading(Format::kLines, {"german"}));
  EXPECT_THAT(plain.next()->rows, ElementsAre(0, -1, 1));
  InferenceReader columns(p.data, p.plan, p.vocabularies, lines("y x\tz z\nx\tz\n"),
                          reading(Format::kTsv, {"german", "english"}));
  EXPECT_EQ(columns.next()->batch.feeds.at("english").sizes(), (Sizes{2, 2}));
  EXPECT_THAT(
      message_of([&] {
        InferenceReader both(p.data, p.plan, p.vocabularies, lines("x\n"), reading(Format::kLines, {"german", "english"}));
      }),
      HasSubstr("plain lines have one text; the job's fields need several columns"));

  DataSpec objects = spec_of(Format::kJsonl, {make_field("tokens", 0, {kList}), make_field("label")}, "tokens, label",
                             {scratch.file("c", "{\"tokens\": [\"x\", \"y\"], \"label\": 1}\n")});
  objects.rows = 4;
  const Prepared q(objects);
  InferenceReader words(q.data, q.plan, q.vocabularies, lines("y x\n"), reading(Format::kLines, {"tokens"}));
  EXPECT_EQ(words.next()->batch.feeds.at("tokens").sizes(), (Sizes{2, 1}));
  InferenceReader json(q.data, q.plan, q.vocabularies, lines("{\"tokens\": [\"y\"]}\n"), reading(Format::kJsonl, {"tokens"}));
  EXPECT_EQ(json.next()->batch.feeds.at("tokens").sizes(), (Sizes{1, 1}));
}

TEST(Formats, InputIsCutByTokensToo) {
  Scratch scratch;
  DataSpec data = spec_of(Format::kLines, {make_field("words", 0, {kSpace})}, "words", {scratch.file("a", "x\n")});
  data.rows = 0, data.tokens = 6, data.bucket_by = "words";
  const Prepared p(data);
  InferenceReader reader(p.data, p.plan, p.vocabularies,
                         std::make_unique<LineReader>(scratch.file("in", "x x\nx\n\nx x x\nx x x x x x x\nx\n")),
                         reading(Format::kLines, {"words"}));
  EXPECT_THAT(reader.next()->rows, ElementsAre(0, 1, -1));
  EXPECT_THAT(reader.next()->rows, ElementsAre(0));
  EXPECT_THAT(reader.next()->rows, ElementsAre(0));
  EXPECT_THAT(reader.next()->rows, ElementsAre(0));
  EXPECT_FALSE(reader.next());
}

TEST(NumberStore, MoreThanMemoryMayHoldLiesInAFile) {
  Scratch scratch;
  DataSpec data = spec_of(Format::kLines, {make_field("words", 0, {kSpace}), make_field("letters", 0, {kSpace, kCharacter})},
                          "words, letters", {});
  std::string text;
  for (int i = 0; i < 300; ++i) text += "w" + std::to_string(i) + (i % 3 == 0 ? " x yy\n" : " z\n");
  data.train = {scratch.file("a", text)};
  const Prepared p(data);
  const Dataset small = read_dataset(p.data, p.vocabularies, data.train, {true, {}, 10, {}});
  const Dataset whole = p.train();
  EXPECT_TRUE(small.on_disk());
  EXPECT_FALSE(whole.on_disk());
  ASSERT_EQ(small.size(), whole.size());
  for (std::int64_t i = 0; i < whole.size(); ++i)
    for (std::size_t field = 0; field < 2; ++field) {
      EXPECT_EQ(small.example(i)[field].values, whole.example(i)[field].values);
      EXPECT_EQ(small.example(i)[field].lengths, whole.example(i)[field].lengths);
    }
}

TEST(NumberStore, NoRoomIsSaid) {
  Scratch scratch;
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", scratch.path("none").c_str(), 1);
  NumberStore store(2);
  const std::string said = message_of([&] { store.append(std::vector<std::int32_t>{1, 2, 3}); });
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_THAT(said, HasSubstr("E0502 unwritable-file"));
  EXPECT_THAT(said, HasSubstr("in '" + scratch.path("none") + "': No such file"));
}

TEST(Dataset, CountsWhatEachFieldHas) {
  Scratch scratch;
  DataSpec data = spec_of(Format::kTsv, {make_field("a", 0, {kSpace}), make_field("b", 1, {kSpace})}, "a, b",
                          {scratch.file("a", "x x\ty\nx\ty y y\nx x x\ty y y\nz\ty\n")});
  data.fields[0].longest = 2, data.fields[1].longest = 2;
  data.fields[0].vocabulary.min_count = 2;
  const Prepared p(data);
  const Dataset set = p.train();
  EXPECT_EQ(set.size(), 2);
  EXPECT_EQ(set.dropped(), 2);
  EXPECT_EQ(set.counts(0).too_long, 1);
  EXPECT_EQ(set.counts(1).too_long, 1);
  EXPECT_EQ(set.counts(0).entries, 3);
  EXPECT_EQ(set.counts(0).unknown, 1);
  EXPECT_EQ(set.counts(0).longest, 2);
  EXPECT_EQ(set.counts(1).unknown, 0);
}

}  // namespace
}  // namespace graphrun
