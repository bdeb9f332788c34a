// The pieces of global_norm on the CPU, for processes that compute one norm together.
#pragma once

#include <cstdint>
#include <span>

namespace graphrun {

inline constexpr std::int64_t kNormPiece = 4096;  // elements; the last piece of an operand may have fewer
// The number of pieces of an operand.
inline std::int64_t norm_pieces(std::int64_t elements) { return (elements + kNormPiece - 1) / kNormPiece; }
// The norm of all operands from the sums of squares of their pieces, operand by operand. Overwrites the sums: they are added in
// pairs, so that the error grows with the logarithm of their number.
double norm_of_pieces(std::span<double> sums);

}  // namespace graphrun
