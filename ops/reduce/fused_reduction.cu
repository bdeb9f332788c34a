// fused_reduction on CUDA: generated kernels, each of which reduces some of the program's results as they are computed.
#include <algorithm>

#include "compiler/ir/pointwise_program.h"
#include "ops/generated/device_launch.h"
#include "ops/generated/loop_part.h"
#include "ops/generated/reduction_text.h"
#include "ops/reduce/column_grid.h"
#include "ops/reduce/reduced_work.h"
#include "ops/reduce/reduction.h"
#include "ops/tiles/tile_steps.h"

namespace graphrun {

template <>
inline constexpr const char* kArgumentTypeName<ColumnGrid> = "ColumnGrid";

namespace {

struct FoldPart {
  std::shared_ptr<cuda::GeneratedKernel> kernel;
  ReductionArguments arguments;
  Argument grid, parts, joins, wide;  // as reduction_text() wants them
  KernelFolds folds;
  std::size_t first = 0;  // index of the first result of this kernel among the node's

  std::size_t value_bytes() const { return kFoldBytes * folds.folds.size(); }
};

REGISTER_KERNEL("fused_reduction", kCuda, [](const KernelRequest& request) {
  const ir::PointwiseProgram& program = ir::program_of(*request.attributes);
  const ProgramWork work = work_of_reduction(request);
  const Sizes sizes = sizes_of_work(work);
  const auto code = std::make_shared<const DeviceCode>(sizes, work.request.inputs, tile_steps(program, work.request),
                                                       code_names(work.request), work.rows);
  const std::size_t instructions = std::min(program.instructions.size(), request.origins.size());
  const std::span<const Origin> origins = request.origins.subspan(instructions);  // origins of the folds
  const AxisView view = reduced_view(*request.attributes, sizes);
  const ColumnGrid grid = divided_column_grid(view);
  const std::size_t lengths = work.lengths;
  const bool has_lengths = lengths < request.inputs.size();
  const std::int64_t repeat = has_lengths ? results_of_length(view, request.inputs[lengths]) : 0;
  std::vector<FoldPart> parts;
  for (std::size_t first = 0; first < program.folds.size(); first += kFoldsOfKernel) {
    KernelFolds own;
    for (std::size_t f = first; f < std::min(first + kFoldsOfKernel, program.folds.size()); ++f) {
      own.folds.push_back(program.folds[f]);
      own.origins.push_back(f < origins.size() ? origins[f] : Origin{});
    }
    ReductionArguments arguments = reduction_arguments(*code, own, view, repeat);
    const Argument own_grid = arguments.layout.add<ColumnGrid>("grid");
    const Argument own_parts = arguments.layout.add_address("parts", "void");
    const Argument joins = arguments.layout.add<std::int32_t>("joins");
    const Argument wide = arguments.layout.add<std::int32_t>("wide");
    const DeviceText text = reduction_text(*code, own, arguments);
    parts.push_back({cuda::generated_kernel(text.entry, text.text), std::move(arguments), own_grid, own_parts, joins, wide,
                     std::move(own), first});
  }
  Kernel kernel{[code, view, grid, parts, lengths](const KernelContext& c) {
    for (const FoldPart& part : parts) {
      if (grid.blocks == 0) continue;
      const auto launch = [&](const ColumnGrid& own, std::int32_t joins) {
        ArgumentBytes arguments(part.arguments.layout);
        set_operands(arguments, *code, c);
        for (std::size_t r = 0; r < part.folds.folds.size(); ++r)
          arguments.set_address(part.arguments.results[r], c.outputs[part.first + r].data);
        if (part.arguments.lengths) arguments.set_address(*part.arguments.lengths, c.inputs[lengths].data);
        arguments.set_address(part.parts, c.workspace);
        arguments.set(part.grid, own), arguments.set(part.joins, joins);
        arguments.set(part.wide, std::int32_t{reads_fours(*code, c.inputs)});
        part.kernel->launch(c.stream, {own.blocks, own.threads(), own.shared(part.value_bytes()), own.lanes > 1},
                            arguments.bytes());
      };
      launch(grid, 0);
      if (grid.parts > 1) launch(joining_grid(grid, view), grid.parts);
    }
  }};
  for (const FoldPart& part : parts) kernel.workspace = std::max(kernel.workspace, parts_bytes(grid, view, part.value_bytes()));
  kernel.text = [code, parts] {
    std::string text;
    for (const FoldPart& part : parts) text += commented_reduction_text(*code, part.folds, part.arguments);
    return text;
  };
  if (parts.size() == 1 && !has_lengths && !work.rows.any()) take_part(kernel, request, sizes, view, code, parts[0].folds);
  return kernel;
});

}  // namespace
}  // namespace graphrun
