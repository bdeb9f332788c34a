#include <algorithm>
#include <cstring>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

// While one piece is added, the next ones are transferred.
constexpr std::size_t kPiece = std::size_t{1} << 18;  // elements
constexpr std::int64_t kAddGrain = 4096;

// The compiler vectorizes the loop over a block, because its length is constant.
void add_to(float* sum, const float* numbers, std::int64_t count) {
  constexpr std::int64_t kBlock = 64;
  std::int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    float* const s = sum + i;
    const float* const x = numbers + i;
#pragma GCC ivdep
    for (std::int64_t k = 0; k < kBlock; ++k) s[k] += x[k];
  }
  for (; i < count; ++i) sum[i] += numbers[i];
}

}  // namespace

OrderedSum::OrderedSum(Communicator& communicator, std::size_t count) : communicator_(communicator), count_(count) {
  for (int r = 0; r < communicator.size(); ++r) pieces_ = std::max(pieces_, (slice(r).size() + kPiece - 1) / kPiece);
  sum_.resize(slice(communicator.rank()).size());
  received_.resize(sum_.size() * static_cast<std::size_t>(communicator.size()));
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

void OrderedSum::add_piece(std::span<const float> numbers, std::size_t number, int first, int last, bool begins) {
  const int me = communicator_.rank();
  const Elements range = piece(me, number);
  parallel_ranges(static_cast<std::int64_t>(range.size()), kAddGrain, [&](std::int64_t begin, std::int64_t end) {
    float* const sum = sum_.data() + range.begin + begin;
    for (int r = first; r <= last; ++r) {
      const float* const x =
          (r == me ? numbers.data() + slice(me).begin : received_.data() + static_cast<std::size_t>(r) * sum_.size()) +
          range.begin + begin;
      if (begins && r == first) {
        std::copy(x, x + (end - begin), sum);
      } else {
        add_to(sum, x, end - begin);
      }
    }
  });
}

void OrderedSum::add(std::span<float> numbers, int first, int last, bool begins, bool all) {
  GRAPHRUN_CHECK(numbers.size() == count_, "OrderedSum: another number of elements");
  const int me = communicator_.rank(), n = communicator_.size();
  const auto bytes = [](const Elements& range) { return range.size() * sizeof(float); };
  std::vector<std::uint64_t> scattered, spread;
  for (std::size_t k = 0; k < pieces_; ++k) {
    std::vector<Transfer> transfers;
    for (int step = 1; step < n; ++step) {
      const int from = (me + n - step) % n, to = (me + step) % n;  // each process has another order of peers
      const Elements own = piece(me, k), other = piece(to, k);
      float* const inbox = received_.data() + static_cast<std::size_t>(from) * sum_.size() + own.begin;
      if (from >= first && from <= last && own.size() > 0) transfers.push_back({from, nullptr, inbox, bytes(own)});
      if (me < first || me > last || other.size() == 0) continue;
      transfers.push_back({to, numbers.data() + slice(to).begin + other.begin, nullptr, bytes(other)});
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
      if (other.size() > 0) {
        transfers.push_back({from, nullptr, numbers.data() + slice(from).begin + other.begin, bytes(other)});
      }
      if (own.size() > 0) transfers.push_back({to, sum_.data() + own.begin, nullptr, bytes(own)});
    }
    spread.push_back(communicator_.start(std::move(transfers)));
    std::copy(sum_.begin() + static_cast<std::ptrdiff_t>(own.begin), sum_.begin() + static_cast<std::ptrdiff_t>(own.end),
              numbers.begin() + static_cast<std::ptrdiff_t>(slice(me).begin + own.begin));
  }
  for (const std::uint64_t number : spread) communicator_.wait(number);
}

}  // namespace graphrun
