// Data that kernels derive from variables alone and keep from run to run: matrices packed for their products. It is outside the
// arena, and is recomputed only after one of those variables was written (Tensor::version).
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

// Some variables packed in one layout, shared by all instructions that need it, in every binding.
struct PackedWeights {
  Tensor memory;
  std::vector<std::int32_t> variables;  // the variables it is derived from, by position in the program
  std::vector<std::uint64_t> versions;  // their versions when it was derived
  bool ready = false;

  // One of the kernels that use it.
  std::shared_ptr<const ColumnKernel> kernel;
  const Attributes* attributes = nullptr;
  std::vector<TensorView> inputs;  // the kernel's operands, without data
  std::vector<std::int32_t> from;  // by input: the variable; -1: not derived from this input

  // Packs the variables, shared among threads, before a run that finds the packed data out of date (attributed to no node in a
  // profile). `memory_of`: the addresses of the variables, by position in the program.
  void make(const std::vector<const void*>& memory_of);
};

class PackedWeightsStore {
 public:
  explicit PackedWeightsStore(const Program& program);

  // Whether a run of the program writes the variable: then nothing derived from it can be kept.
  bool is_written(std::int32_t variable) const { return written_[static_cast<std::size_t>(variable)]; }
  const std::vector<bool>& written() const { return written_; }

  // The place of what `kernel` prepares from `variables`, in the order of its inputs: the same place for every request with
  // that layout. Throws UserError (E0503) if out of memory.
  PackedWeights& place(const ColumnKernel& kernel, const std::vector<std::int32_t>& variables);
  std::size_t bytes() const;

 private:
  using Key = std::tuple<std::vector<std::int64_t>, std::size_t, std::vector<std::int32_t>>;
  std::vector<bool> written_;  // by variable
  std::map<Key, std::unique_ptr<PackedWeights>> places_;
};

}  // namespace graphrun
