#include "ops/tiles/broadcast.h"

#include <algorithm>

#include "ops/tiles/runs.h"

namespace graphrun {
namespace {

// Rows shorter than this are first gathered into longer runs: starting a tile of a few elements costs more than computing it.
constexpr std::int64_t kShortBroadcastRow = 32;
// Elements gathered at once: several operands of this size fit the first-level cache.
constexpr std::int64_t kGathered = 512;

// What one walk lays out: `rows` rows of `times` runs of `length` elements. In a spread walk, which has one row, each run
// repeats an element of its own; otherwise the runs of a row are equal.
struct OperandWalk {
  std::int64_t rows = 1, times = 1, length = 1;
  bool spread = false;
  std::int64_t count() const { return rows * times * length; }
};

template <class T>
void lay_out(const T* in, T* out, const OperandWalk& w) {
  if constexpr (sizeof(T) >= 4) {
    w.spread ? spread_runs(in, out, w.times, w.length) : repeat_rows(in, out, w.rows, w.times, w.length);
  } else {
    for (std::int64_t run = 0; run < w.rows * w.times; ++run, out += w.length) {
      w.spread ? std::fill_n(out, w.length, in[run]) : std::copy_n(in + run / w.times * w.length, w.length, out);
    }
  }
}

}  // namespace

BroadcastPlan::BroadcastPlan(const Sizes& result, std::span<const TensorView> operands)
    : operands_(static_cast<int>(operands.size())), count_(element_count(result)) {
  GRAPHRUN_CHECK(operands_ <= kMostOperands, "BroadcastPlan: too many operands");
  // Strides over the result's axes, from last to first; adjacent axes that are contiguous in every operand are merged.
  const std::size_t rank = result.size();
  std::array<std::int64_t, kMostOperands> running;
  running.fill(1);
  for (std::size_t from_end = 0; from_end < rank; ++from_end) {
    const std::int64_t size = result[rank - 1 - from_end];
    Strides strides{};
    for (int k = 0; k < operands_; ++k) {
      const Sizes& s = operands[static_cast<std::size_t>(k)].sizes;
      const std::int64_t own = from_end < s.size() ? s[s.size() - 1 - from_end] : 1;
      GRAPHRUN_CHECK(own == size || own == 1, "BroadcastPlan: sizes do not broadcast");
      const auto u = static_cast<std::size_t>(k);
      strides[u] = own == 1 ? 0 : running[u];
      running[u] *= own;
    }
    if (size == 1) continue;
    bool merges = !sizes_.empty();
    for (int k = 0; k < operands_ && merges; ++k) {
      const auto u = static_cast<std::size_t>(k);
      merges = strides[u] == strides_.back()[u] * sizes_.back();
    }
    if (merges) {
      sizes_.back() *= size;
    } else {
      sizes_.push_back(size);
      strides_.push_back(strides);
    }
  }
  if (sizes_.empty()) sizes_.push_back(1), strides_.push_back({});
  std::reverse(sizes_.begin(), sizes_.end());
  std::reverse(strides_.begin(), strides_.end());
  for (int k = 0; k < operands_; ++k) {
    const auto u = static_cast<std::size_t>(k);
    bytes_[u] = size_of(operands[u].dtype);
    whole_[u] = operands[u].count() == count_;
    scalar_[u] = std::all_of(strides_.begin(), strides_.end(), [&](const Strides& s) { return s[u] == 0; });
  }
}

void BroadcastPlan::gather(int k, const void* in, void* to, std::int64_t begin, std::int64_t n) const {
  switch (bytes_[static_cast<std::size_t>(k)]) {
    case 1: return gather_elements(k, static_cast<const std::uint8_t*>(in), static_cast<std::uint8_t*>(to), begin, n);
    case 4: return gather_elements(k, static_cast<const std::uint32_t*>(in), static_cast<std::uint32_t*>(to), begin, n);
    default: return gather_elements(k, static_cast<const std::uint64_t*>(in), static_cast<std::uint64_t*>(to), begin, n);
  }
}

template <class T>
void BroadcastPlan::gather_elements(int k, const T* in, T* out, std::int64_t begin, std::int64_t n) const {
  const auto u = static_cast<std::size_t>(k);
  const std::size_t axes = sizes_.size();
  // The coordinates of `begin`, then incremented like an odometer: a division for each row would cost more than the row.
  constexpr std::size_t kMostAxes = 16;
  GRAPHRUN_CHECK(axes <= kMostAxes, "BroadcastPlan: too many axes");
  std::array<std::int64_t, kMostAxes> at{};
  std::int64_t offset = 0, rest = begin;
  for (std::size_t axis = axes; axis-- > 0;) {
    at[axis] = rest % sizes_[axis];
    rest /= sizes_[axis];
    offset += at[axis] * strides_[axis][u];
  }
  const std::size_t last = axes - 1;
  const std::int64_t stride = strides_[last][u];
  // Whole runs of the last axis that one walk along the preceding axis lays out: consecutive elements, each repeated, or one
  // row repeated, followed by the next row.
  const bool walks = axes > 1 && (stride == 0 ? strides_[last - 1][u] == 1 : strides_[last - 1][u] == 0);
  const bool walks_rows = walks && stride == 1 && axes > 2 && strides_[last - 2][u] == sizes_[last];
  for (const T* const end = out + n; out < end;) {
    OperandWalk w;
    w.spread = stride == 0;
    w.length = std::min<std::int64_t>(sizes_[last] - at[last], end - out);
    if (walks && w.length == sizes_[last]) {
      w.times = std::min<std::int64_t>(sizes_[last - 1] - at[last - 1], (end - out) / w.length);
      if (walks_rows && w.times == sizes_[last - 1]) {
        w.rows = std::min<std::int64_t>(sizes_[last - 2] - at[last - 2], (end - out) / (w.times * w.length));
      }
    }
    lay_out(in + offset, out, w);
    out += w.count();
    if (w.rows > 1) at[last - 2] += w.rows - 1, offset += (w.rows - 1) * strides_[last - 2][u];
    if (w.times > 1) at[last - 1] += w.times - 1, offset += (w.times - 1) * strides_[last - 1][u];
    at[last] += w.length;
    offset += w.length * stride;
    for (std::size_t axis = last; axis > 0 && at[axis] == sizes_[axis]; --axis) {
      offset += strides_[axis - 1][u] - at[axis] * strides_[axis][u];
      at[axis] = 0;
      ++at[axis - 1];
    }
  }
}

const void* BroadcastPlan::in_place(const void* in, std::int64_t begin, std::int64_t n) const {
  const std::int64_t row = sizes_.back();
  if (strides_.back()[0] != 1 || begin % row + n > row) return nullptr;
  std::int64_t offset = begin % row, rest = begin / row;
  for (std::size_t axis = sizes_.size() - 1; axis-- > 0;) {
    offset += rest % sizes_[axis] * strides_[axis][0];
    rest /= sizes_[axis];
  }
  return static_cast<const char*>(in) + static_cast<std::size_t>(offset) * bytes_[0];
}

void BroadcastPlan::run(PointwiseTile tile, const void* const* in, char* out, std::size_t out_bytes, std::int64_t begin,
                        std::int64_t end) const {
  if (begin >= end) return;
  if (sizes_.size() > 1 && sizes_.back() < kShortBroadcastRow) return run_gathered(tile, in, out, out_bytes, begin, end);
  run_rows(tile, in, out, out_bytes, begin, end);
}

// One tile per row of the innermost axis (one for the whole range if a single axis is left).
void BroadcastPlan::run_rows(PointwiseTile tile, const void* const* in, char* out, std::size_t out_bytes, std::int64_t begin,
                             std::int64_t end) const {
  const std::int64_t inner = sizes_.back();
  const std::size_t outer_axes = sizes_.size() - 1;
  std::array<bool, kMostOperands> scalar{};
  for (int k = 0; k < operands_; ++k) scalar[static_cast<std::size_t>(k)] = strides_.back()[static_cast<std::size_t>(k)] == 0;
  for (std::int64_t position = begin; position < end;) {
    const std::int64_t column = position % inner, run = std::min(inner - column, end - position);
    std::array<const void*, kMostOperands> at{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(operands_); ++k) {
      std::int64_t offset = column * strides_.back()[k];
      std::int64_t rest = position / inner;
      for (std::size_t axis = outer_axes; axis-- > 0;) {
        offset += rest % sizes_[axis] * strides_[axis][k];
        rest /= sizes_[axis];
      }
      at[k] = static_cast<const char*>(in[k]) + static_cast<std::size_t>(offset) * bytes_[k];
    }
    tile(at.data(), scalar.data(), out + static_cast<std::size_t>(position) * out_bytes, static_cast<std::size_t>(run));
    position += run;
  }
}

void BroadcastPlan::run_gathered(PointwiseTile tile, const void* const* in, char* out, std::size_t out_bytes,
                                 std::int64_t begin, std::int64_t end) const {
  alignas(kAlignment) char buffer[kMostOperands][kGathered * sizeof(double) + kRunSlack];
  for (std::int64_t position = begin; position < end; position += kGathered) {
    const std::int64_t run = std::min(kGathered, end - position);
    std::array<const void*, kMostOperands> at{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(operands_); ++k) {
      if (scalar_[k]) {
        at[k] = in[k];
      } else if (whole_[k]) {
        at[k] = static_cast<const char*>(in[k]) + static_cast<std::size_t>(position) * bytes_[k];
      } else {
        gather(static_cast<int>(k), in[k], buffer[k], position, run);
        at[k] = buffer[k];
      }
    }
    tile(at.data(), scalar_.data(), out + static_cast<std::size_t>(position) * out_bytes, static_cast<std::size_t>(run));
  }
}

}  // namespace graphrun
