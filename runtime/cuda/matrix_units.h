// A device's matrix units ("tensor cores"): a warp multiplies small matrices of rounded numbers and accumulates in float32.
// Requires compute capability 8.0. For the text of generated kernels; the host rounds in the same way.
#pragma once

#include "runtime/cuda/primitives.h"

namespace graphrun::cuda {

constexpr int kWarpThreads = 32;
// D [16, 8] += A [16, 8 words] · B [8 words, 8]; a word is one TF32 number, or two bfloat16 numbers that are consecutive along
// the summed axis.
constexpr int kUnitRows = 16, kUnitColumns = 8, kUnitWords = 8;

GRAPHRUN_DEVICE unsigned bits_of(float x) {
#if defined(__CUDACC__)
  return __float_as_uint(x);
#else
  return __builtin_bit_cast(unsigned, x);
#endif
}
GRAPHRUN_DEVICE float float_of(unsigned bits) {
#if defined(__CUDACC__)
  return __uint_as_float(bits);
#else
  return __builtin_bit_cast(float, bits);
#endif
}
GRAPHRUN_DEVICE bool finite(unsigned bits) { return (bits & 0x7F800000u) != 0x7F800000u; }

// 8 exponent bits and 10 fraction bits; rounds to nearest, halves away from zero, as cvt.rna does.
struct Tf32 {
  static constexpr int kInWord = 1;
  GRAPHRUN_DEVICE static unsigned word(const float (&x)[1]) {
    const unsigned bits = bits_of(x[0]), rounded = (bits + 0x1000u) & ~0x1FFFu;
    const unsigned cut = (bits & ~0x1FFFu) | ((bits & 0x1FFFu) != 0 ? 0x2000u : 0);  // the units ignore the dropped bits
    return finite(bits) ? rounded : cut;
  }
  GRAPHRUN_DEVICE static float number(unsigned word, int) { return float_of(word & ~0x1FFFu); }
};

// The upper 16 bits of float32; rounds to nearest, halves to even.
struct BFloat16 {
  static constexpr int kInWord = 2;
  GRAPHRUN_DEVICE static unsigned half(float x) {
    const unsigned bits = bits_of(x);
    // A NaN must not become infinite, whichever of its bits are set.
    return finite(bits) ? (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16 : bits >> 16 | ((bits & 0xFFFFu) != 0 ? 1u : 0u);
  }
  GRAPHRUN_DEVICE static unsigned word(const float (&x)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned both;  // one instruction, which rounds alike; every NaN becomes the same one
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(x[1]), "f"(x[0]));
    return both;
#else
    return half(x[0]) | half(x[1]) << 16;
#endif
  }
  GRAPHRUN_DEVICE static float number(unsigned word, int i) { return float_of(i == 0 ? word << 16 : word & 0xFFFF0000u); }
};

// float32 itself: a word is one number. The units multiply it as the sum of two TF32 numbers, which together have 22 bits of
// its 24, and leave out the product of the two lower ones. A product is thus off by about 2^-22 of itself, less than what
// rounding the sums of a few hundred products costs in float32.
struct SplitFloat32 {
  static constexpr int kInWord = 1;
  struct Parts {
    unsigned upper, lower;
  };
  GRAPHRUN_DEVICE static unsigned word(const float (&x)[1]) { return bits_of(x[0]); }
  GRAPHRUN_DEVICE static float number(unsigned word, int) { return float_of(word); }
  // Without branches, which would keep the compiler from computing several at a time.
  GRAPHRUN_DEVICE static Parts parts(unsigned word) {
    constexpr unsigned kDropped = 0x1FFFu;
    const unsigned rounded = (word + 0x1000u) & ~kDropped;
    // The largest numbers would round to infinity, so they are cut off; a NaN must not become infinite.
    const unsigned cut = (word & ~kDropped) | ((word & kDropped) != 0 ? kDropped + 1 : 0);
    const unsigned upper = finite(rounded) ? rounded : cut;
    // Infinity minus itself is NaN. A NaN may have rounded to 0 above; then its lower part is NaN.
    return {upper, (word & kDropped) != 0 ? bits_of(float_of(word) - float_of(upper)) : 0};
  }
};

// The elements of the three matrices that a thread of the warp holds, t being its position there (PTX ISA, "Matrix Fragments
// for mma.m16n8k8" of .tf32 and "for mma.m16n8k16" of .bf16): of A words [t / 4 + 8 (i % 2), t % 4 + 4 (i / 2)]; of B [t % 4 +
// 4 i, t / 4]; of D [t / 4 + 8 (i / 2), t % 4 * 2 + i % 2].
template <class Form>
GRAPHRUN_DEVICE void multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]);

#if defined(__CUDACC__)

#define GRAPHRUN_MULTIPLY_ADD(Form, instruction)                                                        \
  template <>                                                                                           \
  GRAPHRUN_DEVICE void multiply_add<Form>(float(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2]) { \
    asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"         \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                       \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                   \
  }
GRAPHRUN_MULTIPLY_ADD(Tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
GRAPHRUN_MULTIPLY_ADD(BFloat16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
#undef GRAPHRUN_MULTIPLY_ADD

#else

template <class Form>
void multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const SharedWords mine = {a[0], a[1], a[2], a[3], b[0], b[1]};
  const SharedWords* const all = share_in_warp(mine);  // by thread
  const int t = thread_index() % kWarpThreads;
  for (int i = 0; i < 4; ++i) {
    const int row = t / 4 + i / 2 * 8, column = t % 4 * 2 + i % 2;
    for (int k = 0; k < kUnitWords; ++k) {
      const unsigned x = all[row % 8 * 4 + k % 4][row / 8 + k / 4 * 2], w = all[column * 4 + k % 4][4 + k / 4];
      for (int j = 0; j < Form::kInWord; ++j) d[i] += Form::number(x, j) * Form::number(w, j);
    }
  }
}

#endif

// The units truncate their sums, and over many products these errors accumulate, so each sum is added to `d` outside of
// them. Where a factor is infinite, the products of its upper part alone count: infinity times a lower part of 0 is NaN.
template <>
GRAPHRUN_DEVICE void multiply_add<SplitFloat32>(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  unsigned upper_a[4], lower_a[4], upper_b[2], lower_b[2];
  GRAPHRUN_UNROLL
  for (int i = 0; i < 4; ++i) {
    const SplitFloat32::Parts parts = SplitFloat32::parts(a[i]);
    upper_a[i] = parts.upper, lower_a[i] = parts.lower;
  }
  GRAPHRUN_UNROLL
  for (int i = 0; i < 2; ++i) {
    const SplitFloat32::Parts parts = SplitFloat32::parts(b[i]);
    upper_b[i] = parts.upper, lower_b[i] = parts.lower;
  }
  float upper[4] = {}, mixed[4] = {};
  multiply_add<Tf32>(mixed, lower_a, upper_b);
  multiply_add<Tf32>(mixed, upper_a, lower_b);
  multiply_add<Tf32>(upper, upper_a, upper_b);
  GRAPHRUN_UNROLL
  for (int i = 0; i < 4; ++i) d[i] += upper[i] + (finite(bits_of(upper[i])) ? mixed[i] : 0.f);
}

}  // namespace graphrun::cuda
