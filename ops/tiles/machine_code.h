// Pointwise steps compiled to machine code: intermediate values never leave the registers. Generated at run time for x86 with
// AVX-512 (asmjit), from the same table as the tiles of ops/tiles/tiles.h; on other processors there is none, and tiles run one
// after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/tiles/tile_step.h"

namespace graphrun {

// Whether kernels bound from now on use machine code. By default they do, unless the environment sets GRAPHRUN_MACHINE_CODE=0:
// then, and on processors without AVX-512, steps run tile by tile.
void use_machine_code(bool use);

class MachineCode {
 public:
  // An input as the code sees it: contiguous elements, or one element for all.
  struct Input {
    DType dtype = DType::kFloat32;
    bool scalar = false;
  };

  // Code for the steps; null if there is none: another processor, or an unsupported element type or op. Made once for equal
  // steps and inputs. Gives the same bits as the steps' tiles (for a NaN, some NaN).
  //
  // Threads: any thread may call it at any time, and run the code it returns.
  static std::shared_ptr<const MachineCode> of(std::span<const TileStep> steps, const std::vector<Input>& inputs);

  // Computes n elements of all results from n elements of each input. A result may alias an input of its element size that is
  // not scalar. No alignment is required.
  void run(const void* const* inputs, void* const* results, std::size_t n) const { code_(inputs, results, n, 1, nullptr); }
  // The same for each of `rows` rows, at least one; `strides`: bytes between rows, for each input, then for each result.
  void run_rows(const void* const* inputs, void* const* results, std::size_t n, std::size_t rows,
                const std::int64_t* strides) const {
    code_(inputs, results, n, rows, strides);
  }

  using Code = std::uint32_t (*)(const void* const*, void* const*, std::size_t, std::size_t, const std::int64_t*);  // returns 0
  explicit MachineCode(Code code) : code_(code) {}

 private:
  Code code_;
};

}  // namespace graphrun
