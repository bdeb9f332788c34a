#include "tools/model/results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tools/report/table.h"

namespace graphrun {
namespace {

const ReportResults kResults = {{"loss", 0.12345}, {"f1.precision", 0.5}, {"perplexity", 1.5e7}};

TEST(Results, ReadAsOneLine) { EXPECT_EQ(results_text(kResults), "loss 0.1235  f1.precision 0.5000  perplexity 1.5e+07"); }

TEST(Results, ReadAsATable) {
  EXPECT_EQ(
      results_table({{"valid", kResults}, {"test", {{"loss", 12.5}, {"f1.precision", 0.25}, {"perplexity", 1.0 / 4096}}}}),
      "          loss  f1.precision  perplexity\n"
      "valid   0.1235        0.5000     1.5e+07\n"
      "test   12.5000        0.2500   0.0002441\n");
  EXPECT_EQ(results_table({}), "");
  EXPECT_EQ(results_table({{"test", {}}}), "");
}

// Whether a NaN has its sign bit set depends on the processor and on the order of operations.
TEST(Results, NanHasNoSign) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const ReportResults results = {{"a", std::copysign(nan, -1.0)}, {"b", std::copysign(nan, 1.0)}, {"c", -inf}};
  EXPECT_EQ(results_text(results), "a nan  b nan  c -inf");
  EXPECT_EQ(results_table({{"valid", results}}), "         a    b     c\nvalid  nan  nan  -inf\n");
  EXPECT_EQ(table_text({"by kind", {"mean"}, {{"x", {std::copysign(nan, -1.0)}}}}), "by kind  mean\nx         nan\n");
}

TEST(Results, ComeBackFromJson) {
  const std::string text = nlohmann::ordered_json{{"valid", results_json(kResults)}}.dump();
  EXPECT_EQ(parse_results(text, "valid"), kResults);
  EXPECT_EQ(parse_results(text, "test"), std::nullopt);
  EXPECT_EQ(parse_results("no JSON", "valid"), std::nullopt);
}

TEST(Results, AnswerByName) {
  EXPECT_EQ(result_of(kResults, "loss"), 0.12345);
  EXPECT_TRUE(std::isnan(result_of(kResults, "los")));
}

}  // namespace
}  // namespace graphrun
