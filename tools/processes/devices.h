// Which device each of several processes uses.
#pragma once

#include "runtime/communicator/communicator.h"
#include "runtime/device/device.h"

namespace graphrun {

inline constexpr const char* kAllDevices = "cuda:all";  // value of --device

// The device of this process for --device cuda:all: process k of a machine takes GPU k of those that it sees. `together`: null
// if there is only this process, which takes the only GPU. Throws UserError (kUsage, E0508) if there are fewer GPUs than
// processes, or several for one process.
const Device& own_device(const Communicator* together);

// Throws UserError in process 0 (kUsage, E0538 shared-gpu) if two processes have the same GPU, and PeerEnd.
void require_own_devices(Communicator& together, const Device& device);

}  // namespace graphrun
