#include "tools/train/word_vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/scratch.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Vocabulary& vocabulary() {
  static const Vocabulary kVocabulary({"<unk>", "Éa", "éa", "new york", "b"}, false, "words");
  return kVocabulary;
}

Tensor sevens() { return Tensor::of<float>({5, 2}, {7, 7, 7, 7, 7, 7, 7, 7, 7, 7}); }

TEST(WordVectors, FillRowsOfAZippedFileAndLeaveTheRest) {
  const Scratch scratch;
  Tensor rows = sevens();
  const std::string text = "éa 3 4 \nnew york\t1 -2e0\r\nother 5 6\néa 8 8\n";
  const VectorCoverage coverage = read_word_vectors({scratch.zipped("v.gz", text), false}, vocabulary(), rows);
  EXPECT_EQ(coverage.found, 2);
  const double expected[] = {7, 7, 7, 7, 3, 4, 1, -2, 7, 7};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rows.at(i), expected[i]) << i;
}

TEST(WordVectors, OfALowerCasedFormStandInForMissingOnes) {
  const Scratch scratch;
  Tensor rows = sevens();
  const VectorCoverage coverage = read_word_vectors({scratch.file("v", "éa 3 4\nb 1 1\n"), true}, vocabulary(), rows);
  EXPECT_EQ(coverage.found, 3);
  EXPECT_EQ(coverage.lowercased, 1);
  EXPECT_EQ(rows.at(2), 3);
  // The vector of the exact word is used, wherever it is in the file.
  read_word_vectors({scratch.file("w", "éa 3 4\nÉa 5 6\n"), true}, vocabulary(), rows);
  EXPECT_EQ(rows.at(2), 5);
}

TEST(WordVectors, MistakesNameTheLine) {
  const Scratch scratch;
  const auto mistake = [&](const std::string& text) {
    Tensor rows = sevens();
    return message_of([&] { read_word_vectors({scratch.file("v", text), false}, vocabulary(), rows); });
  };
  EXPECT_THAT(mistake("b 1 2 3\n"),
              AllOf(HasSubstr("v:1"), HasSubstr("3 numbers after the word; the parameter's rows have 2")));
  EXPECT_THAT(mistake("x 1 2\nb 1 two\n"), AllOf(HasSubstr("v:2:5"), HasSubstr("'two' is not a finite number")));
  EXPECT_THAT(mistake("x 1 2\nb 1\n"), AllOf(HasSubstr("v:2"), HasSubstr("expected a word and 2 numbers, found 2 fields")));
  EXPECT_THAT(mistake("b nan 1\n"), HasSubstr("not a finite number"));
}

}  // namespace
}  // namespace graphrun
