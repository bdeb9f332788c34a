// Data that kernels derive from variables and lasting feeds alone and keep from run to run: matrices packed for their products.
// It is outside the arena, and is recomputed only after one of these has changed (Tensor::version). Executables that run one
// program at the same time share what is derived from variables alone; each has its own feeds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "runtime/program/bound.h"
#include "runtime/program/kernel.h"
#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

// Some variables or feeds packed in one layout, shared by all instructions that need it, in every binding. Variables and feeds
// are numbered together: variables by their position in the program, then feeds by theirs.
struct PackedWeights {
  Tensor memory;
  std::vector<std::int32_t> variables;  // what it is derived from
  std::vector<std::uint64_t> versions;  // their versions when it was derived
  bool ready = false;

  // One of the kernels that use it.
  std::shared_ptr<const ColumnKernel> kernel;
  const Attributes* attributes = nullptr;  // the program's
  std::vector<TensorView> inputs;          // the kernel's operands, without data
  std::vector<std::int32_t> from;          // by input: the variable or feed; -1: not derived from this input
};

class PackedWeightsStore {
 public:
  explicit PackedWeightsStore(const Program& program);

  // Whether a run of the program writes the variable: then nothing derived from it can be kept.
  bool is_written(std::int32_t variable) const { return written_[static_cast<std::size_t>(variable)]; }
  const std::vector<bool>& written() const { return written_; }

  // The place of what the bound instruction's kernel prepares: the same place for every instruction that needs it in that
  // layout. `from`: by input of the instruction, the variable or feed, or -1. Throws UserError (E0503) if out of memory.
  PackedWeights& place(const BoundInstruction& bound, std::vector<std::int32_t> from);
  // Packs what is out of date, shared among threads, before a run (attributed to no node in a profile). `versions` and
  // `memory_of`: of variables and feeds.
  void bring_up_to_date(const std::vector<PackedWeights*>& places, const std::vector<std::uint64_t>& versions,
                        const std::vector<const void*>& memory_of);
  // Frees all other places.
  void keep_only(const std::set<const PackedWeights*>& used);
  std::size_t bytes() const;

 private:
  static void pack(const PackedWeights& place, const std::vector<const void*>& memory_of);

  using Key = std::tuple<std::vector<std::int64_t>, std::size_t, std::vector<std::int32_t>>;
  std::vector<bool> written_;  // by variable
  mutable std::mutex lock_;    // for places_ and what is in them, but not for the packed memory: runs read it
  std::map<Key, std::unique_ptr<PackedWeights>> places_;
};

}  // namespace graphrun
