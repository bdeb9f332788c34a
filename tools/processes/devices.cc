#include "tools/processes/devices.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda_library.h"

namespace graphrun {

const Device& own_device(const Communicator* together) {
  const int gpus = cuda_device_count();
  if (together == nullptr) {
    if (gpus == 1) return cuda_device(0);
    throw UserError(
        ExitCode::kUsage, "E0508 no-device",
        fmt::format("'{}' gives each of several processes a GPU of its own, but this is one process", kAllDevices),
        {"help: --device cuda takes GPU 0; mpirun and srun start evaluate and infer in several processes, and train too"});
  }
  const int processes = together->processes_here();
  if (processes <= gpus) return cuda_device(together->place_here());
  throw UserError(
      ExitCode::kUsage, "E0508 no-device",
      fmt::format("'{}' gives each of several processes a GPU of its own, but '{}' has {} and {}", kAllDevices,
                  together->machine(together->rank()), counted(processes, "process", "es"), counted(gpus, "GPU")),
      {fmt::format("help: start at most {} there; --device cuda, if a launcher lets each process see a GPU of its own",
                   counted(gpus, "process", "es"))});
}

void require_own_devices(Communicator& together, const Device& device) {
  const std::vector<std::string> all = together.gather(device.is_cpu() ? "" : device.backend().uuid());
  if (together.rank() != 0) return;
  std::map<std::string, int> users;
  for (int rank = 0; rank < together.size(); ++rank) {
    const std::string& uuid = all[static_cast<std::size_t>(rank)];
    if (uuid.empty()) continue;
    const auto [first, is_first] = users.emplace(uuid, rank);
    if (is_first) continue;
    throw UserError(ExitCode::kUsage, "E0538 shared-gpu",
                    fmt::format("{} and {} have the same GPU, {}", together.name(first->second), together.name(rank), uuid),
                    {fmt::format("help: --device {} gives each process of a machine a GPU of its own", kAllDevices)});
  }
}

}  // namespace graphrun
