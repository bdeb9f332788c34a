// Lays out broadcast runs contiguously, vectorized: the short rows of a narrow tensor would otherwise cost more to assemble
// than to compute with.
#pragma once

#include <cstdint>

namespace graphrun {

// How far beyond the end either function may write: one register.
inline constexpr std::int64_t kRunSlack = 64;  // bytes

// out[r * length + i] = in[r] for r < runs, i < length. Elements of 4 or 8 bytes.
void spread_runs(const std::uint32_t* in, std::uint32_t* out, std::int64_t runs, std::int64_t length);
void spread_runs(const std::uint64_t* in, std::uint64_t* out, std::int64_t runs, std::int64_t length);
// out[(r * times + t) * length + i] = in[r * length + i] for r < rows, t < times, i < length.
void repeat_rows(const std::uint32_t* in, std::uint32_t* out, std::int64_t rows, std::int64_t times, std::int64_t length);
void repeat_rows(const std::uint64_t* in, std::uint64_t* out, std::int64_t rows, std::int64_t times, std::int64_t length);

}  // namespace graphrun
