// How a device makes launches of loops; runtime/scan/launch.h has the launches.
#pragma once

namespace graphrun {

struct BoundScan;
struct DeviceLimits;
struct LoopChoice;
struct ProgramLayout;
struct RowSharing;

// Functions of a device's library: for loops that threads share by columns, and by rows of the batch. Each returns a launch, or
// the reason why there is none. `limits`: those of the device, or of the share that the launch has of it.
struct LoopCompiler {
  LoopChoice (*by_columns)(const BoundScan& scan, const ProgramLayout& layout, const DeviceLimits& limits) = nullptr;
  LoopChoice (*by_rows)(const BoundScan& scan, const RowSharing& rows, const DeviceLimits& limits) = nullptr;
};

}  // namespace graphrun
