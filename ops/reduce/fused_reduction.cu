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

template <>
inline constexpr const char* kArgumentTypeName<ColumnGrid> = "ColumnGrid";

namespace {

struct FoldPart {
  std::shared_ptr<cuda::GeneratedKernel> kernel;
  ReductionArguments arguments;
  std::size_t first = 0, folds = 0;  // a range of the node's results
};

REGISTER_KERNEL("fused_reduction", kCuda, [](const KernelRequest& request) {
  const ir::ReductionProgram program = ir::parse_reduction_program(request.attributes->string("code"));
  const Sizes work = sizes_of_work(request);
  const auto code =
      std::make_shared<const DeviceCode>(work, request.inputs, tile_steps(program.program, request), code_names(request));
  std::vector<DeviceFold> folds;
  for (const ir::ReductionProgram::Fold& fold : program.folds) {
    const std::size_t origin = program.program.instructions.size() + folds.size();
    folds.push_back({fold.op, fold.result, origin < request.origins.size() ? request.origins[origin] : Origin{}});
  }
  const AxisView view = reduced_view(*request.attributes, work);
  const ColumnGrid grid = column_grid(view);
  std::vector<FoldPart> parts;
  for (std::size_t first = 0; first < folds.size(); first += kFoldsOfKernel) {
    const std::size_t some = std::min(kFoldsOfKernel, folds.size() - first);
    const std::span<const DeviceFold> own = std::span(folds).subspan(first, some);
    ReductionArguments arguments = reduction_arguments(*code, own, view);
    arguments.layout.add("grid", grid);
    const DeviceText text = reduction_text(*code, own, arguments);
    parts.push_back({cuda::generated_kernel(text.entry, text.text), std::move(arguments), first, some});
  }
  Kernel kernel{[code, grid, parts](const KernelContext& c) {
    for (const FoldPart& part : parts) {
      if (grid.blocks == 0) continue;
      ArgumentBytes arguments(part.arguments.layout);
      set_operands(arguments, *code, c);
      for (std::size_t r = 0; r < part.folds; ++r)
        arguments.set_address(part.arguments.results[r], c.outputs[part.first + r].data);
      part.kernel->launch(c.stream, {grid.blocks, ColumnGrid::kThreads, grid.shared(kFoldBytes * part.folds), grid.lanes > 1},
                          arguments.bytes());
    }
  }};
  kernel.text = [code, folds, parts] {
    std::string text;
    for (const FoldPart& part : parts)
      text += commented_reduction_text(*code, std::span(folds).subspan(part.first, part.folds), part.arguments);
    return text;
  };
  take_part(kernel, request, work, view, code, folds);
  return kernel;
});

}  // namespace
}  // namespace graphrun
