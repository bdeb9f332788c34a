// transpose on CUDA.
#include "ops/dispatch.h"
#include "ops/schema.h"
#include "ops/shape/walk_device.h"

namespace graphrun {
namespace {

REGISTER_KERNEL("transpose", kCuda, [](const KernelRequest& request) {
  const Sizes& x = request.inputs[0].sizes;
  const Walk walk = walk_of(x, permutation_of(*request.attributes, x.size()));
  return with_bits(request.inputs[0].dtype,
                   [&](auto zero) { return cuda::walk_kernel<decltype(zero)>(walk, request.outputs[0].count()); });
});

}  // namespace
}  // namespace graphrun
