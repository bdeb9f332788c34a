// The arguments of CUDA's pointwise kernels other than the operands' addresses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/generated/device_draws.h"
#include "ops/generated/operand_device.h"
#include "ops/tiles/draw.h"
#include "ops/tiles/tile_program.h"
#include "runtime/cuda/generated.h"

namespace graphrun {

// For each operand, how it broadcasts to the result.
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
  GRAPHRUN_CHECK(random.low_step != nullptr, "a draw on a device without the step");
  element::DrawnTensor out{row.key, row.row, random.low_step, row.threshold, static_cast<int>(sizes.size()), {}};
  GRAPHRUN_CHECK(sizes.size() <= element::DrawnTensor::kMostAxes, "a draw for a tensor of more than 12 axes");
  for (std::size_t i = 0; i < sizes.size(); ++i) out.sizes[i] = sizes[i];
  if (sizes.empty()) out.axes = 1, out.sizes[0] = 1;
  return out;
}

// Sets the draws of a kernel's code; `argument` returns the member of each.
template <class ArgumentOf>
void set_draws(ArgumentBytes& to, const DeviceCode& code, const RandomState& random, const ArgumentOf& argument) {
  for (std::size_t d = 0; d < code.draws().size(); ++d)
    to.set(argument(code.draw_argument(d)), drawn_tensor(code.draws()[d], random, code.sizes()));
}

// Whether the address is a multiple of four elements.
inline bool begins_at_four(const TensorView& v) {
  return reinterpret_cast<std::uintptr_t>(v.data) % (4 * size_of(v.dtype)) == 0;
}
// Whether a thread can load four elements at once, judging by the sizes and the operands' addresses.
inline bool reads_fours(const DeviceCode& code, std::span<const TensorView> inputs) {
  if (code.width() == 1) return false;
  for (std::size_t k = 0; k < code.inputs(); ++k) {
    if (code.reads_packs(k) && !begins_at_four(inputs[k])) return false;
  }
  return true;
}

// Sets the arguments for a launch of a pointwise kernel, except its results.
inline void set_operands(ArgumentBytes& to, const DeviceCode& code, const KernelContext& c) {
  for (std::size_t k = 0; k < code.inputs(); ++k) to.set_address(code.input_argument(k), c.inputs[k].data);
  if (code.list_argument()) to.set_address(*code.list_argument(), c.inputs[code.row_reads().list].data);
  set_draws(to, code, c.random, [](Argument own) { return own; });
}

}  // namespace graphrun
