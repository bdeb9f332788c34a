// The random draws of dropout on a device, bit for bit as on the CPU (ops/tiles/draw.h): for .cu files and for the text of
// generated kernels.
#pragma once

#include <cstdint>

#include "runtime/base/random.h"
#include "runtime/cuda/primitives.h"

namespace graphrun::element {

// What a dropout draw depends on (ops/tiles/draw.h).
struct DrawnTensor {
  std::uint64_t key;          // seed and name of the node
  std::uint64_t row;          // the steps of the enclosing scans, hashed
  const std::uint32_t* step;  // address of the low word of the training step
  std::uint32_t threshold;    // an element is kept if the upper 24 bits of its word are at least this
  static constexpr int kMostAxes = 12;
  int axes;  // number of the tensor's axes, at least 1
  std::int64_t sizes[kMostAxes];
};
// The four random words of the group that contains element i.
GRAPHRUN_DEVICE Philox draws(const DrawnTensor& draw, std::int64_t i) {
  const std::int64_t features = draw.sizes[draw.axes - 1], feature = i % features;
  std::int64_t row = i / features, below = 1;
  std::uint64_t hash = draw.row;
  for (int axis = 0; axis + 1 < draw.axes; ++axis) below *= draw.sizes[axis];
  for (int axis = 0; axis + 1 < draw.axes; ++axis) {
    below /= draw.sizes[axis];
    hash = fold_coordinate(hash, static_cast<std::uint64_t>(row / below));
    row %= below;
  }
  return philox(draw.key, static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32),
                static_cast<std::uint32_t>(feature / 4), *draw.step);
}
// Whether dropout keeps element i of a tensor: the draw that ops/tiles/draw.h defines.
GRAPHRUN_DEVICE std::uint8_t stays(const DrawnTensor& draw, std::int64_t i) {
  const Philox four = draws(draw, i);
  return four.v[i % draw.sizes[draw.axes - 1] % 4] >> 8 >= draw.threshold ? 1 : 0;
}

}  // namespace graphrun::element
