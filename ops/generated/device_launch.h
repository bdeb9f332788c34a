// What CUDA's kernels of pointwise work are handed beside the operands' addresses.
#pragma once

#include <span>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/generated/device_functions.h"
#include "ops/generated/operand_device.h"
#include "ops/tiles/draw.h"
#include "ops/tiles/tile_program.h"
#include "runtime/cuda/generated.h"

namespace graphrun {

// Of each operand, as it broadcasts to the result.
inline std::vector<element::OperandPlace> operand_places(const Sizes& result, std::span<const TensorView> inputs) {
  const TileAxes axes(result, inputs, false);
  std::vector<element::OperandPlace> places(inputs.size());
  GRAPHRUN_CHECK(axes.sizes.size() <= element::OperandPlace::kMostAxes, "operands over more than 12 axes that do not merge");
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    element::OperandPlace& place = places[k];
    place.axes = static_cast<int>(axes.sizes.size());
    for (std::size_t a = 0; a < axes.sizes.size(); ++a) {
      place.sizes[a] = axes.sizes[a];
      place.strides[a] = axes.strides[a][k];
    }
    place.kind = inputs[k].sizes == result ? element::OperandPlace::kWhole
                 : inputs[k].count() == 1  ? element::OperandPlace::kOne
                                           : element::OperandPlace::kStrided;
  }
  return places;
}

inline element::DrawnTensor drawn_tensor(const Draw& draw, const RandomState& random, const Sizes& sizes) {
  const DrawRow row(draw, random);
  GRAPHRUN_CHECK(random.low_step != nullptr, "a draw on a device that nobody gave the step");
  element::DrawnTensor out{row.key, row.row, random.low_step, row.threshold, static_cast<int>(sizes.size()), {}};
  GRAPHRUN_CHECK(sizes.size() <= element::DrawnTensor::kMostAxes, "a draw for a tensor of more than 12 axes");
  for (std::size_t i = 0; i < sizes.size(); ++i) out.sizes[i] = sizes[i];
  if (sizes.empty()) out.axes = 1, out.sizes[0] = 1;
  return out;
}

inline void put_size(cuda::ArgumentBytes& to, const DeviceCode& code, std::int64_t size) {
  code.small() ? to.put(static_cast<std::uint32_t>(size)) : to.put(static_cast<std::uint64_t>(size));
}

// The members that a generated kernel's arguments begin with; without inputs, addresses are to come.
inline void put_operands(cuda::ArgumentBytes& to, const DeviceCode& code, std::span<const TensorView> inputs,
                         const RandomState& random) {
  for (const DeviceCode::Operand& operand : code.operands()) {
    switch (operand.kind) {
      case DeviceCode::Operand::Kind::kInput:
        to.put(inputs.empty() ? static_cast<const void*>(nullptr) : inputs[operand.input].data);
        break;
      case DeviceCode::Operand::Kind::kSize: put_size(to, code, operand.size); break;
      case DeviceCode::Operand::Kind::kDraw: to.put(drawn_tensor(operand.draw, random, code.sizes())); break;
    }
  }
}
inline void put_operands(cuda::ArgumentBytes& to, const DeviceCode& code, const KernelContext& c) {
  put_operands(to, code, c.inputs, c.random);
}

}  // namespace graphrun
