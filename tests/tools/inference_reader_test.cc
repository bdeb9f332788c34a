#include "tools/data/inference_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/tools/data_helpers.h"
#include "tests/tools/scratch.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Prepared segmenter(const Scratch& scratch) {
  DataSpec data;
  data.format = Format::kSegmented;
  data.rows = 2;
  data.fields = {make_field("characters", 0, {Split::kCharacter}), make_field("tags", 0, {}, Derive::kBmes)};
  data.fields[1].vocabulary.closed = true;
  data.feeds = make_feeds("words = characters, tags, lengths = length(characters)");
  data.train = {scratch.file("train", "甲 乙丙\n")};
  return Prepared(data);
}

ReadingOptions feeds(std::vector<std::string> names, bool conll = false) {
  ReadingOptions options;
  options.feeds = std::move(names);
  options.read = conll ? Format::kConll : Format::kLines;
  return options;
}

TEST(InferenceReader, EveryLineInOrderEmptyOnesToo) {
  Scratch scratch;
  const Prepared p = segmenter(scratch);
  InferenceReader reader(p.data, p.plan, p.vocabularies,
                         std::make_unique<LineReader>(scratch.file("in", "甲乙\n\n丙 \n\n  \n")), feeds({"words", "lengths"}));
  auto batch = reader.next();
  ASSERT_TRUE(batch);
  EXPECT_THAT(batch->rows, ElementsAre(0, -1));
  EXPECT_EQ(batch->batch.feeds.count("tags"), 0u);
  EXPECT_THAT(elements<std::int32_t>(batch->batch.feeds.at("lengths")), ElementsAre(2));
  batch = reader.next();
  EXPECT_THAT(batch->rows, ElementsAre(0, -1));
  batch = reader.next();
  EXPECT_THAT(batch->rows, ElementsAre(-1));
  EXPECT_EQ(batch->batch.rows, 0);
  EXPECT_FALSE(reader.next());
}

TEST(InferenceReader, TellsOfWhichLinesABatchFails) {
  Scratch scratch;
  const Prepared p = segmenter(scratch);
  InferenceReader reader(p.data, p.plan, p.vocabularies, std::make_unique<LineReader>(scratch.file("in", "甲\n乙\n丙\n")),
                         feeds({"words"}));
  std::vector<std::string> messages;
  while (const auto batch = reader.next()) {
    try {
      with_lines(*batch, [] { throw UserError(ExitCode::kBadData, "E0611 slice-out-of-range", "too long"); });
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kBadData);
      messages.push_back(error.what());
    }
  }
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_THAT(messages[0], HasSubstr("too long\n  note: of a batch of lines 1 to 2 of '"));
  EXPECT_THAT(messages[1], HasSubstr("note: of line 3 of '"));
}

// Of batches of two, read this many records ahead: the number of each record.
std::vector<std::vector<std::int64_t>> batches_of(const std::string& text, std::int64_t ahead) {
  Scratch scratch;
  const Prepared p = segmenter(scratch);
  ReadingOptions options = feeds({"words", "lengths"});
  options.ahead = ahead;
  InferenceReader reader(p.data, p.plan, p.vocabularies, std::make_unique<LineReader>(scratch.file("in", text)), options);
  std::vector<std::vector<std::int64_t>> numbers;
  while (const auto batch = reader.next()) {
    numbers.push_back(batch->numbers);
    for (std::size_t i = 0; i < batch->records.size(); ++i) EXPECT_EQ(batch->records[i].line, batch->numbers[i] + 1);
  }
  return numbers;
}

TEST(InferenceReader, BatchesLinesOfSimilarLengthThatItReadsAhead) {
  const std::string text = "一\n一二三\n\n一二\n一二三四\n一二三四五\n";
  for (const std::int64_t ahead : {0, 1, 2}) {
    EXPECT_THAT(batches_of(text, ahead), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5))) << ahead;
  }
  EXPECT_THAT(batches_of(text, 100), ElementsAre(ElementsAre(4, 5), ElementsAre(1, 3), ElementsAre(0, 2)));
  EXPECT_THAT(batches_of(text, 4), ElementsAre(ElementsAre(1, 3), ElementsAre(0, 2), ElementsAre(4, 5)));
}

TEST(InferenceReader, CallsForWhatStandsBesideInTheInputsOrder) {
  Scratch scratch;
  const Prepared p = segmenter(scratch);
  ReadingOptions options = feeds({"words"});
  options.ahead = 100;
  std::int32_t calls = 0;
  options.beside = [&] { return std::vector<std::int32_t>{calls++}; };
  InferenceReader reader(p.data, p.plan, p.vocabularies,
                         std::make_unique<LineReader>(scratch.file("in", "一\n\n一二三\n一二\n")), options);
  const auto longest = reader.next(), rest = reader.next();
  EXPECT_THAT(longest->prompts, ElementsAre(ElementsAre(2), ElementsAre(3)));
  EXPECT_TRUE(rest);
  EXPECT_THAT(rest->prompts, ElementsAre(ElementsAre(0)));  // an empty line has no row
  EXPECT_EQ(calls, 4);
}

// All lines before the mistake come first, whatever their lengths, and lines after it never come.
TEST(InferenceReader, GivesOutAllBeforeAMistakeThatItReadAhead) {
  Scratch scratch;
  const Prepared p = segmenter(scratch);
  const std::string path = scratch.file("in", "一\n一二三\n一二\n\xFF\n一二三四\n");
  ReadingOptions options = feeds({"words"});
  options.ahead = 100;
  InferenceReader reader(p.data, p.plan, p.vocabularies, std::make_unique<LineReader>(path), options);
  EXPECT_THAT(reader.next()->numbers, ElementsAre(1, 2));
  EXPECT_TRUE(reader.is_ahead());
  EXPECT_THAT(reader.next()->numbers, ElementsAre(0));
  EXPECT_FALSE(reader.is_ahead());
  EXPECT_THAT(message_of([&] { reader.next(); }), HasSubstr(path + ":4:1: error[E0641"));
}

TEST(InferenceReader, AnswersWhatIsThereWithoutWaiting) {
  Scratch scratch;
  const Prepared p = segmenter(scratch);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ReadingOptions options = feeds({"words"});
  options.ahead = 100;
  InferenceReader reader(p.data, p.plan, p.vocabularies, std::make_unique<LineReader>(ends[0], "-"), options);
  ASSERT_EQ(write(ends[1], "x\n", 2), 2);
  EXPECT_EQ(reader.next()->records.size(), 1u);
  close(ends[1]);
  EXPECT_FALSE(reader.next());
  close(ends[0]);
}

TEST(InferenceReader, ALineThatIsNoTextHasNoRow) {
  Scratch scratch;
  const Prepared p = segmenter(scratch);
  const std::string longer(kLongestLine + 300000, 'x');
  const std::string path = scratch.file("in", "甲\n\xFF\n" + longer + "\n乙\na\xC3\n" + longer);
  ReadingOptions options = feeds({"words"});
  std::vector<std::string> told;
  options.bad_line = [&](const Diagnostic& bad) { told.push_back(bad.at.str() + " " + bad.code); };
  InferenceReader reader(p.data, p.plan, p.vocabularies, std::make_unique<LineReader>(path), options);
  std::vector<std::int64_t> rows, numbers;
  while (const auto batch = reader.next()) {
    rows.insert(rows.end(), batch->rows.begin(), batch->rows.end());
    for (const Record& record : batch->records) numbers.push_back(record.line);
  }
  EXPECT_THAT(rows, ElementsAre(0, -1, -1, 0, -1, -1));
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(told, ElementsAre(path + ":2:1 E0641 not-utf8", path + ":3:1 E0642 line-too-long", path + ":5:2 E0641 not-utf8",
                                path + ":6:1 E0642 line-too-long"));
}

// The result does not depend on the pieces in which the text is read.
TEST(InferenceReader, ALineThatIsTooLongNeverLosesItsEndAlone) {
  Scratch scratch;
  const std::size_t longest = 65535;  // with CR, one piece
  const std::string path = scratch.file("in", std::string(longest, 'x') + "\rmore\n" + std::string(longest, 'y') + "\r\nz\n");
  LineReader reader(path, LineReader::Mode::kText, longest);
  std::string line;
  EXPECT_THROW(reader.next(line), BadLine);
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, std::string(longest, 'y'));
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "z");
  EXPECT_FALSE(reader.next(line));
}

TEST(InferenceReader, ABadLineEmptiesItsSentence) {
  Scratch scratch;
  std::string path = scratch.file("in", "a\tb\n\n\xFF\tb\n\nc\td\n\xFE\ne\n\nf\tg\n\nh\ti\n\xFD\n");
  RecordLayout layout;
  layout.format = Format::kConll;
  layout.columns = 2;
  RecordReader reader(std::make_unique<LineReader>(path), layout);
  std::int64_t told = 0;
  reader.pass_over([&](const Diagnostic&) { ++told; });
  std::vector<std::int64_t> begin, empty;
  for (Record record; reader.next(record);) begin.push_back(record.line), empty.push_back(record.empty);
  EXPECT_THAT(begin, ElementsAre(1, 3, 5, 9, 11));
  EXPECT_THAT(empty, ElementsAre(0, 1, 1, 0, 1));
  EXPECT_EQ(told, 3);
}

TEST(InferenceReader, MistakesComeAfterWhatWasRightBefore) {
  Scratch scratch;
  const Prepared p = segmenter(scratch);
  const std::string path = scratch.file("in", "甲\n\xFF\n");
  InferenceReader reader(p.data, p.plan, p.vocabularies, std::make_unique<LineReader>(path), feeds({"words"}));
  EXPECT_EQ(reader.next()->records.size(), 1u);
  EXPECT_THAT(message_of([&] { reader.next(); }), HasSubstr(path + ":2:1: error[E0641"));
}

Prepared tagger(const Scratch& scratch) {
  DataSpec data;
  data.format = Format::kConll;
  data.rows = 8;
  data.fields = {make_field("words"), make_field("tags", 1)};
  data.feeds = make_feeds("words, tags");
  data.train = {scratch.file("train", "a\tN\nb\tV\n")};
  return Prepared(data);
}

TEST(InferenceReader, SentencesOfColumnsWithoutTheGold) {
  Scratch scratch;
  const Prepared p = tagger(scratch);
  InferenceReader reader(p.data, p.plan, p.vocabularies, std::make_unique<LineReader>(scratch.file("in", "a\nb\n\n\na\n")),
                         feeds({"words"}, true));
  const auto batch = reader.next();
  ASSERT_TRUE(batch);
  EXPECT_THAT(batch->rows, ElementsAre(0, -1, 1));
  EXPECT_TRUE(batch->records[0].closed);
  EXPECT_FALSE(batch->records[2].closed);
  EXPECT_EQ(batch->batch.feeds.at("words").sizes(), (Sizes{2, 2}));
}

TEST(InferenceReader, PlainLinesForATagger) {
  Scratch scratch;
  const Prepared p = tagger(scratch);
  InferenceReader reader(p.data, p.plan, p.vocabularies, std::make_unique<LineReader>(scratch.file("in", "a b\n\nb\n")),
                         feeds({"words"}));
  const auto batch = reader.next();
  ASSERT_TRUE(batch);
  EXPECT_THAT(batch->rows, ElementsAre(0, -1, 1));
  EXPECT_EQ(batch->batch.feeds.at("words").sizes(), (Sizes{2, 2}));
}

// Lines of 2, 3 and 1 units, at most 2 of which are read, and the warnings.
struct Limited {
  std::vector<std::int64_t> rows;
  std::vector<std::int32_t> lengths;
  std::vector<std::string> warnings;
};
Limited limited(bool refuse) {
  Scratch scratch;
  const Prepared p = segmenter(scratch);
  Limited found;
  ReadingOptions options = feeds({"words", "lengths"});
  options.longest = 2;
  options.refuse_longer = refuse;
  options.rows = 8;
  options.warn = [&](const Diagnostic& warning) { found.warnings.push_back(warning.at.str() + " " + warning.text); };
  InferenceReader reader(p.data, p.plan, p.vocabularies, std::make_unique<LineReader>(scratch.file("in", "甲乙\n甲乙丙\n丙\n")),
                         options);
  while (const auto batch = reader.next()) {
    found.rows.insert(found.rows.end(), batch->rows.begin(), batch->rows.end());
    if (batch->batch.rows == 0) continue;
    const auto lengths = elements<std::int32_t>(batch->batch.feeds.at("lengths"));
    found.lengths.insert(found.lengths.end(), lengths.begin(), lengths.end());
  }
  return found;
}

TEST(InferenceReader, CutsOrRefusesLongLinesAndSaysWhich) {
  const Limited cut = limited(false), refused = limited(true);
  EXPECT_THAT(cut.lengths, ElementsAre(2, 2, 1));
  EXPECT_THAT(cut.warnings,
              ElementsAre(HasSubstr("in:2:1 'characters' has 3 units here, at most 2 are read: the rest is left out")));
  EXPECT_THAT(refused.lengths, ElementsAre(2, 1));
  EXPECT_THAT(refused.warnings, ElementsAre(HasSubstr("the line is skipped, and its output is empty")));
}

TEST(Nested, IsCutInItsOwnSteps) {
  Nested words{1, {1, 2, 3}, {}}, spelled{2, {1, 2, 3, 4, 5, 6}, {2, 1, 3}};
  words.cut(2), spelled.cut(2);
  EXPECT_THAT(words.values, ElementsAre(1, 2));
  EXPECT_THAT(spelled.values, ElementsAre(1, 2, 3));
  EXPECT_EQ(spelled.steps(), 2);
}

}  // namespace
}  // namespace graphrun
