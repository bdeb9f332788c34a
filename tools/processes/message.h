// Numbers, texts and tensors as the bytes of a message between processes, which are all of the same build.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/tensor/safetensors.h"

namespace graphrun {

class MessageWriter {
 public:
  void add(std::int64_t number);
  void add(std::string_view text);
  void add(const NamedTensors& tensors);
  const std::string& bytes() const { return bytes_; }

 private:
  void append(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  std::string bytes_;
};

// Reads what a MessageWriter has added, in the same order.
class MessageReader {
 public:
  // The bytes must outlive it.
  explicit MessageReader(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }
  // Throw InternalError if the message ends too early.
  std::int64_t number();
  std::string text();
  NamedTensors tensors();

 private:
  void take(void* data, std::size_t size);

  std::string_view bytes_;
};

}  // namespace graphrun
