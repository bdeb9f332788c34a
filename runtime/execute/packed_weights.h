// What kernels make of variables alone and keep from run to run: matrices packed for their products. It lies outside the arena
// and is recomputed only after one of those variables was written (Tensor::version).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "runtime/program/kernel.h"
#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

// Of some variables in one layout: for every instruction that wants them so, in every binding.
struct PackedWeights {
  Tensor memory;
  std::vector<std::int32_t> variables;  // what it is made of, by position in the program
  std::vector<std::uint64_t> versions;  // of those when it was made
  bool ready = false;

  // One of the kernels that run on it.
  std::shared_ptr<const ColumnKernel> kernel;
  const Attributes* attributes = nullptr;
  std::vector<TensorView> inputs;  // its operands, without data
  std::vector<std::int32_t> from;  // by input: which variable; -1: it is not prepared from

  // Makes it, shared by threads, before the run that finds it stale (of no node in a profile), from where the variables lie (by
  // position in the program).
  void make(const std::vector<const void*>& memory_of);
};

class PackedWeightsStore {
 public:
  explicit PackedWeightsStore(const Program& program);

  // Whether a run of the program writes the variable: nothing made of it lasts.
  bool is_written(std::int32_t variable) const { return written_[static_cast<std::size_t>(variable)]; }
  const std::vector<bool>& written() const { return written_; }

  // The place of what `kernel` prepares from `variables`, in the order of its inputs: the same whenever one of that layout
  // asks. Throws UserError (E0503) where there is no memory.
  PackedWeights& place(const ColumnKernel& kernel, const std::vector<std::int32_t>& variables);
  std::size_t bytes() const;

 private:
  using Key = std::tuple<std::vector<std::int64_t>, std::size_t, std::vector<std::int32_t>>;
  std::vector<bool> written_;  // by variable
  std::map<Key, std::unique_ptr<PackedWeights>> places_;
};

}  // namespace graphrun
