// --fetch: collects tensors of a network, batch by batch, for one safetensors file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tensor/safetensors.h"

namespace graphrun {

// The tensor `read.i` of batch 0 is "0/read.i" in the file.
class FetchFile {
 public:
  explicit FetchFile(std::string path) : path_(std::move(path)) {}
  void add(std::int64_t batch, const std::string& name, const Tensor& tensor) {
    tensors_[std::to_string(batch) + "/" + name] = tensor;
  }
  void write() const { write_safetensors(path_, tensors_); }

 private:
  std::string path_;
  NamedTensors tensors_;
};

}  // namespace graphrun
