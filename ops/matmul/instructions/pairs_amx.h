// Products of pairs of bfloat16 (ops/matmul/instructions/pairs.h) in AMX tiles: about eight times as fast as float32. Sums are
// float32; each result sums runs of kPairTileTerms terms in order, so its bits do not depend on the number of rows or columns.
#pragma once

#include <cstdint>

namespace graphrun {

inline constexpr std::int64_t kPairTileTerms = 32;    // terms that a tile holds; sums are padded with zeros to a multiple
inline constexpr std::int64_t kMostOfPairBlock = 48;  // rows, and columns: three tiles

struct PairBlock {
  const std::uint16_t* panel = nullptr;  // [terms / 2, width] pairs
  const std::uint16_t* rows = nullptr;   // [count, terms]
  float* sums = nullptr;                 // [count, width], at the start of a larger matrix's rows
  std::int64_t sums_row = 0;             // numbers from one row of sums to the next
  std::int64_t count = 0, width = 0;     // at most kMostOfPairBlock
  std::int64_t terms = 0;                // a multiple of kPairTileTerms
  bool adds = false;                     // to the sums that are there
};

// Requires amx_multiplies_bfloat16() (runtime/base/processor.h).
void multiply_pairs(const PairBlock& block);

}  // namespace graphrun
