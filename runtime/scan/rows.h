// Decides which scans can share their bodies by rows of the batch, the first axis of every result: those in which no row reads
// another.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/program/bound.h"

namespace graphrun {

// How threads can share a bound scan's body by rows.
struct RowSharing {
  Obstacle obstacle;  // a row reads another, or an instruction cannot be shared; the other fields are then not set
  std::int64_t rows = 0;
  double operations = 0;                   // of a step, approximately
  const Instruction* costliest = nullptr;  // the instruction that takes most of them
  std::vector<std::int64_t> shared = {};   // by instruction: its rows; 0: a small result that each thread computes for itself
  std::vector<char> of_each = {};          // by block of the body: it holds such a result
};
RowSharing row_sharing(const BoundScan& scan);

// The rows by which threads share a body's instruction: 0 if each thread computes the result for itself, -1 if they cannot.
std::int64_t shared_rows(const BoundInstruction& bound);

// How many of `threads` share a bound scan's body by rows: 0 if an instruction cannot be shared, or if its kernels have more
// independent work than there are rows.
struct RowThreads {
  int count = 0;
  Obstacle obstacle;  // why none, or only one
};
RowThreads row_threads(const BoundScan& scan, int threads);

}  // namespace graphrun
