// Threads that stay in a scan's body for all its steps, instead of one parallel region for every kernel of every step.
//  - By columns: each thread has its own columns of every result, from step to step, and waits only where it reads what others
//    have computed. That leaves one barrier for each dependent product, and every thread's part of the weights in its own
//    core's cache.
//  - By rows, of the batch: where no row ever reads another, as in a CRF. Each thread goes through all steps by itself, in
//    memory of its own, and never waits; a loop too small for two is run by one, without any parallel region.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/program/arena.h"
#include "runtime/program/bound.h"

namespace graphrun {

// Columns or rows [begin, end) of a result, the share of one thread; from -1 on where it is not cut.
struct Share {
  std::int64_t begin = 0, end = 0;
};
// In multiples of `step`, as equal as they come.
Share share_of(std::int64_t size, int thread, int threads, std::int64_t step = kColumnStep);

// A scan's body for each of its threads.
struct ThreadGroup {
  struct Member {
    BoundRegion body;  // its own addresses: threads may be at different steps
    // By instruction. Not cut: by columns, the first thread computes all of the result; by rows, each computes it for itself.
    std::vector<Share> shares;
    std::int32_t position = 0;             // of its step
    std::int64_t memory = 0;               // where its copy of the body's memory is, from the first one's on
    std::vector<std::int64_t> scan_steps;  // by rows: the positions of the scans around and this one
  };
  std::vector<std::unique_ptr<Member>> members;
  std::vector<char> barrier_before;  // by instruction: whether all wait for each other before it
};

// The group of a scan whose plan is to share it by columns or by rows; addresses come with rebase. By rows, the layout has as
// many copies of the body as there are threads.
std::unique_ptr<ThreadGroup> make_thread_group(const BoundScan& scan, const ProgramLayout& layout);

}  // namespace graphrun
