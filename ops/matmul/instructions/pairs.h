// Numbers rounded to bfloat16, with two terms of a sum adjacent, as processors multiply them (multiplies_bfloat16).
#pragma once

#include <cstdint>

namespace graphrun {

// Lines of a factor (rows of the left one or columns of the right one), each of which holds the terms of a sum.
struct Pairs {
  const float* from = nullptr;
  std::int64_t row = 0;              // elements between the rows in memory
  bool terms_first = false;          // a row in memory holds one term of all lines; otherwise it is a line
  std::int64_t line = 0, lines = 0;  // the lines to round
  std::int64_t term = 0, terms = 0;  // an even number of terms, starting at an even one
  std::int64_t all_terms = 0;        // the terms that exist; those beyond count as 0
};

// Writes [lines, terms / 2] pairs. Rounds to nearest, ties to even; subnormal float32 numbers become 0 and NaN stays NaN.
// Requires multiplies_bfloat16().
void pairs_by_line(const Pairs& pairs, std::uint16_t* to);
// Writes [terms / 2, lines] pairs.
void pairs_by_term(const Pairs& pairs, std::uint16_t* to);

inline constexpr std::int64_t kMostOfPairBlock = 48;  // rows, and columns: three vectors or tiles

// A product of rows and columns that are packed so.
struct PairBlock {
  const std::uint16_t* panel = nullptr;  // [terms / 2, width] pairs
  const std::uint16_t* rows = nullptr;   // [count, terms]
  float* sums = nullptr;                 // [count, width], at the start of a larger matrix's rows
  std::int64_t sums_row = 0;             // numbers from one row of sums to the next
  std::int64_t count = 0, width = 0;     // at most kMostOfPairBlock
  std::int64_t terms = 0;
  bool adds = false;  // to the sums that are there
};

}  // namespace graphrun
