#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

constexpr std::int64_t kAddGrain = 4096;  // elements

// The compiler vectorizes the loop over a block, because its length is constant.
constexpr std::int64_t kAddBlock = 64;

void add_to(float* sum, const float* numbers, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kAddBlock <= count; i += kAddBlock) {
    float* const s = sum + i;
    const float* const x = numbers + i;
#pragma GCC ivdep
    for (std::int64_t k = 0; k < kAddBlock; ++k) s[k] += x[k];
  }
  for (; i < count; ++i) sum[i] += numbers[i];
}

// Whether any bit is set: a negative zero is not left out, because it may change a sum's sign.
bool has_bits(const float* numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::bit_cast<std::uint32_t>(numbers[i]) != 0) return true;
  }
  return false;
}

template <class Blocks>
bool is_set(const Blocks& blocks, std::size_t block) {
  return (blocks[block / 64] >> (block % 64) & 1) != 0;
}

// The number of blocks before this one that are set.
template <class Blocks>
std::size_t set_before(const Blocks& blocks, std::size_t block) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < block / 64; ++i) count += static_cast<std::size_t>(std::popcount(blocks[i]));
  const std::uint64_t below = (std::uint64_t{1} << (block % 64)) - 1;
  return block % 64 == 0 ? count : count + static_cast<std::size_t>(std::popcount(blocks[block / 64] & below));
}

}  // namespace

OrderedSum::OrderedSum(Communicator& communicator, std::size_t count) : communicator_(communicator), count_(count) {
  for (int r = 0; r < communicator.size(); ++r) pieces_ = std::max(pieces_, (slice(r).size() + kPiece - 1) / kPiece);
  sum_.resize(slice(communicator.rank()).size());
  received_.resize(sum_.size() * static_cast<std::size_t>(communicator.size()));
  inbox_.resize(pieces_ * static_cast<std::size_t>(communicator.size()));
}

OrderedSum::Elements OrderedSum::slice(int rank) const {
  const auto n = static_cast<std::size_t>(communicator_.size()), r = static_cast<std::size_t>(rank);
  const auto begin = [&](std::size_t at) { return count_ / n * at + std::min(at, count_ % n); };
  return {begin(r), begin(r + 1)};
}

// The elements of a piece, counted from the beginning of the slice.
OrderedSum::Elements OrderedSum::piece(int rank, std::size_t number) const {
  const std::size_t size = slice(rank).size();
  return {std::min(size, number * kPiece), std::min(size, (number + 1) * kPiece)};
}

void OrderedSum::begin_from(std::span<const float> numbers) {
  GRAPHRUN_CHECK(numbers.size() == count_, "OrderedSum: another number of elements");
  const Elements own = slice(communicator_.rank());
  std::copy(numbers.begin() + static_cast<std::ptrdiff_t>(own.begin), numbers.begin() + static_cast<std::ptrdiff_t>(own.end),
            sum_.begin());
}

// Sends the blocks that are not zero, and before them a message that says which.
void OrderedSum::send(const float* numbers, std::size_t count, int to, std::vector<Transfer>& transfers) {
  Blocks& blocks = *sent_blocks_.emplace_back(std::make_unique<Blocks>());
  blocks.fill(0);
  const std::size_t all = (count + kBlock - 1) / kBlock;
  std::size_t elements = 0, set = 0;
  for (std::size_t b = 0; b < all; ++b) {
    const std::size_t size = std::min(kBlock, count - b * kBlock);
    if (!has_bits(numbers + b * kBlock, size)) continue;
    blocks[b / 64] |= std::uint64_t{1} << (b % 64);
    elements += size, ++set;
  }
  const float* data = numbers;
  if (set < all) {
    float* const packed = packed_.emplace_back(std::make_unique<float[]>(std::max(elements, std::size_t{1}))).get();
    float* at = packed;
    for (std::size_t b = 0; b < all; ++b) {
      if (is_set(blocks, b)) at = std::copy_n(numbers + b * kBlock, std::min(kBlock, count - b * kBlock), at);
    }
    data = packed;
  }
  transfers.push_back({to, blocks.data(), nullptr, sizeof blocks});
  transfers.push_back({to, data, nullptr, elements * sizeof(float)});
}

void OrderedSum::add_piece(std::span<const float> numbers, std::size_t number, int first, int last, bool begins) {
  const int me = communicator_.rank();
  const Elements range = piece(me, number);
  const auto blocks = static_cast<std::int64_t>((range.size() + kBlock - 1) / kBlock);
  parallel_ranges(blocks, kAddGrain / static_cast<std::int64_t>(kBlock), [&](std::int64_t begin, std::int64_t end) {
    const std::size_t from = static_cast<std::size_t>(begin) * kBlock;
    const std::size_t count = std::min(range.size(), static_cast<std::size_t>(end) * kBlock) - from;
    float* const sum = sum_.data() + range.begin + from;
    for (int r = first; r <= last; ++r) {
      const bool is_first = begins && r == first;
      if (r == me) {
        const float* const own = numbers.data() + slice(me).begin + range.begin + from;
        if (is_first) {
          std::copy_n(own, count, sum);
        } else {
          add_to(sum, own, static_cast<std::int64_t>(count));
        }
        continue;
      }
      const Blocks& set = inbox_[static_cast<std::size_t>(r) * pieces_ + number];
      const float* x = received_.data() + static_cast<std::size_t>(r) * sum_.size() + range.begin +
                       set_before(set, static_cast<std::size_t>(begin)) * kBlock;
      for (std::size_t b = 0; b * kBlock < count; ++b) {
        const std::size_t size = std::min(kBlock, count - b * kBlock);
        float* const s = sum + b * kBlock;
        const bool is_there = is_set(set, static_cast<std::size_t>(begin) + b);
        if (is_first && is_there) {
          std::copy_n(x, size, s);
        } else if (is_first) {
          std::fill_n(s, size, 0.0f);
        } else if (is_there) {
          add_to(s, x, static_cast<std::int64_t>(size));
        } else {
          for (std::size_t i = 0; i < size; ++i) s[i] += 0.0f;  // a negative zero becomes a positive one
        }
        if (is_there) x += size;
      }
    }
  });
}

namespace {

// Moves the blocks of a message, which are at the beginning of a piece, to their places.
template <class Blocks>
void expand(float* piece, std::size_t count, std::size_t block_size, const Blocks& blocks) {
  const std::size_t all = (count + block_size - 1) / block_size;
  std::size_t packed = set_before(blocks, all);
  for (std::size_t b = all; b-- > 0 && packed <= b;) {  // if packed > b, all blocks up to this one are in place
    const std::size_t size = std::min(block_size, count - b * block_size);
    if (is_set(blocks, b)) {
      std::memmove(piece + b * block_size, piece + --packed * block_size, size * sizeof(float));
    } else {
      std::fill_n(piece + b * block_size, size, 0.0f);
    }
  }
}

}  // namespace

void OrderedSum::add(std::span<float> numbers, int first, int last, bool begins, bool all) {
  GRAPHRUN_CHECK(numbers.size() == count_, "OrderedSum: another number of elements");
  const int me = communicator_.rank(), n = communicator_.size();
  const auto bytes = [](const Elements& range) { return range.size() * sizeof(float); };
  const auto inbox = [&](int rank, std::size_t k) -> Blocks& { return inbox_[static_cast<std::size_t>(rank) * pieces_ + k]; };
  const auto receive = [&](int from, std::size_t k, float* to, const Elements& range, std::vector<Transfer>& transfers) {
    transfers.push_back({from, nullptr, inbox(from, k).data(), sizeof(Blocks)});
    transfers.push_back({from, nullptr, to, bytes(range)});
  };
  std::vector<std::uint64_t> scattered, spread;
  for (std::size_t k = 0; k < pieces_; ++k) {
    std::vector<Transfer> transfers;
    for (int step = 1; step < n; ++step) {
      const int from = (me + n - step) % n, to = (me + step) % n;  // each process has another order of peers
      const Elements own = piece(me, k), other = piece(to, k);
      float* const place = received_.data() + static_cast<std::size_t>(from) * sum_.size() + own.begin;
      if (from >= first && from <= last && own.size() > 0) receive(from, k, place, own, transfers);
      if (me < first || me > last || other.size() == 0) continue;
      send(numbers.data() + slice(to).begin + other.begin, other.size(), to, transfers);
    }
    scattered.push_back(communicator_.start(std::move(transfers)));
  }
  for (std::size_t k = 0; k < pieces_; ++k) {
    communicator_.wait(scattered[k]);
    add_piece(numbers, k, first, last, begins);
    if (!all) continue;
    // This piece of `numbers` has been sent, so the sums may overwrite it.
    std::vector<Transfer> transfers;
    const Elements own = piece(me, k);
    for (int step = 1; step < n; ++step) {
      const int from = (me + n - step) % n, to = (me + step) % n;
      const Elements other = piece(from, k);
      if (other.size() > 0) receive(from, k, numbers.data() + slice(from).begin + other.begin, other, transfers);
      if (own.size() > 0) send(sum_.data() + own.begin, own.size(), to, transfers);
    }
    spread.push_back(communicator_.start(std::move(transfers)));
    std::copy(sum_.begin() + static_cast<std::ptrdiff_t>(own.begin), sum_.begin() + static_cast<std::ptrdiff_t>(own.end),
              numbers.begin() + static_cast<std::ptrdiff_t>(slice(me).begin + own.begin));
  }
  for (std::size_t k = 0; k < spread.size(); ++k) {
    communicator_.wait(spread[k]);
    for (int r = 0; r < n; ++r) {
      const Elements other = piece(r, k);
      if (r != me) expand(numbers.data() + slice(r).begin + other.begin, other.size(), kBlock, inbox(r, k));
    }
  }
  sent_blocks_.clear();
  packed_.clear();
}

}  // namespace graphrun
