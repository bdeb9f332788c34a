#include "runtime/tensor/backend.h"

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

}  // namespace graphrun
