#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "compiler/ir/pointwise_program.h"
#include "tests/ops/reference.h"

namespace graphrun::tests {
namespace {

// The elements that each element of a reduction's result combines, found by walking over x; supports `keep` and lists of axes.
std::vector<std::vector<double>> groups(const Call& c, std::vector<std::vector<std::int64_t>>* positions = nullptr) {
  std::vector<std::int64_t> axes = c.attributes.integers("axis");
  const Array& x = c.x();
  std::vector<bool> gone(x.rank(), axes.empty());
  for (std::int64_t a : axes) gone[static_cast<std::size_t>(a < 0 ? a + static_cast<std::int64_t>(x.rank()) : a)] = true;
  Sizes kept;
  for (std::size_t k = 0; k < x.rank(); ++k) {
    if (!gone[k]) kept.push_back(x.sizes[k]);
  }
  const Array result(kept);
  std::vector<std::vector<double>> out(result.data.size());
  if (positions) positions->assign(result.data.size(), {});
  for (const Sizes& index : indices_of(x.sizes)) {
    Sizes rest;
    std::int64_t position = 0;
    for (std::size_t k = 0; k < x.rank(); ++k) {
      if (gone[k]) {
        position = index[k];
      } else {
        rest.push_back(index[k]);
      }
    }
    if (c.has(1) && position >= c.length(1, rest, std::numeric_limits<std::int32_t>::max())) continue;
    const auto at = static_cast<std::size_t>(result.offset(rest));
    out[at].push_back(x[index]);
    if (positions) (*positions)[at].push_back(x.offset(index));
  }
  return out;
}

using Fold = std::function<double(const std::vector<double>&)>;

Reference folding(const Fold& fold) {
  return [fold](const Call& c) {
    Array y(c.output_sizes[0]);
    const auto all = groups(c);
    for (std::size_t i = 0; i < all.size(); ++i) y.data[i] = all[i].empty() ? 0 : fold(all[i]);
    return std::vector<Array>{y};
  };
}

double sum(const std::vector<double>& v) {
  double total = 0;
  for (double e : v) total += e;
  return total;
}

double logsumexp(const std::vector<double>& v) {
  const double most = *std::max_element(v.begin(), v.end());
  double total = 0;
  for (double e : v) total += std::exp(e - most);
  return most + std::log(total);
}

std::size_t first_extreme(const std::vector<double>& v, bool max) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < v.size(); ++i) {
    if (max ? v[i] > v[best] : v[i] < v[best]) best = i;
  }
  return best;
}

Reference extreme_gradient(bool max) {
  return [max](const Call& c) {
    Array d(c.output_sizes[0]);
    std::vector<std::vector<std::int64_t>> positions;
    const auto all = groups(c, &positions);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].empty()) d.data[static_cast<std::size_t>(positions[i][first_extreme(all[i], max)])] = c.x(2).data[i];
    }
    return std::vector<Array>{d};
  };
}

// Calls fn(row, out) for every row of x along the attribute axis, cut at its length; results that fn does not set stay 0.
std::vector<Array> along(const Call& c, const std::function<void(const std::vector<Sizes>&, const Sizes&, Array&)>& fn) {
  const Array& x = c.x();
  const std::size_t axis = c.axis(x.rank());
  Array y(c.output_sizes[0]);
  for (const Sizes& rest : indices_of(without(x.sizes, axis))) {
    std::vector<Sizes> line;
    for (std::int64_t a = 0; a < c.length(1, rest, x.sizes[axis]); ++a) line.push_back(with(rest, axis, a));
    fn(line, rest, y);
  }
  return {y};
}

std::vector<double> values(const Array& x, const std::vector<Sizes>& line) {
  std::vector<double> out;
  for (const Sizes& index : line) out.push_back(x[index]);
  return out;
}

std::vector<Array> softmax(const Call& c, bool logarithm) {
  return along(c, [&](const std::vector<Sizes>& line, const Sizes&, Array& y) {
    if (line.empty()) return;
    const double total = logsumexp(values(c.x(), line));
    for (const Sizes& index : line) y[index] = logarithm ? c.x()[index] - total : std::exp(c.x()[index] - total);
  });
}

std::vector<Array> softmax_gradient(const Call& c, bool logarithm) {
  return along(c, [&](const std::vector<Sizes>& line, const Sizes&, Array& d) {
    const Array &y = c.x(), &g = c.x(2);
    double total = 0;
    for (const Sizes& index : line) total += logarithm ? g[index] : y[index] * g[index];
    for (const Sizes& index : line) {
      d[index] = logarithm ? g[index] - std::exp(y[index]) * total : y[index] * (g[index] - total);
    }
  });
}

std::vector<Array> position(const Call& c, bool max) {
  Array out(c.output_sizes[0]);
  along(c, [&](const std::vector<Sizes>& line, const Sizes& rest, Array&) {
    if (!line.empty()) out[rest] = static_cast<double>(first_extreme(values(c.x(), line), max));
  });
  return {out};
}

// Cross entropy against the smoothed distribution, by definition.
std::vector<Array> cross_entropy(const Call& c) {
  const std::int64_t n = c.x().sizes.back();
  const double e = c.attributes.number("label_smoothing");
  Array y(c.output_sizes[0]);
  for (const Sizes& row : indices_of(y.sizes)) {
    std::vector<double> logits;
    for (std::int64_t k = 0; k < n; ++k) logits.push_back(c.x()[with(row, row.size(), k)]);
    const double total = logsumexp(logits);
    for (std::int64_t k = 0; k < n; ++k) {
      const double wanted = e / static_cast<double>(n) + (static_cast<double>(k) == c.x(1)[row] ? 1 - e : 0);
      y[row] -= wanted * (logits[static_cast<std::size_t>(k)] - total);
    }
  }
  return {y};
}

std::vector<Array> cross_entropy_gradient(const Call& c) {
  const std::int64_t n = c.x().sizes.back();
  const double e = c.attributes.number("label_smoothing");
  Array d(c.output_sizes[0]);
  for (const Sizes& row : indices_of(c.x(1).sizes)) {
    std::vector<double> logits;
    for (std::int64_t k = 0; k < n; ++k) logits.push_back(c.x()[with(row, row.size(), k)]);
    const double total = logsumexp(logits);
    for (std::int64_t k = 0; k < n; ++k) {
      const double wanted = e / static_cast<double>(n) + (static_cast<double>(k) == c.x(1)[row] ? 1 - e : 0);
      d[with(row, row.size(), k)] = c.x(3)[row] * (std::exp(logits[static_cast<std::size_t>(k)] - total) - wanted);
    }
  }
  return {d};
}

struct Row {
  double mean = 0, deviation = 0;
};

Row moments(const Array& x, std::int64_t row, double epsilon) {
  const std::int64_t n = x.sizes.back();
  Row r;
  for (std::int64_t k = 0; k < n; ++k) r.mean += x.data[static_cast<std::size_t>(row * n + k)] / static_cast<double>(n);
  double variance = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    variance += std::pow(x.data[static_cast<std::size_t>(row * n + k)] - r.mean, 2) / static_cast<double>(n);
  }
  r.deviation = std::sqrt(variance + epsilon);
  return r;
}

std::vector<Array> normalize(const Call& c) {
  Array y = c.x();
  const auto n = static_cast<std::size_t>(y.sizes.back());
  for (std::size_t i = 0; i < y.data.size(); ++i) {
    const Row r = moments(c.x(), static_cast<std::int64_t>(i / n), c.attributes.number("epsilon"));
    y.data[i] = (y.data[i] - r.mean) / r.deviation;
    if (c.has(1)) y.data[i] = y.data[i] * c.x(1).data[i % n] + c.x(2).data[i % n];
  }
  return {y};
}

// The Jacobian of one row, element by element: d y_j / d x_k = (1[j = k] - 1/n - n_j n_k / n) / deviation.
std::vector<Array> normalize_gradient(const Call& c) {
  const Array &x = c.x(), &g = c.x(2);
  Array d(x.sizes);
  const auto n = static_cast<std::size_t>(x.sizes.back());
  for (std::size_t row = 0; row < x.data.size() / n; ++row) {
    const Row r = moments(x, static_cast<std::int64_t>(row), c.attributes.number("epsilon"));
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j) {
        const double nj = (x.data[row * n + j] - r.mean) / r.deviation, nk = (x.data[row * n + k] - r.mean) / r.deviation;
        const double h = g.data[row * n + j] * (c.has(1) ? c.x(1).data[j] : 1);
        d.data[row * n + k] += h * ((j == k) - (1 + nj * nk) / static_cast<double>(n)) / r.deviation;
      }
    }
  }
  return {d};
}

std::vector<Array> sum_to(const Call& c) {
  Array y(c.output_sizes[0]);
  const std::size_t added = c.x().rank() - y.rank();
  for (const Sizes& index : indices_of(c.x().sizes)) {
    Sizes to(index.begin() + static_cast<std::ptrdiff_t>(added), index.end());
    for (std::size_t k = 0; k < to.size(); ++k) to[k] = y.sizes[k] == 1 ? 0 : to[k];
    y[to] += c.x()[index];
  }
  return {y};
}

// The pointwise program, then each reduction of its results.
std::vector<Array> fused_reduction(const Call& c) {
  const ir::PointwiseProgram& code = ir::program_of(c.attributes);
  Call pointwise = c;
  const Array* const lengths = c.attributes.boolean("lengths") ? c.inputs.back() : nullptr;
  const ProgramOperands operands(c, code.inputs());
  pointwise.inputs = operands.inputs;
  pointwise.attributes.set("rows", std::vector<std::int64_t>{});
  Sizes sizes;
  for (const Array* x : pointwise.inputs) {
    if (x->rank() > sizes.size()) sizes.insert(sizes.begin(), x->rank() - sizes.size(), 1);
    for (std::size_t k = 1; k <= x->rank(); ++k) {
      if (x->sizes[x->rank() - k] != 1) sizes[sizes.size() - k] = x->sizes[x->rank() - k];
    }
  }
  pointwise.attributes.set("code", OpaqueValue(ir::PointwiseProgram{code.instructions, code.results}));
  pointwise.output_sizes.assign(code.results.size(), sizes);
  const std::vector<Array> made = (*reference_of("fused"))(pointwise);
  std::vector<Array> results;
  for (std::size_t f = 0; f < code.folds.size(); ++f) {
    Call one;
    one.inputs = {&made[code.folds[f].result]};
    if (lengths != nullptr) one.inputs.push_back(lengths);
    one.attributes.set("axis", c.attributes.integers("axis"));
    one.output_sizes = {c.output_sizes[f]};
    if (!gives_position(code.folds[f].kind)) {
      results.push_back((*reference_of(std::string(name_of(code.folds[f].kind))))(one)[0]);
      continue;
    }
    const bool max = seeks_greatest(code.folds[f].kind);
    results.push_back(
        folding([&](const std::vector<double>& v) { return static_cast<double>(first_extreme(v, max)); })(one)[0]);
  }
  return results;
}

}  // namespace

void add_reduce_references(References& r) {
  r["sum"] = folding(sum);
  r["mean"] = folding([](const std::vector<double>& v) { return sum(v) / static_cast<double>(v.size()); });
  r["max"] = folding([](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); });
  r["min"] = folding([](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); });
  r["logsumexp"] = folding(logsumexp);
  r["max_gradient"] = extreme_gradient(true);
  r["min_gradient"] = extreme_gradient(false);
  r["argmax"] = [](const Call& c) { return position(c, true); };
  r["argmin"] = [](const Call& c) { return position(c, false); };
  r["softmax"] = [](const Call& c) { return softmax(c, false); };
  r["log_softmax"] = [](const Call& c) { return softmax(c, true); };
  r["softmax_gradient"] = [](const Call& c) { return softmax_gradient(c, false); };
  r["log_softmax_gradient"] = [](const Call& c) { return softmax_gradient(c, true); };
  r["cross_entropy"] = cross_entropy;
  r["cross_entropy_gradient"] = cross_entropy_gradient;
  r["normalize"] = normalize;
  r["layer_norm"] = normalize;
  r["normalize_gradient"] = normalize_gradient;
  r["sum_to"] = sum_to;
  r["fused_reduction"] = fused_reduction;
}

}  // namespace graphrun::tests
