// The text of a device's kernel that reduces pointwise work as it is made.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "ops/generated/device_code.h"

namespace graphrun {

// A reduction of one of a program's results, by its op's name (ir::is_fold).
struct DeviceFold {
  std::string op;
  std::size_t result = 0;
};
// Bytes that a fold's value takes in shared memory; folds that one kernel may have at once.
inline constexpr std::size_t kFoldBytes = 16, kFoldsOfKernel = 8;
// The kernel that reduces results along an axis.
DeviceText reduction_text(const DeviceCode& code, std::span<const DeviceFold> folds);
// What reduces one column after the other in a loop: an ElementText (ops/recurrent/row_loop_code.h), its Arguments with the
// AxisView `view` before the results.
std::string reduced_element_text(const DeviceCode& code, std::span<const DeviceFold> folds);

}  // namespace graphrun
