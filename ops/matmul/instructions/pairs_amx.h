// Products of pairs of bfloat16 (ops/matmul/instructions/pairs.h) in AMX tiles: about eight times as fast as float32. Sums are
// float32; each result sums runs of kPairTileTerms terms in order, so its bits do not depend on the number of rows or columns.
#pragma once

#include <cstdint>

#include "ops/matmul/instructions/pairs.h"

namespace graphrun {

inline constexpr std::int64_t kPairTileTerms = 32;  // terms that a tile holds; sums are padded with zeros to a multiple

// Requires amx_multiplies_bfloat16() (runtime/base/processor.h) and a multiple of kPairTileTerms terms.
void multiply_pairs_in_tiles(const PairBlock& block);

}  // namespace graphrun
