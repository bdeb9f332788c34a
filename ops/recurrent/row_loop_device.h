// The building blocks of a loop whose blocks have rows of their own (ops/recurrent/row_loop_plan.h). For the text of generated
// kernels.
#pragma once

#include "ops/recurrent/loop_device.h"
#include "ops/reduce/column_folds.h"

namespace graphrun::loop {

// The column of [outer, n, inner] that is reduced to element e of the result. `Index` counts the elements.
template <class Index>
struct ReducedColumn {
  Index result, inner, begin;
  std::int32_t n;
  GRAPHRUN_DEVICE ReducedColumn(const AxisView& v, Index e)
      : result(e), inner(static_cast<Index>(v.inner)), n(static_cast<std::int32_t>(v.n)) {
    begin = result / inner * (static_cast<Index>(n) * inner) + result % inner;
  }
  GRAPHRUN_DEVICE Index at(std::int32_t position) const { return begin + static_cast<Index>(position) * inner; }
  // How many positions each of `lanes` threads takes, at most.
  GRAPHRUN_DEVICE std::int32_t turns(std::int32_t lanes) const { return (n + lanes - 1) / lanes; }
};

// An operand's address at successive steps: the same as loop::address, but computed by additions alone.
struct MovingPlace {
  char *now, *next, *after;  // at this step, the next, and the one after it
  std::int64_t two_steps;    // bytes
  GRAPHRUN_DEVICE MovingPlace(const Place& place, const Step& step)
      : two_steps(step.reverse ? -2 * place.stride : 2 * place.stride) {
    now = place.even + place.stride * step.position(place.shift);
    next = place.odd + place.stride * step.position(place.shift + 1);
    after = now + two_steps;
    if (place.first != nullptr) now = place.first;
  }
  GRAPHRUN_DEVICE void advance() {
    now = next, next = after;
    after = now + two_steps;
  }
  template <class T>
  GRAPHRUN_DEVICE T* as() const {
    return reinterpret_cast<T*>(now);
  }
};

// Prefetches `bytes` bytes of global memory that the block will read in the next step.
GRAPHRUN_DEVICE void fetch_ahead(const char* from, std::int64_t bytes) {
  constexpr int kLine = 128;
  const auto skipped = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % kLine);
  for (std::int64_t at = cuda::thread_index() * kLine - skipped; at < bytes; at += cuda::thread_count() * kLine)
    cuda::fetch_ahead(from + (at < 0 ? 0 : at));
}

// Joins the values of `lanes` adjacent threads, a power of two, in an order that depends on `lanes` alone. All threads of the
// warp must call these.
template <int lanes, class Value>
GRAPHRUN_DEVICE Value joined(Value value) {
  GRAPHRUN_UNROLL
  for (int half = lanes / 2; half > 0; half /= 2) value = put_together(value, of_other(value, half));
  return value;
}
template <int lanes, class T>
GRAPHRUN_DEVICE T summed(T value) {
  GRAPHRUN_UNROLL
  for (int half = lanes / 2; half > 0; half /= 2) value += cuda::of_other(value, half);
  return value;
}

// Calls work(e, lane, writes) for elements begin to begin + count, each in `lanes` adjacent threads, of which the first writes.
// The threads of a warp call it together: those without an element of their own join in for another and write nothing.
template <int lanes, class Work>
GRAPHRUN_DEVICE void for_columns(std::int64_t begin, std::int64_t count, const Work& work) {
  constexpr unsigned kWarp = 32;
  const unsigned thread = static_cast<unsigned>(cuda::thread_index()), lane = thread % lanes;
  const unsigned together = static_cast<unsigned>(cuda::thread_count()) / lanes;
  for (std::int64_t first = thread / kWarp * kWarp / lanes; first < count; first += together) {
    const std::int64_t i = first + thread % kWarp / lanes;
    work(begin + (i < count ? i : count - 1), static_cast<int>(lane), lane == 0 && i < count);
  }
}

// Copies `count` elements to the block's memory.
template <class T>
GRAPHRUN_DEVICE void keep(T* to, const T* from, int count) {
  for (int e = cuda::thread_index(); e < count; e += cuda::thread_count()) to[e] = from[e];
}

}  // namespace graphrun::loop
