#include "ops/reduce/piecewise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "ops/dispatch.h"
#include "ops/reduce/fold_simd.h"
#include "ops/reduce/position_simd.h"
#include "ops/reduce/slab_folds.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

using ir::Fold;
using ir::FoldKind;

constexpr std::size_t kMostFolds = 32, kNone = SIZE_MAX;
// A sum into few results over many rows is computed in parts, so that threads can share it. The number of parts depends on the
// sizes alone: the bits are the same for any number of threads. Sums over fewer than kManyRows rows are added row by row.
constexpr std::int64_t kMostParts = 16, kFewResults = 4096;
constexpr std::int64_t kMostSlab = 65536;  // elements whose operands, read in narrow strips, fit a core's caches

int cost_of(FoldKind kind) { return kind == FoldKind::kLogSumExp ? 12 : gives_position(kind) ? 4 : 1; }

template <class T>
void reduce(FoldKind kind, const ReduceTask<T>& task) {
  switch (kind) {
    case FoldKind::kSum:
    case FoldKind::kMean: sum_along(task); return;
    case FoldKind::kMax: max_along(task); return;
    case FoldKind::kMin: min_along(task); return;
    case FoldKind::kLogSumExp: logsumexp_along(task); return;
    case FoldKind::kArgMax: argmax_along(task); return;
    case FoldKind::kArgMin: argmin_along(task); return;
  }
}

// For the functions that join x with the existing results.
template <class T>
ReduceTask<T> task_of_elements(const T* x, T* out, std::int64_t n) {
  ReduceTask<T> task;
  task.x = x, task.out = out, task.end = n;
  return task;
}

template <class T>
void join(FoldKind kind, const ReduceTask<T>& task) {
  switch (kind) {
    case FoldKind::kSum:
    case FoldKind::kMean: sum_into(task); return;
    case FoldKind::kMax: max_into(task); return;
    case FoldKind::kMin: min_into(task); return;
    case FoldKind::kLogSumExp: logsumexp_into(task); return;
    case FoldKind::kArgMax:
    case FoldKind::kArgMin: return;  // joined together with their values: Chunks::join_positions
  }
}

// How the work is cut into pieces: several slabs [n, inner] at once if they fit a tile, else rows of one slab, else pieces of a
// row. A unit of work is a slab, a strip of a slab (`width` columns), or a part of its rows.
struct Cut {
  AxisView view;
  bool one_column;
  std::int64_t slabs = 0;                   // per piece; 0: a slab does not fit, or lengths differ within it
  std::int64_t rows = 0, width;             // of a piece of one slab
  std::int64_t group, strips_of_group = 1;  // columns that are cut into strips together; pieces across them
  std::int64_t strips = 1;                  // pieces across a row
  std::int64_t parts = 1, part_rows = 0;

  // `repeat`: as in Lengths; 0: there are no lengths. `one`: see is_one_column.
  Cut(const AxisView& v, bool one, std::int64_t tile, std::int64_t period, bool only_sums, std::int64_t repeat)
      : view(v), one_column(one), width(v.inner), group(v.inner) {
    if (repeat > 0) {
      cut_groups(tile, std::min(repeat, v.inner));
      return;
    }
    const std::int64_t slab = v.n * v.inner;
    if (slab <= tile) {
      slabs = slab == 0 ? 1 : slabs_of(slab, tile, period);
      if (!only_sums || v.outer > 1 || slab == 0) return;
    }
    slabs = 0;
    cut_strips(tile);
    rows = strips > 1 ? 1 : std::max<std::int64_t>(1, std::min(tile / v.inner, v.n));
    const std::int64_t chunks = (v.n + rows - 1) / rows;
    if (!only_sums || v.n < kManyRows || v.results() > kFewResults || chunks * rows * width < kLeastShare / 4) return;
    parts = std::min(kMostParts, chunks);
    part_rows = (chunks + parts - 1) / parts * rows;
    parts = (v.n + part_rows - 1) / part_rows;
  }
  // As many slabs as fill half a tile, at least one; whole periods of repeated operands, or a whole fraction of one.
  static std::int64_t slabs_of(std::int64_t slab, std::int64_t tile, std::int64_t period) {
    const std::int64_t some = std::max<std::int64_t>(1, tile / 2 / slab);
    if (period <= slab || period % slab != 0) return some;
    const std::int64_t whole = period / slab;
    if (whole * slab <= tile) return std::max<std::int64_t>(1, some / whole) * whole;
    std::int64_t part = some;
    while (whole % part != 0) --part;
    return 2 * part < some ? some : part;
  }
  // Whether pieces are parts of rows; otherwise they have columns, and sums are added row by row.
  bool by_rows() const { return view.inner == 1 && !one_column; }
  std::int64_t units() const { return slabs > 0 ? view.outer : view.outer * strips * parts; }
  std::int64_t unit_count() const { return slabs > 0 ? view.n * view.inner : part_rows * width; }

  struct Unit {
    std::int64_t outer, column, width, part;
  };
  Unit unit(std::int64_t number) const {
    const std::int64_t part = number % parts, strip = number / parts % strips, first = strip / strips_of_group * group;
    const std::int64_t within = strip % strips_of_group * width;
    return {number / parts / strips, first + within, std::min(width, group - within), part};
  }

 private:
  // Cuts into groups of columns that share a length, and row by row, so that sums have the same bits in pieces and in machine
  // code.
  void cut_groups(std::int64_t tile, std::int64_t columns) {
    group = columns;
    cut_strips(tile);
    rows = by_rows() ? std::max<std::int64_t>(1, std::min(tile, view.n)) : 1;
  }
  void cut_strips(std::int64_t tile) {
    width = group;
    const std::int64_t least = (group + tile - 1) / tile;
    if (least > 1) width = ((group + least - 1) / least + 63) / 64 * 64;
    strips_of_group = std::max<std::int64_t>(1, group == 0 ? 1 : (group + width - 1) / width);
    strips = strips_of_group * (group == 0 ? 1 : view.inner / group);
    part_rows = view.n;
  }
};

class Piecewise {
 public:
  // `lengths`: the input that holds the lengths, which apply to `repeat` results each (0: there is none).
  Piecewise(std::shared_ptr<const TileProgram> program, const AxisView& view, bool one_column, std::vector<Fold> folds,
            std::size_t lengths, std::int64_t repeat)
      : program_(std::move(program)),
        folds_(std::move(folds)),
        cut_(view, one_column, program_->tile(), program_->period(),
             std::all_of(folds_.begin(), folds_.end(), [](const Fold& f) { return adds_up(f.kind); }), repeat),
        lengths_(lengths) {
    GRAPHRUN_CHECK(!folds_.empty() && folds_.size() <= kMostFolds, "fused_reduction: too many reductions");
    for (const Fold& f : folds_) {
      const auto value = std::find_if(folds_.begin(), folds_.end(), [&](const Fold& v) {
        return v.result == f.result && gives_position(f.kind) &&
               v.kind == (f.kind == FoldKind::kArgMax ? FoldKind::kMax : FoldKind::kMin);
      });
      value_at_.push_back(value == folds_.end() ? kNone : static_cast<std::size_t>(value - folds_.begin()));
    }
    const bool any_sum = std::any_of(folds_.begin(), folds_.end(), [](const Fold& f) { return adds_up(f.kind); });
    // Machine code takes a single column for a row.
    if (!one_column && (cut_.slabs > 0 || (any_sum ? cut_.parts == 1 : view.n * view.inner <= kMostSlab))) {
      by_code_ = SlabFolds::of(*program_, view, folds_);
    }
    cost_ = program_->cost();
    for (const Fold& f : folds_) cost_ += cost_of(f.kind);
    const std::int64_t unit = std::max<std::int64_t>(1, cut_.unit_count() * cost_);
    const bool small = unit * cut_.units() < kLeastShared;
    grain_ = small ? std::max<std::int64_t>(1, cut_.units()) : (kLeastShare + unit - 1) / unit;
  }

  // Partial sums [fold, part, results]; for positions, the best values so far [fold, results].
  std::size_t workspace(std::size_t element) const {
    const bool keeps = cut_.slabs == 0 && (cut_.parts > 1 || std::any_of(folds_.begin(), folds_.end(),
                                                                         [](const Fold& f) { return gives_position(f.kind); }));
    return keeps ? folds_.size() * static_cast<std::size_t>(cut_.parts * cut_.view.results()) * element : 0;
  }

  template <class T>
  void run(const KernelContext& c) const {
    if (cut_.view.results() == 0) return;
    if (cut_.view.n == 0) return clear<T>(c, 0, cut_.view.results());
    program_->row_reads().check(c);
    parallel_ranges(cut_.units(), grain_, [&](std::int64_t begin, std::int64_t end) { run_units<T>(c, begin, end); });
    for (std::size_t f = 0; f < folds_.size(); ++f) finish<T>(c, f, 0, cut_.view.results());
  }

  // Slabs [begin, end).
  template <class T>
  void run_outer(const KernelContext& c, std::int64_t begin, std::int64_t end) const {
    const std::int64_t units = cut_.units() / cut_.view.outer;
    run_units<T>(c, begin * units, end * units);
    for (std::size_t f = 0; f < folds_.size(); ++f) finish<T>(c, f, begin * cut_.view.inner, end * cut_.view.inner);
  }

  double operations() const { return static_cast<double>(cost_ * cut_.view.count()); }

 private:
  template <class T>
  class Slabs;
  template <class T>
  class Chunks;

  template <class T>
  void run_units(const KernelContext& c, std::int64_t begin, std::int64_t end) const {
    const Lengths lengths = lengths_of(c, lengths_, cut_.view);
    if (!by_code_ && cut_.slabs > 0) {
      const std::int64_t slab = cut_.view.n * cut_.view.inner;
      Slabs<T> reader(*this, c);
      return program_->run_pieces(c, begin * slab, end * slab, cut_.slabs * slab, reader);
    }
    for (std::int64_t number = begin; number < end; ++number) {
      const Cut::Unit unit = cut_.unit(number);
      const std::int64_t result = unit.outer * cut_.view.inner + unit.column, n = lengths.at(result);
      if (n == 0) {
        clear<T>(c, result, unit.width);
      } else if (!by_code_ || !by_code_->run(c, unit.outer, unit.column, unit.width, n)) {
        lay_down<T>(c, unit, n);
      }
    }
  }

  // The first `n` rows of a unit.
  template <class T>
  void lay_down(const KernelContext& c, const Cut::Unit& unit, std::int64_t n) const {
    const std::int64_t row = cut_.view.inner, at = unit.outer * cut_.view.n * row;
    if (cut_.slabs > 0) {
      Slabs<T> reader(*this, c);
      return program_->run_pieces(c, at, at + cut_.view.n * row, cut_.slabs * cut_.view.n * row, reader);
    }
    const std::int64_t first = unit.part * cut_.part_rows, last = std::min(first + cut_.part_rows, n);
    Chunks<T> reader(*this, c, unit.outer, unit.column, unit.part, first);
    if (cut_.strips == 1) return program_->run_pieces(c, at + first * row, at + last * row, cut_.rows * row, reader);
    for (std::int64_t a = first; a < last; ++a) {
      const std::int64_t begin = at + a * row + unit.column;
      program_->run_pieces(c, begin, begin + unit.width, unit.width, reader);
    }
  }

  template <class T>
  T* partial(const KernelContext& c, std::size_t f, std::int64_t part) const {
    const std::int64_t results = cut_.view.results();
    return static_cast<T*>(c.workspace) + (static_cast<std::int64_t>(f) * cut_.parts + part) * results;
  }

  // Adds up the parts and divides means, for results [begin, end).
  template <class T>
  void finish(const KernelContext& c, std::size_t f, std::int64_t begin, std::int64_t end) const {
    if (!adds_up(folds_[f].kind)) return;
    T* out = c.outputs[f].as<T>();
    if (cut_.slabs == 0 && cut_.parts > 1) {
      std::copy(partial<T>(c, f, 0) + begin, partial<T>(c, f, 0) + end, out + begin);
      for (std::int64_t part = 1; part < cut_.parts; ++part) {
        sum_into(task_of_elements(partial<T>(c, f, part) + begin, out + begin, end - begin));
      }
    }
    if (folds_[f].kind != FoldKind::kMean || cut_.view.n < 2) return;
    const Lengths lengths = lengths_of(c, lengths_, cut_.view);
    for (std::int64_t r = begin; r < end; ++r) {
      if (const std::int64_t n = lengths.at(r); n > 1) out[r] /= static_cast<T>(n);
    }
  }

  // The results of reductions over nothing.
  template <class T>
  void clear(const KernelContext& c, std::int64_t first, std::int64_t count) const {
    for (std::size_t f = 0; f < folds_.size(); ++f) {
      if (gives_position(folds_[f].kind)) {
        std::fill_n(c.outputs[f].as<std::int32_t>() + first, count, 0);
      } else {
        std::fill_n(c.outputs[f].as<T>() + first, count, T{0});
      }
    }
  }

  std::shared_ptr<const TileProgram> program_;
  std::vector<Fold> folds_;
  std::vector<std::size_t> value_at_;  // by fold: for a position, the fold that yields its value; kNone if there is none
  Cut cut_;
  std::size_t lengths_;                       // the index of that input; beyond the inputs if there is none
  std::unique_ptr<const SlabFolds> by_code_;  // null: pointwise results are stored before they are reduced
  std::int64_t grain_ = 1;                    // units
  std::int64_t cost_ = 0;                     // per element, in additions
};

// Pieces of whole slabs: each piece completes its results.
template <class T>
class Piecewise::Slabs final : public PieceReader {
 public:
  Slabs(const Piecewise& p, const KernelContext& c) : p_(p), c_(c) {}

  void read(std::span<const void* const> results, std::int64_t begin, std::int64_t n) override {
    const AxisView& whole = p_.cut_.view;
    const std::int64_t slab = whole.n * whole.inner, first = begin / slab * whole.inner;
    const AxisView view{n / slab, whole.n, whole.inner};
    for (std::size_t f = 0; f < p_.folds_.size(); ++f) {
      const Fold& fold = p_.folds_[f];
      const std::size_t value = p_.value_at_[f];
      if (std::find(p_.value_at_.begin(), p_.value_at_.end(), f) != p_.value_at_.end()) continue;  // computed with its position
      ReduceTask<T> task = whole_task<T>(static_cast<const T*>(results[fold.result]), nullptr, view);
      task.one_column = p_.cut_.one_column;
      if (!gives_position(fold.kind)) {
        task.out = c_.outputs[f].as<T>() + first;
      } else {
        task.positions = c_.outputs[f].as<std::int32_t>() + first;
        if (value != kNone) task.out = c_.outputs[value].as<T>() + first;
      }
      reduce(fold.kind, task);
    }
  }

 private:
  const Piecewise& p_;
  const KernelContext& c_;
};

// Pieces of one slab, from its row `row`: each is reduced, then joined with the existing result. Sums that are not computed in
// parts are added row by row.
template <class T>
class Piecewise::Chunks final : public PieceReader {
 public:
  Chunks(const Piecewise& p, const KernelContext& c, std::int64_t outer, std::int64_t column, std::int64_t part,
         std::int64_t row)
      : p_(p), c_(c), result_(outer * p.cut_.view.inner + column), part_(part), row_(row) {}

  void read(std::span<const void* const> results, std::int64_t, std::int64_t n) override {
    const Cut& cut = p_.cut_;
    const std::int64_t width = cut.strips == 1 ? cut.width : n, rows = n / width;
    for (std::size_t f = 0; f < p_.folds_.size(); ++f) {
      const Fold& fold = p_.folds_[f];
      const T* x = static_cast<const T*>(results[fold.result]);
      if (gives_position(fold.kind)) {
        read_positions(f, x, {1, rows, width});
        continue;
      }
      T* to = (cut.parts > 1 ? p_.partial<T>(c_, f, part_) : c_.outputs[f].as<T>()) + result_;
      if (adds_up(fold.kind) && !cut.by_rows() && cut.parts == 1) {
        add_rows(fold.kind, x, to, rows, width);
        continue;
      }
      if (first_ || rows > 1) {
        reduce(fold.kind, whole_task<T>(x, first_ ? to : joined_, {1, rows, width}));
        x = joined_;
      }
      if (!first_) join_numbers(f, x, to, width);
      if (cut.by_rows() && first_) total_[f] = static_cast<double>(*to);
    }
    first_ = false;
    row_ += rows;
  }

 private:
  // In the order of machine code (SlabFolds).
  void add_rows(FoldKind kind, const T* x, T* to, std::int64_t rows, std::int64_t width) const {
    if (first_) std::copy_n(x, width, to);
    for (std::int64_t r = first_ ? 1 : 0; r < rows; ++r) join(kind, task_of_elements(x + r * width, to, width));
  }

  // Long rows are summed in double precision.
  void join_numbers(std::size_t f, const T* x, T* to, std::int64_t width) {
    const FoldKind kind = p_.folds_[f].kind;
    if (p_.cut_.by_rows() && adds_up(kind)) {
      total_[f] += static_cast<double>(*x);
      *to = static_cast<T>(total_[f]);
      return;
    }
    join(kind, task_of_elements(x, to, width));
  }

  void read_positions(std::size_t f, const T* x, const AxisView& view) {
    const FoldKind kind = p_.folds_[f].kind;
    ReduceTask<T> task = whole_task<T>(x, nullptr, view);
    std::int32_t* out = c_.outputs[f].as<std::int32_t>() + result_;
    T* best = p_.partial<T>(c_, f, 0) + result_;
    task.positions = positions_;
    reduce(kind, task);
    for (std::int64_t i = 0; i < view.inner; ++i) {
      const T value = x[positions_[i] * view.inner + i];
      const bool ahead = kind == FoldKind::kArgMax ? value > best[i] : value < best[i];
      if (!first_ && !ahead && !(std::isnan(value) && !std::isnan(best[i]))) continue;
      best[i] = value;
      out[i] = static_cast<std::int32_t>(row_) + positions_[i];
    }
  }

  static constexpr std::size_t kMostWidth = 4096;  // TileProgram's longest piece

  const Piecewise& p_;
  const KernelContext& c_;
  const std::int64_t result_, part_;
  std::int64_t row_;
  bool first_ = true;
  std::array<double, kMostFolds> total_{};
  alignas(64) T joined_[kMostWidth];
  std::int32_t positions_[kMostWidth];
};

}  // namespace

Kernel piecewise_kernel(const KernelRequest& request, std::shared_ptr<const TileProgram> program, const AxisView& view,
                        std::vector<Fold> folds, DType dtype, const ReducedInputs& inputs) {
  const std::size_t lengths = inputs.lengths;
  const std::int64_t repeat = lengths < request.inputs.size() ? results_of_length(view, request.inputs[lengths]) : 0;
  const bool has_list = program->row_reads().any();
  return with_float(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto work = std::make_shared<const Piecewise>(
        std::move(program), view, is_one_column(*request.attributes, inputs.rank, view), std::move(folds), lengths, repeat);
    Kernel kernel{[work](const KernelContext& c) { work->run<T>(c); }, work->workspace(sizeof(T))};
    const Sizes& result = request.outputs[0].sizes;
    if (view.count() == 0 || result.empty() || view.outer % result[0] != 0 || has_list) return kernel;
    // Rows are outside the reduced axes, in operands and in results.
    auto rows = std::make_shared<RowKernel>();
    rows->rows = result[0];
    rows->operations = work->operations();
    for (std::size_t k = 0; k < request.inputs.size(); ++k) {
      const Sizes& sizes = request.inputs[k].sizes;
      rows->reads_other_rows.push_back((k < lengths && sizes.size() != inputs.rank) || sizes.empty() || sizes[0] != result[0]);
    }
    rows->run = [work, slabs = view.outer / result[0]](const KernelContext& c, std::int64_t begin, std::int64_t end) {
      work->run_outer<T>(c, begin * slabs, end * slabs);
    };
    kernel.by_rows = std::move(rows);
    return kernel;
  });
}

}  // namespace graphrun
