// The functions of the CUDA library's LoopCompiler, which makes launches of loops.
#pragma once

#include "runtime/scan/launch.h"

namespace graphrun {

// All steps of a scan whose body consists of products with weights, pointwise work and moves of elements, or some of these
// (loop.cu).
LoopChoice launch_by_columns(const BoundScan& scan, const ProgramLayout& layout, const DeviceLimits& limits);
// All steps of a scan in which no row of the batch reads another (row_loop.cu).
LoopChoice launch_by_rows(const BoundScan& scan, const RowSharing& rows, const DeviceLimits& limits);

}  // namespace graphrun
