// Numbers rounded to bfloat16, two terms of a sum side by side, as processors multiply them (multiplies_bfloat16).
#pragma once

#include <cstdint>

namespace graphrun {

// Lines of a factor, rows of the left or columns of the right one, of which the product sums over terms.
struct Pairs {
  const float* from = nullptr;
  std::int64_t row = 0;              // elements between the rows in memory
  bool terms_first = false;          // a row in memory is a term of all lines; else it is a line
  std::int64_t line = 0, lines = 0;  // those to round
  std::int64_t term = 0, terms = 0;  // an even number of them, from an even one on
  std::int64_t all_terms = 0;        // those that there are: what is beyond them is 0
};

// To [lines, terms / 2] pairs. To the nearest, halves to even, what is too small for a normal float32 to 0; what is no number
// stays none. Only where multiplies_bfloat16().
void pairs_by_line(const Pairs& pairs, std::uint16_t* to);
// To [terms / 2, lines] pairs.
void pairs_by_term(const Pairs& pairs, std::uint16_t* to);

}  // namespace graphrun
