// The mean of several models' parameters.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/tensor/safetensors.h"

namespace graphrun {

class Mean {
 public:
  // Throws UserError (kBadData, E0668) where names or sizes are not those of the first; `where` names the file.
  void add(const NamedTensors& parameters, const std::string& where);
  std::int64_t count() const { return count_; }
  // Summed in float64 in the order of adding. Of the first one's types.
  NamedTensors result() const;

 private:
  NamedTensors first_;
  std::map<std::string, Tensor> sums_;
  std::string where_;
  std::int64_t count_ = 0;
};

}  // namespace graphrun
