// Generated kernels: their texts, their arguments, and the cache on disk.
#include "runtime/cuda/generated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "compiler/ir/pointwise_program.h"
#include "ops/generated/device_code.h"
#include "ops/tiles/tile_steps.h"
#include "runtime/base/code_cache.h"
#include "runtime/base/file.h"
#include "tests/runtime/temporary_folder.h"

namespace graphrun {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DeviceCode code_of(const char* program, const std::vector<Sizes>& inputs, const Sizes& result, DType dtype = DType::kFloat32) {
  KernelRequest request;
  for (const Sizes& sizes : inputs) request.inputs.push_back({nullptr, dtype, sizes});
  request.outputs.push_back({nullptr, dtype, result});
  return DeviceCode(result, request.inputs, tile_steps(ir::parse_program(program), request));
}

TEST(DeviceCode, IsOneTextForManySizes) {
  const char* const program = "t0 = add(x0, x1); t1 = tanh(t0); return t1";
  const auto text = [&](const std::vector<Sizes>& inputs, const Sizes& result) {
    return elementwise_text(code_of(program, inputs, result), 1).text;
  };
  const std::string a = text({{7, 12}, {12}}, {7, 12});
  EXPECT_EQ(text({{80, 1000}, {1000}}, {80, 1000}), a);
  EXPECT_EQ(text({{3, 5, 9}, {9}}, {3, 5, 9}), a) << "axes that merge";
  EXPECT_NE(text({{7, 12}, {7, 1}}, {7, 12}), a) << "repeated along the other axis";
  EXPECT_NE(text({{7, 12}, {7, 12}}, {7, 12}), a) << "repeated nowhere";
  EXPECT_NE(text({{50000, 50000}, {50000}}, {50000, 50000}), a) << "too many elements for 32 bits";
}

TEST(DeviceCode, TakesFourElementsAtOnceWhereRowsAreWholeGroupsOfFour) {
  const char* const program = "t0 = add(x0, x1); return t0";
  EXPECT_EQ(code_of(program, {{7, 12}, {12}}, {7, 12}).width(), 4);
  EXPECT_EQ(code_of(program, {{8, 11}, {11}}, {8, 11}).width(), 1);
  EXPECT_EQ(code_of(program, {{8, 11}, {8, 11}}, {8, 11}).width(), 4) << "one row of 88";
}

TEST(DeviceCode, ReadsNumbersThatNoLiteralSays) {
  const char* const program = "t0 = maximum(x0, -inf); t1 = mul(t0, 0.1); return t1";
  const std::string text = elementwise_text(code_of(program, {{4}}, {4}), 1).text;
  EXPECT_THAT(text, HasSubstr("-element::infinity(float(0))"));
  EXPECT_THAT(text, HasSubstr("t0 * 0.1f;"));
}

class CodeCacheTest : public ::testing::Test {
 protected:
  CodeCacheTest() { setenv("GRAPHRUN_CACHE", (folder_.path() + "/cache").c_str(), 1); }
  ~CodeCacheTest() override { before_.empty() ? unsetenv("GRAPHRUN_CACHE") : setenv("GRAPHRUN_CACHE", before_.c_str(), 1); }

  const std::string before_ = std::getenv("GRAPHRUN_CACHE") == nullptr ? "" : std::getenv("GRAPHRUN_CACHE");
  TemporaryFolder folder_;
};

TEST_F(CodeCacheTest, KeepsCodeByWhatItWasMadeFrom) {
  EXPECT_FALSE(CodeCache({"text", "sm_90"}).find());
  CodeCache({"text", "sm_90"}).keep(std::string("co\0de", 5));
  EXPECT_EQ(CodeCache({"text", "sm_90"}).find(), std::string("co\0de", 5));
  EXPECT_FALSE(CodeCache({"text", "sm_80"}).find());
  EXPECT_FALSE(CodeCache({"tex", "tsm_90"}).find());
}

TEST_F(CodeCacheTest, LeavesADamagedFileAside) {
  const CodeCache cache({"text"});
  cache.keep("some code");
  std::string bytes = read_file(cache.path(), 1 << 20);
  for (const std::string& damaged : {bytes.substr(0, bytes.size() - 1), bytes.substr(0, 10), std::string()}) {
    std::ofstream(cache.path(), std::ios::trunc) << damaged;
    EXPECT_FALSE(cache.find());
  }
  bytes.back() ^= 1;
  std::ofstream(cache.path(), std::ios::trunc) << bytes;
  EXPECT_FALSE(cache.find());
  cache.keep("some code");
  EXPECT_TRUE(cache.find());
}

TEST_F(CodeCacheTest, DoesWithoutAFolderThatCanBeWritten) {
  std::ofstream(folder_.path() + "/cache") << "a file where the folder should be";
  const CodeCache cache({"text"});
  cache.keep("some code");
  EXPECT_FALSE(cache.find());
}

}  // namespace
}  // namespace graphrun
