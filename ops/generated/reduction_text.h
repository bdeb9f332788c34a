// The text of a device's kernel that reduces pointwise results as it computes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/fold.h"
#include "ops/axis_view.h"
#include "ops/generated/device_code.h"

namespace graphrun {

template <>
inline constexpr const char* kArgumentTypeName<AxisView> = "AxisView";

// The reductions of a program's results that one kernel computes.
struct KernelFolds {
  std::vector<ir::Fold> folds;
  std::vector<Origin> origins;  // the nodes that they came from, if known

  Origin origin(std::size_t i) const { return i < origins.size() ? origins[i] : Origin{}; }
};
// Bytes of a fold's value in shared memory; the largest number of folds in one kernel.
inline constexpr std::size_t kFoldBytes = 16, kFoldsOfKernel = 8;
// The arguments: those of the code, then the addresses of the results, then AxisView `view`, then the lengths.
struct ReductionArguments {
  ArgumentLayout layout;
  std::vector<Argument> results;
  std::vector<std::string> targets;  // their names
  std::optional<Argument> lengths;   // the address of the lengths along the axis, if there are any
  std::string columns;               // the text of a Lengths
  int together = 1;                  // how many adjacent positions a thread folds at a time: 4 or 1, by the sizes alone
};
// `repeat`: the consecutive results that each length applies to (Lengths::repeat); 0: there are no lengths.
ReductionArguments reduction_arguments(const DeviceCode& code, const KernelFolds& folds, const AxisView& view,
                                       std::int64_t repeat = 0);
// The kernel that reduces results along an axis. `arguments`: as above, then ColumnGrid `grid`; `parts`, the address of the
// values of columns' parts; int32 `joins`, the number of parts that a launch joins, or 0; and int32 `wide`, whether all
// addresses allow a thread to load four elements at once. Results have the same bits either way.
DeviceText reduction_text(const DeviceCode& code, const KernelFolds& folds, const ReductionArguments& arguments);
// The same text for people to read: with comments that quote the equations.
std::string commented_reduction_text(const DeviceCode& code, const KernelFolds& folds, const ReductionArguments& arguments);
// How threads of a warp share the positions of each column: lane l of `lanes`, a power of two, takes positions l, l + lanes, …
struct LaneColumns {
  int lanes = 1;
  std::optional<AxisView> fixed;  // the columns, if the same text need not serve other sizes, apart from `outer`
};
// The text that reduces one column after the other in a loop, without lengths, for an ElementText
// (ops/recurrent/element_text.h).
std::string reduced_element_text(const DeviceCode& code, const KernelFolds& folds, const ReductionArguments& arguments,
                                 const LaneColumns& columns, Comments comments);
// The line before a loop over positions: loads of up to 8 turns are in flight together. `turns`: their number, 0 if unknown.
std::string unrolled(std::int64_t turns);

}  // namespace graphrun
