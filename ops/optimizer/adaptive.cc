// Steps whose length each element finds for itself.
#include <cmath>

#include "ops/optimizer/update_op.h"

namespace graphrun {
namespace {

const OpRegistration adagrad_op = update_op("adagrad_update", {{"s", "the sum of squared gradients"}})
                                      .Doc(
                                          "Adagrad (Duchi et al. 2011, with a diagonal matrix):\n"
                                          "  s' = s + g'²,\n"
                                          "  p' = p - rate * (g' / (√(s' + initial) + epsilon) + weight_decay p)," +
                                          kScaledGradient)
                                      .Float("initial", 0, "where the sums begin")
                                      .Float("epsilon", 1e-10, "keeps the quotient finite");
REGISTER_KERNEL("adagrad_update", kCpu, [](const KernelRequest& request) {
  return update_kernel(request, Counted::kNo, [](const Attributes& a, double) {
    return AdagradRule{a.number("initial"), a.number("epsilon")};
  });
});

const OpRegistration adadelta_op =
    update_op("adadelta_update", {{"s", "the mean of squared gradients"}, {"d", "the mean of squared steps"}})
        .Doc(
            "Adadelta (Zeiler 2012, Algorithm 1; its rate is 1):\n"
            "  s' = rho s + (1 - rho) g'²,  x = √(d + epsilon) / √(s' + epsilon) * g',  d' = rho d + (1 - rho) x²,\n"
            "  p' = p - rate * (x + weight_decay p)," +
            kScaledGradient)
        .Float("rho", 0.95, "how slowly both means forget")
        .Float("epsilon", 1e-6, "begins the steps and keeps the quotient finite");
REGISTER_KERNEL("adadelta_update", kCpu, [](const KernelRequest& request) {
  return update_kernel(request, Counted::kNo, [](const Attributes& a, double) {
    return AdadeltaRule{a.number("rho"), a.number("epsilon")};
  });
});

const OpRegistration rmsprop_op = update_op("rmsprop_update", {{"s", "the mean of squared gradients"}})
                                      .Doc(
                                          "RMSProp (Tieleman & Hinton 2012, lecture 6.5 of Neural Networks for Machine "
                                          "Learning; epsilon as PyTorch adds it):\n"
                                          "  s' = rho s + (1 - rho) g'²,\n"
                                          "  p' = p - rate * (g' / (√s' + epsilon) + weight_decay p)," +
                                          kScaledGradient)
                                      .Float("rho", 0.9, "how slowly the mean forgets")
                                      .Float("epsilon", 1e-8, "keeps the quotient finite");
REGISTER_KERNEL("rmsprop_update", kCpu, [](const KernelRequest& request) {
  return update_kernel(request, Counted::kNo, [](const Attributes& a, double) {
    return RmspropRule{a.number("rho"), a.number("epsilon")};
  });
});

const OpRegistration adam_op =
    update_op("adam_update", {{"m", "the mean of gradients"}, {"v", "the mean of their squares"}}, Counted::kYes)
        .Doc(
            "Adam (Kingma & Ba 2015, Algorithm 1); with weight_decay it is AdamW (Loshchilov & Hutter 2019):\n"
            "  m' = beta1 m + (1 - beta1) g',  v' = beta2 v + (1 - beta2) g'²,\n"
            "  p' = p - rate * ((m' / (1 - beta1ᵗ)) / (√(v' / (1 - beta2ᵗ)) + epsilon) + weight_decay p)," +
            kScaledGradient)
        .Float("beta1", 0.9, "how slowly m forgets")
        .Float("beta2", 0.999, "how slowly v forgets")
        .Float("epsilon", 1e-8, "keeps the quotient finite");
REGISTER_KERNEL("adam_update", kCpu, [](const KernelRequest& request) {
  return update_kernel(request, Counted::kYes, [](const Attributes& a, double t) {
    const double beta1 = a.number("beta1"), beta2 = a.number("beta2");
    return AdamRule{beta1, beta2, a.number("epsilon"), 1 / (1 - std::pow(beta1, t)), 1 / (1 - std::pow(beta2, t))};
  });
});

}  // namespace
}  // namespace graphrun
