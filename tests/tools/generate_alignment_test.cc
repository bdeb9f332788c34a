// Alignments of generated words: what they replace, and what they link.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/tools/generate_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(Generate, UnknownWordsAreReplacedByWhatTheyAreAlignedTo) {
  const std::string left = read("data/left"), right = read("data/right");
  std::string more_left, more_right;
  for (int n = 0; n < 20; ++n) {
    more_left += "nombre" + std::to_string(n) + "\n", more_right += "name" + std::to_string(n) + "\n";
  }
  write("data/left", left + more_left), write("data/right", right + more_right);
  const Ran trained =
      graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model", "--set", "data.field.left.vocabulary.min_count=2", "--set",
                "data.field.right.vocabulary.min_count=2", "--set", "infer.say.generate.align.replace=<unk>", "--set",
                "data.field.left.normalize=[NFKC, LOWER]"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(graphrun({"infer", "model"}, "Anna\n").out, "Anna\n");  // unchanged, whatever the network is fed
  // Forced words stay unchanged.
  write("refs", "Berta\n");
  const Ran forced = graphrun({"infer", "model", "--force", "refs", "--json"}, "Anna\n");
  ASSERT_EQ(forced.code, 0) << forced.err;
  EXPECT_EQ(nlohmann::json::parse(forced.out)["text"], "<unk>");
  // The input file is not overwritten, and given words are not searched for.
  write("input", "uno\n"), write("words", "one\n");
  for (const std::string file : {"input", "words"}) {
    const Ran over = graphrun({"infer", "model", "input", "--force", "words", "--alignments", file});
    EXPECT_THAT(over.err, AllOf(HasSubstr("E0429"), HasSubstr("would overwrite '" + file + "'")));
  }
  EXPECT_EQ(read("input") + read("words"), "uno\none\n");
  for (const std::string option : {"--beam", "--n-best", "--top-k", "--temperature", "--seed"})
    EXPECT_THAT(graphrun({"infer", "model", "input", "--force", "words", option, "2"}).err,
                AllOf(HasSubstr("E0429"), HasSubstr("nothing is searched or drawn")))
        << option;
}

// Pieces are aligned; the output is text.
TEST_F(Generate, AlignsSubwords) {
  std::string job = read("graphs/jobs/say.pbtxt");
  for (const std::string column : {"0", "1"}) {
    const std::string words = "column: " + column + " split: SPACE";
    job.replace(job.find(words), words.size(), "column: " + column + " split: BPE vocabulary { size: 14 }");
  }
  write("graphs/jobs/say.pbtxt", job);
  const Ran trained = graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model", "--set", "train.epochs=1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  write("refs", "one two\n");
  const Ran forced = graphrun({"infer", "model", "--force", "refs", "--alignments", "links", "--json"}, "uno dos\n");
  ASSERT_EQ(forced.code, 0) << forced.err;
  const auto object = nlohmann::json::parse(forced.out);
  EXPECT_EQ(object["text"], "one two");
  EXPECT_EQ(object["alignment"].size(), object["tokens"].size());
  EXPECT_EQ(lines_of(read("links")).size(), 1u);

  // By words if the job says so: sums over the pieces of an input word, means over the pieces of an output word.
  const Ran by_words = graphrun({"infer", "model", "--force", "refs", "--alignments", "word-links", "--json", "--set",
                                 "infer.say.generate.align.units=WORDS"},
                                "uno dos\n");
  ASSERT_EQ(by_words.code, 0) << by_words.err;
  const auto of_words = nlohmann::json::parse(by_words.out);
  EXPECT_EQ(of_words["tokens"], object["tokens"]);
  EXPECT_EQ(of_words["words"], (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(of_words["units"], (std::vector<std::string>{"uno", "dos"}));
  ASSERT_EQ(of_words["alignment"].size(), 2u);
  const auto begins_word = [](const std::string& piece) { return piece.starts_with("▁"); };
  const auto units = object["units"].get<std::vector<std::string>>(), tokens = object["tokens"].get<std::vector<std::string>>();
  ASSERT_GT(units.size() + tokens.size(), 4u) << "no word has two pieces";
  std::vector<std::vector<double>> expected(2, std::vector<double>(2, 0));
  int word = -1;
  std::vector<int> pieces(2, 0);
  for (std::size_t k = 0; k < tokens.size(); ++k) {
    word += begins_word(tokens[k]);
    ++pieces.at(static_cast<std::size_t>(word));
    int unit = -1;
    for (std::size_t u = 0; u < units.size(); ++u) {
      unit += begins_word(units[u]);
      expected[static_cast<std::size_t>(word)].at(static_cast<std::size_t>(unit)) += object["alignment"][k][u].get<double>();
    }
  }
  for (std::size_t w = 0; w < 2; ++w)
    for (std::size_t u = 0; u < 2; ++u)
      EXPECT_NEAR(of_words["alignment"][w][u].get<double>(), expected[w][u] / pieces[w], 1e-6) << w << " " << u;
  write("words.jsonl", by_words.out);
  const Ran picture = graphrun({"plot", "--alignments", "words.jsonl"});
  EXPECT_EQ(picture.code, 0) << picture.err;
  EXPECT_THAT(picture.out, AllOf(HasSubstr(">uno</text>"), HasSubstr(">two</text>")));
  write("gold", "1-1 2-2\n");
  const Ran scored = graphrun({"score", "word-links", "gold", "--metric", "aer"});
  EXPECT_EQ(scored.code, 0) << scored.err;
}

}  // namespace
}  // namespace graphrun
