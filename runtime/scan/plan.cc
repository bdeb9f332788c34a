#include "runtime/scan/plan.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "runtime/scan/columns.h"
#include "runtime/scan/launch.h"
#include "runtime/scan/rows.h"

namespace graphrun {
namespace {

constexpr double kWorkOfLoop = 3e6;          // operations of a loop that justify running it concurrently, with a smaller group
constexpr double kUnevenThreads = 1.25;      // the largest ratio of work between concurrent loops
constexpr std::int64_t kUnevenLaunches = 2;  // the same, on a device

// Calls visit(scans) for each run of two or more adjacent instructions of a root that may run concurrently.
template <class Visit>
void for_each_concurrent(BoundRegion& root, Visit&& visit) {
  std::vector<BoundInstruction>& all = root.instructions;
  for (std::size_t first = 0, last; first < all.size(); first = last) {
    for (last = first + 1; last < all.size() && all[last].source->concurrent;) ++last;
    if (last - first > 1) visit(std::span<BoundInstruction>(all.data() + first, last - first));
  }
}

// Whether running these scans concurrently, with `threads` threads in total, is faster.
bool belong_together(std::span<const BoundInstruction> scans, int threads) {
  const auto loops = static_cast<int>(scans.size());
  if (threads < loops || threads % loops != 0) return false;
  double least = std::numeric_limits<double>::max(), most = 0;
  for (const BoundInstruction& bound : scans) {
    if (bound.scan->plan.by_columns() == nullptr) return false;  // by rows, no thread waits anyway
    const double work = operations_of(*bound.scan);
    least = std::min(least, work), most = std::max(most, work);
  }
  return least >= kWorkOfLoop && most <= kUnevenThreads * least;
}

// What find_launch needs in addition to the scan.
struct Launches {
  const ProgramLayout& layout;
  const LoopCompiler& compiler;
  const DeviceLimits& limits;
};

void plan_launches_alone(BoundRegion& region, const Launches& on) {
  for (BoundInstruction& bound : region.instructions) {
    if (!bound.scan) continue;
    plan_launches_alone(bound.scan->body, on);
    LaunchFound found = find_launch(*bound.scan, on.layout, on.compiler, on.limits);
    ScanPlan& plan = bound.scan->plan;
    plan.not_by_columns = found.by_columns, plan.not_by_rows = found.by_rows;
    if (found.loop != nullptr) plan.way = std::move(found.loop);
  }
}

std::int64_t elements_of(const BoundScan& scan) {
  std::int64_t elements = 0;
  for (const BoundInstruction& bound : scan.body.instructions) {
    for (const TensorView& result : bound.outputs()) elements += result.count();
  }
  return elements;
}

// The launch of each of these scans if they run concurrently; empty if running them in turn is faster.
std::vector<ScanPlan::Launch> concurrent_launches(std::span<BoundInstruction> scans, const Launches& on) {
  const DeviceLimits share = share_of(on.limits, static_cast<int>(scans.size()));
  std::vector<ScanPlan::Launch> concurrent;
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (const BoundInstruction& bound : scans) {
    const BoundScan& scan = *bound.scan;
    const auto* const launch = std::get_if<ScanPlan::Launch>(&scan.plan.way);
    if (launch == nullptr) return {};
    least = std::min(least, elements_of(scan)), most = std::max(most, elements_of(scan));
    const LoopKernel::Traits alone = (*launch)->traits();
    if (!alone.synchronizes) {  // no block waits for one that has no room yet
      concurrent.push_back(*launch);
      continue;
    }
    concurrent.push_back(find_launch(scan, on.layout, on.compiler, share).loop);
    if (concurrent.back() == nullptr) return {};
    const LoopKernel::Traits shared = concurrent.back()->traits();
    if ((alone.keeps_weights && !shared.keeps_weights) || (alone.in_clusters && !shared.in_clusters)) return {};
  }
  if (most > kUnevenLaunches * least) return {};
  return concurrent;
}

void prepare(const BoundRegion& region) {
  for (const BoundInstruction& bound : region.instructions) {
    if (!bound.scan) continue;
    prepare(bound.scan->body);
    if (const LoopKernel* const launch = bound.scan->plan.launch()) launch->prepare();
  }
}

}  // namespace

ScanPlan plan_threads(const BoundScan& scan, int threads) {
  ScanPlan plan;
  plan.not_by_columns = obstacle_to_columns(scan);
  if (!plan.not_by_columns) {
    plan.way = column_threads(scan, threads);
    return plan;
  }
  const RowThreads rows = row_threads(scan, threads);
  if (rows.count == 0) {
    plan.not_by_rows = rows.obstacle;
    return plan;
  }
  plan.way = ScanPlan::ByRows{{rows.count, rows.obstacle, nullptr}};
  return plan;
}

void plan_concurrent_threads(BoundRegion& root, int threads) {
  for_each_concurrent(root, [&](std::span<BoundInstruction> scans) {
    if (!belong_together(scans, threads)) return;
    scans[0].concurrent = scans.size() - 1;
    for (const BoundInstruction& bound : scans) {
      bound.scan->plan.way = column_threads(*bound.scan, threads / static_cast<int>(scans.size()));
    }
  });
}

void plan_launches(BoundRegion& root, const ProgramLayout& layout, const LoopCompiler& compiler, const DeviceLimits& limits) {
  const Launches on{layout, compiler, limits};
  plan_launches_alone(root, on);
  for_each_concurrent(root, [&](std::span<BoundInstruction> scans) {
    std::vector<ScanPlan::Launch> launches = concurrent_launches(scans, on);
    for (std::size_t i = 0; i < launches.size(); ++i) scans[i].scan->plan.way = std::move(launches[i]);
    if (!launches.empty()) scans[0].concurrent = scans.size() - 1;
  });
  prepare(root);
}

}  // namespace graphrun
