// Tensors in files of the safetensors format (https://github.com/huggingface/safetensors): eight bytes, the header's length;
// the header, JSON that gives each tensor's dtype, shape and place; then the tensors' bytes, little-endian, row-major, without
// gaps. Other programs read and write it too.
#pragma once

#include <map>
#include <string>

#include "runtime/base/file.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

using NamedTensors = std::map<std::string, Tensor>;

// Writes atomically (AtomicFile). The bytes are a function of the tensors alone. Throws UserError: AtomicFile's, and E0682
// bad-tensor-name where a name is not UTF-8 or "__metadata__".
FileDigest write_safetensors(const std::string& path, const NamedTensors& tensors);

// Reads a file from strangers: nothing in it is believed before it is checked. F32, F64, I32 and BOOL are read; a BOOL byte
// that is not 0 is true. Metadata is passed over. Throws UserError naming the file: InputFile's, E0680 bad-safetensors, E0681
// unsupported-dtype (kBadData), E0503 (kNoRoom).
NamedTensors read_safetensors(const std::string& path);

}  // namespace graphrun
