// Decides which scans can share their bodies among threads by columns, the last axis of every result.
#pragma once

#include <cstdint>

#include "runtime/program/bound.h"

namespace graphrun {

// The columns among which threads can divide a body's instruction; 0: one thread runs all of it.
std::int64_t shared_columns(const BoundInstruction& bound);

// Why threads cannot share a bound scan's body by columns; none if they can. They can if it has products with weights to pack,
// and enough steps to make packing pay. An instruction without a kernel for columns (such as layer normalization) runs on one
// thread while the others wait.
Obstacle obstacle_to_columns(const BoundScan& scan);

// How threads share it: at most `threads` of them; fewer if there is too little work or there are too few columns.
ScanPlan::ByColumns column_threads(const BoundScan& scan, int threads);

// The approximate number of operations of all steps of the scan.
double operations_of(const BoundScan& scan);

}  // namespace graphrun
