// How all graphs of generation are compiled and run.
#pragma once

#include "compiler/compile.h"
#include "runtime/execute/executable.h"

namespace graphrun {

inline CompileOptions in_float32() {
  CompileOptions options;
  options.precision = Precision::kFloat32;
  return options;
}

// Results stay on the device, because the next run is fed with them.
inline RunOptions left_on_device(Profiler* profiler = nullptr) {
  RunOptions options;
  options.profiler = profiler;
  options.on_device = true;
  return options;
}

}  // namespace graphrun
