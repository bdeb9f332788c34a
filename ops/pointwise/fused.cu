// fused on CUDA: one kernel, generated for the group.
#include "compiler/ir/pointwise_program.h"
#include "ops/generated/device_launch.h"
#include "ops/generated/loop_part.h"
#include "ops/schema.h"
#include "ops/tiles/row_reads.h"
#include "ops/tiles/tile_steps.h"

namespace graphrun {
namespace {

// How many adjacent elements a thread processes at once: four, if the sizes and all addresses allow it.
int width_for(const DeviceCode& code, const KernelContext& c) {
  return reads_fours(code, c.inputs) && std::all_of(c.outputs.begin(), c.outputs.end(), begins_at_four) ? 4 : 1;
}

REGISTER_KERNEL("fused", kCuda, [](const KernelRequest& request) {
  const ProgramWork work = program_work(request);
  const auto code = std::make_shared<const DeviceCode>(request.outputs.at(0).sizes, work.request.inputs,
                                                       tile_steps(ir::program_of(*request.attributes), work.request),
                                                       code_names(work.request), work.rows);
  const ElementwiseText text = elementwise_text(*code, request.outputs.size());
  const std::int64_t count = request.outputs[0].count();
  Kernel made{[code, text, count, kernel = cuda::generated_kernel(text.entry, text.text)](const KernelContext& c) {
    if (count == 0) return;
    const int width = width_for(*code, c);
    ArgumentBytes arguments(text.arguments);
    set_operands(arguments, *code, c);
    for (std::size_t r = 0; r < c.outputs.size(); ++r) arguments.set_address(text.results[r], c.outputs[r].data);
    arguments.set(text.wide, std::int32_t{width > 1});
    kernel->launch(c.stream, cuda::grid_of_elements(count / width), arguments.bytes());
  }};
  made.text = [code, results = request.outputs.size()] { return commented_elementwise_text(*code, results); };
  if (!work.rows.any()) take_part(made, request, code);
  return made;
});

}  // namespace
}  // namespace graphrun
