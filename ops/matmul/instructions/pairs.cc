#include "ops/matmul/instructions/pairs.h"

#include "runtime/base/status.h"

#if defined(__x86_64__)
// GCC 12 warns about a variable that its own header leaves undefined on purpose (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <algorithm>
#endif

namespace graphrun {

#if defined(__x86_64__)

#define GRAPHRUN_BFLOAT16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define GRAPHRUN_BFLOAT16_INLINE __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"), always_inline)) inline

namespace {

constexpr std::int64_t kLanes = 16;  // pairs per vector, and floats per vector

__mmask16 first_lanes(std::int64_t n) { return static_cast<__mmask16>(n >= kLanes ? 0xFFFF : n <= 0 ? 0 : (1u << n) - 1); }

// Pairs i to i + 16 of one line whose terms are contiguous in memory; zeros beyond `valid` terms.
GRAPHRUN_BFLOAT16_INLINE __m512i pairs_of_line(const float* line, std::int64_t i, std::int64_t valid) {
  const std::int64_t left = valid - 2 * i;
  const __m512 low = _mm512_maskz_loadu_ps(first_lanes(left), line + 2 * i),
               high = _mm512_maskz_loadu_ps(first_lanes(left - kLanes), line + 2 * i + kLanes);
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// One pair for each of lines j to j + 16, where the lines are contiguous in memory for each term; a null `second` means zeros.
GRAPHRUN_BFLOAT16_INLINE __m512i pairs_of_lines(const float* first, const float* second, std::int64_t j, std::int64_t lines,
                                                __m512i zip) {
  const __mmask16 there = first_lanes(lines - j);
  const __m512 low = _mm512_maskz_loadu_ps(there, first + j),
               high = second == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(there, second + j);
  return _mm512_permutexvar_epi16(zip, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
}

// The numbers 0, 16, 1, 17, …
GRAPHRUN_BFLOAT16_INLINE __m512i zip_halves() {
  alignas(64) std::uint16_t order[2 * kLanes];
  for (std::uint16_t i = 0; i < kLanes; ++i) order[2 * i] = i, order[2 * i + 1] = static_cast<std::uint16_t>(i + kLanes);
  return _mm512_load_si512(order);
}

// Transposes 16 rows of 16 pairs.
GRAPHRUN_BFLOAT16_INLINE void transpose(__m512i (&r)[kLanes]) {
  __m512i t[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]), t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  // Now quarter q of r[4 g + c] holds column 4 q + c of rows 4 g to 4 g + 3.
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]), r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]), r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i even = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x88), even_too = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0x88),
                  odd = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xdd), odd_too = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0xdd);
    t[c] = _mm512_shuffle_i32x4(even, even_too, 0x88), t[8 + c] = _mm512_shuffle_i32x4(even, even_too, 0xdd);
    t[4 + c] = _mm512_shuffle_i32x4(odd, odd_too, 0x88), t[12 + c] = _mm512_shuffle_i32x4(odd, odd_too, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) r[i] = t[i];
}

// The numbers in memory to be packed in pairs.
struct Source {
  explicit Source(const Pairs& p)
      : row(p.row),
        lines(p.lines),
        pairs(p.terms / 2),
        valid(std::min(p.terms, p.all_terms - p.term)),
        at(p.terms_first ? p.from + p.term * p.row + p.line : p.from + p.line * p.row + p.term) {}
  const float* term(std::int64_t t) const { return t < valid ? at + t * row : nullptr; }

  std::int64_t row, lines, pairs, valid;
  const float* at;
};

// Transposes blocks of sixteen lines by sixteen pairs.
GRAPHRUN_BFLOAT16 void by_term_of_lines(const Source& s, std::uint32_t* to) {
  for (std::int64_t j = 0; j < s.lines; j += kLanes) {  // a few lines at a time, since they are far apart in memory
    for (std::int64_t i = 0; i < s.pairs; i += kLanes) {
      __m512i square[kLanes];
      for (std::int64_t l = 0; l < kLanes; ++l) {
        square[l] = j + l < s.lines ? pairs_of_line(s.at + (j + l) * s.row, i, s.valid) : _mm512_setzero_si512();
      }
      transpose(square);
      for (std::int64_t l = 0; l < std::min(kLanes, s.pairs - i); ++l) {
        _mm512_mask_storeu_epi32(to + (i + l) * s.lines + j, first_lanes(s.lines - j), square[l]);
      }
    }
  }
}
GRAPHRUN_BFLOAT16 void by_line_of_terms(const Source& s, std::uint32_t* to) {
  const __m512i zip = zip_halves();
  for (std::int64_t j = 0; j < s.lines; j += kLanes) {
    for (std::int64_t i = 0; i < s.pairs; i += kLanes) {
      __m512i square[kLanes];
      for (std::int64_t l = 0; l < kLanes; ++l) {
        const float* first = s.term(2 * (i + l));
        square[l] = first == nullptr ? _mm512_setzero_si512() : pairs_of_lines(first, s.term(2 * (i + l) + 1), j, s.lines, zip);
      }
      transpose(square);
      for (std::int64_t l = 0; l < std::min(kLanes, s.lines - j); ++l) {
        _mm512_mask_storeu_epi32(to + (j + l) * s.pairs + i, first_lanes(s.pairs - i), square[l]);
      }
    }
  }
}

GRAPHRUN_BFLOAT16 void by_term_of_terms(const Source& s, std::uint32_t* to) {
  const __m512i zip = zip_halves();
  for (std::int64_t i = 0; i < s.pairs; ++i) {
    const float *first = s.term(2 * i), *second = s.term(2 * i + 1);
    for (std::int64_t j = 0; j < s.lines; j += kLanes) {
      const __m512i pairs = first == nullptr ? _mm512_setzero_si512() : pairs_of_lines(first, second, j, s.lines, zip);
      _mm512_mask_storeu_epi32(to + i * s.lines + j, first_lanes(s.lines - j), pairs);
    }
  }
}
GRAPHRUN_BFLOAT16 void by_line_of_lines(const Source& s, std::uint32_t* to) {
  for (std::int64_t l = 0; l < s.lines; ++l) {
    for (std::int64_t i = 0; i < s.pairs; i += kLanes) {
      _mm512_mask_storeu_epi32(to + l * s.pairs + i, first_lanes(s.pairs - i), pairs_of_line(s.at + l * s.row, i, s.valid));
    }
  }
}

std::uint32_t* as_pairs(std::uint16_t* to) { return reinterpret_cast<std::uint32_t*>(to); }

}  // namespace

void pairs_by_line(const Pairs& p, std::uint16_t* to) {
  p.terms_first ? by_line_of_terms(Source(p), as_pairs(to)) : by_line_of_lines(Source(p), as_pairs(to));
}
void pairs_by_term(const Pairs& p, std::uint16_t* to) {
  p.terms_first ? by_term_of_terms(Source(p), as_pairs(to)) : by_term_of_lines(Source(p), as_pairs(to));
}

#else

void pairs_by_line(const Pairs&, std::uint16_t*) { throw InternalError("no pairs of bfloat16 on this processor"); }
void pairs_by_term(const Pairs&, std::uint16_t*) { throw InternalError("no pairs of bfloat16 on this processor"); }

#endif

}  // namespace graphrun
