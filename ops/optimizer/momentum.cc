// Steps along the gradient, plain and with momentum.
#include "ops/optimizer/update_op.h"

namespace graphrun {
namespace {

const OpRegistration sgd_op =
    update_op("sgd_update", {})
        .Doc("p' = p - rate * (g' + weight_decay * p): a step of stochastic gradient descent," + kScaledGradient);
REGISTER_KERNEL("sgd_update", kCpu, [](const KernelRequest& request) {
  return update_kernel(request, Counted::kNo, [](const Attributes&, double) { return SgdRule{}; });
});

const OpRegistration momentum_op =
    update_op("momentum_update", {{"v", "the velocity"}})
        .Doc(
            "Momentum (Polyak 1964), or Nesterov's (Sutskever et al. 2013, with the velocity kept as PyTorch does):\n"
            "  v' = momentum v + g',\n"
            "  p' = p - rate * ((g' + momentum v' if nesterov else v') + weight_decay p)," +
            kScaledGradient)
        .Float("momentum", 0.9, "how much of the velocity stays")
        .Bool("nesterov", false, "steps from where the velocity leads to");
REGISTER_KERNEL("momentum_update", kCpu, [](const KernelRequest& request) {
  return update_kernel(request, Counted::kNo, [](const Attributes& a, double) {
    return MomentumRule{a.number("momentum"), a.boolean("nesterov")};
  });
});

}  // namespace
}  // namespace graphrun
