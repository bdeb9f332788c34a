// fused_reduction on CUDA: generated kernels, each of which reduces some of the program's results as they are computed.
#include "compiler/ir/reduction_program.h"
#include "ops/generated/device_launch.h"
#include "ops/generated/loop_part.h"
#include "ops/generated/reduction_text.h"
#include "ops/reduce/column_grid.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/work_sizes.h"
#include "ops/tiles/tile_steps.h"

namespace graphrun {
namespace {

struct FoldPart {
  std::shared_ptr<cuda::GeneratedKernel> kernel;
  std::size_t first = 0, folds = 0;  // a range of the node's results
};

REGISTER_KERNEL("fused_reduction", kCuda, [](const KernelRequest& request) {
  const ir::ReductionProgram program = ir::parse_reduction_program(request.attributes->string("code"));
  const Sizes work = sizes_of_work(request);
  const auto code = std::make_shared<const DeviceCode>(work, request.inputs, tile_steps(program.program, request));
  std::vector<DeviceFold> folds;
  for (const ir::ReductionProgram::Fold& fold : program.folds) folds.push_back({fold.op, fold.result});
  std::vector<FoldPart> parts;
  for (std::size_t first = 0; first < folds.size(); first += kFoldsOfKernel) {
    const std::size_t some = std::min(kFoldsOfKernel, folds.size() - first);
    const DeviceText text = reduction_text(*code, std::span(folds).subspan(first, some));
    parts.push_back({cuda::generated_kernel(text.entry, text.text), first, some});
  }
  const AxisView view = reduced_view(*request.attributes, work);
  Kernel kernel{[code, view, parts](const KernelContext& c) {
    const ColumnGrid grid = column_grid(view);
    for (const FoldPart& part : parts) {
      if (grid.blocks == 0) continue;
      cuda::ArgumentBytes arguments;
      put_operands(arguments, *code, c);
      for (const TensorView& y : c.outputs.subspan(part.first, part.folds)) arguments.put(y.data);
      arguments.put(view);
      arguments.put(grid);
      part.kernel->launch(c.stream, {grid.blocks, ColumnGrid::kThreads, grid.shared(kFoldBytes * part.folds), grid.lanes > 1},
                          arguments.data());
    }
  }};
  take_part(kernel, request, work, view, code, folds);
  return kernel;
});

}  // namespace
}  // namespace graphrun
