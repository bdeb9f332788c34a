// fused_reduction on CUDA: the program's instructions one after the other, then a reduction of each result.
#include "compiler/ir/reduction_program.h"
#include "ops/pointwise/steps_device.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/work_sizes.h"

namespace graphrun {
namespace {

// A reduction by its op's own kernel.
struct Fold {
  Kernel kernel;
  Attributes attributes;
  std::size_t result = 0;  // of the program
  Sizes sizes;             // that the kernel sees it in
};

Fold bind_fold(const ir::ReductionProgram::Fold& fold, const KernelRequest& request, std::size_t i, const Sizes& work,
               DType dtype) {
  const KernelFactory* factory = KernelRegistry::instance().find(fold.op, Device::kCuda);
  GRAPHRUN_CHECK(factory != nullptr, "no kernel for '" + fold.op + "'");
  Fold made;
  made.result = fold.result;
  if (ir::gives_position(fold.op)) {
    made.attributes.set("axis", std::int64_t{1});
  } else {
    made.attributes.set("axis", std::vector<std::int64_t>{1});
    made.attributes.set("keep", false);
  }
  KernelRequest own;
  own.attributes = &made.attributes;
  // The axes that go seen as one.
  const AxisView view = reduced_view(*request.attributes, work);
  own.inputs = {{nullptr, dtype, {view.outer, view.n, view.inner}}};
  own.outputs = {request.outputs[i]};
  made.sizes = own.inputs[0].sizes;
  made.kernel = (*factory)(own);
  GRAPHRUN_CHECK(made.kernel.workspace == 0, "a reduction with a workspace");
  return made;
}

Kernel bind(const KernelRequest& request) {
  const ir::ReductionProgram code = ir::parse_reduction_program(request.attributes->string("code"));
  const Sizes work = sizes_of_work(request);
  const auto steps = std::make_shared<const cuda::ProgramSteps>(code.program, request, work, false);
  DType dtype = DType::kFloat32;
  for (const TensorView& v : request.inputs) dtype = v.dtype == DType::kFloat64 ? v.dtype : dtype;
  const auto folds = std::make_shared<std::vector<Fold>>();
  for (std::size_t i = 0; i < code.folds.size(); ++i) folds->push_back(bind_fold(code.folds[i], request, i, work, dtype));
  return {[steps, folds, dtype](const KernelContext& c) {
            steps->run(c);
            for (std::size_t i = 0; i < folds->size(); ++i) {
              const Fold& fold = (*folds)[i];
              const TensorView x{steps->result(c, fold.result).data, dtype, fold.sizes};
              KernelContext own = c;
              own.attributes = &fold.attributes;
              own.inputs = {&x, 1};
              own.outputs = c.outputs.subspan(i, 1);
              own.workspace = nullptr;
              fold.kernel.run(own);
            }
          },
          steps->workspace()};
}
REGISTER_KERNEL("fused_reduction", kCuda, bind);

}  // namespace
}  // namespace graphrun
