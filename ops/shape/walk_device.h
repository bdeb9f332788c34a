// Copies elements by a walk (ops/shape/walk.h) on a device: for .cu files.
#pragma once

#include "ops/shape/walk.h"
#include "runtime/cuda/launch.h"

namespace graphrun::cuda {

// A walk in the form that a kernel takes: by value.
struct DeviceWalk {
  static constexpr int kMostAxes = 12;
  int axes = 0;
  std::int64_t sizes[kMostAxes] = {}, strides[kMostAxes] = {};

  explicit DeviceWalk(const Walk& walk) : axes(static_cast<int>(walk.sizes.size())) {
    GRAPHRUN_CHECK(axes <= kMostAxes, "a tensor of more than 12 axes that do not merge");
    for (int i = 0; i < axes; ++i) {
      sizes[i] = walk.sizes[static_cast<std::size_t>(i)];
      strides[i] = walk.strides[static_cast<std::size_t>(i)];
    }
  }
  // The index in the operand of element i of the result.
  GRAPHRUN_DEVICE std::int64_t at(std::int64_t i) const {
    std::int64_t place = 0;
    for (int axis = axes - 1; axis > 0; --axis) {
      place += i % sizes[axis] * strides[axis];
      i /= sizes[axis];
    }
    return place + i * strides[0];
  }
};

template <class T>
Kernel walk_kernel(const Walk& walk, std::int64_t count) {
  return {[walk = DeviceWalk(walk), count](const KernelContext& c) {
    const T* x = c.inputs[0].as<T>();
    T* out = c.outputs[0].as<T>();
    const DeviceWalk places = walk;
    for_elements(
        c, count, GRAPHRUN_LAMBDA(std::int64_t i) { out[i] = x[places.at(i)]; });
  }};
}

}  // namespace graphrun::cuda
