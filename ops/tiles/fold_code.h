// Pointwise steps and what is folded down their rows as one machine code (AVX-512): of each column the sum, the greatest, the
// least or where that stands, while the elements themselves never leave the registers. Elsewhere there is none, and what the
// steps make is laid down piece by piece and reduced after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/tiles/machine_code.h"

namespace graphrun {

class FoldCode {
 public:
  struct Fold {
    enum class Kind : std::uint8_t { kSum, kMax, kMin, kArgMax, kArgMin } kind = Kind::kSum;
    std::size_t result = 0;  // of the steps: what is folded, float32
  };

  // Null where there is none. Made once for the same steps, inputs and folds; any thread may ask at any time.
  static std::shared_ptr<const FoldCode> of(std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs,
                                            std::span<const Fold> folds);

  // n columns of `rows` rows, at least one; `strides`: bytes from row to row, of each input. Row by row in order: the bits of
  // ops/reduce/fold_simd.h and position_simd.h. False where a greatest or least met what is not a number: nothing holds then.
  bool run(const void* const* inputs, void* const* results, std::size_t n, std::size_t rows,
           const std::int64_t* strides) const {
    return code_(inputs, results, n, rows, strides) == 0;
  }

  using Code = std::uint32_t (*)(const void* const*, void* const*, std::size_t, std::size_t, const std::int64_t*);
  explicit FoldCode(Code code) : code_(code) {}

 private:
  Code code_;
};

}  // namespace graphrun
