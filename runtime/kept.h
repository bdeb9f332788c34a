// What kernels make of variables alone and keep from run to run: matrices packed for their products. It lies outside the arena
// and is made again only after one of those variables was written (Tensor::version).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "runtime/kernel.h"
#include "runtime/program.h"
#include "runtime/tensor.h"

namespace graphrun {

// For one instruction and layout; bindings of several batch shapes share it.
struct Kept {
  Tensor memory;
  std::vector<std::int32_t> variables;  // what it is made of, by position in the program
  std::vector<std::uint64_t> versions;  // of those when it was made
  bool ready = false;
};

class KeptStore {
 public:
  explicit KeptStore(const Program& program);

  // Whether a run of the program writes the variable: nothing made of it lasts.
  bool is_written(std::int32_t variable) const { return written_[static_cast<std::size_t>(variable)]; }
  const std::vector<bool>& written() const { return written_; }

  // The same place whenever it is asked for. Throws UserError (E0503) where there is no memory.
  Kept& place(std::size_t region, std::size_t instruction, std::uint64_t layout, std::size_t bytes,
              const std::vector<std::int32_t>& variables);
  std::size_t bytes() const;

 private:
  using Key = std::tuple<std::size_t, std::size_t, std::uint64_t, std::size_t>;
  std::vector<bool> written_;  // by variable
  std::map<Key, std::unique_ptr<Kept>> places_;
};

}  // namespace graphrun
