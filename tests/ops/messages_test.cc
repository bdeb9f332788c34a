// Messages of ops for users whose operands, attributes or indices do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/base/status.h"
#include "tests/ops/fixture.h"

namespace graphrun::tests {
namespace {

using ::testing::HasSubstr;

// The shape rule's answer to a case: "code: text", or "" if it accepts it.
std::string refusal(const Case& c) {
  try {
    forward_graph(c);
    return "";
  } catch (const ir::OpError& e) {
    return e.code + ": " + e.what();
  }
}

// The message that running a case throws.
std::string failure(const Case& c) {
  try {
    run_forward(c, Precision::kFloat32);
    return "";
  } catch (const UserError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::kBadData);
    return e.diagnostics().at(0).code + ": " + e.diagnostics().at(0).text;
  }
}

TEST(OpMessages, AxesAndLengths) {
  EXPECT_THAT(refusal(CaseBuilder("sum", "").in(uniform({2, 3})).axes({2})), HasSubstr("sum: axis 2 of a value with 2 axes"));
  EXPECT_THAT(refusal(CaseBuilder("sum", "").in(uniform({2, 3, 4})).axes({0, 2})), HasSubstr("axes 0 and 2 are not neighbors"));
  EXPECT_THAT(refusal(CaseBuilder("mean", "").in(uniform({2, 3})).in(integers({3}, {1, 1, 1}))), HasSubstr("none is named"));
  EXPECT_THAT(refusal(CaseBuilder("softmax", "").in(uniform({2, 3})).in(integers({3}, {1, 1, 1}))),
              HasSubstr("softmax: lengths [3] do not fit [2, 3] along axis 1"));
  EXPECT_THAT(refusal(CaseBuilder("max", "").in(uniform({2, 3})).in(uniform({3})).axes({0})),
              HasSubstr("its second operand is lengths, INT32"));
  EXPECT_THAT(refusal(CaseBuilder("argmax", "").in(uniform({2, 3}))), HasSubstr("needs the attribute 'axis'"));
}

TEST(OpMessages, Shapes) {
  EXPECT_THAT(refusal(CaseBuilder("cross_entropy", "").in(uniform({2, 3})).in(integers({3}, {0, 0, 0}))),
              HasSubstr("cross_entropy: target [3] does not fit logits [2, 3]"));
  EXPECT_THAT(refusal(CaseBuilder("pick", "").in(uniform({2, 3})).in(integers({3}, {0, 0, 0}))),
              HasSubstr("pick: i [3] does not fit x [2, 3]"));
  EXPECT_THAT(refusal(CaseBuilder("concat", "").in(uniform({2, 3})).in(uniform({3, 3})).axis(-1)),
              HasSubstr("concat: operand 2 is [3, 3], the first is [2, 3]"));
  EXPECT_THAT(refusal(CaseBuilder("concat", "").in(uniform({2})).in(integers({2}, {0, 0})).axis(0)),
              HasSubstr("operand 2 is INT32[2]"));
  EXPECT_THAT(refusal(CaseBuilder("stack", "").in(uniform({2})).in(uniform({3}))),
              HasSubstr("stack: operand 2 is [3], the first is [2]"));
  EXPECT_THAT(refusal(CaseBuilder("split", "").in(uniform({2, 5})).with("parts", std::int64_t{2})),
              HasSubstr("5 does not divide into 2 parts"));
  EXPECT_THAT(refusal(CaseBuilder("reshape", "").in(uniform({2, 3})).shapes({"[batch, 3]"}).with("shape", Shape{3, 2})),
              HasSubstr("reshape: [batch, 3] has 3*batch elements, [3, 2] has 6"));
  EXPECT_THAT(refusal(CaseBuilder("broadcast_to", "").in(uniform({2})).with("shape", Shape{3})),
              HasSubstr("[2] does not broadcast to [3]"));
  EXPECT_THAT(refusal(CaseBuilder("sum_to", "").in(uniform({2})).with("shape", Shape{3})),
              HasSubstr("[3] does not broadcast to [2]"));
  EXPECT_THAT(refusal(CaseBuilder("transpose", "").in(uniform({2, 2})).with("permutation", std::vector<std::int64_t>{0, 0})),
              HasSubstr("does not name each axis"));
  EXPECT_THAT(refusal(CaseBuilder("layer_norm", "").in(uniform({2, 3})).in(uniform({2})).in(uniform({3}))),
              HasSubstr("gain must be [3] as the last axis of x [2, 3], found [2]"));
  EXPECT_THAT(refusal(CaseBuilder("put", "").in(uniform({4, 3})).in(uniform({2})).in(integers({}, {0}))),
              HasSubstr("put: row [2] does not fit buffer [4, 3]"));
  EXPECT_THAT(refusal(CaseBuilder("slice", "").in(uniform({4})).axis(0).with("begin", Dim(1)).with("end", Dim(5))),
              HasSubstr("slice: 1:5 of axis 0 of [4]"));
  EXPECT_THAT(refusal(CaseBuilder("index", "").in(uniform({4})).axis(0).with("at", Dim(4))),
              HasSubstr("position 4 of axis 0 of [4]"));
  EXPECT_THAT(refusal(CaseBuilder("topk", "").in(uniform({4})).with("k", std::int64_t{5})), HasSubstr("k = 5 of FLOAT[4]"));
  EXPECT_THAT(refusal(CaseBuilder("gather", "").in(uniform({4})).in(uniform({2}))), HasSubstr("indices must be INT32"));
}

TEST(OpMessages, PrecisionsThatProductsDoNotHave) {
  const auto expected = [](const std::string& op, CaseBuilder built) {
    EXPECT_THAT(refusal(built.with("precision", std::string("HALF"))),
                HasSubstr(op + ": precision must be 'FLOAT32' or absent, found 'HALF'"));
  };
  for (const char* op : {"matmul", "matmul_reduce", "matmul_many", "matmul_reduce_many", "matmul_sum"})
    expected(op, CaseBuilder(op, "").in(uniform({2, 2})).in(uniform({2, 2})));
  expected("gather_matmul",
           CaseBuilder("gather_matmul", "").in(uniform({3, 2})).in(integers({2}, {0, 1})).absent().in(uniform({2, 2})));
}

TEST(OpMessages, IndicesThatComeWithTheData) {
  EXPECT_EQ(failure(CaseBuilder("gather", "").in(uniform({4, 2})).in(integers({2, 2}, {0, 3, 4, 1}))),
            "E0610 index-out-of-range: gather: index 4 at [1, 0] is not in 0 … 3");
  EXPECT_EQ(failure(CaseBuilder("pick", "").in(uniform({2, 2})).in(integers({2}, {0, -1}))),
            "E0610 index-out-of-range: pick: index -1 at [1] is not in 0 … 1");
  EXPECT_EQ(failure(CaseBuilder("put", "").in(uniform({2, 2})).in(uniform({2})).in(integers({}, {2}))),
            "E0610 index-out-of-range: put: row 2 is not in 0 … 1");
  EXPECT_EQ(failure(CaseBuilder("select_rows", "").in(uniform({2, 3})).in(integers({2}, {0, 3})).axis(1)),
            "E0610 index-out-of-range: select_rows: row 3 at [1] is not in 0 … 2");
  // The smaller of two operands limits the row numbers of a program.
  const auto by_row = [](const std::string& op, const std::string& code) {
    return CaseBuilder(op, "")
        .in(uniform({4, 5}))
        .in(uniform({3, 5}))
        .in(integers({2}, {2, 3}))
        .with("code", code)
        .with("rows", std::vector<std::int64_t>{0, 0});
  };
  EXPECT_EQ(failure(by_row("fused", "t0 = add(x0, x1); t1 = exp(t0); return t1")),
            "E0610 index-out-of-range: row 3 at [1] is not in 0 … 2");
  EXPECT_EQ(failure(by_row("fused_reduction", "t0 = add(x0, x1); return sum(t0)").axes({1})),
            "E0610 index-out-of-range: row 3 at [1] is not in 0 … 2");
  EXPECT_THAT(failure(CaseBuilder("cross_entropy", "").in(uniform({1, 3})).in(integers({1}, {3}))),
              HasSubstr("target 3 at [0]"));
  EXPECT_THAT(failure(CaseBuilder("one_hot", "").in(integers({1}, {3})).with("depth", Dim(3))), HasSubstr("one_hot: index 3"));
  EXPECT_THAT(failure(CaseBuilder("scatter_add", "").in(integers({1}, {3})).in(uniform({1})).with("rows", Dim(3))),
              HasSubstr("scatter_add: index 3"));
  EXPECT_THAT(
      failure(CaseBuilder("gather_matmul", "").in(uniform({3, 2})).in(integers({2}, {0, 3})).absent().in(uniform({2, 2}))),
      HasSubstr("gather: index 3 at [1]"));
  EXPECT_THAT(failure(CaseBuilder("gather", "").in(uniform({0, 2})).in(integers({1}, {0}))),
              HasSubstr("nothing to choose from"));
}

TEST(OpMessages, SlicesThatDoNotFitTheBatch) {
  const Dim time = Symbol::named("time");
  EXPECT_EQ(failure(CaseBuilder("slice", "")
                        .in(uniform({2, 3}))
                        .shapes({"[time, batch]"})
                        .axis(0)
                        .with("begin", Dim(0))
                        .with("end", Dim(3))),
            "E0611 slice-out-of-range: slice: 0:3 of an axis of size 2");
  EXPECT_THAT(failure(CaseBuilder("index", "").in(uniform({2, 3})).shapes({"[time, batch]"}).axis(1).with("at", time + 1)),
              HasSubstr("position 3 of an axis of size 3"));
}

}  // namespace
}  // namespace graphrun::tests
