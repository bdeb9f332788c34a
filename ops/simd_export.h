// Turns a kernel written once as a template into functions that choose, at run time, the best instruction set of the machine
// (CMakeLists.txt lists the ones compiled). Files with such kernels follow this pattern:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "ops/<family>/<file>.cc"
//   #include "hwy/foreach_target.h"
//   #include "ops/simd-inl.h"
//   #include "ops/simd_export.h"
//   HWY_BEFORE_NAMESPACE();
//   namespace graphrun::HWY_NAMESPACE { template <class T> void work(const Task<T>& task) {…}  GRAPHRUN_SIMD_OP(work, Task) }
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace graphrun { GRAPHRUN_SIMD_EXPORT(work, Task) }  // defines work(const Task<float>&), work(const Task<double>&)
//   #endif
//
// float64 is used to check gradients, never for training or inference: it is compiled for the baseline instruction set only,
// which saves a third of the time to compile these files.
#pragma once

// Qualified: an unqualified call could also resolve to the exported function, which would call itself.
#define GRAPHRUN_SIMD_OP(name, Task) \
  void name##_float(const Task<float>& task) { ::graphrun::HWY_NAMESPACE::name(task); }

// The baseline instruction set is compiled last, with HWY_ONCE.
#define GRAPHRUN_SIMD_EXPORT(name, Task) GRAPHRUN_SIMD_EXPORT_AS(name, name, Task)
#define GRAPHRUN_SIMD_EXPORT_AS(exported, name, Task)                                  \
  HWY_EXPORT(name##_float);                                                            \
  void exported(const Task<float>& task) { HWY_DYNAMIC_DISPATCH(name##_float)(task); } \
  void exported(const Task<double>& task) { ::graphrun::HWY_NAMESPACE::name(task); }
