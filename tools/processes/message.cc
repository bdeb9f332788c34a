#include "tools/processes/message.h"

#include <cstring>

#include "runtime/base/status.h"

namespace graphrun {

void MessageWriter::add(std::int64_t number) { append(&number, sizeof number); }

void MessageWriter::add(std::string_view text) {
  add(static_cast<std::int64_t>(text.size()));
  append(text.data(), text.size());
}

void MessageWriter::add(const NamedTensors& tensors) {
  add(static_cast<std::int64_t>(tensors.size()));
  for (const auto& [name, tensor] : tensors) {
    add(name);
    add(static_cast<std::int64_t>(tensor.dtype()));
    add(static_cast<std::int64_t>(tensor.sizes().size()));
    for (const std::int64_t size : tensor.sizes()) add(size);
    append(tensor.raw(), tensor.bytes());
  }
}

void MessageReader::take(void* data, std::size_t size) {
  GRAPHRUN_CHECK(size <= bytes_.size(), "a message ends too early");
  if (size > 0) std::memcpy(data, bytes_.data(), size);
  bytes_.remove_prefix(size);
}

std::int64_t MessageReader::number() {
  std::int64_t number = 0;
  take(&number, sizeof number);
  return number;
}

std::string MessageReader::text() {
  const auto size = static_cast<std::size_t>(number());
  GRAPHRUN_CHECK(size <= bytes_.size(), "a message ends too early");
  std::string text(size, ' ');
  take(text.data(), size);
  return text;
}

NamedTensors MessageReader::tensors() {
  NamedTensors tensors;
  for (std::int64_t left = number(); left > 0; --left) {
    const std::string name = text();
    const auto dtype = static_cast<DType>(number());
    Sizes sizes(static_cast<std::size_t>(number()));
    for (std::int64_t& size : sizes) size = number();
    Tensor tensor(dtype, sizes);
    take(tensor.raw(), tensor.bytes());
    tensors[name] = std::move(tensor);
  }
  return tensors;
}

}  // namespace graphrun
