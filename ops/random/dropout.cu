// dropout and dropout_mask on CUDA: the draws of ops/tiles/draw.h, bit for bit.
#include "ops/dispatch.h"
#include "ops/generated/device_draws.h"
#include "ops/generated/device_launch.h"
#include "ops/generated/lone_part.h"
#include "ops/schema.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

template <class T, bool mask>
struct DropoutBody {
  const T* x;
  T* y;
  T scale;
  element::DrawnTensor draw;
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const {
    const T kept = mask ? scale : x[i] * scale;
    y[i] = element::stays(draw, i) != 0 ? kept : T(0);
  }
};

template <bool mask>
Kernel bind_draws(const KernelRequest& request) {
  const double rate = request.attributes->number("rate");
  const Draw draw(rate, request.attributes->string("key"));
  Kernel kernel = with_float(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[draw, scale = static_cast<T>(1 / (1 - rate))](const KernelContext& c) {
      const TensorView& y = c.outputs[0];
      cuda::for_elements(c, y.count(),
                         DropoutBody<T, mask>{c.inputs[0].as<T>(), y.as<T>(), scale, drawn_tensor(draw, c.random, y.sizes)});
    }};
  });
  ir::PointwiseProgram::Instruction instruction;
  instruction.rate = rate, instruction.key = request.attributes->string("key");
  take_part_alone(kernel, request, mask ? "dropout_mask" : "dropout", std::move(instruction));
  return kernel;
}
REGISTER_KERNEL("dropout", kCuda, bind_draws<false>);
REGISTER_KERNEL("dropout_mask", kCuda, bind_draws<true>);

}  // namespace
}  // namespace graphrun
