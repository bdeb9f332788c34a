// Kernels of a device check the indices that they use, and report what the CPU reports: the first bad index, and where it is.
#include <gmock/gmock.h>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/device/device.h"
#include "runtime/execute/executable.h"
#include "tests/cuda/device.h"

namespace graphrun {
namespace {

using ::testing::HasSubstr;

struct IndexedOp {
  const char* name;
  const char* inputs;  // besides `indices`
  const char* shape;   // of the indices
  const char* op;
  std::int64_t bound;
  std::size_t launches;  // on the device
};

class CudaIndices : public ::testing::TestWithParam<IndexedOp> {
 protected:
  void SetUp() override { tests::tested_device(); }
  void TearDown() override {
    if (tests::is_emulated()) tests::emulate_backwards(false);
  }

  static Program program() {
    const IndexedOp& of = GetParam();
    CompileOptions options;
    options.fetches = {"y"};
    return compile(ir::parse("graph \"g\" {\n" + std::string(of.inputs) + "  input %indices: INT32" + of.shape +
                                 "\n  %y = " + of.op + "\n  output \"y\" = %y\n}\n",
                             "g"),
                   options);
  }
  // 0, 1, …, bound - 1, 0, 1, …, and the given ones at their places.
  static Feeds feeds(const Program& program, const std::vector<std::pair<std::int64_t, std::int32_t>>& given) {
    Feeds made;
    for (const FeedSpec& feed : program.feeds) {
      Sizes sizes;
      for (const Dim& size : feed.shape) sizes.push_back(size.constant());
      Tensor tensor(feed.dtype, sizes);
      for (std::int64_t i = 0; i < tensor.count(); ++i) {
        if (feed.dtype == DType::kInt32) {
          tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % std::max<std::int64_t>(GetParam().bound, 1));
        } else {
          tensor.data<float>()[i] = 0.25f * static_cast<float>(i % 7);
        }
      }
      if (feed.name == "indices") {
        for (const auto& [at, index] : given) {
          if (at < tensor.count()) tensor.data<std::int32_t>()[at] = index;
        }
      }
      made[feed.name] = tensor;
    }
    return made;
  }
  static std::string message(Executable& executable, const Feeds& feeds) {
    try {
      executable.run(feeds);
      return "";
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kBadData);
      return error.what();
    }
  }
};

TEST_P(CudaIndices, AreReportedAsOnTheCpu) {
  const auto bound = static_cast<std::int32_t>(GetParam().bound);
  Executable here(program(), std::make_shared<Variables>(), cpu_device()),
      there(program(), std::make_shared<Variables>(), tests::tested_device());
  using Bad = std::vector<std::pair<std::int64_t, std::int32_t>>;
  // Those far apart are in different blocks.
  for (const Bad& bad :
       {Bad{{0, bound}}, Bad{{2, -1}, {0, bound + 5}}, Bad{{599, -7}}, Bad{{300, bound}, {599, -7}, {310, -2}}}) {
    const std::string expected = message(here, feeds(here.program(), bad));
    for (const bool backwards : {false, true}) {
      if (tests::is_emulated()) tests::emulate_backwards(backwards);
      EXPECT_EQ(message(there, feeds(there.program(), bad)), expected);
    }
  }
  if (bound == 0) return;
  EXPECT_THAT(message(there, feeds(there.program(), {{0, bound}})), HasSubstr(std::to_string(bound)));
  EXPECT_EQ(message(there, feeds(there.program(), {})), "");
}

TEST_P(CudaIndices, NeedNoLaunchOfTheirOwn) {
  if (!tests::is_emulated()) GTEST_SKIP() << "only the emulated device counts its launches";
  if (GetParam().bound == 0) GTEST_SKIP() << "no index is valid, so no run succeeds";
  Executable there(program(), std::make_shared<Variables>(), tests::tested_device());
  const Feeds fed = feeds(there.program(), {});
  const std::size_t before = tests::emulated_launches();
  there.run(fed);
  EXPECT_EQ(tests::emulated_launches() - before, GetParam().launches);
}

// An index that no element of the result reads is checked all the same.
const IndexedOp kIndexedOps[] = {
    {"Gather", "  input %x: FLOAT[5, 3]\n", "[20, 30]", "gather(%x, %indices)", 5, 1},
    {"GatherOfNothing", "  input %x: FLOAT[5, 0]\n", "[20, 30]", "gather(%x, %indices)", 5, 1},
    {"GatherFromNothing", "  input %x: FLOAT[0, 3]\n", "[600]", "gather(%x, %indices)", 0, 1},
    {"GatherProductsOfFewRows", "  input %x: FLOAT[5, 3]\n  input %w: FLOAT[3, 4]\n", "[3]",
     "gather_matmul(%x, %indices, _, %w)", 5, 1},
    {"GatherProducts", "  input %x: FLOAT[5, 3]\n  input %w: FLOAT[3, 4]\n", "[600]", "gather_matmul(%x, %indices, _, %w)", 5,
     2},
    {"GatherOne", "  input %x: INT32[5]\n", "[]", "gather(%x, %indices)", 5, 1},
    {"Pick", "  input %x: FLOAT[600, 4]\n", "[600]", "pick(%x, %indices)", 4, 1},
    {"OneHot", "", "[600]", "one_hot(%indices; depth=<5>)", 5, 1},
    {"ScatterAdd", "  input %x: FLOAT[600, 2]\n", "[600]", "scatter_add(%indices, %x; rows=<7>)", 7, 2},
    {"ScatterAddOfNothing", "  input %x: FLOAT[600, 0]\n", "[600]", "scatter_add(%indices, %x; rows=<7>)", 7, 1},
    {"ScatterLast", "  input %x: FLOAT[300, 2]\n", "[300, 2]", "scatter_last(%indices, %x; size=<7>)", 7, 1},
    {"Put", "  input %x: FLOAT[5, 300]\n  input %row: FLOAT[300]\n", "[]", "put(%x, %row, %indices)", 5, 1},
    {"PutOfNothing", "  input %x: FLOAT[5, 0]\n  input %row: FLOAT[0]\n", "[]", "put(%x, %row, %indices)", 5, 1},
    {"CrossEntropy", "  input %x: FLOAT[600, 6]\n", "[600]", "cross_entropy(%x, %indices; label_smoothing=0.0)", 6, 1},
};

INSTANTIATE_TEST_SUITE_P(Ops, CudaIndices, ::testing::ValuesIn(kIndexedOps),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace graphrun
