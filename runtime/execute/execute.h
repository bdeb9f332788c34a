// Runs a bound program. Part of the runtime; its users see Executable.
#pragma once

#include <functional>

#include "runtime/execute/binding.h"

namespace graphrun {

class Backend;
class Profiler;
class Watch;

// What a run on a device other than the CPU needs in addition to the addresses of its operands.
struct OnDevice {
  Backend* backend = nullptr;
  IndexFault* fault = nullptr;        // in the device's memory
  std::int32_t* positions = nullptr;  // 0, 1, 2, …, up to the number of steps of the longest scan; in the device's memory
  const std::uint32_t* low_step = nullptr;  // see RandomState
};

struct RunContext {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  Profiler* profiler = nullptr;        // null: not profiling
  std::int64_t* scan_steps = nullptr;  // positions of the enclosing scans
  Watch* watch = nullptr;              // null: not watched; otherwise everything runs on one thread
  const OnDevice* device = nullptr;    // null: on the CPU
  // Called after each instruction of the root, on the CPU, with the number of those that are done; null: nothing is called.
  const std::function<void(std::size_t done)>* progress = nullptr;
};

// Runs the region's instructions in order; its slots are set. Allocates nothing (except what a library does within a kernel).
// Throws what kernels throw, with the node's name and location.
void run_region(BoundRegion& region, const RunContext& context);

// Records in the context's profiler, which is not null, that an instruction began at `start`. On a device, waits until it has
// ended: launches return before the device has done their work.
void record_time(const BoundInstruction& bound, std::int64_t start, const RunContext& context);

}  // namespace graphrun
