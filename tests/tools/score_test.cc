// Scores of text and alignments, compared with those of the reference programs for the same files (tests/reference/scores).
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/folders.h"
#include "tests/tools/program_fixture.h"
#include "tools/score/edit_distance.h"
#include "tools/score/numpy_random.h"
#include "tools/score/significance.h"
#include "tools/score/tokenize.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string in_scores(const std::string& name) { return tests::reference("scores/" + name); }

const nlohmann::json& expected_scores() {
  static const nlohmann::json kExpected = [] {
    std::ifstream in(in_scores("expected.json"));
    return nlohmann::json::parse(in);
  }();
  return kExpected;
}

class Score : public ProgramTest {
 protected:
  void SetUp() override { make_root(); }

  Ran score(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "score");
    return graphrun(arguments);
  }
  nlohmann::json json(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const Ran ran = score(std::move(arguments));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out, nullptr, false);
  }
};

TEST_F(Score, TextIsScoredAsByTheReferencePrograms) {
  int compared = 0;
  for (const bool second : {false, true}) {
    for (const bool lower : {false, true}) {
      std::vector<std::string> files = {in_scores("output.txt"), in_scores("reference.txt")};
      if (second) files.push_back(in_scores("reference2.txt"));
      if (lower) files.emplace_back("--lowercase");
      for (const std::string tokenize : {"none", "char", "zh", "13a"}) {
        std::vector<std::string> arguments = files;
        arguments.insert(arguments.end(), {"--tokenize", tokenize, "--metric", "bleu"});
        if (tokenize == "13a")
          arguments.insert(arguments.end(), {"--metric", "multi-bleu", "--metric", "chrf", "--metric", "chrf++"});
        const nlohmann::json scores = json(arguments);
        for (const auto& [metric, result] : scores.items()) {
          std::string signature = result["signature"];
          signature.resize(signature.find("|program:"));
          EXPECT_EQ(result["figures"], expected_scores().at(signature)) << signature;
          ++compared;
        }
      }
    }
  }
  EXPECT_EQ(compared, 28);
}

TEST_F(Score, TheBootstrapDrawsAsSacreBleuDoes) {
  for (const auto& [metric, figures] : expected_scores().at("bootstrap").items()) {
    const auto results = json({in_scores("output.txt"), in_scores("reference.txt"), "--metric", metric, "--against",
                               in_scores("other.txt"), "--samples", "200"})[metric]["bootstrap"];
    char text[200];
    const auto number = [&](std::size_t i, const char* name) { return results[i][name].get<double>(); };
    std::snprintf(text, sizeof text, "%.2f %.2f %.2f | %.2f %.2f %.2f %.4f", number(0, "score"), number(0, "mean"),
                  number(0, "margin"), number(1, "score"), number(1, "mean"), number(1, "margin"), number(1, "p"));
    EXPECT_EQ(text, figures.get<std::string>()) << metric;
  }
}

// The matrix of distances, computed row by row.
std::int64_t plain_distance(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  std::vector<std::int64_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<std::int64_t>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::int64_t corner = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::int64_t replaced = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

TEST(EditDistance, IsThatOfThePlainMatrix) {
  NumpyRandom random(7);
  for (int k = 0; k < 400; ++k) {
    std::vector<std::int32_t> a(random.below(200)), b(random.below(200));
    const std::uint32_t letters = 1 + random.below(k % 2 == 0 ? 3 : 40);
    for (std::int32_t& x : a) x = static_cast<std::int32_t>(random.below(letters));
    for (std::int32_t& x : b) x = static_cast<std::int32_t>(random.below(letters));
    if (k % 4 == 0 && a.size() > 2) {  // one text with a few edits
      b = a;
      b.erase(b.begin() + static_cast<std::ptrdiff_t>(b.size() / 2));
      b.insert(b.begin(), 99);
    }
    ASSERT_EQ(edit_distance(a, b), plain_distance(a, b)) << k;
    ASSERT_EQ(edit_distance(b, a), plain_distance(a, b)) << k;
  }
}

// Edits and lengths of lines of real translations, compared with the plain matrix.
TEST_F(Score, ErrorRatesAreEditsOverTheReferencesLength) {
  std::int64_t edits = 0, words = 0, same = 0;
  std::ifstream output(in_scores("output.txt")), reference(in_scores("reference.txt"));
  std::map<std::string, std::int32_t> numbers;
  const auto numbered = [&](const std::string& line) {
    std::vector<std::int32_t> out;
    for (const std::string_view word : split_at_spaces(line))
      out.push_back(numbers.emplace(word, static_cast<std::int32_t>(numbers.size())).first->second);
    return out;
  };
  std::int64_t lines = 0;
  for (std::string a, b; std::getline(output, a) && std::getline(reference, b); ++lines) {
    const auto x = numbered(a), y = numbered(b);
    edits += plain_distance(x, y);
    words += static_cast<std::int64_t>(y.size());
    same += x == y;
  }
  ASSERT_GT(edits, 20);
  const auto scores = json({in_scores("output.txt"), in_scores("reference.txt"), "--metric", "wer", "--metric", "exact"});
  EXPECT_DOUBLE_EQ(scores["wer"]["score"].get<double>(), 100.0 * static_cast<double>(edits) / static_cast<double>(words));
  EXPECT_DOUBLE_EQ(scores["exact"]["score"].get<double>(), 100.0 * static_cast<double>(same) / static_cast<double>(lines));

  // Computed by hand: "sitting" is three edits from "kitten", "ä" is one code point; the nearer of two references counts.
  write("a", "sitting\nthe cat\n größe\n\n"), write("b", "kitten\nThe  cat sat\ngrosse\n\n"), write("c", "x\nthe cat\ny\n\n");
  const auto of = [&](const std::string& metric, std::vector<std::string> more) {
    more.insert(more.begin(), {"a", "b", "--metric", metric});
    return json(more)[metric]["score"].get<double>();
  };
  EXPECT_DOUBLE_EQ(of("cer", {}), 100.0 * (3 + 5 + 3) / (6 + 11 + 6));
  EXPECT_DOUBLE_EQ(of("cer", {"--lowercase"}), 100.0 * (3 + 4 + 3) / (6 + 11 + 6));
  EXPECT_DOUBLE_EQ(of("wer", {}), 100.0 * (1 + 2 + 1) / (1 + 3 + 1));
  EXPECT_DOUBLE_EQ(of("exact", {}), 25);
  const Ran two = score({"a", "b", "c", "--metric", "wer", "--metric", "exact"});
  EXPECT_THAT(two.out, AllOf(HasSubstr("WER|refs:2|case:mixed"), HasSubstr("= 50.00 (edits = 2 words = 4)"),
                             HasSubstr("= 50.00 (2 of 4 lines)")));
  const auto drawn = json({"a", "b", "--metric", "cer", "--against", "b", "--samples", "50"})["cer"]["bootstrap"];
  EXPECT_EQ(drawn[1]["score"], 0);
  EXPECT_LT(drawn[1]["p"].get<double>(), 1);
}

TEST_F(Score, GroupsByTheLengthOfTheSource) {
  const Ran ran = score(
      {in_scores("output.txt"), in_scores("reference.txt"), "--by-length", in_scores("source.txt"), "--length-step", "5"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const auto& [range, figures] : expected_scores().at("by_length").items()) {
    const std::string text = figures;
    const std::string count = text.substr(0, text.find(' ')), value = text.substr(text.find(' ') + 1);
    EXPECT_THAT(ran.out, testing::ContainsRegex(" " + range + " +" + count + " +" + value));
  }
}

TEST_F(Score, AlignmentsAgainstGoldOnes) {
  EXPECT_THAT(score({in_scores("links.txt"), in_scores("gold.txt"), "--metric", "aer"}).out,
              HasSubstr(" = " + expected_scores().at("AER").get<std::string>() + " "));
  EXPECT_THAT(score({in_scores("weights.txt"), in_scores("gold.txt"), "--metric", "saer"}).out,
              HasSubstr(" = " + expected_scores().at("SAER").get<std::string>() + " "));
}

// A sample without a score tells nothing about the difference.
TEST(BootstrapPValue, IsUnknownIfASampleHasNoScore) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(bootstrap_p_value({1, 2, 3}, {2, 3, 9}, 2), 0.5);
  EXPECT_TRUE(std::isnan(bootstrap_p_value({1, nan, 3}, {2, 3, 9}, 2)));
  EXPECT_TRUE(std::isnan(bootstrap_p_value({1, 2, 3}, {2, inf, 9}, 2)));
  EXPECT_TRUE(std::isnan(bootstrap_p_value({1, 2, 3}, {2, 3, 9}, nan)));
}

TEST_F(Score, TellsWhatIsWrong) {
  write("a", "one\ntwo\n"), write("b", "one\n"), write("links", "0-0 1_1\n"), write("gold", "1-1\n"), write("none", "");
  const auto expect = [&](std::vector<std::string> arguments, int code, const std::string& message) {
    const Ran ran = score(std::move(arguments));
    EXPECT_EQ(ran.code, code) << message;
    EXPECT_THAT(ran.err, HasSubstr(message));
  };
  expect({"a", "b"}, 4, "'a' has 2 lines, 'b' has 1");
  expect({"a", "a", "--against", "b"}, 4, "'a' has 2 lines, 'b' has 1");
  expect({"none", "none"}, 4, "no line in 'none'");
  expect({"a"}, 2, "REFERENCE");
  expect({"a", "a", "--metric", "blue"}, 2,
         "--metric takes bleu, multi-bleu, chrf, chrf++, cer, wer, exact, aer or saer, found 'blue'");
  expect({"a", "a", "--tokenize", "intl"}, 2, "--tokenize takes 13a, none, char or zh, found 'intl'");
  expect({"links", "gold", "--metric", "aer"}, 4,
         "links:1:1: error[E0658 bad-alignment]: '1_1' is not a link; expected SOURCE-TARGET");
  expect({"gold", "links", "--metric", "aer"}, 4,
         "'0-0' is not a link; expected SOURCE-TARGET or SOURCEpTARGET, word positions counted from 1");
  expect({"links", "gold", "--metric", "saer"}, 4,
         "'0-0' is not a weight; expected non-negative numbers separated by commas, one list for each target word");
}

TEST(Tokenize, SubstitutionsRunFromLeftToRight) {
  EXPECT_THAT(tokenize("a.. 1.5, 5-6-x (b)&amp;c", Tokenization::k13a),
              ElementsAre("a", ".", ".", "1.5", ",", "5", "-", "6", "-", "x", "(", "b", ")", "&", "c"));
  EXPECT_EQ(ascii_lower_case("AÉ"), "aÉ");
}

// Each pair is from Python's lower(). A sigma is final after a letter with case and before none; between them, marks,
// apostrophes and periods do not count.
TEST(FullLowerCase, IsPythons) {
  for (const auto& [text, lowered] : {std::pair<const char*, const char*>{"Straße É İ", "straße é i̇"},
                                      {"ΣΑΣ ΣΑΣ", "σας σας"},
                                      {"Σ 1Σ 中Σ", "σ 1σ 中σ"},
                                      {"ΑΣ'Α ΑΣ.", "ασ'α ας."},
                                      {"Α\u0301Σ\u0301 Α·Σ·Α", "α\u0301ς\u0301 α·σ·α"},
                                      {"ΑΣΣ ΑΣʰΑ", "ασς ασʰα"},
                                      {"ⅧΣ ªΣ 🄰Σ ǅΣ", "ⅷς ªς 🄰ς ǆς"},
                                      {"ΑΣⓐ ΑΣ🅉 ΑΣ2", "ασⓐ ασ🅉 ας2"}})
    EXPECT_EQ(full_lower_case(text), lowered);
}

// numpy.random.default_rng(12345).integers(10, size=8) and default_rng(2**40).integers(1000000, size=3)
TEST(NumpyRandomNumbers, AreNumpys) {
  const auto drawn = [](std::uint64_t seed, std::uint32_t limit, int count) {
    NumpyRandom random(seed);
    std::vector<std::uint32_t> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(random.below(limit));
    return numbers;
  };
  EXPECT_THAT(drawn(12345, 10, 8), ElementsAre(6, 2, 7, 3, 2, 7, 6, 6));
  EXPECT_THAT(drawn(std::uint64_t{1} << 40, 1000000, 3), ElementsAre(922455, 360809, 379603));
}

}  // namespace
}  // namespace graphrun
