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

std::vector<Array> lion(const Call& c) {
  const double beta1 = c.attributes.number("beta1"), beta2 = c.attributes.number("beta2");
  return updated(c, 1, 4, [&](double g, std::vector<double>& s) {
    const double u = beta1 * s[0] + (1 - beta1) * g;
    s[0] = beta2 * s[0] + (1 - beta2) * g;
    return u > 0 ? 1.0 : u < 0 ? -1.0 : 0.0;
  });
}

double root_mean_square(const std::vector<double>& x) {
  double sum = 0;
  for (const double e : x) sum += e * e;
  return std::sqrt(sum / static_cast<double>(x.size()));
}

// p, g, s, c, m, rate, t, scale.
std::vector<Array> adafactor(const Call& call) {
  const Attributes& a = call.attributes;
  const Array& p = call.x(0);
  const double rate = call.x(5).data[0], t = call.x(6).data[0], scale = call.has(7) ? call.x(7).data[0] : 1;
  const double keep = 1 - std::pow(t, -a.number("beta2_decay")), epsilon = a.number("epsilon1"), beta1 = a.number("beta1");
  Array g = call.x(1), s = call.x(2), c = call.has(3) ? call.x(3) : Array();
  for (std::size_t i = 0; i < g.data.size(); ++i) g.data[i] = scale * g.data[i] + a.number("l2") * p.data[i];
  std::vector<double> u;
  if (p.data.empty()) {  // nothing to measure: the means stay
  } else if (call.has(3)) {
    const std::size_t row_axis = p.rank() - 2, column_axis = p.rank() - 1;
    for (double& e : s.data) e *= keep;
    for (double& e : c.data) e *= keep;
    const double rows = static_cast<double>(p.sizes[row_axis]), columns = static_cast<double>(p.sizes[column_axis]);
    for (const Sizes& at : indices_of(p.sizes)) {
      const double square = (1 - keep) * (g[at] * g[at] + epsilon);
      s[without(at, column_axis)] += square / columns;
      c[without(at, row_axis)] += square / rows;
    }
    for (const Sizes& at : indices_of(p.sizes)) {
      double mean = 0;
      Sizes row = without(at, column_axis);
      for (row[row_axis] = 0; row[row_axis] < p.sizes[row_axis]; ++row[row_axis]) mean += s[row] / rows;
      u.push_back(g[at] / std::sqrt(s[without(at, column_axis)] * c[without(at, row_axis)] / mean));
    }
  } else {
    for (std::size_t i = 0; i < s.data.size(); ++i) {
      s.data[i] = keep * s.data[i] + (1 - keep) * (g.data[i] * g.data[i] + epsilon);
      u.push_back(g.data[i] / std::sqrt(s.data[i]));
    }
  }
  const double divisor = std::max(1.0, root_mean_square(u) / a.number("clip"));
  double step = a.boolean("relative_step") ? std::min(rate, 1 / std::sqrt(t)) : rate;
  if (a.boolean("scale_parameter")) step *= std::max(a.number("epsilon2"), root_mean_square(p.data));
  std::vector<Array> results = {p, s};
  if (call.has(3)) results.push_back(c);
  if (call.has(4)) results.push_back(call.x(4));
  for (std::size_t i = 0; i < u.size(); ++i) {
    double x = u[i] / divisor;
    if (call.has(4)) x = results.back().data[i] = beta1 * call.x(4).data[i] + (1 - beta1) * x;
    results[0].data[i] -= step * x + rate * a.number("weight_decay") * p.data[i];
  }
  return results;
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
  r["lion_update"] = lion;
  r["adafactor_update"] = adafactor;
  r["sum_update"] = [](const Call& c) { return blend(c, c.x(2).data[0], 1); };
  r["average_update"] = average;
}

}  // namespace graphrun::tests
