// Subwords: learned from the training data or given, stored with the model, and converted back to text.
#include "tools/text/subwords.h"

#include <gmock/gmock.h>

#include "tests/tools/data_helpers.h"
#include "tests/tools/scratch.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kTexts = {"the lower house is newer than the lowest house", "a new house, the newest one",
                                         "low lower lowest", "new newer newest", "is this one lower than that one?"};

std::string text() {
  std::string lines;
  for (const std::string& line : kTexts) lines += line + "\n";
  return lines;
}

std::shared_ptr<const Subwords> trained(SubwordKind kind, std::int64_t size) {
  return Subwords::train({kind, size, 1, "words"}, one_by_one(kTexts));
}

class SubwordKinds : public testing::TestWithParam<SubwordKind> {};
INSTANTIATE_TEST_SUITE_P(All, SubwordKinds, testing::Values(SubwordKind::kBpe, SubwordKind::kUnigram));

TEST_P(SubwordKinds, CutAndPutTogetherAgain) {
  const auto subwords = trained(GetParam(), 40);
  for (const std::string line : {"the newest house is lower", "lowlow, a hut?"}) {
    const auto pieces = subwords->pieces_of(line);
    EXPECT_GT(pieces.size(), 3u);
    EXPECT_EQ(subwords->text_of(pieces), line);
  }
  EXPECT_EQ(subwords->text_of({}), "");
  EXPECT_LE(subwords->entries().size(), 39u);
}

TEST_P(SubwordKinds, AreTheSameOfTheSameTexts) {
  EXPECT_EQ(trained(GetParam(), 40)->bytes(), trained(GetParam(), 40)->bytes());
}

TEST_P(SubwordKinds, AreAsManyAsTheTextsGive) {
  EXPECT_LT(trained(GetParam(), 5000)->entries().size(), 400u);
  EXPECT_THAT(message_of([] { trained(GetParam(), 4); }),
              AllOf(HasSubstr("E0657 bad-subwords"), HasSubstr("field 'words'"), HasSubstr("4 pieces were requested")));
}

TEST(Subwords, WhatIsNoPieceStandsAlone) {
  const auto subwords = trained(SubwordKind::kBpe, 40);
  auto pieces = subwords->pieces_of("the house");
  pieces.insert(pieces.end(), {"<unk>", "ж"});
  EXPECT_EQ(subwords->text_of(pieces), "the house <unk> ж");
}

TEST(Subwords, FilesThatHoldNone) {
  const Scratch scratch;
  for (const std::string& bytes :
       {std::string("no model\n"), std::string(), trained(SubwordKind::kBpe, 40)->bytes().substr(0, 500)})
    EXPECT_THAT(
        message_of([&] { Subwords::read(scratch.file("a.model", bytes)); }),
        AllOf(HasSubstr("E0657 bad-subwords"), HasSubstr("a.model"), HasSubstr(std::to_string(bytes.size()) + " bytes")));
}

DataSpec spec(const Scratch& scratch, Format format = Format::kLines) {
  DataSpec data;
  data.format = format;
  data.fields = {make_field("words", 0, {Split::kSubwords})};
  data.fields[0].vocabulary.size = 42;
  data.fields[0].coverage = 1;
  data.feeds = make_feeds("words, next = ['<s>', words]");
  data.train = {scratch.file("a.txt", text())};
  return data;
}

TEST(Subwords, VocabularyHasSpecialEntriesFirstAndItsSizeInAll) {
  const Scratch scratch;
  const Prepared prepared(spec(scratch));
  const Vocabulary& vocabulary = prepared.vocabularies.at("words");
  EXPECT_EQ(vocabulary.size(), 42);
  EXPECT_EQ(vocabulary.entry(0), "<s>");
  EXPECT_EQ(vocabulary.entry(1), "<unk>");
  const Dataset set = prepared.train();
  for (std::int64_t i = 0; i < set.size(); ++i)
    EXPECT_EQ(vocabulary.text_of(set.values(0, i)), kTexts[static_cast<std::size_t>(i)]);
}

TEST(Subwords, LengthsCountPieces) {
  const Scratch scratch;
  DataSpec data = spec(scratch);
  data.fields[0].longest = 8;  // more words than any line has but the first
  EXPECT_GT(Prepared(data).train().dropped(), 1);
}

TEST(Subwords, AGivenModelCutsAsItStands) {
  const Scratch scratch;
  const auto model = trained(SubwordKind::kUnigram, 35);
  DataSpec data = spec(scratch);
  data.fields[0].vocabulary.size = 0;
  data.fields[0].subword_model = scratch.file("given.model", model->bytes());
  data.train = {scratch.file("b.txt", "a low house\n")};
  const Prepared prepared(data);
  EXPECT_EQ(prepared.vocabularies.at("words").size(), static_cast<std::int64_t>(model->entries().size()) + 2);
  const auto numbers = prepared.train().example(0)[0].values;
  EXPECT_EQ(prepared.entries("words", numbers), model->pieces_of("a low house"));
}

TEST(Subwords, SharedByFieldsAreMadeOfBoth) {
  const Scratch scratch;
  DataSpec data = spec(scratch, Format::kTsv);
  data.fields.push_back(make_field("other", 1, {Split::kSubwords}));
  data.fields[1].shares = "words";
  data.feeds = make_feeds("words, other = [other, '</s>']");
  data.train = {scratch.file("c.tsv", "lower house\tzzz zz\nlowest house\tzz zzz\n")};
  const Prepared prepared(data);
  const Vocabulary &words = prepared.vocabularies.at("words"), &other = prepared.vocabularies.at("other");
  EXPECT_EQ(words.entries(), other.entries());
  EXPECT_EQ(words.form().subwords, other.form().subwords);
  EXPECT_EQ(other.text_of(prepared.train().example(1)[1].values), "zz zzz");
  EXPECT_TRUE(words.has("</s>"));
}

TEST(Subwords, OfAStreamHaveItsEndsOfLines) {
  const Scratch scratch;
  DataSpec data = spec(scratch, Format::kStream);
  data.feeds = make_feeds("words");
  const Prepared prepared(data);
  EXPECT_TRUE(prepared.vocabularies.at("words").has("<eos>"));
  EXPECT_EQ(prepared.train().counts(0).unknown, 0);
}

TEST(TextForm, JoinsWhatABpeOfOthersHasCut) {
  const Scratch scratch;
  DataSpec data = spec(scratch);
  data.fields[0].splits = {Split::kSpace};
  data.fields[0].joiner = "@@";
  data.train = {scratch.file("d.txt", "low@@ er hou@@ se @@ no@@\n")};
  const Prepared prepared(data);
  EXPECT_EQ(prepared.vocabularies.at("words").text_of(prepared.train().example(0)[0].values), "lower house @@ no");
}

TEST(TextForm, CharactersStandWithoutSpaces) {
  const Scratch scratch;
  DataSpec data = spec(scratch);
  data.fields[0].splits = {Split::kCharacter};
  data.train = {scratch.file("e.txt", "hé a\n")};
  const Prepared prepared(data);
  EXPECT_EQ(prepared.vocabularies.at("words").text_of(prepared.train().example(0)[0].values), "hé a");
}

}  // namespace
}  // namespace graphrun
