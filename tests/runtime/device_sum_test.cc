// Ordered sums of arrays on devices. Threads take the place of processes, and host memory that of devices;
// tests/tools/cuda_processes_test.cc has processes with emulated devices.
#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/communicator/communicator.h"
#include "runtime/communicator/device_group.h"
#include "tests/runtime/counting_backend.h"

namespace graphrun {
namespace {

class HostMemory : public Counting {
 public:
  void* allocate(std::size_t bytes) override {
    void* const memory = std::malloc(bytes);
    std::memset(memory, 0xA5, bytes);
    return memory;
  }
  void release(void* memory) override { std::free(memory); }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void clear(void* memory, std::size_t bytes) override { std::memset(memory, 0, bytes); }
};

// What the threads of a group share.
struct Meeting {
  explicit Meeting(int n) : members(n), offers(static_cast<std::size_t>(n)), arrays(offers.size()), barrier(n) {}
  const int members;
  std::vector<std::vector<DeviceGroup::Piece>> offers;
  std::vector<float*> arrays;
  std::barrier<> barrier;
};

class ThreadGroupOfDevices : public DeviceGroup {
 public:
  ThreadGroupOfDevices(Meeting& all, int own) : all_(all), me_(own) {}
  Backend& device() override { return memory_; }
  int rank() const override { return me_; }
  int size() const override { return all_.members; }

  // The k-th piece from a peer is the k-th that it sends to this process.
  void exchange(std::span<const Piece> pieces) override {
    at(all_.offers).assign(pieces.begin(), pieces.end());
    all_.barrier.arrive_and_wait();
    std::vector<std::size_t> next(all_.offers.size());
    for (const Piece& piece : pieces) {
      if (piece.receive == nullptr) continue;
      const auto from = static_cast<std::size_t>(piece.peer);
      const std::vector<Piece>& theirs = all_.offers[from];
      while (theirs.at(next[from]).send == nullptr || theirs[next[from]].peer != me_) ++next[from];
      const Piece& offer = theirs[next[from]++];
      EXPECT_EQ(offer.count, piece.count);
      std::memcpy(piece.receive, offer.send, piece.count * sizeof(float));
    }
    all_.barrier.arrive_and_wait();
  }
  void share(float* array, std::size_t each) override {
    at(all_.arrays) = array;
    all_.barrier.arrive_and_wait();
    for (std::size_t r = 0; r < all_.arrays.size(); ++r) {
      if (static_cast<int>(r) != me_) std::memcpy(array + r * each, all_.arrays[r] + r * each, each * sizeof(float));
    }
    all_.barrier.arrive_and_wait();
  }
  void add_in_any_order(float* array, std::size_t count) override {
    at(all_.arrays) = array;
    all_.barrier.arrive_and_wait();
    std::vector<float> sum(count);
    for (const float* one : all_.arrays) {
      for (std::size_t i = 0; i < count; ++i) sum[i] += one[i];
    }
    all_.barrier.arrive_and_wait();
    std::copy(sum.begin(), sum.end(), array);
  }
  void add(const Addition& a) override {
    for (std::size_t i = 0; i < a.count; ++i) {
      float sum = a.before == nullptr ? 0 : a.before[i];
      for (int r = a.first; r <= a.last; ++r) {
        const float x = r == a.me ? a.own[i] : a.received[static_cast<std::size_t>(r < a.me ? r : r - 1) * a.count + i];
        sum = r == a.first && a.before == nullptr ? x : sum + x;
      }
      a.sum[i] = sum;
    }
  }
  void wait() override { ++waits; }

  int waits = 0;

 private:
  template <class T>
  T& at(std::vector<T>& of_all) const {
    return of_all[static_cast<std::size_t>(me_)];
  }
  Meeting& all_;
  const int me_;
  HostMemory memory_;
};

// Calls `body` in each of n threads.
void in_threads(int n, const std::function<void(ThreadGroupOfDevices&)>& body) {
  Meeting meeting(n);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) {
    threads.emplace_back([&meeting, &body, rank] {
      ThreadGroupOfDevices group(meeting, rank);
      body(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A number of a batch. Magnitudes differ, so that each order of addition has another result.
float number_of(std::size_t batch, std::size_t i) {
  const auto bits = static_cast<std::uint32_t>(batch * 2654435761u + i * 40503u + 12345u);
  const std::uint32_t mixed = (bits ^ bits >> 15) * 2246822519u;
  return std::ldexp(static_cast<float>(mixed % 2000001u) - 1e6f, static_cast<int>(mixed >> 28) - 8);
}

// Updates of two rounds, the second of fewer batches; from the second update on, each begins with a sum that all have.
void add_in_order(ThreadGroupOfDevices& group, std::size_t count) {
  const int n = group.size(), me = group.rank();
  OrderedSum sum(group, count);
  EXPECT_THROW(sum.numbers(), InternalError);
  float* const numbers = static_cast<float*>(sum.numbers_on_device().raw());
  std::vector<float> expected(count);
  std::size_t batch = 0;
  for (int update = 0; update < 3; ++update) {
    for (int round = 0; round < 2; ++round) {
      const int first = round == 1 && n > 2 ? 1 : 0, last = n - 1;
      const bool begins = round == 0 && update == 0;
      if (round == 0 && update > 0) sum.begin_from_numbers();
      sum.begin({first, last, begins, round == 1 ? OrderedSum::Result::kAll : OrderedSum::Result::kNowhere});
      for (std::size_t i = 0; i < count; ++i) numbers[i] = number_of(batch + static_cast<std::size_t>(me), i);
      for (int r = first; r <= last; ++r) {
        for (std::size_t i = 0; i < count; ++i) {
          const float x = number_of(batch + static_cast<std::size_t>(r), i);
          expected[i] = begins && r == first ? x : expected[i] + x;
        }
      }
      sum.ready(count);
      sum.finish();
      batch += static_cast<std::size_t>(n);
    }
    ASSERT_EQ(std::memcmp(numbers, expected.data(), count * sizeof(float)), 0) << count << " " << n << " " << update;
  }
  EXPECT_EQ(group.waits, 6);
}

// One element, a slice that nobody fills, and more than a bucket.
TEST(DeviceSum, AddsInTheOrderOfRanks) {
  for (const int n : {1, 2, 3, 4}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{130}, (std::size_t{1} << 22) + 1003}) {
      in_threads(n, [count](ThreadGroupOfDevices& group) { add_in_order(group, count); });
    }
  }
}

TEST(DeviceSum, LeavesSumsWithTheirOwners) {
  in_threads(2, [](ThreadGroupOfDevices& group) {
    constexpr std::size_t kCount = 256;
    OrderedSum sum(group, kCount);
    float* const numbers = static_cast<float*>(sum.numbers_on_device().raw());
    for (std::size_t i = 0; i < kCount; ++i) numbers[i] = static_cast<float>(group.rank() + 1);
    sum.begin({0, 1, true, OrderedSum::Result::kOwners});
    sum.ready(kCount);
    sum.finish();
    const std::size_t begin = group.rank() == 0 ? 0 : 128;
    for (std::size_t i = 0; i < kCount; ++i) {
      const bool owns = i >= begin && i < begin + 128;
      ASSERT_EQ(numbers[i], owns ? 3.0f : static_cast<float>(group.rank() + 1)) << i;
    }
  });
}

TEST(DeviceSum, LeavesTheOrderToItsLibrary) {
  in_threads(3, [](ThreadGroupOfDevices& group) {
    OrderedSum sum(group, 100);
    float* const numbers = static_cast<float*>(sum.numbers_on_device().raw());
    for (std::size_t i = 0; i < 100; ++i) numbers[i] = static_cast<float>(group.rank() + 1);
    sum.begin({0, 2, true, OrderedSum::Result::kAll, true});
    sum.ready(100);
    sum.finish();
    for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(numbers[i], 6.0f) << i;
  });
}

TEST(DeviceSum, WantsAWholeArray) {
  in_threads(1, [](ThreadGroupOfDevices& group) {
    OrderedSum sum(group, 100);
    EXPECT_THROW(sum.finish(), InternalError);
    sum.begin({0, 0});
    EXPECT_THROW(sum.begin({0, 0}), InternalError);
    sum.ready(99);
    EXPECT_THROW(sum.finish(), InternalError);
  });
}

}  // namespace
}  // namespace graphrun
