#include "tools/data/batch_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tests/tools/data_helpers.h"
#include "tests/tools/scratch.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "w" + std::to_string(i);
    for (int k = 0; k < i * 7919 % 13; ++k) text += " x";
    text += "\n";
  }
  return text;
}

Prepared scratch_lines(const Scratch& scratch, int count, std::int64_t rows) {
  DataSpec data;
  data.fields = {make_field("words", 0, {Split::kSpace})};
  data.feeds = make_feeds("words, lengths = length(words)");
  data.rows = rows;
  data.bucket_by = "words";
  data.train = {scratch.file("lines", numbered_lines(count))};
  return Prepared(data);
}

TEST(BatchOrder, EveryExampleOnceAndLikeLengthsTogether) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 5003; ++i) lengths.push_back(i * 7919 % 50);
  const BatchOrder order = order_batches(5003, lengths, {4, 0}, Shuffle{1, 1});
  EXPECT_EQ(order.batches(), (5003 + 3) / 4);
  std::set<std::int64_t> seen;
  std::int64_t padding = 0;
  for (std::int64_t b = 0; b < order.batches(); ++b) {
    const auto batch = order.batch(b);
    EXPECT_LE(batch.size(), 4u);
    std::int64_t longest = 0;
    for (const std::int64_t e : batch) longest = std::max(longest, lengths[static_cast<std::size_t>(e)]);
    for (const std::int64_t e : batch) {
      padding += longest - lengths[static_cast<std::size_t>(e)];
      EXPECT_TRUE(seen.insert(e).second);
    }
  }
  EXPECT_EQ(seen.size(), 5003u);
  EXPECT_LT(padding, 5003 / 2) << "lengths are not grouped";
}

TEST(BatchOrder, AFunctionOfSeedAndEpoch) {
  const auto at = [](std::uint64_t seed, std::int64_t epoch) {
    return order_batches(1000, {}, {8, 0}, Shuffle{seed, epoch}).examples;
  };
  EXPECT_EQ(at(1, 1), at(1, 1));
  EXPECT_NE(at(1, 1), at(1, 2));
  EXPECT_NE(at(1, 1), at(2, 1));
}

TEST(BatchOrder, SameOnEveryMachine) { EXPECT_THAT(shuffled(8, 42), ElementsAre(0, 4, 3, 7, 5, 6, 1, 2)); }

TEST(BatchOrder, EveryPlaceIsAsLikely) {
  std::vector<int> first(5);
  for (std::uint64_t key = 0; key < 5000; ++key) ++first[static_cast<std::size_t>(shuffled(5, key)[0])];
  for (const int n : first) EXPECT_NEAR(n, 1000, 150);
}

TEST(BatchOrder, LikeLengthsInTheBatchesOfAnUpdate) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 6002; ++i) lengths.push_back(i * 7919 % 1000);  // 1501 batches of 4: 300 updates of 5, and one
  std::set<std::int64_t> firsts, lasts;
  for (std::int64_t epoch = 1; epoch <= 20; ++epoch) {
    const BatchOrder order = order_batches(6002, lengths, {4, 0}, Shuffle{1, epoch, 5});
    const auto shortest = [&](std::int64_t b) { return lengths[static_cast<std::size_t>(order.batch(b)[0])]; };
    EXPECT_EQ(std::set<std::int64_t>(order.examples.begin(), order.examples.end()).size(), 6002u);
    std::int64_t apart = 0;
    for (std::int64_t b = 0; b < 1500; ++b) apart += std::abs(shortest(b) - shortest(b / 5 * 5));
    EXPECT_LT(apart / 1500, 30) << "batches of an update differ in length";
    firsts.insert(shortest(0));
    lasts.insert(shortest(1500) / 100);
  }
  EXPECT_GT(firsts.size(), 10u) << "updates are not shuffled";
  EXPECT_GT(lasts.size(), 3u) << "the batch of the smaller update always has similar lengths";
}

TEST(BatchOrder, WithoutShuffleSortedOrInOrder) {
  EXPECT_THAT(order_batches(4, {}, {3, 0}, std::nullopt).examples, ElementsAre(0, 1, 2, 3));
  const std::vector<std::int64_t> lengths = {5, 1, 5, 2};
  EXPECT_THAT(order_batches(4, lengths, {3, 0}, std::nullopt).examples, ElementsAre(1, 3, 0, 2));
  const std::vector<std::int64_t> others = {7, 9, 6, 1};
  EXPECT_THAT(order_batches(4, lengths, {3, 0}, std::nullopt, others).examples, ElementsAre(1, 3, 2, 0));
}

TEST(BatchOrder, TokensLimitAPaddedBatch) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 5003; ++i) lengths.push_back(1 + i * 7919 % 50);
  lengths.push_back(900);  // longer than the limit: a batch of its own
  for (const auto& shuffle : {std::optional<Shuffle>(Shuffle{1, 1}), std::optional<Shuffle>()}) {
    const BatchOrder order = order_batches(5004, lengths, {40, 500}, shuffle);
    std::set<std::int64_t> seen;
    std::int64_t held = 0;
    for (std::int64_t b = 0; b < order.batches(); ++b) {
      const auto batch = order.batch(b);
      std::int64_t longest = 0;
      for (const std::int64_t e : batch) {
        longest = std::max(longest, lengths[static_cast<std::size_t>(e)]);
        EXPECT_TRUE(seen.insert(e).second);
      }
      const std::int64_t rows = static_cast<std::int64_t>(batch.size());
      EXPECT_LE(rows, 40);
      EXPECT_TRUE(longest == 900 ? rows == 1 : rows * longest <= 500) << rows << " rows of " << longest;
      held += rows * longest;
    }
    EXPECT_EQ(seen.size(), 5004u);
    EXPECT_LT(order.batches(), 1.3 * static_cast<double>(held) / 500) << "batches are smaller than they may be";
  }
}

TEST(BatchOrder, TokensAloneMayLimit) {
  const std::vector<std::int64_t> lengths = {5, 1, 5, 2};
  const BatchOrder order = order_batches(4, lengths, {0, 6}, std::nullopt);
  EXPECT_THAT(order.examples, ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(order.begin, ElementsAre(0, 2, 3, 4));
}

TEST(Batch, PadsTimeFirst) {
  const Tensor flat = pad({{1, {1, 2, 3}, {}}, {1, {4}, {}}}, 1);
  EXPECT_EQ(flat.sizes(), (Sizes{3, 2}));
  EXPECT_THAT(elements<std::int32_t>(flat), ElementsAre(1, 4, 2, 0, 3, 0));
  const Tensor scalars = pad({{0, {7}, {}}, {0, {9}, {}}}, 0);
  EXPECT_EQ(scalars.sizes(), (Sizes{2}));
  EXPECT_THAT(elements<std::int32_t>(scalars), ElementsAre(7, 9));
  const Tensor nested = pad({{2, {1, 2, 3}, {2, 1}}, {2, {4, 5, 6}, {3}}}, 2);
  EXPECT_EQ(nested.sizes(), (Sizes{2, 3, 2}));
  EXPECT_THAT(elements<std::int32_t>(nested), ElementsAre(1, 4, 2, 5, 0, 6, 3, 0, 0, 0, 0, 0));
}

TEST(BatchSource, BatchesContainTheData) {
  Scratch scratch;
  const Prepared p = scratch_lines(scratch, 57, 8);
  const Dataset set = p.train();
  BatchSource source(p.data, p.plan, set, {true, 3, 0, {}, 2});
  EXPECT_EQ(source.batches(), 8);
  std::int64_t tokens = 0, rows = 0, seen = 0;
  source.begin({1, 0});
  while (const auto batch = source.next()) {
    EXPECT_EQ(batch->position, (BatchPosition{1, seen++}));
    EXPECT_EQ(batch->last, seen == 8);
    const Tensor& words = batch->feeds.at("words");
    const Tensor& lengths = batch->feeds.at("lengths");
    EXPECT_EQ(words.sizes()[1], batch->rows);
    tokens += batch->tokens, rows += batch->rows;
    for (std::int64_t row = 0; row < batch->rows; ++row) {
      const auto example = set.example(batch->examples[static_cast<std::size_t>(row)]);
      EXPECT_EQ(lengths.data<std::int32_t>()[row], static_cast<std::int32_t>(example[0].values.size()));
      for (std::size_t t = 0; t < example[0].values.size(); ++t)
        EXPECT_EQ(words.data<std::int32_t>()[static_cast<std::int64_t>(t) * batch->rows + row], example[0].values[t]);
    }
  }
  EXPECT_EQ(rows, 57);
  std::int64_t all = 0;
  for (std::int64_t i = 0; i < set.size(); ++i) all += set.steps(0, i);
  EXPECT_EQ(tokens, all);
}

TEST(BatchSource, ContinuesAnywhereWithTheSameBatches) {
  Scratch scratch;
  const Prepared p = scratch_lines(scratch, 57, 8);
  const Dataset set = p.train();
  std::vector<std::vector<std::int32_t>> whole;
  BatchSource source(p.data, p.plan, set, {true, 3, 0, {}, 4});
  for (std::int64_t epoch = 1; epoch <= 2; ++epoch) {
    source.begin({epoch, 0});
    while (const auto batch = source.next()) whole.push_back(elements<std::int32_t>(batch->feeds.at("words")));
  }
  ASSERT_EQ(whole.size(), 16u);
  EXPECT_NE(whole[0], whole[8]);
  for (std::int64_t at = 0; at <= 8; ++at) {
    BatchSource again(p.data, p.plan, set, {true, 3, 0, {}, 1});
    again.begin({2, at});
    for (std::int64_t i = at; i < 8; ++i)
      EXPECT_EQ(elements<std::int32_t>(again.next()->feeds.at("words")), whole[static_cast<std::size_t>(8 + i)]);
    EXPECT_FALSE(again.next());
  }
}

TEST(BatchSource, TheLargestBatchIsAsLargeAsAnyInEachOfItsSizes) {
  Scratch scratch;
  DataSpec data;
  data.format = Format::kConll;
  data.fields = {make_field("words"), make_field("letters", 0, {Split::kCharacter})};
  data.feeds = make_feeds("words, letters");
  data.rows = 3;
  // The longest sentence and the longest word are in different examples.
  data.train = {scratch.file("data", "a\nb\nc\nd\n\nabcdef\n\na\n\nab\n\na\nb\n\n")};
  const Prepared p(data);
  const Dataset set = p.train();
  const Batch largest = BatchSource(p.data, p.plan, set, {}).largest();
  EXPECT_THAT(largest.feeds.at("words").sizes(), ElementsAre(4, 3));
  EXPECT_THAT(largest.feeds.at("letters").sizes(), ElementsAre(4, 6, 3));
  EXPECT_EQ(BatchSource(p.data, p.plan, set, {false, 0, 9, {}, 1}).largest().rows, set.size());
}

// Even with one row, and in a feed that joins fields whose longest texts are in different examples.
TEST(BatchSource, TheLargestBatchHoldsAnyBatch) {
  for (const std::int64_t rows : {1, 2}) {
    Scratch scratch;
    DataSpec data;
    data.format = Format::kTsv;
    data.fields = {make_field("a", 0, {Split::kSpace}), make_field("b", 1, {Split::kSpace, Split::kCharacter})};
    data.fields.push_back(make_field("c", 2, {Split::kSpace}));
    data.fields.back().shares = "a";
    data.feeds = make_feeds("a, b, c, joined = [a, c]");
    data.rows = rows;
    data.train = {scratch.file("data", "1 2 3 4 5\tx y z\t1\n1\tabcdef x\t1 2 3 4\n1 2 3\tx\t1 2 3\n")};
    const Prepared p(data);
    const Dataset set = p.train();
    BatchSource source(p.data, p.plan, set, {});
    const Batch largest = source.largest();
    EXPECT_EQ(largest.rows, rows);
    EXPECT_THAT(largest.feeds.at("b").sizes(), ElementsAre(3, 6, rows));
    while (const auto batch = source.next()) {
      for (const auto& [name, feed] : batch->feeds) {
        const Sizes& most = largest.feeds.at(name).sizes();
        for (std::size_t axis = 0; axis < most.size(); ++axis) EXPECT_LE(feed.sizes()[axis], most[axis]) << name;
      }
    }
  }
}

// Whether processes that share batches may wait for each other because of lengths.
TEST(BatchSource, LengthsDifferInAnyFieldThatIsRead) {
  const auto differ = [](const std::string& text, const std::string& feeds) {
    Scratch scratch;
    DataSpec data;
    data.format = Format::kConll;
    data.fields = {make_field("words"), make_field("letters", 0, {Split::kCharacter})};
    data.feeds = make_feeds(feeds);
    data.rows = 3;
    data.train = {scratch.file("data", text)};
    const Prepared p(data);
    const Dataset set = p.train();
    return BatchSource(p.data, p.plan, set, {}).lengths_differ();
  };
  EXPECT_FALSE(differ("ab\ncd\n\nef\ngh\n\n", "words, letters"));
  EXPECT_TRUE(differ("ab\ncd\n\nef\n\n", "words"));
  EXPECT_TRUE(differ("ab\ncd\n\nef\ng\n\n", "words, letters"));
  EXPECT_FALSE(differ("ab\ncd\n\nef\ng\n\n", "words"));
}

TEST(BatchSource, BatchesByTokensDifferFromEpochToEpoch) {
  Scratch scratch;
  Prepared p = scratch_lines(scratch, 500, 0);
  p.data.tokens = 40;
  const Dataset set = p.train();
  BatchSource source(p.data, p.plan, set, {true, 3, 0, {}, 2});
  for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
    source.begin({epoch, 0});
    std::int64_t rows = 0, batches = 0;
    while (const auto batch = source.next()) {
      rows += batch->rows, ++batches;
      const Tensor& words = batch->feeds.at("words");
      EXPECT_LE(words.count(), 40);
      EXPECT_EQ(batch->last, batches == source.batches());
    }
    EXPECT_EQ(rows, 500);
    EXPECT_EQ(batches, source.batches());
  }
  EXPECT_EQ(source.too_long(), 0);
  std::int64_t most = 0;
  source.begin({3, 0});
  const std::int64_t largest = source.largest().feeds.at("words").count();
  while (const auto batch = source.next()) most = std::max(most, batch->feeds.at("words").count());
  EXPECT_EQ(largest, most);
}

TEST(BatchSource, OnlyTheFeedsThatAreWanted) {
  Scratch scratch;
  const Prepared p = scratch_lines(scratch, 5, 8);
  const Dataset set = p.train();
  BatchSource source(p.data, p.plan, set, {false, 0, 2, {"lengths"}, 4});
  const auto batch = source.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->rows, 2);
  EXPECT_EQ(batch->feeds.size(), 1u);
  EXPECT_THAT(batch->feeds.at("lengths").sizes(), ElementsAre(2));
}

Prepared stream_of(const Scratch& scratch, int tokens, std::int64_t rows, std::int64_t window) {
  DataSpec data;
  data.format = Format::kStream;
  data.fields = {make_field("text", 0, {Split::kSpace})};
  data.feeds = make_feeds("words = text[:-1], target = text[1:]");
  data.rows = rows, data.window = window;
  std::string text;
  for (int i = 0; i + 1 < tokens; ++i) text += "t" + std::to_string(100 + i) + " ";
  data.train = {scratch.file("stream", text + "\n")};
  return Prepared(data);
}

TEST(BatchSource, RowsOfAStreamContinueInTheNextWindow) {
  Scratch scratch;
  const Prepared p = stream_of(scratch, 24, 3, 3);  // 23 steps: 7 for each row, 2 unused
  const Dataset set = p.train();
  BatchSource source(p.data, p.plan, set, {});
  EXPECT_EQ(source.batches(), 3);
  EXPECT_EQ(source.unused_steps(), 2);
  EXPECT_FALSE(source.lengths_differ());
  std::vector<std::vector<std::int32_t>> words(3), target(3);
  std::vector<std::int64_t> steps;
  while (const auto batch = source.next()) {
    EXPECT_EQ(batch->fresh, steps.empty());
    steps.push_back(batch->feeds.at("words").sizes()[0]);
    EXPECT_EQ(batch->tokens, steps.back() * 3);
    for (std::int64_t i = 0; i < steps.back() * 3; ++i) {
      words[static_cast<std::size_t>(i % 3)].push_back(batch->feeds.at("words").data<std::int32_t>()[i]);
      target[static_cast<std::size_t>(i % 3)].push_back(batch->feeds.at("target").data<std::int32_t>()[i]);
    }
  }
  EXPECT_THAT(steps, ElementsAre(3, 3, 1));
  const auto text = set.example(0)[0].values;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t t = 0; t < 7; ++t) {
      EXPECT_EQ(words[row][t], text[row * 7 + t]);
      EXPECT_EQ(target[row][t], text[row * 7 + t + 1]);
    }
}

TEST(BatchSource, PartsOfAStreamHaveTheRowsOfAWindow) {
  Scratch scratch;
  Prepared p = stream_of(scratch, 100, 6, 7);
  const Dataset set = p.train();
  std::vector<Batch> whole;
  BatchSource source(p.data, p.plan, set, {});
  while (auto batch = source.next()) whole.push_back(std::move(*batch));
  p.data.parts = 3;
  BatchSource parts(p.data, p.plan, set, {});
  ASSERT_EQ(parts.batches(), source.batches() * 3);
  EXPECT_EQ(parts.unused_steps(), source.unused_steps());
  EXPECT_THAT(parts.largest().feeds.at("words").sizes(), ElementsAre(7, 2));
  for (const Batch& window : whole) {
    std::int64_t tokens = 0;
    for (std::int64_t part = 0; part < 3; ++part) {
      const std::optional<Batch> batch = parts.next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->part, part);
      EXPECT_EQ(batch->fresh, window.fresh);
      EXPECT_EQ(batch->rows, 2);
      tokens += batch->tokens;
      const Tensor &words = batch->feeds.at("words"), &all = window.feeds.at("words");
      for (std::int64_t i = 0; i < words.count(); ++i) {
        EXPECT_EQ(words.data<std::int32_t>()[i], all.data<std::int32_t>()[i / 2 * 6 + part * 2 + i % 2]);
      }
    }
    EXPECT_EQ(tokens, window.tokens);
  }
  EXPECT_FALSE(parts.next());
  // A validation reads the stream as one row, which has no parts.
  BatchOptions one_row;
  one_row.rows = 1;
  EXPECT_THAT(BatchSource(p.data, p.plan, set, one_row).largest().feeds.at("words").sizes(), ElementsAre(7, 1));
}

TEST(BatchSource, EachPartOfAStreamStaysInOneProcess) {
  Scratch scratch;
  Prepared p = stream_of(scratch, 100, 6, 7);
  p.data.parts = 3;
  const Dataset set = p.train();
  std::vector<std::int64_t> taken;
  for (const int rank : {0, 1}) {
    BatchSource source(p.data, p.plan, set, {});
    source.begin({1, 2}, {rank, 2, 3, 0});
    while (const auto batch = source.next()) {
      EXPECT_EQ(batch->part % 2, rank);
      taken.push_back(batch->position.batch);
    }
  }
  std::sort(taken.begin(), taken.end());
  std::vector<std::int64_t> all;
  for (std::int64_t i = 2; i < BatchSource(p.data, p.plan, set, {}).batches(); ++i) all.push_back(i);
  EXPECT_EQ(taken, all);
}

TEST(BatchSource, TheLargestBatchOfAStreamIsAWindow) {
  Scratch scratch;
  const Prepared p = stream_of(scratch, 100, 4, 5);
  const Dataset set = p.train();
  EXPECT_THAT(BatchSource(p.data, p.plan, set, {}).largest().feeds.at("words").sizes(), ElementsAre(5, 4));
}

TEST(BatchSource, ContinuesAStreamAnywhere) {
  Scratch scratch;
  const Prepared p = stream_of(scratch, 100, 4, 5);
  const Dataset set = p.train();
  BatchSource source(p.data, p.plan, set, {});
  std::vector<std::vector<std::int32_t>> whole;
  while (const auto batch = source.next()) whole.push_back(elements<std::int32_t>(batch->feeds.at("target")));
  source.begin({4, 2});
  for (std::size_t i = 2; i < whole.size(); ++i) EXPECT_EQ(elements<std::int32_t>(source.next()->feeds.at("target")), whole[i]);
  EXPECT_FALSE(source.next());
}

TEST(BatchSource, StreamsThatDoNotFit) {
  Scratch scratch;
  const Prepared p = stream_of(scratch, 3, 4, 5);
  const Dataset set = p.train();
  EXPECT_THAT(message_of([&] { BatchSource source(p.data, p.plan, set, {}); }), HasSubstr("too few for 4 rows"));
}

}  // namespace
}  // namespace graphrun
