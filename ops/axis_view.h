// A tensor seen from one axis, and the lengths that say how much of that axis is real. Constexpr, and without the library:
// kernels of a device read it too.
#pragma once

#include <cstdint>

namespace graphrun {

// [outer, n, inner], row-major: what stands before an axis (or before neighbouring axes), along it, after it.
struct AxisView {
  std::int64_t outer = 1, n = 1, inner = 1;

  constexpr std::int64_t count() const { return outer * n * inner; }
  constexpr std::int64_t results() const { return outer * inner; }  // elements once the axis is gone
};

// The number of real positions along an axis, for each element of the result without the axis. The dims of `lengths` lead those
// of the result, so each length stands for `repeat` neighbouring elements.
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
