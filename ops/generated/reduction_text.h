// The text of a device's kernel that reduces pointwise work as it is made.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/ir/fold.h"
#include "ops/axis_view.h"
#include "ops/generated/device_code.h"

namespace graphrun {

template <>
inline constexpr const char* kArgumentTypeName<AxisView> = "AxisView";

// The reductions that one kernel makes of a program's results.
struct KernelFolds {
  std::vector<ir::Fold> folds;
  std::vector<Origin> origins;  // what they were in the graph, where that is known

  Origin origin(std::size_t i) const { return i < origins.size() ? origins[i] : Origin{}; }
};
// Bytes that a fold's value takes in shared memory; folds that one kernel may have at once.
inline constexpr std::size_t kFoldBytes = 16, kFoldsOfKernel = 8;
// The arguments of such work: those of the code, then the addresses of the results, then AxisView `view`.
struct ReductionArguments {
  ArgumentLayout layout;
  std::vector<Argument> results;
  std::vector<std::string> targets;  // their names
};
ReductionArguments reduction_arguments(const DeviceCode& code, const KernelFolds& folds, const AxisView& view);
// The kernel that reduces results along an axis. `arguments`: those above, then ColumnGrid `grid`.
DeviceText reduction_text(const DeviceCode& code, const KernelFolds& folds, const ReductionArguments& arguments);
// That text with comments that quote the equations.
std::string commented_reduction_text(const DeviceCode& code, const KernelFolds& folds, const ReductionArguments& arguments);
// What reduces one column after the other in a loop: an ElementText (ops/recurrent/row_loop_text.h).
std::string reduced_element_text(const DeviceCode& code, const KernelFolds& folds, const ReductionArguments& arguments,
                                 Comments comments);

}  // namespace graphrun
