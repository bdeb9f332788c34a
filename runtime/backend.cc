#include "runtime/backend.h"

#include "runtime/status.h"

namespace graphrun {

DeviceMemory::DeviceMemory(Backend& backend, std::size_t bytes) : bytes_(bytes) {
  void* const memory = backend.allocate(bytes == 0 ? 1 : bytes);  // what is empty is present all the same
  if (memory == nullptr) {
    throw UserError(ExitCode::kNoRoom, "E0503 out-of-memory",
                    "no memory for " + std::to_string(bytes) + " bytes on " + backend.name());
  }
  memory_ = std::shared_ptr<void>(memory, [&backend](void* m) { backend.release(m); });
}

}  // namespace graphrun
