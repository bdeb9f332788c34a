#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <span>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"
#include "runtime/communicator/ordered_sum.h"

namespace graphrun {
namespace {

// Small buckets are sent early and leave little to send after the last gradient; large ones need fewer messages.
constexpr std::size_t kBucket = std::size_t{1} << 19, kBlock = OrderedSum::kBlock;  // elements
// The most buckets that are exchanged at the same time: a limit to the memory for what they receive.
constexpr std::size_t kMostBuckets = 16;

// Other messages, which may be in progress at the same time, have the tag 0.
int scatter_tag(std::size_t bucket) { return 2 * static_cast<int>(bucket) + 1; }
int sum_tag(std::size_t bucket) { return scatter_tag(bucket) + 1; }

// The compiler vectorizes the loop over a block, because its length is constant.
void add_to(float* sum, const float* numbers, std::size_t count) {
  if (count == kBlock) {
#pragma GCC ivdep
    for (std::size_t i = 0; i < kBlock; ++i) sum[i] += numbers[i];
  } else {
    for (std::size_t i = 0; i < count; ++i) sum[i] += numbers[i];
  }
}

// Whether any bit is set: a negative zero is not left out, because it may change a sum's sign.
bool has_bits(const float* numbers, std::size_t count) {
  constexpr std::size_t kTogether = 16;
  std::size_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < kTogether; ++k) bits |= std::bit_cast<std::uint32_t>(numbers[i + k]);
    if (bits != 0) return true;
  }
  for (; i < count; ++i) {
    if (std::bit_cast<std::uint32_t>(numbers[i]) != 0) return true;
  }
  return false;
}

}  // namespace

struct OrderedSum::OnHost : OrderedSum::Impl, std::enable_shared_from_this<OrderedSum::OnHost> {
  // Which blocks of a slice a message contains, a bit each.
  class Blocks {
   public:
    void resize(std::size_t elements) { words_.assign((count(elements) + 63) / 64, 0); }
    static std::size_t count(std::size_t elements) { return (elements + kBlock - 1) / kBlock; }

    bool has(std::size_t block) const { return (words_[block / 64] >> (block % 64) & 1) != 0; }
    void clear() { std::fill(words_.begin(), words_.end(), 0); }
    void set(std::size_t block) { words_[block / 64] |= std::uint64_t{1} << (block % 64); }
    std::size_t number() const {
      std::size_t number = 0;
      for (const std::uint64_t word : words_) number += static_cast<std::size_t>(std::popcount(word));
      return number;
    }
    void* data() { return words_.data(); }
    std::size_t bytes() const { return words_.size() * sizeof words_[0]; }

   private:
    std::vector<std::uint64_t> words_;
  };

  // What a process sends of a slice: the blocks that are not zero.
  struct Sent {
    Blocks blocks;
    std::vector<float> packed;  // empty if the slice itself is sent
    const float* data = nullptr;
    std::size_t elements = 0;

    void pack(const float* numbers, std::size_t count) {
      blocks.clear();
      elements = 0;
      const std::size_t all = Blocks::count(count);
      std::size_t set = 0;
      for (std::size_t b = 0; b < all; ++b) {
        const std::size_t size = std::min(kBlock, count - b * kBlock);
        if (!has_bits(numbers + b * kBlock, size)) continue;
        blocks.set(b);
        elements += size, ++set;
      }
      data = numbers;
      if (set == all || set == 0) return;
      packed.resize(elements);
      float* at = packed.data();
      for (std::size_t b = 0; b < all; ++b) {
        if (blocks.has(b)) at = std::copy_n(numbers + b * kBlock, std::min(kBlock, count - b * kBlock), at);
      }
      data = packed.data();
    }
    // Adds the message that says which blocks there are, and the message with these blocks.
    void add_to(std::vector<Transfer>& transfers, int to, int tag) {
      transfers.push_back({to, blocks.data(), nullptr, blocks.bytes(), tag});
      transfers.push_back({to, data, nullptr, elements * sizeof(float), tag});
    }
    void free() {
      packed.clear();
      packed.shrink_to_fit();
    }
  };

  struct Bucket : SumBucket {
    explicit Bucket(const SumBucket& part) : SumBucket(part) {}
    std::size_t sum = 0;          // where this process's slice begins in `sums`
    std::vector<float> received;  // this slice of the others' arrays, by rank; empty unless an addition is in progress
    std::vector<Sent> sent;       // by rank: its slice of this process's array; of this process: its slice of the sum
    std::vector<Blocks> came;     // by rank
  };

  OnHost(Communicator& communicator, std::size_t count, std::size_t unit)
      : together(communicator),
        me(communicator.rank()),
        n(communicator.size()),
        of_bucket(std::max(kBucket, static_cast<std::size_t>(n) * unit)),
        array(DType::kFloat32, {static_cast<std::int64_t>(count)}) {
    constexpr std::size_t kAligned = kAlignment / sizeof(float);
    const auto processes = static_cast<std::size_t>(n);
    std::size_t end = 0;  // of `sums`
    for (const SumBucket& part : divided_into_buckets(count, of_bucket, unit, n)) {
      Bucket& bucket = buckets.emplace_back(part);
      bucket.sum = end;
      end += (bucket.slice(me).size() + kAligned - 1) / kAligned * kAligned;
      bucket.sent.resize(processes);
      bucket.came.resize(processes);
    }
    sums = Tensor(DType::kFloat32, {static_cast<std::int64_t>(end)});
  }

  float* at(std::size_t element) const { return array.data<float>() + element; }
  float* sum_in(const Bucket& bucket) const { return sums.data<float>() + bucket.sum; }
  float* received_from(Bucket& bucket, int rank) const {
    return bucket.received.data() + static_cast<std::size_t>(rank < me ? rank : rank - 1) * bucket.slice(me).size();
  }
  bool is_added(int rank) const { return round.first <= rank && rank <= round.last; }

  // The stages of a bucket.

  // Buckets that must wait follow one that is done, in ascending order in every process.
  Stage enter(std::size_t b) {
    if (at_once == kMostBuckets) {
      waiting.push_back(b);
      return {};
    }
    ++at_once;
    return scatter(b);
  }
  Stage leave() {
    --at_once;
    if (waiting.empty()) return {};
    const std::size_t next = waiting.front();
    waiting.pop_front();
    return enter(next);
  }

  // Slices of this process's array go to their owners.
  Stage scatter(std::size_t b) {
    Bucket& bucket = buckets[b];
    const int tag = scatter_tag(b);
    const ElementRange own = bucket.slice(me);
    bucket.received = room(own.size() * static_cast<std::size_t>(n - 1));
    std::vector<Transfer> transfers;
    for (int step = 1; step < n; ++step) {
      const int from = (me + n - step) % n, to = (me + step) % n;  // each process has a different order of peers
      if (is_added(from) && own.size() > 0) {
        receive(bucket, from, own.size(), received_from(bucket, from), tag, transfers);
      }
      const ElementRange other = bucket.slice(to);
      if (is_added(me) && other.size() > 0) send(bucket, to, at(other.begin), other.size()).add_to(transfers, to, tag);
    }
    return {std::move(transfers), [self = shared_from_this(), b] { return self->sum_up(b); }};
  }

  // The slice's owner adds what it has received, and sends the sum if it is complete.
  Stage sum_up(std::size_t b) {
    Bucket& bucket = buckets[b];
    for (Sent& sent : bucket.sent) sent.free();
    add(bucket);
    free_rooms.push_back(std::move(bucket.received));
    // This bucket of the array has been sent, so the sums may overwrite it.
    return round.result == Result::kAll ? hand_out_bucket(b, array, [this] { return leave(); }) : leave();
  }

  // The elements of a bucket go from their owner to all.
  Stage hand_out_bucket(std::size_t b, const Tensor& from_owners, const std::function<Stage()>& then) {
    Bucket& bucket = buckets[b];
    const int tag = sum_tag(b);
    const ElementRange own = bucket.slice(me);
    std::vector<Transfer> transfers;
    float* const elements = from_owners.data<float>();
    if (own.size() > 0) send(bucket, me, elements + own.begin, own.size());
    for (int step = 1; step < n; ++step) {
      const int from = (me + n - step) % n, to = (me + step) % n;
      const ElementRange other = bucket.slice(from);
      if (other.size() > 0) receive(bucket, from, other.size(), elements + other.begin, tag, transfers);
      if (own.size() > 0) bucket.sent[static_cast<std::size_t>(me)].add_to(transfers, to, tag);
    }
    return {std::move(transfers), [self = shared_from_this(), b, from_owners, then] {
              self->place(b, from_owners);
              return then();
            }};
  }

  void place(std::size_t b, const Tensor& from_owners) {
    Bucket& bucket = buckets[b];
    for (int r = 0; r < n; ++r) {
      const ElementRange other = bucket.slice(r);
      if (r == me || other.size() == 0) continue;
      expand(from_owners.data<float>() + other.begin, other.size(), bucket.came[static_cast<std::size_t>(r)]);
    }
    bucket.sent[static_cast<std::size_t>(me)].free();
  }

  // Moves the blocks of a message, which are at the beginning of a slice, to their places.
  static void expand(float* slice, std::size_t count, const Blocks& blocks) {
    std::size_t packed = blocks.number();
    for (std::size_t b = Blocks::count(count);
         b-- > 0 && packed <= b;) {  // if packed > b, the blocks up to this one are in place
      const std::size_t size = std::min(kBlock, count - b * kBlock);
      if (blocks.has(b)) {
        std::memmove(slice + b * kBlock, slice + --packed * kBlock, size * sizeof(float));
      } else {
        std::fill_n(slice + b * kBlock, size, 0.0f);
      }
    }
  }

  static Sent& send(Bucket& bucket, int rank, const float* from, std::size_t count) {
    Sent& sent = bucket.sent[static_cast<std::size_t>(rank)];
    sent.blocks.resize(count);
    sent.pack(from, count);
    return sent;
  }

  static void receive(Bucket& bucket, int from, std::size_t count, float* to, int tag, std::vector<Transfer>& transfers) {
    Blocks& blocks = bucket.came[static_cast<std::size_t>(from)];
    blocks.resize(count);
    transfers.push_back({from, nullptr, blocks.data(), blocks.bytes(), tag});
    transfers.push_back({from, nullptr, to, count * sizeof(float), tag});
  }

  // Block by block, so that a block of the sum stays in the cache. A complete sum goes to the array.
  void add(Bucket& bucket) {
    const ElementRange own = bucket.slice(me);
    std::vector<const float*> next;  // by rank: its next block
    for (int r = 0; r < n; ++r) {
      next.push_back(r == me ? at(own.begin) : received_from(bucket, r));
    }
    const float* const before = sum_in(bucket);
    float* const into = round.result == Result::kNowhere ? sum_in(bucket) : at(own.begin);
    std::array<float, kBlock> sum;
    for (std::size_t b = 0; b * kBlock < own.size(); ++b) {
      const std::size_t size = std::min(kBlock, own.size() - b * kBlock);
      if (!round.begins) std::copy_n(before + b * kBlock, size, sum.data());
      for (int r = round.first; r <= round.last; ++r) {
        const bool begins = round.begins && r == round.first;
        if (r != me && !bucket.came[static_cast<std::size_t>(r)].has(b)) {
          if (begins) {
            std::fill_n(sum.data(), size, 0.0f);
          } else {
            for (std::size_t i = 0; i < size; ++i) sum[i] += 0.0f;  // a negative zero becomes a positive one
          }
          continue;
        }
        const float*& numbers_of_r = next[static_cast<std::size_t>(r)];
        if (begins) {
          std::copy_n(numbers_of_r, size, sum.data());
        } else {
          add_to(sum.data(), numbers_of_r, size);
        }
        numbers_of_r += size;
      }
      std::copy_n(sum.data(), size, into + b * kBlock);
    }
  }

  // Memory for what a bucket receives: that of another one, if its addition is done.
  std::vector<float> room(std::size_t elements) {
    std::vector<float> room;
    if (!free_rooms.empty()) {
      room = std::move(free_rooms.back());
      free_rooms.pop_back();
    }
    if (room.size() < elements) room.resize(elements);
    return room;
  }

  // What callers do.

  const Tensor& numbers() const override { return array; }

  void begin_from_numbers() override {
    for (const Bucket& bucket : buckets) {
      const ElementRange own = bucket.slice(me);
      std::copy_n(at(own.begin), own.size(), sum_in(bucket));
    }
  }

  void begin(const Round& next) override {
    GRAPHRUN_CHECK(begun.empty(), "OrderedSum: an addition is in progress");
    round = next;
  }

  // Packing a bucket is the communication thread's work as well.
  void ready(std::size_t end) override {
    while (begun.size() < buckets.size() && buckets[begun.size()].all.end <= end) {
      const std::size_t b = begun.size();
      begun.push_back(together.start({{}, [self = shared_from_this(), b] { return self->enter(b); }}));
    }
  }

  void finish() override {
    GRAPHRUN_CHECK(begun.size() == buckets.size(), "OrderedSum: an array is not complete");
    for (const std::uint64_t number : begun) together.wait(number);
    begun.clear();
  }

  std::vector<std::pair<std::size_t, std::size_t>> owned(int rank) const override {
    std::vector<std::pair<std::size_t, std::size_t>> ranges;
    for (const Bucket& bucket : buckets) {
      const ElementRange own = bucket.slice(rank);
      if (own.size() > 0) ranges.emplace_back(own.begin, own.end);
    }
    return ranges;
  }

  void hand_out(const Tensor& from_owners) override {
    GRAPHRUN_CHECK(begun.empty(), "OrderedSum: an addition is in progress");
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      begun.push_back(together.start({{}, [self = shared_from_this(), b, from_owners] {
                                        return self->hand_out_bucket(b, from_owners, [] { return Stage(); });
                                      }}));
    }
    finish();
  }

  Communicator& together;
  const int me, n;
  const std::size_t of_bucket;  // elements; the last bucket may have fewer
  Tensor array;
  Tensor sums;  // of this process's slices, if further rounds follow
  std::vector<Bucket> buckets;
  std::vector<std::vector<float>> free_rooms;
  std::size_t at_once = 0;          // buckets in progress
  std::deque<std::size_t> waiting;  // buckets that are ready
  Round round;
  std::vector<std::uint64_t> begun;  // by bucket, those that are ready
};

OrderedSum::OrderedSum(Communicator& communicator, std::size_t count, std::size_t unit)
    : impl_(std::make_shared<OnHost>(communicator, count, unit)) {}

const Tensor& OrderedSum::numbers() const { return impl_->numbers(); }
const DeviceMemory& OrderedSum::numbers_on_device() const { return impl_->numbers_on_device(); }
void OrderedSum::begin_from_numbers() { impl_->begin_from_numbers(); }
void OrderedSum::begin(const Round& round) { impl_->begin(round); }
void OrderedSum::ready(std::size_t end) { impl_->ready(end); }
void OrderedSum::finish() { impl_->finish(); }
std::vector<std::pair<std::size_t, std::size_t>> OrderedSum::owned(int rank) const { return impl_->owned(rank); }
void OrderedSum::hand_out(const Tensor& array) { impl_->hand_out(array); }

}  // namespace graphrun
