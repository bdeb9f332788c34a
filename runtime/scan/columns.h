// Scans whose bodies threads share by columns, the last axis of every result.
#pragma once

#include <cstdint>

#include "runtime/program/bound.h"

namespace graphrun {

// Columns by which threads share an instruction of a body; 0: one thread runs all of it.
std::int64_t shared_columns(const BoundInstruction& bound);

// Why a bound scan's body can't be shared by columns; none where it can. It can where it has products with weights to pack and
// enough steps to pack them for. An instruction without a kernel for columns (the normalization of a layer) is run by one
// thread while the others wait.
Obstacle obstacle_to_columns(const BoundScan& scan);

// How threads share it: columns of multiples of `step`, by `count` threads of at most `threads`, fewer where there is too
// little work or it has too few columns.
struct ColumnThreads {
  int count = 1;
  std::int64_t step = kColumnStep;
  Obstacle not_more;  // why only one
};
ColumnThreads column_threads(const BoundScan& scan, int threads);

// About how many operations all steps of the scan take.
double operations_of(const BoundScan& scan);

}  // namespace graphrun
