// A scan's body run by a team of threads for all steps, instead of one parallel region for every kernel of every step.
//  - By columns: each has its own columns of every result, from step to step, and they meet only where one reads what others
//    made. That leaves one meeting for each dependent product, and every thread's part of the weights in its own core's cache.
//  - By rows, of the batch: where no row ever reads another, as in a CRF. Each thread goes through all steps by itself, in
//    memory of its own, and they never meet; a loop too small for two is run by one, without any parallel region.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/program/arena.h"
#include "runtime/program/bound.h"

namespace graphrun {

// Where threads wait until all have come. Spins for a while, then gives the core away: the team may have fewer cores than
// threads.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait();
  // This thread comes no more: from now on nobody waits.
  void leave() { open_.store(true, std::memory_order_release); }

 private:
  const int threads_;
  std::atomic<bool> open_{false};
  std::atomic<int> waiting_{0};
  std::atomic<unsigned> round_{0};
};

// Columns [begin, end) of a result, the share of one thread of a team.
struct ColumnRange {
  std::int64_t begin = 0, end = 0;
};
// In multiples of `step`, as equal as they come.
ColumnRange columns_of(std::int64_t columns, int thread, int threads, std::int64_t step = kColumnStep);

// A scan's body for each thread of a team, and the instructions before which they meet.
struct Team {
  struct Member {
    BoundRegion body;  // its own addresses: threads may be at different steps
    // By instruction: its columns, which may be none, from -1 on where the first member makes all of the result; by rows: its
    // rows, from -1 on where each makes all for itself.
    std::vector<ColumnRange> ranges;
    std::int32_t position = 0;             // of its step
    std::int64_t memory = 0;               // where its copy of the body's memory is, from the first one's on
    std::vector<std::int64_t> scan_steps;  // by rows: the positions of the scans around and this one
  };
  bool by_rows = false;
  std::vector<std::unique_ptr<Member>> members;
  std::vector<char> meet_before;  // by instruction
  Obstacle not_more;              // why there is one member alone
};

// A body with instructions of its own, the kernels shared; addresses come with rebase.
BoundRegion copy_of(const BoundRegion& body);

// Names the memory behind a slot of a bound scan's body at a step, from 0 on: a state's next value is what the next step begins
// with. A state has two names, by turns, unless it stays in one place.
std::int64_t slot_memory(const BoundScan& scan, std::int32_t slot, int step);

// Whether rows of a bound scan's body keep apart in memory, `rows` of every result by its last axis: whoever is at another step
// with other rows touches nothing of theirs. Blocks of the body that take turns in the same bytes are not cut at the same
// places unless they are of one size; and what a step makes must be read as the same rows.
bool rows_keep_apart(const BoundScan& scan, const ProgramLayout& layout, std::int64_t rows);

// Before which instructions of a bound scan's body those that share it by columns must meet.
std::vector<char> meetings(const BoundScan& scan, const ProgramLayout& layout);

// Why a bound scan's body can't be shared by columns. It can be, and there is nothing, where it has products with weights to
// prepare and enough steps to prepare for; what does not run by columns (the normalisation of a layer) one thread does while
// the others wait.
Obstacle obstacle_to_columns(const BoundScan& scan);

// A team of up to `threads`, fewer where there is too little work; addresses come with rebase. Places are those of the layout.
std::unique_ptr<Team> make_team(const BoundScan& scan, const ProgramLayout& layout, int threads);

// Of a root: loops that may run at the same time and have about the same to do share the threads, each with a smaller team
// (both directions of a bi-directional layer): a team meets less often the fewer it is.
void pair_teams(BoundRegion& root, const ProgramLayout& layout, int threads);

// What a bound scan's body is to those who share it by rows of the batch.
struct RowPlan {
  Obstacle obstacle;  // where some row reads another, or an instruction can't be shared; the rest is then not set
  std::int64_t rows = 0;
  double operations = 0;                   // of a step, about
  const Instruction* costliest = nullptr;  // that takes most of them
  std::vector<std::int64_t> shared = {};   // by instruction: its rows; 0: a few numbers that each makes for itself
  std::vector<char> of_each = {};          // by block of the body: it holds such numbers
};
RowPlan row_plan(const BoundScan& scan);

// How many threads share a bound scan's body by rows: 0 where an instruction can't, or where its kernels have more to share out
// than there are rows.
struct RowThreads {
  int count = 0;
  Obstacle obstacle;  // why none, or only one
};
RowThreads row_members(const BoundScan& scan, int threads);

// The team of scan.row_members; the layout has as many copies of the body.
std::unique_ptr<Team> make_row_team(const BoundScan& scan, const ProgramLayout& layout);

}  // namespace graphrun
