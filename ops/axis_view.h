// A tensor viewed along one axis, and the lengths that say how much of that axis is real. Constexpr and free of library calls,
// so that device kernels can use it too.
#pragma once

#include <cstdint>

namespace graphrun {

// [outer, n, inner], row-major: the axes before an axis (or a range of adjacent axes), the axis itself, the axes after it.
struct AxisView {
  std::int64_t outer = 1, n = 1, inner = 1;

  constexpr std::int64_t count() const { return outer * n * inner; }
  constexpr std::int64_t results() const { return outer * inner; }  // elements of the result, which lacks the axis
};

// The number of real positions along an axis, for each element of the result, which lacks the axis. The dims of `lengths` are
// the leading dims of the result, so each length applies to `repeat` consecutive elements.
struct Lengths {
  const std::int32_t* data = nullptr;  // null: all positions are real
  std::int64_t repeat = 1;
  std::int64_t limit = 0;  // the size of the axis

  constexpr bool present() const { return data != nullptr; }
  constexpr std::int64_t at(std::int64_t result) const { return data == nullptr ? limit : within(data[result / repeat]); }

 private:
  constexpr std::int64_t within(std::int64_t length) const { return length < 0 ? 0 : length < limit ? length : limit; }
};

}  // namespace graphrun
