// Ordered sums of arrays on devices.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"
#include "runtime/communicator/device_group.h"
#include "runtime/communicator/ordered_sum.h"

namespace graphrun {
namespace {

// Limits the memory for what a process receives; each bucket takes three launches.
constexpr std::size_t kDeviceBucket = std::size_t{1} << 22;  // elements

std::size_t bytes_of(std::size_t elements) { return elements * sizeof(float); }

}  // namespace

struct OrderedSum::OnDevice : OrderedSum::Impl {
  OnDevice(DeviceGroup& all, std::size_t elements) : group(all), me(all.rank()), n(all.size()), count(elements) {
    // share() requires slices of equal length in a bucket, so the last ones extend beyond the last element.
    const std::size_t units = static_cast<std::size_t>(n) * kBlock;
    buckets = divided_into_buckets(count, (kDeviceBucket + units - 1) / units * units, kBlock, n);
    std::size_t room = 0, of_slice = 0;
    for (const SumBucket& bucket : buckets) {
      own_elements += bucket.of_slice;
      room = bucket.all.begin + bucket.of_slice * static_cast<std::size_t>(n);
      of_slice = std::max(of_slice, bucket.of_slice);
    }
    array = DeviceMemory(group.device(), bytes_of(room));
    received = DeviceMemory(group.device(), bytes_of(of_slice * static_cast<std::size_t>(n - 1)));
    group.device().clear(array.raw(), array.bytes());
  }

  // Where the slice of process `rank` begins in the array.
  std::size_t begin_of(const SumBucket& bucket, int rank) const {
    return bucket.all.begin + bucket.of_slice * static_cast<std::size_t>(rank);
  }
  float* at(std::size_t element) const { return static_cast<float*>(array.raw()) + element; }

  const DeviceMemory& numbers_on_device() const override { return array; }

  // Memory for sums to which further rounds add.
  float* sums() {
    if (sums_memory.raw() == nullptr) sums_memory = DeviceMemory(group.device(), bytes_of(own_elements));
    return static_cast<float*>(sums_memory.raw());
  }

  void begin_from_numbers() override {
    float* to = sums();
    for (const SumBucket& bucket : buckets) {
      group.device().copy(to, at(begin_of(bucket, me)), bytes_of(bucket.of_slice));
      to += bucket.of_slice;
    }
  }

  void begin(const Round& next) override {
    GRAPHRUN_CHECK(!in_progress, "OrderedSum: an addition is in progress");
    in_progress = true;
    complete = 0;
    round = next;
  }

  void ready(std::size_t end) override { complete = end; }

  void finish() override {
    GRAPHRUN_CHECK(in_progress && complete == count, "OrderedSum: an array is not complete");
    if (round.any_order) {
      group.add_in_any_order(at(0), count);
    } else {
      std::size_t sum = 0;
      for (const SumBucket& bucket : buckets) {
        add(bucket, sum);
        sum += bucket.of_slice;
      }
    }
    group.wait();
    in_progress = false;
  }

  // `sum`: where this process's slice begins in sums().
  void add(const SumBucket& bucket, std::size_t sum) {
    const auto is_added = [this](int rank) { return round.first <= rank && rank <= round.last; };
    std::vector<DeviceGroup::Piece> pieces;
    for (int step = 1; step < n; ++step) {
      const int from = (me + n - step) % n, to = (me + step) % n;
      const auto place = static_cast<std::size_t>(from < me ? from : from - 1);
      float* const into = static_cast<float*>(received.raw()) + place * bucket.of_slice;
      if (is_added(from)) pieces.push_back({from, nullptr, into, bucket.of_slice});
      if (is_added(me)) pieces.push_back({to, at(begin_of(bucket, to)), nullptr, bucket.of_slice});
    }
    group.exchange(pieces);
    DeviceGroup::Addition addition;
    addition.before = round.begins ? nullptr : sums() + sum;
    addition.own = at(begin_of(bucket, me));
    addition.received = static_cast<const float*>(received.raw());
    addition.first = round.first, addition.last = round.last, addition.me = me;
    addition.sum = round.result == Result::kNowhere ? sums() + sum : at(begin_of(bucket, me));
    addition.count = bucket.of_slice;
    group.add(addition);
    if (round.result == Result::kAll) group.share(at(bucket.all.begin), bucket.of_slice);
  }

  DeviceGroup& group;
  const int me, n;
  const std::size_t count;
  std::vector<SumBucket> buckets;
  std::size_t own_elements = 0;  // of this process's slices
  DeviceMemory array, received, sums_memory;
  Round round;
  bool in_progress = false;
  std::size_t complete = 0;
};

OrderedSum::OrderedSum(DeviceGroup& group, std::size_t count) : impl_(std::make_shared<OnDevice>(group, count)) {}

}  // namespace graphrun
