// The optimizers' updates, from their papers.
#include <algorithm>
#include <cmath>

#include "tests/ops/reference.h"

namespace graphrun::tests {
namespace {

// step(g', slots of the element) updates the slots and returns how far p moves, apart from decay. The rate comes after the
// slots.
template <class Step>
std::vector<Array> updated(const Call& c, std::size_t slots, std::size_t scale_at, const Step& step) {
  std::vector<Array> next = {c.x(0)};
  for (std::size_t k = 0; k < slots; ++k) next.push_back(c.x(2 + k));
  const double rate = c.x(2 + slots).data[0], scale = c.has(scale_at) ? c.x(scale_at).data[0] : 1;
  const double l2 = c.attributes.number("l2"), decay = c.attributes.number("weight_decay");
  for (std::size_t i = 0; i < next[0].data.size(); ++i) {
    double& p = next[0].data[i];
    std::vector<double> s;
    for (std::size_t k = 0; k < slots; ++k) s.push_back(next[1 + k].data[i]);
    const double x = step(scale * c.x(1).data[i] + l2 * p, s);
    p -= rate * (x + decay * p);
    for (std::size_t k = 0; k < slots; ++k) next[1 + k].data[i] = s[k];
  }
  return next;
}

std::vector<Array> sgd(const Call& c) {
  return updated(c, 0, 3, [](double g, std::vector<double>&) { return g; });
}

std::vector<Array> momentum(const Call& c) {
  const double mu = c.attributes.number("momentum");
  const bool nesterov = c.attributes.boolean("nesterov");
  return updated(c, 1, 4, [&](double g, std::vector<double>& s) {
    s[0] = mu * s[0] + g;
    return nesterov ? g + mu * s[0] : s[0];
  });
}

std::vector<Array> adagrad(const Call& c) {
  return updated(c, 1, 4, [&](double g, std::vector<double>& s) {
    s[0] += g * g;
    return g / (std::sqrt(s[0] + c.attributes.number("initial")) + c.attributes.number("epsilon"));
  });
}

std::vector<Array> adadelta(const Call& c) {
  const double rho = c.attributes.number("rho"), epsilon = c.attributes.number("epsilon");
  return updated(c, 2, 5, [&](double g, std::vector<double>& s) {
    s[0] = rho * s[0] + (1 - rho) * g * g;
    const double x = std::sqrt(s[1] + epsilon) / std::sqrt(s[0] + epsilon) * g;
    s[1] = rho * s[1] + (1 - rho) * x * x;
    return x;
  });
}

std::vector<Array> rmsprop(const Call& c) {
  const double rho = c.attributes.number("rho");
  return updated(c, 1, 4, [&](double g, std::vector<double>& s) {
    s[0] = rho * s[0] + (1 - rho) * g * g;
    return g / (std::sqrt(s[0]) + c.attributes.number("epsilon"));
  });
}

std::vector<Array> adam(const Call& c) {
  const double beta1 = c.attributes.number("beta1"), beta2 = c.attributes.number("beta2"), t = c.x(5).data[0];
  return updated(c, 2, 6, [&](double g, std::vector<double>& s) {
    s[0] = beta1 * s[0] + (1 - beta1) * g;
    s[1] = beta2 * s[1] + (1 - beta2) * g * g;
    const double mean = s[0] / (1 - std::pow(beta1, t)), square = s[1] / (1 - std::pow(beta2, t));
    return mean / (std::sqrt(square) + c.attributes.number("epsilon"));
  });
}

std::vector<Array> blend(const Call& c, double a, double b) {
  Array y = c.x(0);
  for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] = a * y.data[i] + b * c.x(1).data[i];
  return {y};
}

std::vector<Array> average(const Call& c) {
  const double d = std::min(c.attributes.number("decay"), 1 - 1 / c.x(2).data[0]);
  return blend(c, d, 1 - d);
}

}  // namespace

void add_optimizer_references(References& r) {
  r["sgd_update"] = sgd;
  r["momentum_update"] = momentum;
  r["adagrad_update"] = adagrad;
  r["adadelta_update"] = adadelta;
  r["rmsprop_update"] = rmsprop;
  r["adam_update"] = adam;
  r["sum_update"] = [](const Call& c) { return blend(c, c.x(2).data[0], 1); };
  r["average_update"] = average;
}

}  // namespace graphrun::tests
