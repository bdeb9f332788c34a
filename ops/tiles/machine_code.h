// Pointwise steps as machine code made for them: what stands between them never leaves the registers. Made for x86 with AVX-512
// while the program runs (asmjit), from the same table as the tiles of ops/tiles/tiles.h; elsewhere there is none, and
// tiles are run one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/tiles/tile_step.h"

namespace graphrun {

// Whether kernels that are bound from here on have code made for them. At first they have, where the environment does not say
// GRAPHRUN_MACHINE_CODE=0: then, and on processors without AVX-512, steps run tile by tile.
void use_machine_code(bool use);

class MachineCode {
 public:
  // An input as the code finds it: elements side by side, or one that stands for all.
  struct Input {
    DType dtype = DType::kFloat32;
    bool scalar = false;
  };

  // Code for the steps; null where there is none: another processor, an element type or an op that it does not have. Made once
  // for the same steps and inputs. Gives the bits that the steps' tiles give (of a NaN, a NaN).
  //
  // Threads: any may ask at any time, and run what they got.
  static std::shared_ptr<const MachineCode> of(std::span<const TileStep> steps, const std::vector<Input>& inputs);

  // n elements of all results, from as many of each input. A result may be the memory of an input of its element size that is
  // not scalar. No alignment is asked for.
  void run(const void* const* inputs, void* const* results, std::size_t n) const { code_(inputs, results, n, 1, nullptr); }
  // The same for each of `rows` rows, at least one; `strides`: bytes from one to the next, of each input, then of each result.
  void run_rows(const void* const* inputs, void* const* results, std::size_t n, std::size_t rows,
                const std::int64_t* strides) const {
    code_(inputs, results, n, rows, strides);
  }

  using Code = std::uint32_t (*)(const void* const*, void* const*, std::size_t, std::size_t, const std::int64_t*);  // gives 0
  explicit MachineCode(Code code) : code_(code) {}

 private:
  Code code_;
};

}  // namespace graphrun
