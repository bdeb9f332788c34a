#include "ops/matmul/vectors.h"

#include <algorithm>
#include <cstdint>

#include "ops/generated/device_pack.h"
#include "ops/reduce/column.h"
#include "runtime/cuda/blas.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/matrix_units.h"

namespace graphrun {
namespace {

// A factor's number as it is multiplied.
struct AsItIs {
  GRAPHRUN_DEVICE static float of(float x) { return x; }
};
template <class Form>
struct RoundedTo {
  GRAPHRUN_DEVICE static float of(float x) {
    const float numbers[Form::kInWord] = {x};
    return Form::number(Form::word(numbers), 0);
  }
};

// The left factor's rows of a term. Rows beyond the last are the last again, which are never written.
template <int rows>
struct LeftRows {
  const float* row[rows];
  bool kept[rows];

  GRAPHRUN_DEVICE LeftRows(const VectorProducts& p, int term) {
    GRAPHRUN_UNROLL
    for (int r = 0; r < rows; ++r) {
      const int own = r < p.rows ? r : p.rows - 1;
      const std::int64_t from = p.indices.data == nullptr ? own : p.indices.at(own, p.table_rows);
      row[r] = p.left[term] + from * p.inner[term];
      kept[r] = p.keep == nullptr || p.keep[own] != 0;
    }
  }
};

// The sum over the threads of a warp whose indices differ in the bits from `step` on, in all of them.
template <int step>
GRAPHRUN_DEVICE float sum_of_warp(float x) {
  GRAPHRUN_UNROLL
  for (int distance = step; distance < cuda::kWarpThreads; distance *= 2) x += cuda::of_other(x, distance);
  return x;
}

// How right factors [inner, columns] are read: `lanes` threads read a row's part of a block, `pack` columns each, and a block
// reads `ahead` times (threads / lanes) rows before it multiplies.
template <int rows_, int pack_, int lanes_, int threads_, int ahead_>
struct ByRows {
  static constexpr int kRows = rows_, kPack = pack_, kLanes = lanes_, kThreads = threads_, kAhead = ahead_;
  static constexpr int kColumns = kLanes * kPack, kAtOnce = kThreads / kLanes, kWarps = kThreads / cuda::kWarpThreads;
  static constexpr int kSums = kRows * kColumns, kBlocks = 768 / kThreads;  // of a multiprocessor
  // Bytes: the sums of each warp, and of each block of the cluster.
  static constexpr std::size_t shared(int parts) {
    return sizeof(float) * kSums * static_cast<std::size_t>(kWarps + (parts > 1 ? parts : 0));
  }
};

// The blocks of a cluster divide the rows of the right factors; the first adds up their sums, in order.
template <class Number, class S>
GRAPHRUN_GLOBAL_OF_BLOCKS(S::kThreads, S::kBlocks)
void vectors_by_rows(const VectorProducts p) {
  const int part = p.parts > 1 ? cuda::cluster_rank() : 0;
  if (p.parts > 1) cuda::cluster_arrive();
  const int thread = cuda::thread_index(), tiles = (p.columns + S::kColumns - 1) / S::kColumns;
  const int block = static_cast<int>(cuda::block_index()) / p.parts, group = block / tiles;
  const int begin = block % tiles * S::kColumns, own = begin + thread % S::kLanes * S::kPack;
  const int column = own < p.columns ? own : p.columns - S::kPack;
  const int step = p.parts * S::kAtOnce, row_of_step = part * S::kAtOnce + thread / S::kLanes;
  const std::int64_t stride = static_cast<std::int64_t>(step) * p.columns;
  float sum[S::kRows][S::kPack] = {};
  for (int t = 0; t < p.terms; ++t) {
    const int inner = p.inner[t];
    const float* const right = p.right[t + group] + column;
    for (int first = row_of_step; first < inner; first += S::kAhead * step) {
      // All loads are issued before the first number is used. Rows beyond the last are zeros.
      element::Pack<float, S::kPack> b[S::kAhead];
      const float* at = right + static_cast<std::int64_t>(first) * p.columns;
      GRAPHRUN_UNROLL
      for (int u = 0; u < S::kAhead; ++u, at += stride) {
        b[u] = {};
        if (first + u * step < inner) b[u] = element::load<S::kPack>(at);
      }
      if (t + 1 < p.terms && first + S::kAhead * step >= inner) {
        at = p.right[t + 1] + column + static_cast<std::int64_t>(row_of_step) * p.columns;
        for (int u = 0; u < S::kAhead && row_of_step + u * step < p.inner[t + 1]; ++u, at += stride) cuda::fetch_ahead(at);
      }
      const LeftRows<S::kRows> left(p, t);  // after the loads above, which need not wait for its own
      float a[S::kAhead][S::kRows];
      GRAPHRUN_UNROLL
      for (int u = 0; u < S::kAhead; ++u) {
        const int k = first + u * step;
        GRAPHRUN_UNROLL
        for (int r = 0; r < S::kRows; ++r) {
          a[u][r] = 0;
          if ((k < inner) & left.kept[r]) a[u][r] = left.row[r][k];
        }
      }
      GRAPHRUN_UNROLL
      for (int u = 0; u < S::kAhead; ++u) {
        GRAPHRUN_UNROLL
        for (int j = 0; j < S::kPack; ++j) {
          const float x = Number::of(b[u].v[j]);
          GRAPHRUN_UNROLL
          for (int r = 0; r < S::kRows; ++r) sum[r][j] += Number::of(a[u][r]) * x;
        }
      }
    }
  }

  float* const sums = static_cast<float*>(cuda::shared_memory());  // [warp, row, column]
  float* const of_parts = sums + S::kWarps * S::kSums;             // [part, row, column], in the cluster's first block
  GRAPHRUN_UNROLL
  for (int r = 0; r < S::kRows; ++r) {
    GRAPHRUN_UNROLL
    for (int j = 0; j < S::kPack; ++j) {
      const float of_warp = sum_of_warp<S::kLanes>(sum[r][j]);
      if (thread % cuda::kWarpThreads >= S::kLanes) continue;
      sums[(thread / cuda::kWarpThreads * S::kRows + r) * S::kColumns + thread % S::kLanes * S::kPack + j] = of_warp;
    }
  }
  const auto write = [&](int i, float total) {
    const int row = i / S::kColumns, to = begin + i % S::kColumns;
    if (row < p.rows && to < p.columns) p.results[group][static_cast<std::int64_t>(row) * p.columns + to] = total;
  };
  cuda::barrier();
  if (p.parts > 1) cuda::cluster_wait();
  for (int i = thread; i < S::kSums; i += S::kThreads) {
    float total = sums[i];
    GRAPHRUN_UNROLL
    for (int warp = 1; warp < S::kWarps; ++warp) total += sums[warp * S::kSums + i];
    if (p.parts == 1) {
      write(i, total);
    } else {
      *cuda::memory_of(0, of_parts + part * S::kSums + i) = total;
    }
  }
  if (p.parts == 1) return;
  cuda::cluster_barrier();
  for (int i = thread; part == 0 && i < S::kSums; i += S::kThreads) {
    float total = of_parts[i];
    for (int other = 1; other < p.parts; ++other) total += of_parts[other * S::kSums + i];
    write(i, total);
  }
}

// How right factors [columns, inner] are read: a warp computes `columns` of them, and its threads read `pack` numbers each.
template <int rows_, int pack_, int columns_>
struct ByColumns {
  static constexpr int kRows = rows_, kPack = pack_, kColumns = columns_, kAtOnce = kPack * cuda::kWarpThreads;
  static constexpr int kThreads = 256, kWarps = kThreads / cuda::kWarpThreads, kOfBlock = kColumns * kWarps;
};

template <class Number, class S>
GRAPHRUN_GLOBAL_OF(S::kThreads)
void vectors_by_columns(const VectorProducts p) {
  const int thread = cuda::thread_index(), blocks = (p.columns + S::kOfBlock - 1) / S::kOfBlock;
  const int group = static_cast<int>(cuda::block_index() / blocks);
  const int warp = static_cast<int>(cuda::block_index() % blocks) * S::kWarps + thread / cuda::kWarpThreads;
  const int begin = warp * S::kColumns;
  float sum[S::kRows][S::kColumns] = {};
  for (int t = 0; t < p.terms; ++t) {
    const int inner = p.inner[t];
    const float* const right = p.right[t + group];
    const LeftRows<S::kRows> left(p, t);
    GRAPHRUN_UNROLL_BY(2)
    for (int k = thread % cuda::kWarpThreads * S::kPack; k < inner; k += S::kAtOnce) {
      element::Pack<float, S::kPack> b[S::kColumns];
      GRAPHRUN_UNROLL
      for (int c = 0; c < S::kColumns; ++c) {
        const int column = begin + c < p.columns ? begin + c : p.columns - 1;
        b[c] = element::load<S::kPack>(right + static_cast<std::int64_t>(column) * inner + k);
      }
      GRAPHRUN_UNROLL
      for (int c = 0; c < S::kColumns; ++c) {
        GRAPHRUN_UNROLL
        for (int j = 0; j < S::kPack; ++j) b[c].v[j] = Number::of(b[c].v[j]);
      }
      GRAPHRUN_UNROLL
      for (int r = 0; r < S::kRows; ++r) {
        const auto a = element::load<S::kPack>(left.row[r] + k);
        GRAPHRUN_UNROLL
        for (int j = 0; j < S::kPack; ++j) {
          const float x = left.kept[r] ? Number::of(a.v[j]) : 0.f;
          GRAPHRUN_UNROLL
          for (int c = 0; c < S::kColumns; ++c) sum[r][c] += x * b[c].v[j];
        }
      }
    }
  }
  GRAPHRUN_UNROLL
  for (int r = 0; r < S::kRows; ++r) {
    GRAPHRUN_UNROLL
    for (int c = 0; c < S::kColumns; ++c) {
      const float total = sum_of_warp<1>(sum[r][c]);
      if (thread % cuda::kWarpThreads != 0 || r >= p.rows || begin + c >= p.columns) continue;
      p.results[group][static_cast<std::int64_t>(r) * p.columns + begin + c] = total;
    }
  }
}

template <class Number, class S>
void launch_by_rows(void* stream, const VectorProducts& p) {
  const std::int64_t blocks = (p.columns + S::kColumns - 1) / S::kColumns * std::int64_t{p.groups} * p.parts;
  cuda::launch(stream, {blocks, S::kThreads, S::shared(p.parts), true, false, p.parts}, &vectors_by_rows<Number, S>, p);
}
template <class Number, class S>
void launch_by_columns(void* stream, const VectorProducts& p) {
  const std::int64_t blocks = (p.columns + S::kOfBlock - 1) / S::kOfBlock * std::int64_t{p.groups};
  cuda::launch(stream, {blocks, S::kThreads, 0, true}, &vectors_by_columns<Number, S>, p);
}

bool is_wide(const float* at) { return reinterpret_cast<std::uintptr_t>(at) % (4 * sizeof(float)) == 0; }

// The sizes of blocks that are not in clusters were measured on an H100, with matrices of 620 to 2000 rows and 620 to 1000
// columns.
template <class Number>
void launch_vectors(void* stream, const VectorProducts& p) {
  bool wide = std::all_of(p.right, p.right + std::max(p.terms, p.groups), is_wide);
  if (!p.transposed) {
    // Whole lines of memory if that leaves enough blocks.
    constexpr std::int64_t kLine = 32, kEnoughBlocks = 64;
    wide = wide && p.columns % 4 == 0;
    if (p.parts > 1 && p.rows > 1) {
      return wide ? launch_by_rows<Number, ByRows<4, 4, 8, 256, 4>>(stream, p)
                  : launch_by_rows<Number, ByRows<4, 1, 32, 256, 4>>(stream, p);
    }
    if (p.parts > 1) {
      return wide ? launch_by_rows<Number, ByRows<1, 4, 8, 256, 8>>(stream, p)
                  : launch_by_rows<Number, ByRows<1, 1, 32, 256, 8>>(stream, p);
    }
    if (p.rows > 1) {
      return wide ? launch_by_rows<Number, ByRows<4, 4, 2, 256, 4>>(stream, p)
                  : launch_by_rows<Number, ByRows<4, 1, 8, 256, 4>>(stream, p);
    }
    if (!wide) return launch_by_rows<Number, ByRows<1, 1, 8, 256, 8>>(stream, p);
    return p.columns / kLine * p.groups >= kEnoughBlocks ? launch_by_rows<Number, ByRows<1, 4, 8, 512, 8>>(stream, p)
                                                         : launch_by_rows<Number, ByRows<1, 4, 2, 256, 8>>(stream, p);
  }
  wide = wide && std::all_of(p.left, p.left + p.terms, is_wide) &&
         std::all_of(p.inner, p.inner + p.terms, [](int inner) { return inner % 4 == 0; });
  if (p.rows > 1) {
    return wide ? launch_by_columns<Number, ByColumns<4, 4, 2>>(stream, p)
                : launch_by_columns<Number, ByColumns<4, 1, 2>>(stream, p);
  }
  return wide ? launch_by_columns<Number, ByColumns<1, 4, 1>>(stream, p)
              : launch_by_columns<Number, ByColumns<1, 1, 2>>(stream, p);
}

}  // namespace

void multiply_vectors(void* stream, const VectorProducts& products, ProductPrecision precision) {
  if (precision == ProductPrecision::kFloat32 || !cuda::has_matrix_units_on(stream))
    return launch_vectors<AsItIs>(stream, products);
  precision == ProductPrecision::kTf32 ? launch_vectors<RoundedTo<cuda::Tf32>>(stream, products)
                                       : launch_vectors<RoundedTo<cuda::BFloat16>>(stream, products);
}

}  // namespace graphrun
