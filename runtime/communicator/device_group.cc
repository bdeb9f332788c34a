#include "runtime/communicator/device_group.h"

#include <cstdlib>
#include <string_view>

#include "runtime/base/status.h"

namespace graphrun {

std::string carrier_of(const Device& device) {
  const char* const named = std::getenv("GRAPHRUN_NCCL_LIBRARY");
  if (device.is_cpu() || (named != nullptr && std::string_view(named) == "none")) return "";
  std::string why;
  std::string carrier = device.library().carrier(why);
  if (!carrier.empty()) return carrier;
  throw UserError(ExitCode::kUsage, "E0539 no-nccl", "several processes with GPUs need NCCL to add their gradients: " + why,
                  {"help: install NCCL 2 (libnccl.so.2), or name its library with GRAPHRUN_NCCL_LIBRARY",
                   "help: with GRAPHRUN_NCCL_LIBRARY=none, gradients pass through the host, and results have the same bits"});
}

std::unique_ptr<DeviceGroup> join_devices(const Device& device, Communicator& together) {
  if (carrier_of(device).empty()) return nullptr;
  return device.library().join(device.backend(), together);
}

}  // namespace graphrun
