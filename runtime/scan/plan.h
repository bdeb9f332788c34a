// Decides how the scans of a bound program run, and which of them run concurrently.
#pragma once

#include "runtime/program/arena.h"
#include "runtime/program/bound.h"
#include "runtime/scan/launch.h"

namespace graphrun {

// How CPU threads run a bound scan: by columns if possible, else by rows, else step by step.
ScanPlan plan_threads(const BoundScan& scan, int threads);

// For a bound root whose scans have been planned: scans that may run concurrently and have about equal work divide the threads
// among them, each with a smaller group (for example, both directions of a bidirectional layer), because smaller groups spend
// less time at barriers.
void plan_concurrent_threads(BoundRegion& root, int threads);

// Plans every scan of a bound root, and of the bodies in it, for a device with these limits: as one launch, made by `compiler`,
// if possible. Scans that may run concurrently do so, each on its share of the device, since a barrier takes the same time
// however much the blocks compute between two of them. They run in turn if only the whole device has room for their weights or
// clusters, or if one has much more work.
void plan_launches(BoundRegion& root, const ProgramLayout& layout, const LoopCompiler& compiler, const DeviceLimits& limits);

}  // namespace graphrun
