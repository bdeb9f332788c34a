// The mean of several models' parameters.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/tensor/safetensors.h"

namespace graphrun {

class Mean {
 public:
  // Throws UserError (kBadData, E0668) if names or sizes differ from those of the first; `where` names the file.
  void add(const NamedTensors& parameters, const std::string& where);
  std::int64_t count() const { return count_; }
  // Summed in float64, in the order of adding; with the types of the first.
  NamedTensors result() const;

 private:
  NamedTensors first_;
  std::map<std::string, Tensor> sums_;
  std::string where_;
  std::int64_t count_ = 0;
};

}  // namespace graphrun
