#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/data_helpers.h"
#include "tests/tools/scratch.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Dataset, ConllColumnsAndLetters) {
  Scratch scratch;
  DataSpec data;
  data.format = Format::kConll;
  data.fields = {make_field("words"), make_field("letters", 0, {Split::kCharacter}), make_field("tags", 1)};
  data.fields[2].vocabulary.closed = true;
  data.feeds = make_feeds("words, letters, tags, lengths = length(words), letter_lengths = length(letters)");
  data.train = {scratch.file("a", "\nAb\tN\r\nc\tV\n\n\n\nd\tN")};
  const Prepared p(data);
  const Dataset set = p.train();
  ASSERT_EQ(set.size(), 2);
  const auto fields = set.example(0);
  EXPECT_THAT(p.entries("words", fields[0].values), ElementsAre("Ab", "c"));
  EXPECT_THAT(p.entries("letters", fields[1].values), ElementsAre("A", "b", "c"));
  EXPECT_THAT(fields[1].lengths, ElementsAre(2, 1));
  EXPECT_THAT(p.entries("tags", fields[2].values), ElementsAre("N", "V"));
  EXPECT_THAT(p.vocabularies.at("tags").entries(), ElementsAre("N", "V"));
  EXPECT_EQ(set.steps(1, 1), 1);
  EXPECT_EQ(set.blank(), 0);

  EXPECT_THAT(p.plan.evaluate(3, fields).values, ElementsAre(2));
  EXPECT_EQ(p.plan.evaluate(4, fields).depth, 1);
  EXPECT_THAT(p.plan.evaluate(4, fields).values, ElementsAre(2, 1));
}

TEST(Dataset, WrongColumnsNameFileAndLine) {
  Scratch scratch;
  DataSpec data;
  data.format = Format::kConll;
  data.fields = {make_field("words"), make_field("tags", 1)};
  data.feeds = make_feeds("words, tags");
  data.train = {scratch.file("a", "a\tN\nb\n")};
  EXPECT_THAT(message_of([&] { Prepared p(data); }), HasSubstr(data.train[0] + ":2:1: error[E0643 wrong-columns]: 1 column"));
  data.train = {scratch.file("b", "a\tN\n\nb\tV\tx\n")};
  EXPECT_THAT(message_of([&] { Prepared p(data); }), HasSubstr(":3:1: error[E0643 wrong-columns]: 3 columns"));
  data.train = {scratch.file("c", "a\t\n")};
  EXPECT_THAT(message_of([&] { Prepared p(data); }), HasSubstr("column 1 is empty"));
}

TEST(Dataset, SegmentedLinesGiveCharactersAndPlaces) {
  Scratch scratch;
  DataSpec data;
  data.format = Format::kSegmented;
  data.fields = {make_field("characters", 0, {Split::kCharacter}), make_field("tags", 0, {}, Derive::kBmes),
                 make_field("words", 0, {Split::kSpace})};
  data.feeds = make_feeds("characters, tags, words");
  data.train = {scratch.file("a", " 我们 是\u3000中国人  。\n\n  \n")};
  const Prepared p(data);
  const Dataset set = p.train();
  ASSERT_EQ(set.size(), 1);
  EXPECT_EQ(set.blank(), 2);
  const auto fields = set.example(0);
  EXPECT_THAT(p.entries("characters", fields[0].values), ElementsAre("我", "们", "是", "中", "国", "人", "。"));
  EXPECT_THAT(p.entries("tags", fields[1].values), ElementsAre("B", "E", "S", "B", "M", "E", "S"));
  EXPECT_THAT(p.entries("words", fields[2].values), ElementsAre("我们", "是", "中国人", "。"));
}

// Each entry is normalized separately: their number stays the same, and their positions are those of the line's own characters.
TEST(Dataset, EntriesHaveANormalForm) {
  Scratch scratch;
  DataSpec data;
  data.format = Format::kSegmented;
  data.fields = {make_field("characters", 0, {Split::kCharacter}), make_field("tags", 0, {}, Derive::kBmes)};
  data.fields[0].normalize = {Normalize::kNfkc, Normalize::kLower};
  data.feeds = make_feeds("characters, tags");
  data.train = {scratch.file("a", "１Ａ … 是\n")};
  const Prepared p(data);
  const auto fields = p.train().example(0);
  EXPECT_THAT(p.entries("characters", fields[0].values), ElementsAre("1", "a", "...", "是"));
  EXPECT_THAT(p.entries("tags", fields[1].values), ElementsAre("B", "E", "S", "S"));
}

TEST(Dataset, ANormalFormIsOneEntry) {
  Scratch scratch;
  DataSpec data;
  data.fields = {make_field("words", 0, {Split::kSpace}), make_field("letters", 0, {Split::kCharacter})};
  data.fields[0].normalize = {Normalize::kNfkc};
  data.fields[1].normalize = {Normalize::kNfc};
  data.feeds = make_feeds("words, letters");
  // An acute accent as a character of its own; e with a combining accent, which stay two letters, since each letter is
  // normalized separately; a full-width space.
  data.train = {scratch.file("a", "a\u00b4b \uff21\nke\u0301\u3000\uff21\n")};
  const Prepared p(data);
  EXPECT_THAT(p.entries("words", p.train().example(0)[0].values), ElementsAre("a\u0301b", "A"));
  EXPECT_THAT(p.entries("words", p.train().example(1)[0].values), ElementsAre("k\u00e9", "A"));
  EXPECT_THAT(p.entries("letters", p.train().example(1)[1].values), ElementsAre("k", "e", "\u0301", "\u3000", "\uff21"));
}

TEST(Dataset, StreamEndsEveryLine) {
  Scratch scratch;
  DataSpec data;
  data.format = Format::kStream;
  data.window = 4;
  data.fields = {make_field("text", 0, {Split::kSpace})};
  data.feeds = make_feeds("words = text[:-1], target = text[1:]");
  data.train = {scratch.file("a", " a b \n\nc <unk>\n"), scratch.file("b", "d\n")};
  const Prepared p(data);
  const Dataset set = p.train();
  ASSERT_EQ(set.size(), 1);
  const auto fields = set.example(0);
  EXPECT_THAT(p.entries("text", fields[0].values),
              ElementsAre("a", "b", "<eos>", "<eos>", "c", "<unk>", "<eos>", "d", "<eos>"));
  EXPECT_THAT(p.entries("text", p.plan.evaluate(1, fields).values),
              ElementsAre("b", "<eos>", "<eos>", "c", "<unk>", "<eos>", "d", "<eos>"));
}

TEST(Dataset, TsvAndLines) {
  Scratch scratch;
  DataSpec data;
  data.format = Format::kTsv;
  data.fields = {make_field("text", 1, {Split::kSpace}), make_field("label", 0)};
  data.feeds = make_feeds("text, label");
  data.train = {scratch.file("a", "yes\tone two\nno\t\n")};
  const Prepared p(data);
  const Dataset set = p.train();
  EXPECT_EQ(set.size(), 2);
  EXPECT_THAT(p.entries("label", set.example(1)[1].values), ElementsAre("no"));
  EXPECT_EQ(set.example(1)[0].values.size(), 0u);
}

TEST(Dataset, LongestDropsInTrainingAlone) {
  Scratch scratch;
  DataSpec data;
  data.fields = {make_field("words", 0, {Split::kSpace})};
  data.fields[0].longest = 2;
  data.feeds = make_feeds("words");
  data.train = {scratch.file("a", "a b\na b c\n")};
  const Prepared p(data);
  EXPECT_EQ(p.train().size(), 1);
  EXPECT_EQ(p.train().dropped(), 1);
  EXPECT_EQ(p.train(false).size(), 2);
}

TEST(Dataset, ClosedVocabularyRefusesWhatItLacks) {
  Scratch scratch;
  DataSpec data;
  data.format = Format::kConll;
  data.fields = {make_field("words"), make_field("tags", 1)};
  data.fields[1].vocabulary.closed = true;
  data.feeds = make_feeds("words, tags");
  data.train = {scratch.file("a", "a\tNOUN\n")};
  const Prepared p(data);
  const std::string other = scratch.file("b", "a\tNOUN\n\nb\tNOUM\n");
  const std::string message = message_of([&] { read_dataset(p.data, p.vocabularies, {other}); });
  EXPECT_THAT(message, HasSubstr(other + ":3:1: error[E0644 unknown-entry]: 'NOUM'"));
  EXPECT_THAT(message, HasSubstr("did you mean 'NOUN'?"));
}

// An example that does not fit a feed of the network is refused with its file and line.
TEST(Dataset, RefusesExamplesThatFeedsDoNotFit) {
  Scratch scratch;
  DataSpec data;
  data.fields = {make_field("words", 0, {Split::kSpace})};
  data.feeds = make_feeds("third = words[2], pair = words[:2], last = words[-1]");
  data.train = {scratch.file("a", "a b c\n\nd e\n")};
  Prepared p(data);
  const auto read = [&] {
    DatasetOptions options;
    options.plan = &p.plan;
    return message_of([&] { read_dataset(p.data, p.vocabularies, data.train, options); });
  };
  EXPECT_EQ(read(), "");  // nothing reads the feeds
  p.plan.need("pair", {Dim(2), Dim(Symbol::named("batch"))});
  p.plan.need("last", {Dim(Symbol::named("batch"))});
  EXPECT_EQ(read(), "");
  p.plan.need("third", {Dim(Symbol::named("batch"))});
  EXPECT_THAT(read(), HasSubstr(data.train[0] + ":3:1: error[E0648 index-outside]"));
  p.plan.need("pair", {Dim(3), Dim(Symbol::named("batch"))});
  EXPECT_THAT(read(), HasSubstr(data.train[0] + ":1:1: error[E0623 feed-shape]: feed 'pair' has 2 elements; expected 3"));
}

TEST(Dataset, NothingToRead) {
  Scratch scratch;
  DataSpec data;
  data.fields = {make_field("words", 0, {Split::kSpace})};
  data.feeds = make_feeds("words");
  data.train = {scratch.file("a", "\n \n")};
  EXPECT_THAT(message_of([&] { Prepared p(data); }), HasSubstr("E0649 no-examples"));
  // With a given vocabulary the mistake is found when the examples are read.
  data.fields[0].vocabulary_file = scratch.file("words.txt", "a\n");
  const Prepared given(data);
  EXPECT_THAT(message_of([&] { given.train(); }), HasSubstr("E0649 no-examples"));
}

TEST(FeedPlan, JoinsWordsThatGoIntoTheVocabulary) {
  Scratch scratch;
  DataSpec data;
  data.fields = {make_field("english", 0, {Split::kSpace})};
  data.feeds = make_feeds(
      "previous = ['<s>', english], target = [english, '</s>'], n = length([english, '</s>']), "
      "first = english[0], ends = [english[-1:], english[:1]]");
  data.train = {scratch.file("a", "a b\n")};
  const Prepared p(data);
  EXPECT_THAT(p.vocabularies.at("english").entries(), ElementsAre("<s>", "</s>", "<unk>", "a", "b"));
  const auto fields = p.train().example(0);
  EXPECT_THAT(p.entries("english", p.plan.evaluate(0, fields).values), ElementsAre("<s>", "a", "b"));
  EXPECT_THAT(p.entries("english", p.plan.evaluate(1, fields).values), ElementsAre("a", "b", "</s>"));
  EXPECT_THAT(p.plan.evaluate(2, fields).values, ElementsAre(3));
  EXPECT_EQ(p.plan.feed("n")->field, "");
  EXPECT_EQ(p.plan.feed("first")->depth, 0);
  EXPECT_THAT(p.entries("english", p.plan.evaluate(3, fields).values), ElementsAre("a"));
  EXPECT_THAT(p.entries("english", p.plan.evaluate(4, fields).values), ElementsAre("b", "a"));
}

TEST(FeedPlan, SlicesOfSequencesOfSequences) {
  Scratch scratch;
  DataSpec data;
  data.format = Format::kConll;
  data.fields = {make_field("letters", 0, {Split::kCharacter})};
  data.feeds = make_feeds("tail = letters[1:], head = letters[:1], second = letters[1], both = [letters[1:], letters[:1]]");
  data.train = {scratch.file("a", "ab\ncde\n")};
  const Prepared p(data);
  const auto fields = p.train().example(0);
  EXPECT_THAT(p.entries("letters", p.plan.evaluate(0, fields).values), ElementsAre("c", "d", "e"));
  EXPECT_THAT(p.plan.evaluate(0, fields).lengths, ElementsAre(3));
  EXPECT_THAT(p.entries("letters", p.plan.evaluate(1, fields).values), ElementsAre("a", "b"));
  EXPECT_EQ(p.plan.evaluate(2, fields).depth, 1);
  EXPECT_THAT(p.entries("letters", p.plan.evaluate(2, fields).values), ElementsAre("c", "d", "e"));
  EXPECT_THAT(p.plan.evaluate(3, fields).lengths, ElementsAre(3, 2));
}

TEST(FeedPlan, AllMistakesAtOnce) {
  DataSpec data;
  data.fields = {make_field("words", 0, {Split::kSpace}), make_field("label")};
  data.feeds = make_feeds(
      "a = wrds, b = length(label), c = 'word', d = [words, label], e = words[x], a = words, f = sum(words), "
      "g = [length(words), words], h = ['<s>']");
  std::vector<Diagnostic> problems;
  FeedPlan plan(data, problems);
  std::string all;
  for (const Diagnostic& d : problems) all += render(d) + "\n";
  EXPECT_EQ(problems.size(), 9u) << all;
  EXPECT_THAT(all, HasSubstr("no field 'wrds'"));
  EXPECT_THAT(all, HasSubstr("did you mean 'words'?"));
  EXPECT_THAT(all, HasSubstr("their vocabularies differ"));
  EXPECT_THAT(all, HasSubstr("a second feed 'a'"));
  EXPECT_THAT(all, HasSubstr("'sum' is not known to feeds"));
}

}  // namespace
}  // namespace graphrun
