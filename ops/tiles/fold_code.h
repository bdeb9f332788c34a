// Pointwise steps and the folds of their results down rows, as one piece of machine code (AVX-512): for each column the sum,
// maximum, minimum or position of an extreme, while the elements never leave the registers. On other processors there is none,
// and the results of the steps are stored piece by piece and then reduced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compiler/ir/fold.h"
#include "ops/tiles/machine_code.h"

namespace graphrun {

class FoldCode {
 public:
  // Null if there is no code, as for logsumexp and for results that are not float32. A mean is left as the sum. Made once for
  // equal steps, inputs and folds; any thread may call it at any time.
  static std::shared_ptr<const FoldCode> of(std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs,
                                            std::span<const ir::Fold> folds);

  // Folds n columns of `rows` rows, at least one; `strides`: bytes between rows, for each input. Rows are folded in order and
  // give the bits of ops/reduce/fold_simd.h and position_simd.h. Returns false if a maximum or minimum encountered a NaN: the
  // results are then invalid.
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
