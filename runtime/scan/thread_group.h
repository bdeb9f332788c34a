// Threads that stay in a scan's body for all its steps, instead of one parallel region for every kernel of every step.
//  - By columns: each thread owns columns of every result, for all steps, and waits only where it reads what others have
//    computed. That leaves one barrier for each dependent product, and each thread's part of the weights stays in the cache
//    of its core.
//  - By rows of the batch, if no row ever reads another, as in a CRF. Each thread goes through all steps on its own, in its
//    own memory, and never waits; a loop too small for two threads runs on one, without a parallel region.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/program/arena.h"
#include "runtime/program/bound.h"

namespace graphrun {

// Columns or rows [begin, end) of a result, the share of one thread; begin is -1 if the result is not divided.
struct Share {
  std::int64_t begin = 0, end = 0;
};
// In multiples of `step`, as equal as possible.
Share share_of(std::int64_t size, int thread, int threads, std::int64_t step = kColumnStep);

// A scan's body, once for each of its threads.
struct ThreadGroup {
  struct Member {
    BoundRegion body;  // with its own addresses: threads may be at different steps
    // By instruction. Undivided results: by columns, the first thread computes all of it; by rows, each thread computes it.
    std::vector<Share> shares;
    std::int32_t position = 0;             // the current step's
    std::int64_t memory = 0;               // offset of its copy of the body's memory from the first copy
    std::vector<std::int64_t> scan_steps;  // the positions of the enclosing scans and of this one
  };
  std::vector<std::unique_ptr<Member>> members;
  std::vector<char> barrier_before;  // by instruction: whether all threads synchronize before it
};

// The group of a scan whose plan shares it by columns or by rows; rebase sets the addresses. By rows, the layout has one copy
// of the body per thread.
std::shared_ptr<ThreadGroup> make_thread_group(const BoundScan& scan, const ProgramLayout& layout);

}  // namespace graphrun
