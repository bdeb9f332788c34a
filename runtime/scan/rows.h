// Scans whose bodies are shared by rows of the batch, the first axis of every result, where no row ever reads another.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/program/bound.h"

namespace graphrun {

// What a bound scan's body is to those who share it by rows.
struct RowSharing {
  Obstacle obstacle;  // where some row reads another, or an instruction can't be shared; the rest is then not set
  std::int64_t rows = 0;
  double operations = 0;                   // of a step, about
  const Instruction* costliest = nullptr;  // that takes most of them
  std::vector<std::int64_t> shared = {};   // by instruction: its rows; 0: a few numbers that each makes for itself
  std::vector<char> of_each = {};          // by block of the body: it holds such numbers
};
RowSharing row_sharing(const BoundScan& scan);

// Rows by which threads share an instruction of a body: 0 where each thread makes the result for itself, -1 where they can't.
std::int64_t shared_rows(const BoundInstruction& bound);

// How many of `threads` share a bound scan's body by rows: 0 where an instruction can't be, or where its kernels have more to
// share out than there are rows.
struct RowThreads {
  int count = 0;
  Obstacle obstacle;  // why none, or only one
};
RowThreads row_threads(const BoundScan& scan, int threads);

}  // namespace graphrun
