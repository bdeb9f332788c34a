// The CPU kernels of ops/index/moves.def: whole, by columns and by rows.
#include "ops/index/moves.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "ops/dispatch.h"
#include "ops/index/move_sizes.h"
#include "ops/indices.h"
#include "ops/parallel.h"
#include "ops/rows.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

// Indices that check_indices has checked, or lengths.
struct CheckedIntegers {
  const std::int32_t* data = nullptr;
  std::int64_t at(std::int64_t place, std::int64_t) const { return data[place]; }
};

template <class Move, class T>
class MoveKernel {
 public:
  MoveKernel(const KernelRequest& request, const SizedMove<Move>& sized, std::string_view what)
      : move_(sized.move), what_(what), count_(request.outputs[0].count()) {}

  void run(const KernelContext& c) const {
    check(c, 0, 1, 1);
    parallel_for(count_, count_, [&](std::int64_t begin, std::int64_t end) { make(c, begin, end); });
  }
  void run_columns(const KernelContext& c, std::int64_t begin, std::int64_t end) const {
    check(c, 0, 1, 1);
    const std::int64_t columns = c.outputs[0].sizes.back();
    for (std::int64_t row = 0; row < count_; row += columns) make(c, row + begin, row + end);
  }
  void run_rows(const KernelContext& c, std::int64_t begin, std::int64_t end) const {
    const std::int64_t rows = c.outputs[0].sizes[0], each = count_ / rows;
    check(c, begin, end, rows);
    make(c, begin * each, end * each);
  }

 private:
  // Throws if one of the rows [begin, end), out of `rows`, reads an index out of range.
  void check(const KernelContext& c, std::int64_t begin, std::int64_t end, std::int64_t rows) const {
    if constexpr (Move::kReads == moves::Reads::kIndices) {
      const TensorView& indices = c.inputs[SizedMove<Move>::kIntegers];
      const std::int64_t each = indices.count() / rows;
      if (indices.sizes.empty()) return check_indices(indices, move_.bound, what_);
      check_indices(indices, begin * each, end * each, move_.bound, what_);
    }
  }

  // Computes elements [first, last) of the result.
  void make(const KernelContext& c, std::int64_t first, std::int64_t last) const {
    if (first >= last) return;
    const T* const x = moves::kMarks<Move> ? nullptr : c.inputs[0].as<T>();
    T* const out = c.outputs[0].as<T>();
    CheckedIntegers integers;
    if constexpr (Move::kReads != moves::Reads::kNothing) {
      integers.data = c.inputs[SizedMove<Move>::kIntegers].template as<std::int32_t>();
    }
    if constexpr (kJumps && moves::kMarks<Move>) std::fill(out + first, out + last, T{0});  // at once: runs may be short
    const moves::Runs& runs = move_.runs;
    const std::int64_t run = first / runs.width, inner = runs.view.inner;
    std::int64_t offset = first % runs.width, i = run % inner, a = run / inner % runs.view.n, o = run / inner / runs.view.n;
    while (first < last) {
      if (kJumps || runs.width > 1) {
        while (i < inner && first < last) {
          const std::int64_t next = next_run(o, a, i, integers);
          const std::int64_t count = std::min((next - i) * runs.width - offset, last - first);
          put_run(x, move_.from(o, a, i, integers), offset, out + first, count);
          first += count, i = next, offset = 0;
        }
      } else {
        const std::int64_t count = std::min(inner - i, last - first);
        for (std::int64_t k = 0; k < count; ++k) out[first + k] = element(x, move_.from(o, a, i + k, integers));
        first += count;
      }
      i = 0;
      if (++a == runs.view.n) a = 0, ++o;
    }
  }

  static constexpr bool kJumps = requires(const Move& move, CheckedIntegers integers) { move.until(0, 0, 0, integers); };

  std::int64_t next_run(std::int64_t o, std::int64_t a, std::int64_t i, const CheckedIntegers& integers) const {
    if constexpr (kJumps) {
      return move_.until(o, a, i, integers);
    } else {
      return i + 1;
    }
  }

  static T element(const T* x, std::int64_t from) {
    if constexpr (moves::kMarks<Move>) {
      return from < 0 ? T{0} : T{1};
    } else {
      return from < 0 ? T{0} : x[from];
    }
  }

  static void put_run(const T* x, std::int64_t from, std::int64_t offset, T* out, std::int64_t count) {
    if (from < 0 && kJumps && moves::kMarks<Move>) return;
    if (from < 0 || moves::kMarks<Move>) {
      std::fill_n(out, count, from < 0 ? T{0} : T{1});
    } else if (x + from + offset != out) {  // in place, elements may stay where they are
      std::copy_n(x + from + offset, count, out);
    }
  }

  const Move move_;
  const std::string_view what_;
  const std::int64_t count_;
};

template <class Move, class T>
Kernel move_kernel(const KernelRequest& request, const SizedMove<Move>& sized, std::string_view what) {
  const auto work = std::make_shared<const MoveKernel<Move, T>>(request, sized, what);
  Kernel kernel{[work](const KernelContext& c) { work->run(c); }};
  const TensorView& result = request.outputs[0];
  if (result.sizes.empty() || result.count() == 0) return kernel;
  auto columns = std::make_shared<ColumnKernel>();
  columns->columns = result.sizes.back();
  columns->reads_other_columns = sized.reads_other_columns(request);
  columns->run = [work](const KernelContext& c, std::int64_t begin, std::int64_t end) { work->run_columns(c, begin, end); };
  kernel.by_columns = std::move(columns);
  kernel.by_rows =
      row_kernel(request, sized.reads_other_rows(request),
                 [work](const KernelContext& c, std::int64_t begin, std::int64_t end) { work->run_rows(c, begin, end); });
  return kernel;
}

template <class Move>
Kernel bind_move(const KernelRequest& request, const SizedMove<Move>& sized, std::string_view what) {
  return with_any(request.outputs[0].dtype, [&](auto zero) { return move_kernel<Move, decltype(zero)>(request, sized, what); });
}

#define MOVE(name, move, what) \
  REGISTER_KERNEL(#name, kCpu, [](const KernelRequest& request) { return bind_move(request, move, what); });
#include "ops/index/moves.def"
#undef MOVE

}  // namespace
}  // namespace graphrun
