// categorical on CUDA.
#include <bit>

#include "ops/dispatch.h"
#include "ops/generated/device_functions.h"
#include "ops/random/categorical_row.h"
#include "ops/reduce/columns_device.h"
#include "ops/schema.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

using cuda::Column;

// The rank of an element in the order of topk, as a number: the first element has the greatest rank.
struct Rank {
  std::uint64_t value;  // ordered like the doubles; NaN comes last
  std::uint32_t place;  // smaller for later positions

  GRAPHRUN_DEVICE bool reaches(const Rank& other) const {
    return value != other.value ? value > other.value : place >= other.place;
  }
};

GRAPHRUN_DEVICE Rank rank_of(double x, std::int64_t place) {
  if (x != x) return {0, ~static_cast<std::uint32_t>(place)};
  const auto bits = std::bit_cast<std::uint64_t>(x == 0 ? 0.0 : x);
  const std::uint64_t sign = std::uint64_t{1} << 63;
  return {bits & sign ? ~bits : bits | sign, ~static_cast<std::uint32_t>(place)};
}

// Nothing is sorted. A search finds, bit by bit, the greatest rank at which the sum of weights (or the number of elements) of
// all elements from that rank up is large enough. Each bit takes one pass in which a whole block reads the row.
template <class T>
struct CategoricalBody {
  const T *x, *total;
  const std::int32_t *key, *step;
  std::int32_t* y;
  double temperature;
  std::int64_t k;

  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const std::int64_t row = c.exists ? c.result : 0;
    const T shift = total[row];
    const T greatest = c.fold(
        -std::numeric_limits<T>::infinity(), [&](T most, std::int64_t at, std::int64_t) { return x[at] > most ? x[at] : most; },
        [](T a, T b) { return b > a ? b : a; });
    const auto most = static_cast<double>(greatest - shift);
    const auto weight = [&](std::int64_t at) {
      const double w = element::exp((static_cast<double>(x[at] - shift) - most) / temperature);
      return w == w ? w : 0.0;
    };
    Rank last{0, 0};  // the lowest rank that is drawn from
    if (k > 0 && k < c.view.n) {
      const auto one = [](std::int64_t) { return 1.0; };
      last = greatest_rank(c, last, one, [&](double count) { return count >= static_cast<double>(k); });
    }
    const double at = number_of_draw(key + 3 * row, *step) * sum(c, last, last, weight);
    const Rank found = greatest_rank(c, last, weight, [&](double reached) { return reached > at; });
    // If rounding leaves no element, take the last.
    const Rank drawn = found.value == 0 && found.place == 0 ? last : found;
    const auto place = static_cast<std::int64_t>(~drawn.place);
    if (c.leads()) y[c.result] = static_cast<std::int32_t>(place < c.view.n ? place : c.view.n - 1);
  }

  // The sum over all elements that reach both ranks.
  template <class Of>
  GRAPHRUN_DEVICE double sum(const Column& c, const Rank& rank, const Rank& last, const Of& of) const {
    return c.fold(
        0.0,
        [&](double s, std::int64_t at, std::int64_t place) {
          const Rank here = rank_of(static_cast<double>(x[at]), place);
          return here.reaches(rank) && here.reaches(last) ? s + of(at) : s;
        },
        cuda::Add());
  }

  // The greatest rank whose sum is large enough; zeros if there is none.
  template <class Of, class Enough>
  GRAPHRUN_DEVICE Rank greatest_rank(const Column& c, const Rank& last, const Of& of, const Enough& enough) const {
    Rank found{0, 0};
    for (int bit = 63; bit >= 0; --bit) {
      const Rank next{found.value | std::uint64_t{1} << bit, 0};
      if (enough(sum(c, next, last, of))) found = next;
    }
    for (int bit = 31; bit >= 0; --bit) {
      const Rank next{found.value, found.place | std::uint32_t{1} << bit};
      if (enough(sum(c, next, last, of))) found = next;
    }
    return found;
  }
};

REGISTER_KERNEL("categorical", kCuda, [](const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].sizes.back(), rows = request.outputs[0].count();
  const double temperature = request.attributes->number("temperature");
  const std::int64_t k = request.attributes->integer("k");
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const AxisView view{rows, n, 1};
    return Kernel{[=](const KernelContext& c) {
      cuda::for_columns(c, view, {nullptr, 1, n}, sizeof(double),
                        CategoricalBody<T>{c.inputs[0].as<T>(), c.inputs[1].as<T>(), c.inputs[2].as<std::int32_t>(),
                                           c.inputs[3].as<std::int32_t>(), c.outputs[0].as<std::int32_t>(), temperature, k});
    }};
  });
});

}  // namespace
}  // namespace graphrun
