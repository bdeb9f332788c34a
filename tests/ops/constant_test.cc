#include <gtest/gtest.h>

#include "compiler/ir/builder.h"
#include "tests/ops/run_kernel.h"

namespace graphrun {
namespace {

using tests::KernelCall;
using tests::run_kernel;

TEST(Constants, FillTheirShapeInEveryType) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kBool}) {
    KernelCall call{"full", {}, {}, {}, {}};
    call.attributes.set("value", 1.0);
    const Tensor ones = run_kernel(call, dtype, {3, 5});
    for (std::int64_t i = 0; i < 15; ++i) EXPECT_EQ(ones.at(i), 1) << name_of(dtype);
    call.op = "constant";
    EXPECT_EQ(run_kernel(call, dtype, {}).at(0), 1);
    const Tensor out = ones.clone();
    tests::run_kernel_into({"zeros", {}, {}, {}, {}}, {out});
    for (std::int64_t i = 0; i < 15; ++i) EXPECT_EQ(out.at(i), 0) << name_of(dtype);
  }
}

TEST(Constants, DimIsASizeAndRangeCountsToIt) {
  const Symbol time = Symbol::named("time");
  KernelCall call{"dim", {}, {}, {}, {{time, 35}}};
  call.attributes.set("size", Dim(time) * Dim(2) + Dim(1));
  EXPECT_EQ(run_kernel(call, DType::kInt32, {}).at(0), 71);
  call.symbols[time] = std::int64_t{1} << 40;
  EXPECT_THROW(run_kernel(call, DType::kInt32, {}), UserError);
  const Tensor y = run_kernel({"range", {}, {}, {}, {}}, DType::kInt32, {4});
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.at(i), static_cast<double>(i));
}

TEST(Constants, RefuseNumbersThatTheTypeHasNot) {
  ir::Graph graph;
  ir::Builder builder(graph);
  EXPECT_NO_THROW(builder.op("constant", {}, {{"value", 2.0}, {"type", std::string("INT32")}}));
  EXPECT_THROW(builder.op("constant", {}, {{"value", 2.5}, {"type", std::string("INT32")}}), ir::OpError);
  EXPECT_THROW(builder.op("constant", {}, {{"value", 3e9}, {"type", std::string("INT32")}}), ir::OpError);
  EXPECT_THROW(builder.op("constant", {}, {{"value", 2.0}, {"type", std::string("BOOL")}}), ir::OpError);
  EXPECT_THROW(builder.op("constant", {}, {{"value", 2.0}, {"type", std::string("DOUBLE")}}), ir::OpError);
}

TEST(PointwiseTypes, PromoteBesideFloatAndAreRefusedElsewhere) {
  ir::Graph graph;
  ir::Builder b(graph);
  const Dim batch = Symbol::named("batch");
  const ir::ValueId f = b.input("f", {Type::kFloat, {batch, Dim(3)}}), i = b.input("i", {Type::kInt32, {Dim(3)}}),
                    t = b.input("t", {Type::kBool, {batch, Dim(1)}}), other = b.input("o", {Type::kFloat, {batch, Dim(4)}});
  const auto type = [&](std::string_view op, std::vector<ir::ValueId> in) { return graph.type(b.op(op, std::move(in))).str(); };
  EXPECT_EQ(type("add", {f, i}), "FLOAT[batch, 3]");
  EXPECT_EQ(type("mul", {t, f}), "FLOAT[batch, 3]");
  EXPECT_EQ(type("add", {i, i}), "INT32[3]");
  EXPECT_EQ(type("div", {i, i}), "FLOAT[3]");
  EXPECT_EQ(type("exp", {i}), "FLOAT[3]");
  EXPECT_EQ(type("lt", {i, f}), "BOOL[batch, 3]");
  EXPECT_EQ(type("where", {t, i, f}), "FLOAT[batch, 3]");
  EXPECT_EQ(type("where", {t, i, i}), "INT32[batch, 3]");
  EXPECT_THROW(type("add", {i, t}), ir::OpError);
  EXPECT_THROW(type("and", {f, t}), ir::OpError);
  EXPECT_THROW(type("where", {f, i, i}), ir::OpError);
  EXPECT_THROW(type("add", {f, other}), ir::OpError);
}

}  // namespace
}  // namespace graphrun
