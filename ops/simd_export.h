// From a kernel written once as a template to functions that choose, at run time, the best instruction set that the machine
// has (the ones compiled for are listed in CMakeLists.txt). Files with such kernels follow this pattern:
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
// float64 is what gradients are checked in, and no training or inference runs in it: it has the code that any machine of the
// kind can run, which takes a third off the time to compile these files.
#pragma once

// Qualified: an unqualified call would find the exported function too, which would be itself.
#define GRAPHRUN_SIMD_OP(name, Task) \
  void name##_float(const Task<float>& task) { ::graphrun::HWY_NAMESPACE::name(task); }

// Of all instruction sets, the one that every machine has is compiled last, with HWY_ONCE.
#define GRAPHRUN_SIMD_EXPORT(name, Task) GRAPHRUN_SIMD_EXPORT_AS(name, name, Task)
#define GRAPHRUN_SIMD_EXPORT_AS(exported, name, Task)                                  \
  HWY_EXPORT(name##_float);                                                            \
  void exported(const Task<float>& task) { HWY_DYNAMIC_DISPATCH(name##_float)(task); } \
  void exported(const Task<double>& task) { ::graphrun::HWY_NAMESPACE::name(task); }
