#include "tools/run/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/event_file.h"
#include "tests/tools/scratch.h"
#include "tools/run/metrics_log.h"

namespace graphrun {
namespace {

TEST(EventLog, ChecksumsAreThoseOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
  EXPECT_EQ(masked_crc32c("123456789"), ((0xE3069283u >> 15) | (0xE3069283u << 17)) + 0xA282EAD8u);
}

using tests::read_events;

std::string text_of(const events::Event& event) {
  std::string text = std::to_string(event.step()) + ":";
  for (const auto& value : event.summary().value()) text += " " + value.tag() + "=" + std::to_string(value.simple_value());
  return text;
}

TEST(EventLog, MirrorsTheMetricsOfAWholeRun) {
  Scratch scratch;
  const std::string metrics = scratch.path("metrics.jsonl"), folder = scratch.path("tensorboard");
  std::int64_t bytes = 0;
  {
    MetricsLog log(metrics, 0);
    log.mirror(folder);
    log.write({{"step", 100}, {"epoch", 1}, {"loss", 2.5}, {"gradient_norm", 1.5}, {"learning_rate", 0.5}});
    bytes = log.bytes();
    log.write({{"step", 200}, {"epoch", 1}, {"loss", 9}, {"gradient_norm", 9}, {"learning_rate", 9}});  // after a checkpoint
  }
  MetricsLog log(metrics, bytes);
  log.mirror(folder);
  log.write({{"epoch", 1}, {"step", 150}, {"loss", 2}, {"learning_rate", 0.5}, {"valid", {{"f1", 0.75}, {"loss", nullptr}}}});
  log.write({{"epoch", 1}, {"test", {{"f1", 0.5}}}});
  const std::vector<events::Event> all = read_events(folder);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].file_version(), "brain.Event:2");
  EXPECT_GT(all[0].wall_time(), 1e9);
  EXPECT_EQ(text_of(all[1]), "100: train/loss=2.500000 train/gradient_norm=1.500000 train/learning_rate=0.500000");
  EXPECT_EQ(text_of(all[2]), "150: epoch/loss=2.000000 valid/f1=0.750000");
}

TEST(EventLog, WritesHistogramsOfWhatIsWatched) {
  Scratch scratch;
  {
    MetricsLog log(scratch.path("metrics.jsonl"), 0);
    log.mirror(scratch.path("tensorboard"));
    const nlohmann::ordered_json gate = {{"low", 0.25},      {"high", 0},   {"from", 0},       {"to", 1},
                                         {"counts", {3, 1}}, {"mean", 0.5}, {"deviation", 0.5}};
    log.write({{"step", 8}, {"epoch", 1}, {"watch", {{"gates", {{"i", gate}}}, {"states", {{"h", {{"gradient", {1, 2}}}}}}}}});
  }
  const std::vector<events::Event> all = read_events(scratch.path("tensorboard"));
  ASSERT_EQ(all.size(), 2u);
  const events::Summary& summary = all[1].summary();
  ASSERT_EQ(summary.value_size(), 3);
  EXPECT_EQ(text_of(all[1]), "8: watch/low/i=0.250000 watch/high/i=0.000000 watch/gates/i=0.000000");
  const events::Histogram& histogram = summary.value(2).histo();
  EXPECT_EQ(histogram.num(), 4);
  EXPECT_EQ(histogram.sum(), 2);
  EXPECT_EQ(histogram.sum_squares(), 2);
  EXPECT_THAT(histogram.bucket_limit(), testing::ElementsAre(0.5, 1));
  EXPECT_THAT(histogram.bucket(), testing::ElementsAre(3, 1));
}

}  // namespace
}  // namespace graphrun
