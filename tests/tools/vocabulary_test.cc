#include "tools/text/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/scratch.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Vocabulary built(const VocabularyRules& rules, std::initializer_list<const char*> symbols) {
  VocabularyCounter counter;
  for (const char* symbol : symbols) counter.add(symbol);
  return counter.build(rules, "words");
}

TEST(Vocabulary, ByCountThenByBytes) {
  EXPECT_THAT(built({}, {"b", "a", "c", "c", "é"}).entries(), ElementsAre("<unk>", "c", "a", "b", "é"));
}

TEST(Vocabulary, SpecialEntriesAndUnknownStandFirstAndOnce) {
  VocabularyRules rules;
  rules.special = {"<s>", "b"};
  EXPECT_THAT(built(rules, {"b", "b", "<unk>", "<unk>", "a"}).entries(), ElementsAre("<s>", "b", "<unk>", "a"));
}

TEST(Vocabulary, Limits) {
  VocabularyRules size;
  size.size = 3;
  EXPECT_THAT(built(size, {"a", "b", "b", "c", "c"}).entries(), ElementsAre("<unk>", "b", "c"));
  VocabularyRules count;
  count.min_count = 2;
  EXPECT_THAT(built(count, {"a", "b", "b"}).entries(), ElementsAre("<unk>", "b"));
}

TEST(Vocabulary, UnknownEntries) {
  const Vocabulary open = built({}, {"a"});
  EXPECT_EQ(open.number("zzz"), open.number("<unk>"));
  EXPECT_FALSE(open.closed());
  VocabularyRules rules;
  rules.closed = true;
  const Vocabulary closed = built(rules, {"a"});
  EXPECT_THAT(closed.entries(), ElementsAre("a"));
  EXPECT_EQ(closed.number("zzz"), -1);
  EXPECT_TRUE(closed.closed());
}

TEST(Vocabulary, SavedTextReadsBackExactly) {
  Scratch scratch;
  const Vocabulary saved({"<unk>", "\r", "\xEF\xBB\xBF", " ", "好"}, false, "words");
  const std::string path = scratch.file("v", saved.text());
  EXPECT_EQ(Vocabulary::read(path, false, {}, true).entries(), saved.entries());
}

TEST(Vocabulary, GivenFileGetsWhatItLacks) {
  Scratch scratch;
  const std::string path = scratch.file("v", "a\r\nb\r\n");
  EXPECT_THAT(Vocabulary::read(path, false, {"<s>", "b"}).entries(), ElementsAre("<s>", "<unk>", "a", "b"));
  EXPECT_THAT(Vocabulary::read(path, true).entries(), ElementsAre("a", "b"));
}

TEST(Vocabulary, Mistakes) {
  Scratch scratch;
  const std::string twice = scratch.file("twice", "a\nb\na\n");
  EXPECT_THAT(message_of([&] { Vocabulary::read(twice, true); }),
              HasSubstr(":3:1: error[E0645 bad-vocabulary-entry]: 'a' is also in line 1"));
  EXPECT_THAT(message_of([&] { Vocabulary::read(scratch.file("empty", "a\n\nb\n"), true); }),
              HasSubstr(":2:1: error[E0645 bad-vocabulary-entry]: an empty line"));
  EXPECT_THAT(message_of([&] { Vocabulary::read(scratch.file("open", "a\n"), false, {}, true); }),
              HasSubstr("no entry '<unk>'"));
}

// Otherwise the model's vocabulary would be a file that can't be read.
TEST(Vocabulary, EntriesAreLinesOfText) {
  const auto entry = [](const std::string& text) { return message_of([&] { Vocabulary({"a", text}, true, "words"); }); };
  const std::string begin = "E0645 bad-vocabulary-entry]: entry 2 of the vocabulary of words ";
  EXPECT_EQ(entry(" b\r"), "");
  EXPECT_THAT(entry(""), HasSubstr(begin + "is empty"));
  EXPECT_THAT(entry("a\nb"), HasSubstr(begin + "has a line end"));
  EXPECT_THAT(entry(std::string("a\0b", 3)), HasSubstr(begin + "has a NUL byte"));
  EXPECT_THAT(entry("a\xFF"), HasSubstr(begin + "is not UTF-8"));
  EXPECT_EQ(entry(std::string(kLongestLine, 'b')), "");
  EXPECT_THAT(entry(std::string(kLongestLine + 1, 'b')), HasSubstr(begin + "is longer than a line may be"));
}

}  // namespace
}  // namespace graphrun
