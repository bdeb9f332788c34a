// categorical: draws an element from each row.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/dispatch.h"
#include "ops/index/topk_row.h"
#include "ops/index/topk_simd.h"
#include "ops/random/categorical_row.h"
#include "ops/round_up.h"
#include "ops/schema.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

REGISTER_OP("categorical", "random")
    .Doc(
        "Draws an element of each row with probabilities proportional to exp((x - total) / temperature); if k is not 0, only\n"
        "from the k largest. With total = logsumexp(x), x - total are log-probabilities. Inverse transform sampling: elements\n"
        "are in the order of topk, and the first one is taken at which the sum of weights exceeds the total weight times a\n"
        "uniform number in [0, 1) with 53 bits. That number comes from Philox (Salmon et al. 2011): the first two words of\n"
        "`key` are Philox's key; its third word and `step` are the counter. Rows are independent.\n"
        "  x [..., n], total [...], key [..., 3] INT32, step [] INT32 -> y [...] INT32")
    .Input("x", "[..., n] FLOAT; NaN has weight 0")
    .Input("total", "[...] FLOAT: subtracted from the row first")
    .Input("key", "[..., 3] INT32: low and high half of the key, first word of the counter")
    .Input("step", "[] INT32: second word of the counter")
    .Float("temperature", 1, "above 0; near 0, only the largest element is drawn")
    .Int("k", 0, "draws only from the k largest; 0, or above n: from all")
    .Output("y")
    .Internal()
    .Shape([](ir::InferContext& c) {
      ir::require_rank_at_least(c, 0, 1);
      ir::require_type(c, 0, Type::kFloat);
      ir::require_type(c, 1, Type::kFloat);
      ir::require_type(c, 2, Type::kInt32);
      ir::require_type(c, 3, Type::kInt32);
      Shape rows = c.input(0).shape, key = c.input(0).shape;
      rows.pop_back(), key.back() = 3;
      if (c.input(1).shape != rows || c.input(2).shape != key || !c.input(3).shape.empty()) {
        throw ir::OpError("E0301 shape-mismatch",
                          "categorical: total " + str(c.input(1).shape) + ", key " + str(c.input(2).shape) + " and step " +
                              str(c.input(3).shape) + " do not fit x " + str(c.input(0).shape),
                          "help: total is " + str(rows) + ", key " + str(key) + ", step a scalar");
      }
      if (!(c.attributes->number("temperature") > 0) || c.attributes->integer("k") < 0) {
        throw ir::OpError("E0306 wrong-attribute", "categorical: temperature must be above 0, and k 0 or more");
      }
      c.outputs = {{Type::kInt32, std::move(rows)}};
    })
    .NoGradient("the result is an integer");

template <class T>
struct Element {
  T value;
  std::int32_t place;
};

template <class T>
bool comes_first(const Element<T>& a, const Element<T>& b) {
  return is_greater(a.value, b.value) || (!is_greater(b.value, a.value) && a.place < b.place);
}

template <class T>
struct Weights {
  T total;
  double most, temperature;  // most: x - total of the greatest element
  double exponent(T x) const { return (static_cast<double>(x - total) - most) / temperature; }
  double operator()(T x) const {
    const double weight = std::exp(exponent(x));
    return weight == weight ? weight : 0;
  }
};

// The first element, in order, at which the sum of weights (`before` plus those so far) exceeds `at`; the last if none does.
template <class T>
std::int32_t first_beyond(const Element<T>* begin, const Element<T>* end, const Weights<T>& weights, double before, double at) {
  for (const Element<T>* e = begin; e + 1 < end; ++e) {
    before += weights(e->value);
    if (before > at) return e->place;
  }
  return (end - 1)->place;
}

// Draws from the k greatest elements, which it sorts into `elements`; `values` and `places` are scratch memory for k.
template <class T>
std::int32_t drawn_of_greatest(const T* x, std::int64_t n, Weights<T> weights, std::int64_t k, double unit, T* values,
                               std::int32_t* places, Element<T>* elements) {
  topk_rows(x, 1, n, values, places, k);
  weights.most = static_cast<double>(values[0] - weights.total);
  double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) elements[i] = {values[i], places[i]}, sum += weights(values[i]);
  return first_beyond(elements, elements + k, weights, 0, unit * sum);
}

// Sums weights by classes of similar elements, greatest first, finds the class of the drawn element, and sorts only that class.
template <class T>
std::int32_t drawn(const T* x, std::int64_t n, Weights<T> weights, double unit, Element<T>* elements) {
  constexpr std::int64_t kClasses = 256;
  constexpr double kOfOne = 8;  // number of classes that a factor of e spans
  T greatest = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < n; ++i) greatest = x[i] > greatest ? x[i] : greatest;
  weights.most = static_cast<double>(greatest - weights.total);
  const auto class_of = [&](double exponent) {
    const double at = -exponent * kOfOne;
    return at < static_cast<double>(kClasses - 1) ? static_cast<std::int64_t>(at) : kClasses - 1;  // NaN: the last class
  };
  double sums[kClasses] = {}, sum = 0, before = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double exponent = weights.exponent(x[i]), weight = std::exp(exponent);
    sums[class_of(exponent)] += weight == weight ? weight : 0;
  }
  for (double s : sums) sum += s;
  const double at = unit * sum;
  std::int64_t found = kClasses - 1;  // without any weight, all elements are in the last class
  for (std::int64_t c = 0; c < kClasses; ++c) {
    if (sums[c] == 0) continue;
    found = c;
    if (before + sums[c] > at) break;
    before += sums[c];
  }
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i)
    if (class_of(weights.exponent(x[i])) == found) elements[count++] = {x[i], static_cast<std::int32_t>(i)};
  std::sort(elements, elements + count, comes_first<T>);
  return first_beyond(elements, elements + count, weights, before, at);
}

REGISTER_KERNEL("categorical", kCpu, [](const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].sizes.back(), rows = request.outputs[0].count();
  const double temperature = request.attributes->number("temperature");
  const std::int64_t k = request.attributes->integer("k");
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t parts = std::max<std::int64_t>(1, std::min<std::int64_t>(rows, threads()));
    const std::int64_t best = k < n ? k : 0;  // 0: all
    const std::int64_t room = static_cast<std::int64_t>(sizeof(Element<T>)) * (best > 0 ? 2 * best : n);
    const auto each = static_cast<std::size_t>(round_up(room, static_cast<std::int64_t>(kAlignment)));
    Kernel kernel;
    kernel.workspace = static_cast<std::size_t>(parts) * each;
    kernel.run = [=](const KernelContext& c) {
      const T *x = c.inputs[0].as<T>(), *total = c.inputs[1].as<T>();
      const auto *key = c.inputs[2].as<std::int32_t>(), *step = c.inputs[3].as<std::int32_t>();
      auto* y = c.outputs[0].as<std::int32_t>();
      parallel_ranges(parts, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = begin; part < end; ++part) {
          auto* elements =
              reinterpret_cast<Element<T>*>(static_cast<char*>(c.workspace) + static_cast<std::size_t>(part) * each);
          T* values = reinterpret_cast<T*>(elements + best);
          auto* places = reinterpret_cast<std::int32_t*>(values + best);
          for (std::int64_t r = rows * part / parts; r < rows * (part + 1) / parts; ++r) {
            const Weights<T> weights{total[r], 0, temperature};
            const double unit = number_of_draw(key + 3 * r, *step);
            y[r] = best > 0 ? drawn_of_greatest(x + r * n, n, weights, best, unit, values, places, elements)
                            : drawn(x + r * n, n, weights, unit, elements);
          }
        }
      });
    };
    return kernel;
  });
});

}  // namespace
}  // namespace graphrun
