// broadcast_to on CUDA.
#include "ops/dispatch.h"
#include "ops/schema.h"
#include "ops/shape/walk_device.h"

namespace graphrun {
namespace {

REGISTER_KERNEL("broadcast_to", kCuda, [](const KernelRequest& request) {
  const Walk walk = loops_of(request.inputs[0].sizes, request.outputs[0].sizes);
  return with_bits(request.inputs[0].dtype,
                   [&](auto zero) { return cuda::walk_kernel<decltype(zero)>(walk, request.outputs[0].count()); });
});

}  // namespace
}  // namespace graphrun
