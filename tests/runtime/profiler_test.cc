#include "runtime/execute/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "tests/runtime/temporary_folder.h"

namespace graphrun {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(Profiler, AddsUpByNodeAndOp) {
  Profiler profiler;
  profiler.record("encode.p", "matmul", 1000, 4000);
  profiler.record("encode.h", "add", 4000, 5000);
  profiler.record("encode.p", "matmul", 5000, 7000);
  profiler.record("decode.p", "matmul", 7000, 7500);
  const auto totals = profiler.totals();
  ASSERT_EQ(totals.size(), 3u);
  EXPECT_EQ(totals[0].name, "encode.p");
  EXPECT_EQ(totals[0].runs, 2);
  EXPECT_EQ(totals[0].nanoseconds, 5000);
  EXPECT_EQ(totals[0].longest, 3000);
  EXPECT_EQ(totals[2].name, "decode.p");
  const auto by_op = profiler.totals_by_op();
  ASSERT_EQ(by_op.size(), 2u);
  EXPECT_EQ(by_op[0].op, "matmul");
  EXPECT_EQ(by_op[0].runs, 3);
  EXPECT_EQ(by_op[0].nanoseconds, 5500);
  EXPECT_THAT(profiler.table(), HasSubstr(" 76.9%         0.005           2  matmul            encode.p\n"));
  EXPECT_THAT(profiler.table(1), HasSubstr("… and 2 nodes more"));
  profiler.record_run(0, 10000);
  EXPECT_THAT(profiler.table(), HasSubstr(" 50.0%         0.005           2  matmul            encode.p\n"));
}

TEST(Profiler, WritesChromesTrace) {
  const TemporaryFolder folder;
  Profiler profiler;
  profiler.record("a \"quoted\" \xFF name", "add", 2500, 3500);
  profiler.record("b", "matmul", 1000, 2500);
  profiler.write_chrome_trace(folder / "trace.json");
  const Json trace = Json::parse(get_bytes(folder / "trace.json"));
  const Json& events = trace["traceEvents"];
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["ph"], "X");
  EXPECT_EQ(events[0]["ts"], 1.5);
  EXPECT_EQ(events[0]["dur"], 1.0);
  EXPECT_EQ(events[1]["name"], "b");
  EXPECT_EQ(events[1]["cat"], "matmul");
  EXPECT_EQ(events[1]["ts"], 0.0);
  EXPECT_TRUE(Json::parse(Profiler().chrome_trace())["traceEvents"].empty());
}

TEST(Profiler, BoundsItsMemory) {
  Profiler profiler(3);
  for (int i = 0; i < 10; ++i) profiler.record("a", "add", i, i + 1);
  EXPECT_EQ(profiler.dropped(), 7);
  EXPECT_EQ(profiler.totals()[0].runs, 10);
  EXPECT_EQ(Json::parse(profiler.chrome_trace())["traceEvents"].size(), 3u);

  Profiler few(10, 2);
  for (int i = 0; i < 5; ++i) few.record(std::to_string(i), "add", 0, 1 + i);
  const auto totals = few.totals();
  ASSERT_EQ(totals.size(), 3u);
  EXPECT_EQ(totals[0].name, "(all further nodes)");
  EXPECT_EQ(totals[0].runs, 3);
  EXPECT_EQ(totals[0].nanoseconds, 3 + 4 + 5);
}

TEST(Profiler, RecordsFromManyThreads) {
  Profiler profiler;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) profiler.record("a", "add", i, i + 1);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(profiler.totals()[0].runs, 4000);
  const std::int64_t before = Profiler::now();
  EXPECT_LE(before, Profiler::now());
}

}  // namespace
}  // namespace graphrun
