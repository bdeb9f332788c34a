// gather_matmul: products of a table's rows with matrices. The pass `tabulate` makes it.
#include "ops/matmul/gather_matmul.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "ops/dispatch.h"
#include "ops/indices.h"
#include "ops/matmul/precision.h"
#include "ops/parallel.h"
#include "ops/round_up.h"
#include "ops/schema.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

using ir::InferContext;

constexpr std::size_t kMostKeptBytes = 32u << 20;  // of one node
constexpr std::size_t kLine = 64;                  // what the parts of the memory are aligned to
constexpr std::int64_t kLayout = -1;               // begins the layout, as no layout of packed matrices does
constexpr std::int64_t kBlock = 64;                // the rows of a batch that are looked up, or computed, at once
constexpr std::size_t kKeep = 2, kFirstMatrix = kGatherMatmulMatrix;
constexpr const char* kWhat = "gather: index";

// An element of a block's list.
template <class Array>
auto& at(Array& list, std::int64_t i) {
  return list[static_cast<std::size_t>(i)];
}

std::size_t padded_to_line(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// Whether a row of the batch counts as zeros.
bool is_kept_out(const KernelContext& c, std::int64_t row) {
  const TensorView& keep = c.inputs[kKeep];
  return keep.data != nullptr && keep.as<const std::uint8_t>()[row] == 0;
}

// Products of gathered rows in the workspace: for float64, and where nothing can be kept.
class PlainGatherProducts {
 public:
  PlainGatherProducts(const KernelRequest& products, ProductGroup group, std::int64_t table_rows)
      : kernel_(group_kernel(products, std::move(group))), inputs_(products.inputs), table_rows_(table_rows) {}

  std::size_t rows_bytes() const { return padded_to_line(inputs_[0].bytes()); }
  std::size_t workspace() const { return rows_bytes() + kernel_.workspace; }

  void run(const KernelContext& c) {
    check_indices(c.inputs[1], table_rows_, kWhat);
    const std::size_t row = static_cast<std::size_t>(c.inputs[0].sizes[1]) * size_of(c.inputs[0].dtype);
    const auto* indices = c.inputs[1].as<const std::int32_t>();
    const std::int64_t count = c.inputs[1].count();
    char* const to = static_cast<char*>(c.workspace);
    parallel_for(count, inputs_[0].count(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const char* const from = c.inputs[0].as<const char>() + static_cast<std::size_t>(indices[i]) * row;
        char* const at = to + static_cast<std::size_t>(i) * row;
        is_kept_out(c, i) ? void(std::memset(at, 0, row)) : void(std::memcpy(at, from, row));
      }
    });
    KernelContext inner = c;
    inputs_[0].data = to;
    for (std::size_t i = 1; i < inputs_.size(); ++i) inputs_[i].data = c.inputs[kFirstMatrix + i - 1].data;
    inner.inputs = inputs_;
    inner.workspace = to + rows_bytes();
    kernel_.run(inner);
  }

 private:
  const Kernel kernel_;
  std::vector<TensorView> inputs_;
  const std::int64_t table_rows_;
};

bool all_last(const KernelRequest& request) {
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (i != 1 && i != kKeep && !request.is_lasting(i)) return false;
  }
  return true;
}

std::shared_ptr<const ColumnKernel> prepared_form(const std::shared_ptr<const GatherProducts>& work, std::size_t inputs) {
  auto columns = std::make_shared<ColumnKernel>();
  columns->columns = work->columns();
  columns->step = work->panel();
  columns->operations = 0;  // it divides its work among threads itself
  columns->packed_bytes = work->bytes();
  columns->layout = work->layout();
  columns->alone = true;
  columns->prepares_from.assign(inputs, true);
  columns->prepares_from[1] = columns->prepares_from[kKeep] = false;
  columns->prepare = [work](const KernelContext& c, std::int64_t begin, std::int64_t end) { work->prepare(c, begin, end); };
  columns->run = [work](const KernelContext& c, std::int64_t begin, std::int64_t end) {
    GRAPHRUN_CHECK(begin == 0 && end == work->columns(), "gather_matmul: a part of the columns");
    work->run(c);
  };
  return columns;
}

Kernel bind_gather_matmul(const KernelRequest& given) {
  const KernelRequest request = in_own_precision(given), products = product_request(request);
  const ProductGroup group = plan_gather_matmul(products, request.attributes->boolean("transpose_b"));
  const std::int64_t table_rows = request.inputs[0].sizes[0];
  const auto plain = std::make_shared<PlainGatherProducts>(products, group, table_rows);
  Kernel kernel{[plain](const KernelContext& c) { plain->run(c); }, plain->workspace()};
  const MatrixProduct& p = group.products[0];
  if (request.outputs[0].dtype != DType::kFloat32 || !all_last(request) || request.is_constant(0)) return kernel;
  if (p.m == 0 || p.n == 0 || p.k == 0 || table_rows == 0) return kernel;
  const auto work = std::make_shared<const GatherProducts>(table_rows, group, packed_form(products, group));
  if (!work->available()) return kernel;
  kernel.by_columns = prepared_form(work, request.inputs.size());
  return kernel;
}

REGISTER_OP("gather_matmul", "matmul")
    .Doc(
        "yᵢ[..., j] = Σₖ table[indices[...], k] bᵢ[k, j]: rows of a table times matrices of one size, a result each. Rows\n"
        "for which keep is false count as zeros. On the CPU, if the program writes neither table nor matrices, a row's\n"
        "results are computed once and kept until one of them changes.\n"
        "  z, r = gather_matmul(embedding, words, _, Wz, Wr)")
    .Input("table", "[n, k] FLOAT")
    .Input("indices", "[...] INT32 in [0, n): at least one axis")
    .OptionalInput("keep", "BOOL, as indices: rows that are false count as zeros")
    .VariadicInput("b", "[k, m] FLOAT each, or [m, k] with transpose_b")
    .Bool("transpose_b", false, "each b is read as its transpose")
    .String("precision", "", kPrecisionDoc)
    .Output("y")
    .Internal()
    .NoGradient("made after differentiation")
    .Shape([](InferContext& c) {
      check_precision(c);
      require_type(c, 0, Type::kFloat);
      require_type(c, 1, Type::kInt32);
      require_rank_at_least(c, 0, 2);
      require_rank_at_least(c, 1, 1);
      const bool transpose_b = c.attributes->boolean("transpose_b");
      Shape y = c.input(1).shape;
      if (c.has(kKeep)) {
        require_type(c, kKeep, Type::kBool);
        if (c.input(kKeep).shape != c.input(1).shape) {
          throw ir::OpError("E0301 shape-mismatch",
                            "gather_matmul: keep " + c.input(kKeep).str() + " does not fit indices " + c.input(1).str());
        }
      }
      for (std::size_t i = kFirstMatrix; i < c.inputs.size(); ++i) {
        require_type(c, i, Type::kFloat);
        require_rank_at_least(c, i, 2);
        if (c.input(0).shape.size() != 2 || c.input(i).shape.size() != 2 || c.input(i).shape != c.input(kFirstMatrix).shape ||
            c.input(i).shape[transpose_b ? 1 : 0] != c.input(0).shape[1]) {
          throw ir::OpError("E0301 shape-mismatch",
                            "gather_matmul: the matrices differ in size, or do not fit the table's rows, " + c.input(0).str() +
                                " and " + c.input(i).str());
        }
      }
      y.push_back(c.input(kFirstMatrix).shape[transpose_b ? 0 : 1]);
      c.outputs.assign(c.inputs.size() - kFirstMatrix, {Type::kFloat, y});
    })
    .MultiplyAdds([](const InferContext& c) {
      return element_count(c.outputs[0].shape) * c.input(0).shape[1] * static_cast<std::int64_t>(c.outputs.size());
    });
REGISTER_KERNEL("gather_matmul", kCpu, bind_gather_matmul);

}  // namespace

KernelRequest product_request(const KernelRequest& request) {
  KernelRequest products = request;
  TensorView rows = request.inputs[0];
  rows.sizes = request.inputs[1].sizes;
  rows.sizes.push_back(request.inputs[0].sizes[1]);
  products.inputs = {std::move(rows)};
  products.absent_inputs.assign(request.inputs.size() - kFirstMatrix + 1, false);
  products.constant_inputs = {false};
  products.lasting_inputs = {false};
  for (std::size_t i = kFirstMatrix; i < request.inputs.size(); ++i) {
    products.inputs.push_back(request.inputs[i]);
    products.constant_inputs.push_back(request.is_constant(i));
    products.lasting_inputs.push_back(request.is_lasting(i));
  }
  return products;
}

ProductGroup plan_gather_matmul(const KernelRequest& products, bool transpose_b) {
  const TensorView& rows = products.inputs[0];
  MatrixProduct p;
  p.transpose_b = transpose_b;
  p.k = rows.sizes.back();
  p.n = products.outputs[0].sizes.back();
  p.m = element_count(Sizes(rows.sizes.begin(), rows.sizes.end() - 1));
  return {ProductGroup::Kind::kMany, std::vector<MatrixProduct>(products.outputs.size(), p)};
}

KeptRows::KeptRows(std::int64_t rows, std::int64_t width)
    : rows_(rows),
      width_(width),
      room_(std::min(rows, static_cast<std::int64_t>(kMostKeptBytes / sizeof(float)) / std::max<std::int64_t>(width, 1))),
      places_(kLine + padded_to_line(static_cast<std::size_t>(rows) * sizeof(std::int32_t))) {}

std::atomic_ref<std::int32_t> KeptRows::taken(char* memory) const {
  return std::atomic_ref(*reinterpret_cast<std::int32_t*>(memory));
}

std::atomic_ref<std::int32_t> KeptRows::state(char* memory, std::int64_t row) const {
  return std::atomic_ref(reinterpret_cast<std::int32_t*>(memory + kLine)[row]);
}

void KeptRows::forget(char* memory) const {
  for (std::int64_t row = 0; row < rows_; ++row) state(memory, row).store(kUnknown, std::memory_order_relaxed);
  taken(memory).store(0, std::memory_order_relaxed);
}

const float* KeptRows::find(char* memory, std::int64_t row) const {
  const std::int32_t s = state(memory, row).load(std::memory_order_acquire);
  return s > 0 ? at(memory, s - 1) : nullptr;
}

bool KeptRows::claim(char* memory, std::int64_t row) const {
  std::int32_t expected = kUnknown;
  return state(memory, row).compare_exchange_strong(expected, kClaimed, std::memory_order_relaxed);
}

float* KeptRows::place(char* memory) const {
  const std::int32_t next = taken(memory).fetch_add(1, std::memory_order_relaxed);
  return next < room_ ? at(memory, next) : nullptr;
}

void KeptRows::publish(char* memory, std::int64_t row, const float* place) const {
  const std::int64_t number = (place - at(memory, 0)) / width_;
  state(memory, row).store(static_cast<std::int32_t>(number + 1), std::memory_order_release);
}

// The scratch space that a run has for itself: rows of the table, then their products, matrix by matrix.
class GatherProducts::Scratch {
 public:
  // Waits where more threads run the kernel than there are cores.
  Scratch(const GatherProducts& work, const KernelContext& c) {
    char* const all = work.memory(c) + work.scratch_at_;
    for (std::int64_t i = 0;; i = (i + 1) % work.scratches_) {
      at_ = all + static_cast<std::size_t>(i) * work.scratch_bytes();
      if (taken().exchange(1, std::memory_order_acquire) == 0) break;
      if (i + 1 == work.scratches_) std::this_thread::yield();
    }
    y_ = a() + work.most_rows() * round_up(work.product_.k, kColumnStep);
  }
  ~Scratch() { taken().store(0, std::memory_order_release); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  float* a() const { return reinterpret_cast<float*>(at_ + kLine); }
  float* y() const { return y_; }

 private:
  std::atomic_ref<std::int32_t> taken() const { return std::atomic_ref(*reinterpret_cast<std::int32_t*>(at_)); }
  char* at_ = nullptr;
  float* y_ = nullptr;
};

// A row's result must not depend on the rows computed with it, or it would depend on earlier batches. With pairs it does, by
// rounding errors, and such products are slow with few rows: nothing is kept then, and all rows of the batch are computed
// together.
GatherProducts::GatherProducts(std::int64_t table_rows, const ProductGroup& group, PackedForm form)
    : table_rows_(table_rows),
      matrices_(static_cast<std::int64_t>(group.products.size())),
      product_(group.products[0]),
      keeps_(!form.pairs),
      kept_(table_rows, matrices_ * product_.n),
      scratches_(core_count()) {
  MatrixProduct p = product_;
  p.m = 1;
  const std::int64_t panel = keeps_ ? PackedProduct(p, form).panel() : 0;
  const auto add = [&](std::int64_t rows) {
    p.m = rows;
    products_.push_back({rows, PackedProduct(p, form, panel)});
  };
  if (!keeps_) {
    add(product_.m);
  } else {
    for (std::int64_t rows = kBlock; rows >= 1; rows /= 4) {
      if (rows <= product_.m) add(rows);
    }
  }
  matrix_bytes_ = padded_to_line(products_.back().product.bytes());
  scratch_at_ = static_cast<std::size_t>(matrices_) * matrix_bytes_;
  kept_at_ = scratch_at_ + static_cast<std::size_t>(scratches_) * scratch_bytes();
}

bool GatherProducts::available() const {
  return (keeps_ || products_.back().product.serves_alone()) &&
         std::all_of(products_.begin(), products_.end(), [](const RowsProduct& step) { return step.product.available(); });
}

// The same for all batches, since they share the memory.
std::int64_t GatherProducts::most_rows() const { return keeps_ ? kBlock : kFewRows; }
std::size_t GatherProducts::scratch_bytes() const {
  const std::int64_t rows = most_rows();
  return padded_to_line(kLine + static_cast<std::size_t>(rows * (round_up(product_.k, kColumnStep) + matrices_ * product_.n)) *
                                    sizeof(float));
}

std::vector<std::int64_t> GatherProducts::layout() const {
  std::vector<std::int64_t> all = {kLayout, table_rows_, matrices_, keeps_ ? 0 : 1};
  for (std::int64_t part : products_.back().product.layout()) all.push_back(part);
  return all;
}

void GatherProducts::prepare(const KernelContext& c, std::int64_t begin, std::int64_t end) const {
  for (std::int64_t i = 0; i < matrices_; ++i) {
    products_.back().product.pack(c.inputs[static_cast<std::size_t>(i) + kFirstMatrix].as<const float>(), panels(c, i), begin,
                                  end);
  }
  if (begin == 0 && keeps_) kept_.forget(kept(c));
}

void GatherProducts::run(const KernelContext& c) const {
  check_indices(c.inputs[1], table_rows_, kWhat);
  const Scratch scratch(*this, c);
  if (!keeps_) {
    return compute(c, scratch, nullptr, product_.m, false);
  }
  for (std::int64_t first = 0; first < product_.m; first += kBlock) {
    run_block(c, scratch, first, std::min(kBlock, product_.m - first));
  }
}

// Rows [first, first + count) of the batch, at most kBlock.
void GatherProducts::run_block(const KernelContext& c, const Scratch& scratch, std::int64_t first, std::int64_t count) const {
  const auto* indices = c.inputs[1].as<const std::int32_t>();
  const auto end = first + count;
  std::array<std::int64_t, kBlock> known{}, claimed{}, others{};
  std::int64_t knowns = 0, claims = 0, left = 0;
  for (std::int64_t row = first; row < end; ++row) {
    if (is_kept_out(c, row)) {
      for (std::int64_t m = 0; m < matrices_; ++m) std::fill_n(result(c, m, row), product_.n, 0.0f);
    } else if (kept_.find(kept(c), indices[row]) != nullptr) {
      at(known, knowns++) = row;
    } else if (kept_.claim(kept(c), indices[row])) {
      at(claimed, claims++) = row;
    } else {
      at(others, left++) = row;
    }
  }
  compute(c, scratch, claimed.data(), claims, true);
  // Some of the others name a row that was just computed. The rest are being computed by another thread, or there was no room
  // to keep them.
  std::int64_t rest = 0;
  for (std::int64_t i = 0; i < left; ++i) {
    const std::int64_t row = at(others, i);
    if (kept_.find(kept(c), indices[row]) != nullptr) {
      at(known, knowns++) = row;
    } else {
      at(others, rest++) = row;
    }
  }
  compute(c, scratch, others.data(), rest, false);
  parallel_for(knowns, knowns * product_.n * matrices_, [&](std::int64_t begin, std::int64_t stop) {
    for (std::int64_t i = begin; i < stop; ++i) {
      const std::int64_t row = at(known, i);
      const float* const from = kept_.find(kept(c), indices[row]);
      for (std::int64_t m = 0; m < matrices_; ++m) std::copy_n(from + m * product_.n, product_.n, result(c, m, row));
    }
  });
}

// Computes the results of these rows of the batch (null: of the first ones), and keeps them if the caller has claimed them.
void GatherProducts::compute(const KernelContext& c, const Scratch& scratch, const std::int64_t* rows, std::int64_t count,
                             bool keep) const {
  const auto* indices = c.inputs[1].as<const std::int32_t>();
  const auto* table = c.inputs[0].as<const float>();
  const std::int64_t n = product_.n, k = product_.k;
  const auto row_of = [&](std::int64_t i) { return rows == nullptr ? i : rows[i]; };
  auto step = products_.begin();
  for (std::int64_t done = 0; done < count;) {
    while (step + 1 != products_.end() && step->rows > count - done) ++step;
    const std::int64_t some = std::min(std::max(step->rows, products_.size() == 1 ? most_rows() : 0), count - done);
    const std::int64_t times = (some + step->rows - 1) / step->rows, all = times * step->rows;
    for (std::int64_t i = 0; i < all; ++i) {
      float* const to = scratch.a() + i * k;
      if (i >= some || is_kept_out(c, row_of(done + i))) {
        std::fill_n(to, k, 0.0f);
      } else {
        std::copy_n(table + indices[row_of(done + i)] * k, k, to);
      }
    }
    multiply(c, *step, times, scratch);
    for (std::int64_t i = 0; i < some; ++i) {
      const std::int64_t row = row_of(done + i);
      float* const place = keep ? kept_.place(kept(c)) : nullptr;
      for (std::int64_t m = 0; m < matrices_; ++m) {
        const float* const from = scratch.y() + (m * all + i) * n;
        std::copy_n(from, n, result(c, m, row));
        if (place != nullptr) std::copy_n(from, n, place + m * n);
      }
      if (place != nullptr) kept_.publish(kept(c), indices[row], place);
    }
    done += some;
  }
}

// Runs the step for rows one after the other, panel by panel: a panel is still cached for the next rows.
void GatherProducts::multiply(const KernelContext& c, const RowsProduct& step, std::int64_t times,
                              const Scratch& scratch) const {
  constexpr double kOperationsPerThread = 150e3;
  const std::int64_t all = times * step.rows, n = product_.n;
  const double column = 2.0 * static_cast<double>(all * product_.k * matrices_);
  const auto grain = (static_cast<std::int64_t>(kOperationsPerThread / column) / panel() + 1) * panel();
  parallel_ranges(n, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t width = times == 1 ? end - begin : panel();
    for (std::int64_t m = 0; m < matrices_; ++m) {
      for (std::int64_t from = begin; from < end; from += width) {
        for (std::int64_t t = 0; t < times; ++t) {
          step.product.multiply(scratch.a() + t * step.rows * product_.k, panels(c, m),
                                scratch.y() + (m * all + t * step.rows) * n, from, std::min(from + width, end));
        }
      }
    }
  });
}

}  // namespace graphrun
