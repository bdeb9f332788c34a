// Tensors in files of the safetensors format (https://github.com/huggingface/safetensors): eight bytes for the header's length;
// the header, JSON that gives each tensor's dtype, shape and offsets; then the tensors' bytes, little-endian, row-major,
// without gaps. Other programs read and write the format too.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "runtime/base/file.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

using NamedTensors = std::map<std::string, Tensor>;

// A tensor that exists only while it is written.
struct TensorSource {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  std::function<Tensor()> make;
};
using TensorSources = std::map<std::string, TensorSource>;

// Writes atomically (AtomicFile). The bytes depend on the tensors alone. Throws UserError: AtomicFile's, and E0682
// bad-tensor-name if a name is not UTF-8 or is "__metadata__".
FileDigest write_safetensors(const std::string& path, const NamedTensors& tensors);
// The same bytes for tensors that are made one after another. Throws what a source's `make` throws.
FileDigest write_safetensors_of(const std::string& path, const TensorSources& tensors);

// Reads a file from an untrusted source: everything in it is checked before use. Supports F32, F64, I32 and BOOL; a nonzero
// BOOL byte is true. Metadata is ignored. Throws UserError naming the file: InputFile's, E0680 bad-safetensors, E0681
// unsupported-dtype (kBadData), E0503 (kNoRoom).
NamedTensors read_safetensors(const std::string& path);
// The same, tensor by tensor in the file's order.
void read_safetensors(const std::string& path, const std::function<void(const std::string& name, Tensor tensor)>& take);

}  // namespace graphrun
