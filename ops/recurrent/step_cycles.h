// Estimates of the cycles that a step of a loop takes on a multiprocessor of a recent GPU. Plans of the same loop are compared
// by them, so they leave out what all plans have in common.
#pragma once

namespace graphrun::step_cycles {

// Reading bytes of the device's memory, while all other multiprocessors do so too; and of shared memory.
constexpr double of_memory(double bytes) { return bytes / 24; }
constexpr double of_own(double bytes) { return bytes / 128; }
// A barrier, including the time until the values that others wrote before it arrive. In a cluster, waiting for values without a
// barrier counts the same.
constexpr double kGridBarrier = 3000, kClusterBarrier = 1000;
// The work that each thread of a block does in turn: an element of pointwise work; a term of a sum; a term of a tile of 4 x 4
// sums, for products in loops by columns, which few threads share.
constexpr double kElement = 50, kTerm = 16, kTermOfTile = 40;

}  // namespace graphrun::step_cycles
