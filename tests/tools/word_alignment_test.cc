// Alignment of words whose pieces the network aligned: the word of each piece, and the weights of words.
#include <gmock/gmock.h>

#include <limits>

#include "tests/tools/data_helpers.h"
#include "tools/infer/generated.h"
#include "tools/text/word_spans.h"

namespace graphrun {
namespace {

using Strings = std::vector<std::string>;
using Spans = std::vector<WordSpan>;
using testing::ElementsAre;

TEST(WordSpans, OfPiecesBeginWhereASpaceDoes) {
  const Strings texts = {"low lower lowest", "new newer newest", "a slow low hut"};
  const TextForm form{true, "", Subwords::train({SubwordKind::kBpe, 30, 1, "words"}, one_by_one(texts))};
  // Pieces as a model cuts them that has pieces of several words and separate spaces.
  const WordSpans cut = word_spans({"▁low", "er", "▁", "x", "y", "▁a▁hu", "t", "▁"}, form, EntriesAre::kCut);
  EXPECT_EQ(cut.words, (Strings{"lower", "xy", "a", "hut"}));
  EXPECT_EQ(cut.of, (Spans{{0, 1}, {0, 1}, {1, 2}, {1, 2}, {1, 2}, {2, 4}, {3, 4}, {3, 4}}));
  Strings pieces = form.subwords->pieces_of("newest low");
  const auto of_newest = static_cast<std::size_t>(std::find(pieces.begin(), pieces.end(), "▁low") - pieces.begin());
  ASSERT_EQ(of_newest + 1, pieces.size());
  pieces.insert(pieces.begin() + 1, "<unk>");
  const WordSpans made = word_spans(pieces, form, EntriesAre::kMade);
  EXPECT_EQ(made.words.size(), of_newest > 1 ? 4u : 3u);
  EXPECT_EQ(made.words[1], "<unk>");
  EXPECT_EQ(made.of[1], (WordSpan{1, 2}));
  EXPECT_EQ(made.words.back(), "low");
}

TEST(WordSpans, OfOtherEntries) {
  const WordSpans joined = word_spans({"un@@", "do@@", "ing", "it"}, {true, "@@", nullptr}, EntriesAre::kMade);
  EXPECT_EQ(joined.words, (Strings{"undoing", "it"}));
  EXPECT_EQ(joined.of, (Spans{{0, 1}, {0, 1}, {0, 1}, {1, 2}}));
  const WordSpans characters = word_spans({" ", "a", "b", " ", "é", " "}, {false, "", nullptr}, EntriesAre::kCut);
  EXPECT_EQ(characters.words, (Strings{"ab", "é"}));
  EXPECT_EQ(characters.of, (Spans{{0, 1}, {0, 1}, {0, 1}, {1, 2}, {1, 2}, {1, 2}}));
  EXPECT_EQ(word_spans({"one", "two"}, {}, EntriesAre::kMade).of, (Spans{{0, 1}, {1, 2}}));
  EXPECT_EQ(word_spans({}, {}, EntriesAre::kMade).words, Strings{});
  EXPECT_EQ(word_spans({" "}, {false, "", nullptr}, EntriesAre::kCut).of, (Spans{{0, 0}}));
}

// Input: three pieces of two words, the second piece in both. Output: three pieces of two words. Numbers are exact in binary.
TEST(WordAlignment, IsASumOverTheInputAndAMeanOfWhatIsMade) {
  const WordSpans input{{{0, 1}, {0, 2}, {1, 2}}, {"x", "y"}};
  const WordSpans made{{{0, 1}, {0, 1}, {1, 2}}, {"a", "b"}};
  const Alignment pieces{{{0.25f, 0.5f, 0.125f}, {0.5f, 0.25f, 0.0f}, {0.25f, 0.125f, 0.125f}}, {0.125f, 0.25f, 0.5f}};
  const Alignment by_input = by_input_words(pieces, input);
  EXPECT_THAT(by_input.weights,
              ElementsAre(ElementsAre(0.5f, 0.375f), ElementsAre(0.625f, 0.125f), ElementsAre(0.3125f, 0.1875f)));
  EXPECT_EQ(by_input.elsewhere, pieces.elsewhere);
  const Alignment words = by_made_words(by_input, made);
  EXPECT_THAT(words.weights, ElementsAre(ElementsAre(0.5625f, 0.25f), ElementsAre(0.3125f, 0.1875f)));
  EXPECT_THAT(words.elsewhere, ElementsAre(0.1875f, 0.5f));
  EXPECT_EQ(pieces.links(), (std::vector<std::int64_t>{1, 0, -1}));
  EXPECT_EQ(alignment_line(words), "0-0\n") << "the second is of what follows the words";
  // Nothing follows, and the output is empty.
  const float none = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(by_made_words(Alignment{pieces.weights, {none, none, none}}, made).elsewhere, ElementsAre(none, none));
  EXPECT_TRUE(by_made_words(by_input_words({}, input), {}).weights.empty());
}

// Words can be linked although none of their pieces has the greatest weight.
TEST(WordAlignment, CountsAllPiecesOfAWord) {
  const WordSpans input{{{0, 1}, {0, 1}, {1, 2}}, {"long", "b"}};
  const Alignment pieces{{{0.25f, 0.3125f, 0.4375f}}};
  EXPECT_EQ(alignment_line(pieces), "2-0\n");
  EXPECT_EQ(alignment_line(by_input_words(pieces, input)), "0-0\n");
}

}  // namespace
}  // namespace graphrun
