#include "runtime/tensor/backend.h"

#include <algorithm>
#include <bit>

#include "runtime/base/status.h"

namespace graphrun {

std::shared_ptr<void> allocate_on(Backend& backend, std::size_t bytes) {
  void* const memory = backend.allocate(bytes == 0 ? 1 : bytes);  // an empty allocation still needs an address that is not null
  if (memory == nullptr) {
    throw UserError(ExitCode::kNoRoom, "E0503 out-of-memory",
                    "no memory for " + std::to_string(bytes) + " bytes on " + backend.name());
  }
  return {memory, [&backend](void* m) { backend.release(m); }};
}

// Room to grow: the next multiple of an eighth of the greatest power of two that is not larger.
void DeviceMemory::reserve(Backend& backend, std::size_t bytes) {
  constexpr std::size_t kLeast = 256;  // bytes, to which devices align memory anyway
  if (memory_ != nullptr && bytes_ >= bytes) return;
  *this = DeviceMemory();
  const std::size_t unit = std::bit_floor(std::max(bytes, kLeast)) / 8,
                    room = (std::max(bytes, kLeast) + unit - 1) / unit * unit;
  try {
    *this = DeviceMemory(backend, room);
  } catch (const UserError&) {
    *this = DeviceMemory(backend, bytes);
  }
}

}  // namespace graphrun
