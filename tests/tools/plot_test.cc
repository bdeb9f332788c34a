#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/program_fixture.h"
#include "tests/tools/scratch.h"
#include "tools/plot/alignments.h"
#include "tools/plot/chart.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

constexpr const char* kMetrics =
    "{\"step\":100,\"epoch\":1,\"loss\":3.5,\"gradient_norm\":1,\"learning_rate\":0.1}\n"
    "{\"epoch\":1,\"step\":150,\"loss\":3,\"learning_rate\":0.1,\"valid\":{\"f1\":0.5,\"loss\":null}}\n"
    "{\"step\":200,\"epoch\":2,\"loss\":2.5,\"gradient_norm\":2,\"learning_rate\":0.1}\n"
    "{\"epoch\":2,\"step\":300,\"loss\":2,\"learning_rate\":0.1,\"valid\":{\"f1\":0.75,\"loss\":1}}\n"
    "{\"epoch\":2,\"test\":{\"f1\":0.7}}\n";

TEST(Plot, CurvesOfARun) {
  const RunCurves run = parse_metrics(kMetrics, "metrics.jsonl");
  EXPECT_THAT(run.order, ElementsAre("loss", "gradient norm", "learning rate", "valid f1", "valid loss"));
  EXPECT_THAT(run.curves.at("loss"), ElementsAre(Pair(100, 3.5), Pair(200, 2.5)));
  EXPECT_THAT(run.curves.at("valid f1"), ElementsAre(Pair(150, 0.5), Pair(300, 0.75)));
  EXPECT_THAT(run.curves.at("valid loss"), ElementsAre(Pair(300, 1)));
}

TEST(Plot, AShortRunShowsItsEpochs) {
  const RunCurves run =
      parse_metrics("{\"epoch\":1,\"step\":5,\"loss\":3}\n{\"epoch\":2,\"step\":10,\"loss\":2}\n", "metrics.jsonl");
  EXPECT_THAT(run.curves.at("loss"), ElementsAre(Pair(5, 3), Pair(10, 2)));
}

TEST(Plot, ALineThatIsNone) {
  EXPECT_THAT(message_of([] { parse_metrics("{\"step\":1,\"loss\":2}\nhello\n{}\n", "m.jsonl"); }),
              HasSubstr("m.jsonl:2:1: error[E0690 bad-metrics]"));
  EXPECT_EQ(parse_metrics("{\"step\":1,\"loss\":2}\n{\"step\":2,\"lo", "m.jsonl").curves.at("loss").size(), 1u);
}

TEST(Plot, TicksAreRound) {
  EXPECT_THAT(nice_ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(nice_ticks(0.1, 0.9, 4), ElementsAre(testing::DoubleEq(0.2), testing::DoubleEq(0.4),
                                                   testing::DoubleNear(0.6, 1e-12), testing::DoubleEq(0.8)));
  EXPECT_THAT(nice_ticks(3, 3, 5), ElementsAre(3));
}

TEST(Plot, SeveralRunsInOnePicture) {
  RunCurves first = parse_metrics(kMetrics, "a"), second = parse_metrics(kMetrics, "b");
  first.name = "atr", second.name = "a<b>&c";
  const std::string svg = draw_runs({first, second});
  EXPECT_THAT(svg, HasSubstr(">atr</text>"));
  EXPECT_THAT(svg, HasSubstr(">a&lt;b&gt;&amp;c</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  std::size_t curves = 0, titles = 0;
  for (std::size_t at = 0; (at = svg.find("<polyline", at)) != std::string::npos; ++at) ++curves;
  for (std::size_t at = 0; (at = svg.find("class=\"title\"", at)) != std::string::npos; ++at) ++titles;
  EXPECT_EQ(curves, 10u);
  EXPECT_EQ(titles, 5u);
}

// The shares of saturated gates, say: the axis shows numbers that one reads.
TEST(Plot, ACurveOfZeros) {
  RunCurves run;
  run.order = {"low of i"};
  run.curves["low of i"] = {{10, 0}, {20, 0}};
  const std::string svg = draw_runs({run});
  EXPECT_THAT(svg, HasSubstr(">0.4</text>"));
  EXPECT_THAT(svg, Not(testing::ContainsRegex("[0-9]e-[0-9]")));
}

constexpr const char* kAligned =
    "{\"text\":\"a < b\",\"tokens\":[\"a\",\"<\",\"b\"],\"units\":[\"x\",\"y\"],\"alignment\":[[1,0],[0.25,0.75],[0,1]]}\n";

TEST(PlotAlignments, ACellForEachWordAndUnit) {
  const auto sentences = parse_alignments(std::string(kAligned) + "{\"text\":\"\"}\n\n" + kAligned, "lines");
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[1].line, 4);
  const std::string svg = draw_alignments(sentences);
  EXPECT_THAT(svg, testing::AllOf(HasSubstr(">&lt;</text>"), HasSubstr("fill-opacity=\"0.750\"><title>&lt; – y: 0.750"),
                                  HasSubstr("line 4")));
  std::size_t cells = 0;
  for (std::size_t at = 0; (at = svg.find("fill-opacity", at)) != std::string::npos; ++at) ++cells;
  EXPECT_EQ(cells, 12u);
}

TEST(PlotAlignments, LinesThatAreNone) {
  const auto told = [](const std::string& line) { return message_of([&] { parse_alignments(kAligned + line, "lines"); }); };
  EXPECT_THAT(told("hello\n"), HasSubstr("lines:2:1: error[E0691 bad-alignments]"));
  EXPECT_THAT(told("{\"text\":\"a\",\"tokens\":[\"a\"]}\n"), HasSubstr("aligned to nothing"));
  EXPECT_THAT(told("{\"tokens\":[\"a\"],\"units\":[\"x\"],\"alignment\":[[1,2]]}\n"), HasSubstr("not as many weights"));
  EXPECT_THAT(told("{\"tokens\":[1],\"units\":[\"x\"],\"alignment\":[[1]]}\n"), HasSubstr("the wrong type"));
}

class PlotCommand : public ProgramTest {};

TEST_F(PlotCommand, WritesAPicture) {
  write("one/metrics.jsonl", kMetrics);
  write("two/metrics.jsonl", kMetrics);
  write("empty/metrics.jsonl", "");
  const Ran ran = graphrun({"plot", "one", "two/", "-o", "curves.svg"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(read("curves.svg"), HasSubstr(">two</text>"));
  EXPECT_THAT(graphrun({"plot", "one"}).out, testing::StartsWith("<svg "));
  // Runs of the same name are distinguished by their folders.
  write("other/one/metrics.jsonl", kMetrics);
  EXPECT_THAT(graphrun({"plot", "one", "other/one"}).out,
              testing::AllOf(HasSubstr(">one</text>"), HasSubstr(">other/one</text>")));
  const Ran pixels = graphrun({"plot", "one", "-o", "curves.png"});
  EXPECT_EQ(pixels.code, 2);
  EXPECT_THAT(pixels.err, HasSubstr("a name that ends in .svg"));
  const Ran nothing = graphrun({"plot", "empty"});
  EXPECT_EQ(nothing.code, 4);
  EXPECT_THAT(nothing.err, HasSubstr("nothing to draw"));
  EXPECT_THAT(graphrun({"plot", "none"}).err, HasSubstr("there is no folder 'none'"));
  EXPECT_EQ(graphrun({"plot"}).code, 2);
  EXPECT_EQ(graphrun({"plot", "one", "--alignments", "one/metrics.jsonl"}).code, 2);
  EXPECT_EQ(graphrun({"plot", "--alignments", "one/metrics.jsonl"}).code, 4);
}

}  // namespace
}  // namespace graphrun
