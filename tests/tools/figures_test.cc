// Pictures of what models compute, and the analyses in the language that make them.
#include "tools/plot/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(Figures, SurfacesAreExpressionsOfTheLanguage) {
  const Surface surface = surface_of("sigmoid(x - y)", -2, 2, 5);
  ASSERT_EQ(surface.values.size(), 5U);
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 5; ++x)
      EXPECT_NEAR(surface.values[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)], 1 / (1 + std::exp(y - x)), 1e-6);
  }
  const std::string svg = draw_surfaces({surface});
  EXPECT_EQ(count_of(svg, "<rect"), 1U + 25 + 21);
  EXPECT_THAT(svg, HasSubstr(">sigmoid(x - y)</text>"));
  EXPECT_THAT(svg, HasSubstr("<path d=\"M"));
  EXPECT_EQ(surface_of("3", -1, 1, 3).values[2], (std::vector<double>{3, 3, 3}));
  EXPECT_THAT(draw_surfaces({surface_of("3", -1, 1, 3)}), Not(HasSubstr("nan")));
}

TEST(Figures, ArcsGoToTheEarlierWordOfGreatestWeight) {
  const std::string svg = draw_arcs({{{"a", "b", "c<"}, {{9, 9, 9}, {0.5, 9, 9}, {0.2, 0.4, 9}}}});
  EXPECT_EQ(count_of(svg, "<path"), 2U);
  EXPECT_THAT(svg, HasSubstr("<title>b to a: 0.5</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>c&lt; to b: 0.4</title>"));
  EXPECT_THAT(draw_matrices({{{"a"}, {{-2}}}}), HasSubstr("fill=\"#d55e00\" fill-opacity=\"1.000\""));
}

TEST(Figures, GroupsAreLinesOrBars) {
  const Table positions{"by position", {"count", "mean", "deviation"}, {{"1", {4, 0.5, 0.1}}, {"2", {4, 0.25, 0.1}}}},
      tags{"by tags", {"count", "mean", "deviation"}, {{"B", {4, 0.5, 0.1}}, {"E", {4, 0.25, 0}}}};
  const std::string svg = draw_groups({{"i", positions}, {"f", positions}, {"gate", tags}});
  EXPECT_EQ(count_of(svg, "<polyline"), 2U);
  EXPECT_EQ(count_of(svg, "<polygon"), 2U);
  EXPECT_EQ(count_of(svg, "<rect"), 3U);  // the background and two bars
  EXPECT_THAT(svg, HasSubstr(">gate by tags</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  const auto parsed = parse_groups(
      R"({"f1": 1, "details": {"gate": [{"title": "by tags", "columns": ["count", "mean"], "rows": {"B": [1, 0.5]}}],
          "acc": [{"title": "classes", "columns": ["gold"], "rows": {"B": [1]}}]}})",
      "x");
  ASSERT_EQ(parsed.size(), 1U);
  EXPECT_THAT(parsed[0].second.rows[0].second, ElementsAre(1, 0.5));
}

class PlotFigures : public ProgramTest {
 protected:
  void refused(const std::vector<std::string>& words, int code, const std::string& text, const std::string& input = "") const {
    const Ran ran = graphrun(words, input);
    EXPECT_EQ(ran.code, code) << text;
    EXPECT_THAT(ran.err, HasSubstr(text));
  }
};

// g of the paper, in plain loops.
TEST_F(PlotFigures, AttentionOfAtr) {
  const std::vector<std::vector<double>> i = {{0.5, 0.25}, {0.75, 0.5}, {0.125, 1}}, f = {{0.5, 0.5}, {0.25, 0.5}, {0.5, 0.75}};
  const auto as_batch = [](const std::vector<std::vector<double>>& sentence) {  // of one sentence, [time, 1, hidden]
    nlohmann::json rows = nlohmann::json::array();
    for (const std::vector<double>& row : sentence) rows.push_back(std::vector<std::vector<double>>{row});
    return rows.dump();
  };
  const Ran ran =
      graphrun({"run", "graphs/analysis/atr_attention.pbtxt", "--feed", "i=" + as_batch(i), "--feed", "f=" + as_batch(f)});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t k = 0; k < 3; ++k) {
      double mean = 0;
      for (std::size_t h = 0; h < 2; ++h) {
        double g = k <= t ? i[k][h] : 0;
        for (std::size_t l = k + 1; l <= t; ++l) g *= f[l][h];
        EXPECT_NEAR(json["g"][t][k][0][h], g, 1e-6) << t << " " << k;
        mean += g / 2;
      }
      EXPECT_NEAR(json["weights"][t][k][0], mean, 1e-6);
    }
  }
  const Ran arcs = graphrun({"plot", "--arcs", "-", "--words", "the cat sat"}, ran.out);
  EXPECT_EQ(arcs.code, 0) << arcs.err;
  EXPECT_THAT(arcs.out, HasSubstr("<title>sat to cat: "));
  const Ran page = graphrun({"plot", "--matrix", "-", "--words", "the cat sat", "-o", "m.html"}, ran.out);
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(read("m.html"), HasSubstr("<img alt=\"matrix\" src=\"data:image/svg+xml,%3Csvg"));
  refused({"plot", "--arcs", "-", "--words", "the cat"}, 2, "--words has 2 words; '-' has weights of 3", ran.out);
  refused({"plot", "--arcs", "-"}, 2, "--words is missing", ran.out);
  refused({"plot", "--arcs", "-", "--key", "gg"}, 4, "E0693 bad-figures", ran.out);
}

// A line for each sentence; the weights of its end, which is no word, are left out.
TEST_F(PlotFigures, ArcsOfSeveralSentences) {
  const std::string lines =
      "{\"units\": [\"the\", \"cat\"], \"w\": [[1, 0, 0], [0.5, 1, 0], [0.2, 0.3, 1]]}\n"
      "{\"units\": [\"a\"], \"w\": [[1]]}\n";
  const Ran arcs = graphrun({"plot", "--arcs", "-", "--key", "w"}, lines);
  ASSERT_EQ(arcs.code, 0) << arcs.err;
  EXPECT_EQ(count_of(arcs.out, "<g transform"), 2U);
  EXPECT_EQ(count_of(arcs.out, "<path"), 1U);
  EXPECT_THAT(arcs.out, HasSubstr("<title>cat to the: 0.5</title>"));
}

TEST_F(PlotFigures, Mistakes) {
  refused({"plot", "--surface", "sigmoyd(x)"}, 3, "sigmoid");
  refused({"plot", "--surface", "z"}, 3, "E0692 bad-surface");
  refused({"plot", "--surface", "x", "--range", "3,1"}, 2, "--range takes two numbers, LOW,HIGH");
  refused({"plot", "--surface", "x", "model"}, 2, "--surface takes the place of MODEL");
  refused({"plot", "--surface", "x", "--groups", "y"}, 2, "are two pictures");
  refused({"plot", "--surface", "x", "-o", "x.png"}, 2, "expected a name that ends in .svg or .html");
  refused({"plot", "--groups", "-"}, 4, "no object with details of reports", "{}");
  refused({"plot", "--groups", "-"}, 4, "no report has groups", "{\"details\": {}}");
}

}  // namespace
}  // namespace graphrun
