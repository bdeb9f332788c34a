// Decides how the scans of a bound program run, and which of them run concurrently.
#pragma once

#include "runtime/program/arena.h"
#include "runtime/program/bound.h"

namespace graphrun {

// How threads of the CPU run a bound scan: by columns where that can be done, else by rows, else step by step.
ScanPlan plan_threads(const BoundScan& scan, int threads);

// Of a bound root whose scans have their plans: scans that may run concurrently and have about the same to do share the
// threads, each with a smaller group (both directions of a bidirectional layer), since a group waits less often the fewer it
// has.
void plan_concurrent_threads(BoundRegion& root, int threads);

// Plans every scan of a bound root, and of the bodies in it, for a device: as one launch where there is one. Scans that may run
// concurrently do, each on its share of the device: a barrier takes as long whatever the blocks compute between two. Not where
// only the whole device has room for their weights, or for clusters, or where one has much more to do.
void plan_launches(BoundRegion& root, const ProgramLayout& layout);

}  // namespace graphrun
