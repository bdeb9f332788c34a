// The ops that move elements, one expression each: every element of the result is one element of an operand, or 0. The CPU's
// kernels, CUDA's kernels and the parts of loops all compute these expressions (ops/index/moves.def). Host, nvcc and NVRTC
// compile this file.
//
// A result consists of runs of adjacent elements that come from adjacent elements of the operand. An op's expression from(o, a,
// i, integers) is the operand's element with which the run at (o, a, i) begins, or kNothing if the run is 0. `integers` is the
// op's INT32 operand, if it has one: at(place, bound) is a checked index, data the address.
//
// If runs are short, until(o, a, i, integers) is the end of the runs from i on that are all 0, or that all come from adjacent
// elements. The CPU fills or copies these at once.
#pragma once

#include "ops/axis_view.h"
#include "runtime/cuda/primitives.h"

namespace graphrun::moves {

inline constexpr std::int64_t kNothing = -1;

// [outer, n, inner] runs of `width` elements.
struct Runs {
  AxisView view;
  std::int64_t width = 1;
};

// What an op reads in addition to the elements that it moves.
enum class Reads { kNothing, kIndices, kLengths };

// gather and select_rows: rows of each of the tables that the operand consists of; gather's is a single table.
struct Gather {
  static constexpr const char* kName = "moves::Gather";
  static constexpr Reads kReads = Reads::kIndices;
  Runs runs;
  std::int64_t bound = 0;  // indices must be below it

  template <class Integers>
  GRAPHRUN_DEVICE std::int64_t from(std::int64_t, std::int64_t a, std::int64_t i, const Integers& integers) const {
    return (a * bound + integers.at(i, bound)) * runs.width;
  }
};

// pick: an element of each row.
struct Pick {
  static constexpr const char* kName = "moves::Pick";
  static constexpr Reads kReads = Reads::kIndices;
  Runs runs;
  std::int64_t bound = 0;

  template <class Integers>
  GRAPHRUN_DEVICE std::int64_t from(std::int64_t, std::int64_t, std::int64_t i, const Integers& integers) const {
    return i * bound + integers.at(i, bound);
  }
};

// one_hot: moves nothing; writes a 1 where other moves would copy an element.
struct OneHot {
  static constexpr const char* kName = "moves::OneHot";
  static constexpr Reads kReads = Reads::kIndices;
  static constexpr bool kMarks = true;
  Runs runs;
  std::int64_t bound = 0;

  template <class Integers>
  GRAPHRUN_DEVICE std::int64_t from(std::int64_t o, std::int64_t, std::int64_t i, const Integers& integers) const {
    return integers.at(o, bound) == i ? 0 : kNothing;
  }
  template <class Integers>
  GRAPHRUN_DEVICE std::int64_t until(std::int64_t o, std::int64_t, std::int64_t i, const Integers& integers) const {
    const std::int64_t index = integers.at(o, bound);
    return i < index ? index : i == index ? i + 1 : bound;
  }
};

// slice and index: out of every `row` elements of the operand, those from `before` on.
struct PartMove {
  static constexpr const char* kName = "moves::PartMove";
  static constexpr Reads kReads = Reads::kNothing;
  Runs runs;
  std::int64_t row = 0, before = 0;

  template <class Integers>
  GRAPHRUN_DEVICE std::int64_t from(std::int64_t, std::int64_t, std::int64_t i, const Integers&) const {
    return i * row + before;
  }
};

// pad: `n` runs of the operand in each row, from run `begin` on.
struct Pad {
  static constexpr const char* kName = "moves::Pad";
  static constexpr Reads kReads = Reads::kNothing;
  Runs runs;
  std::int64_t begin = 0, n = 0;

  template <class Integers>
  GRAPHRUN_DEVICE std::int64_t from(std::int64_t, std::int64_t a, std::int64_t i, const Integers&) const {
    return i >= begin && i - begin < n ? (a * n + i - begin) * runs.width : kNothing;
  }
  template <class Integers>
  GRAPHRUN_DEVICE std::int64_t until(std::int64_t, std::int64_t, std::int64_t i, const Integers&) const {
    return i < begin ? begin : i < begin + n ? begin + n : runs.view.inner;
  }
};

// The length of the column that contains a run: one for every `repeat` elements of a tensor without the axis.
template <class Integers>
GRAPHRUN_DEVICE std::int64_t length_at(std::int64_t element, std::int64_t repeat, std::int64_t limit,
                                       const Integers& integers) {
  // A division takes longer than all the rest.
  return Lengths{integers.data, 1, limit}.at(repeat == 1 ? element : element / repeat);
}

// mask: an element below its column's length.
struct Mask {
  static constexpr const char* kName = "moves::Mask";
  static constexpr Reads kReads = Reads::kLengths;
  Runs runs;
  std::int64_t repeat = 1;

  template <class Integers>
  GRAPHRUN_DEVICE std::int64_t from(std::int64_t o, std::int64_t a, std::int64_t i, const Integers& integers) const {
    const AxisView& v = runs.view;
    if (a >= length_at((o * v.inner + i) * runs.width, repeat, v.n, integers)) return kNothing;
    return ((o * v.n + a) * v.inner + i) * runs.width;
  }
};

// sequence_mask: a 1 where mask would keep the element.
struct SequenceMask {
  static constexpr const char* kName = "moves::SequenceMask";
  static constexpr Reads kReads = Reads::kLengths;
  static constexpr bool kMarks = true;
  Runs runs;
  std::int64_t repeat = 1;

  template <class Integers>
  GRAPHRUN_DEVICE std::int64_t from(std::int64_t o, std::int64_t a, std::int64_t i, const Integers& integers) const {
    const AxisView& v = runs.view;
    return a < length_at((o * v.inner + i) * runs.width, repeat, v.n, integers) ? 0 : kNothing;
  }
};

// last: the last element below a column's length, of `n` positions.
struct Last {
  static constexpr const char* kName = "moves::Last";
  static constexpr Reads kReads = Reads::kLengths;
  Runs runs;
  std::int64_t repeat = 1, n = 0;

  template <class Integers>
  GRAPHRUN_DEVICE std::int64_t from(std::int64_t o, std::int64_t, std::int64_t i, const Integers& integers) const {
    const std::int64_t inner = runs.view.inner;
    const std::int64_t length = length_at((o * inner + i) * runs.width, repeat, n, integers);
    return length == 0 ? kNothing : ((o * n + length - 1) * inner + i) * runs.width;
  }
};

// last_gradient: an element at its column's last position, 0 elsewhere.
struct LastGradient {
  static constexpr const char* kName = "moves::LastGradient";
  static constexpr Reads kReads = Reads::kLengths;
  Runs runs;
  std::int64_t repeat = 1;

  template <class Integers>
  GRAPHRUN_DEVICE std::int64_t from(std::int64_t o, std::int64_t a, std::int64_t i, const Integers& integers) const {
    const AxisView& v = runs.view;
    const std::int64_t element = (o * v.inner + i) * runs.width;
    return a == length_at(element, repeat, v.n, integers) - 1 ? element : kNothing;
  }
};

template <class Move>
inline constexpr bool kMarks = requires {
  Move::kMarks;
};

// For an op without an INT32 operand.
struct NoIntegers {
  const std::int32_t* data = nullptr;
  GRAPHRUN_DEVICE std::int64_t at(std::int64_t, std::int64_t) const { return 0; }
};

// Element e of the result. `x`: the moved elements; an op that only marks positions does not read them.
template <class T, class Move, class Integers>
GRAPHRUN_DEVICE T element(const Move& move, const T* x, const Integers& integers, std::int64_t e) {
  const Runs& runs = move.runs;
  std::int64_t rest = e, offset = 0, i = 0, a = 0;  // on a device, a division costs more than these comparisons
  if (runs.width > 1) offset = rest % runs.width, rest /= runs.width;
  if (runs.view.inner > 1) i = rest % runs.view.inner, rest /= runs.view.inner;
  if (runs.view.n > 1) a = rest % runs.view.n, rest /= runs.view.n;
  const std::int64_t from = move.from(rest, a, i, integers);
  if (from < 0) return T(0);
  if constexpr (kMarks<Move>) {
    return T(1);
  } else {
    return x[from + offset];
  }
}

}  // namespace graphrun::moves
