// graphrun report: a page of runs, in one file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/program_fixture.h"
#include "tools/plot/page.h"

namespace graphrun {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Page, EscapesAndEmbeds) {
  const std::string page =
      html_page("a<b>", {{"first", html_table({{"x"}, {"<y>"}})}, {"empty", ""}, {"job", preformatted("a\n<b>"), true}});
  EXPECT_THAT(page, HasSubstr("<title>a&lt;b&gt;</title>"));
  EXPECT_THAT(page, HasSubstr("<th>x</th></tr>\n<tr><td>&lt;y&gt;</td>"));
  EXPECT_THAT(page, Not(HasSubstr("empty")));
  EXPECT_THAT(page, HasSubstr("<details><summary>job</summary>\n<pre>a\n&lt;b&gt;</pre>"));
  EXPECT_THAT(page, Not(HasSubstr("http-equiv")));
  EXPECT_THAT(html_page("t", {}, 7), HasSubstr("<meta http-equiv=\"refresh\" content=\"7\">"));
  EXPECT_EQ(svg_image("<svg a=\"#1\"/>", "x"), "<img alt=\"x\" src=\"data:image/svg+xml,%3Csvg a=%22%231%22/%3E\">\n");
}

// With sums, stronger colors for greater shares of a row, and the greatest mistakes first; without a class that never occurs.
TEST(Page, ShowsConfusions) {
  const std::string html =
      html_figures(Table{"gold", {"a<", "no", "b"}, {{"a<", {3, 0, 1}}, {"no", {0, 0, 0}}, {"b", {16, 0, 0}}}, true});
  EXPECT_THAT(html,
              HasSubstr("<tr><th></th><th><span>a&lt;</span></th><th><span>b</span></th><th>all</th><th>right</th></tr>\n"));
  EXPECT_THAT(html, HasSubstr("<tr><th>a&lt;</th><td class=\"right\" style=\"background: rgba(0, 114, 178, 0.52)\" "
                              "title=\"a&lt; as a&lt;: 3 of 4, 75.0 %\">3</td>"
                              "<td style=\"background: rgba(230, 120, 0, 0.30)\" title=\"a&lt; as b: 1 of 4, 25.0 %\">1</td>"
                              "<td class=\"sum\">4</td><td class=\"sum\">75.0 %</td></tr>\n"));
  EXPECT_THAT(html, HasSubstr("<td class=\"right\"></td><td class=\"sum\">16</td><td class=\"sum\">0.0 %</td></tr>\n"));
  EXPECT_THAT(html, HasSubstr("<tr><th>all</th><td class=\"sum\">19</td><td class=\"sum\">1</td><td class=\"sum\">20</td>"
                              "<td class=\"sum\">15.0 %</td></tr>\n"));
  EXPECT_THAT(html, HasSubstr("<tr><td>b</td><td>a&lt;</td><td>16</td><td>100.0 %</td></tr>\n"
                              "<tr><td>a&lt;</td><td>b</td><td>1</td><td>25.0 %</td></tr>\n"));
  EXPECT_THAT(html, HasSubstr("<p>gold; blue: right"));
  EXPECT_THAT(html, HasSubstr("<table class=\"confusion\">"));
  Table many{"gold", {}, {}, true};
  for (int i = 0; i < 9; ++i) {
    many.columns.push_back(std::to_string(i));
    many.rows.push_back({std::to_string(i), std::vector<double>(9, 1)});
  }
  EXPECT_THAT(html_figures(many), HasSubstr("<table class=\"confusion narrow\">"));
  EXPECT_THAT(html_figures(Table{"plain", {"n", "x"}, {{"a", {2, 0.5}}, {"b", {3, 0}}}}),
              HasSubstr("<tr><td>a</td><td>2</td><td>0.5000</td></tr>\n<tr><td>b</td><td>3</td><td>0.0000</td></tr>"));
}

class RunPageCommand : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
    const Ran ran = graphrun(
        {"train", "graphs/jobs/segment.pbtxt", "--out", "runs/a", "--set", "train.epochs=2", "--set",
         "train.metrics.every_steps=2", "--set", "train.watch.match=crf.*", "--set", "train.watch.every_steps=2", "--set",
         "report=acc = accuracy(tags, path, lengths=lengths), f1 = segmentation(tags, path, lengths=lengths)"});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
};

TEST_F(RunPageCommand, HasAllOfARun) {
  const Ran ran = graphrun({"report", "runs/a", "--evaluate", "-o", "run.html"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string page = read("run.html");
  for (const char* title : {"Reports", "Curves", "Watched", "Speed and memory", "By class and group", "Machine"})
    EXPECT_THAT(page, HasSubstr(std::string("<h2>") + title + "</h2>"));
  EXPECT_THAT(page, HasSubstr("<th>valid f1</th>"));
  EXPECT_THAT(page, HasSubstr("gold (rows) against predicted (columns)"));
  EXPECT_THAT(page, HasSubstr("<summary>Job</summary>\n<pre># proto"));
  EXPECT_THAT(page, HasSubstr("the training ended"));
  // No other file, no network.
  for (const char* other : {"src=\"http", "href=", "<script src", "url("}) EXPECT_THAT(page, Not(HasSubstr(other)));
}

TEST_F(RunPageCommand, SeveralRunsAndARunThatHasEnded) {
  ASSERT_EQ(graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "runs/b", "--set", "train.epochs=1"}).code, 0);
  const Ran ran = graphrun({"report", "runs", "--live", "--every", "1", "-o", "runs.html"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string page = read("runs.html");
  EXPECT_THAT(page, HasSubstr("<title>graphrun: a b</title>"));
  EXPECT_THAT(page, HasSubstr("<summary>Job of b</summary>"));
  EXPECT_THAT(page, Not(HasSubstr("http-equiv")));
}

TEST_F(RunPageCommand, Mistakes) {
  const auto refused = [&](const std::vector<std::string>& words, int code, const std::string& text) {
    const Ran ran = graphrun(words);
    EXPECT_EQ(ran.code, code) << text;
    EXPECT_THAT(ran.err, HasSubstr(text));
  };
  refused({"report", "none"}, 4, "there is no folder 'none'");
  refused({"report", "runs/a", "-o", "run.svg"}, 2, "the page is HTML; expected a name that ends in .html");
  refused({"report", "runs/a", "--live"}, 2, "--live needs --out FILE");
  refused({"report", "runs/a", "--live", "--evaluate", "-o", "x.html"}, 2, "--evaluate and --live do not go together");
}

}  // namespace
}  // namespace graphrun
