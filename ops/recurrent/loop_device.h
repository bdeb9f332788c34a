// What a loop that a device runs as one launch is made of: where operands stand at a step, which columns a block has, and the
// products. For the text of generated kernels.
#pragma once

#include "ops/pointwise/device_pack.h"
#include "runtime/cuda/primitives.h"

namespace graphrun::loop {

// As LoopPlace (runtime/loop.h).
struct Place {
  char *first, *even, *odd;
  std::int64_t stride, shift;
};

struct Step {
  std::int64_t number, steps;  // the how manieth it is, of how many
  bool reverse;
  GRAPHRUN_DEVICE std::int64_t position(std::int64_t shift = 0) const {
    return reverse ? steps - 1 - (number + shift) : number + shift;
  }
};

template <class T>
GRAPHRUN_DEVICE T* address(const Place& place, const Step& step) {
  if (step.number == 0 && place.first != nullptr) return reinterpret_cast<T*>(place.first);
  return reinterpret_cast<T*>((step.number % 2 == 0 ? place.even : place.odd) + place.stride * step.position(place.shift));
}

constexpr int kColumnsTogether = 4;

// A block's columns: multiples of kColumnsTogether, as equal as they come.
struct Columns {
  int begin, end;
  GRAPHRUN_DEVICE explicit Columns(int columns) {
    const long long steps = (columns + kColumnsTogether - 1) / kColumnsTogether, block = cuda::block_index(),
                    blocks = cuda::block_count();
    begin = static_cast<int>(steps * block / blocks * kColumnsTogether);
    const int cut = static_cast<int>(steps * (block + 1) / blocks * kColumnsTogether);
    begin = begin < columns ? begin : columns;
    end = cut < columns ? cut : columns;
  }
  GRAPHRUN_DEVICE int count() const { return end - begin; }
};

// y_g [rows, columns] = Σ_i a_i [rows, inner_i] · b_{i or g}: several terms, or several results of one term.
template <class T, int terms, int groups>
struct Product {
  static constexpr int kFactors = terms > groups ? terms : groups;
  int rows, columns, inner[terms];
  bool transpose_b;  // factors are stored [columns, inner]
  const T *a[terms], *b[kFactors];
  T* y[groups];
  const void* resident;  // the block's columns of all factors, in its own memory as bring() puts them; null: where they are

  GRAPHRUN_DEVICE int inner_of(int factor) const { return inner[terms > 1 ? factor : 0]; }
  GRAPHRUN_DEVICE T factor_at(int factor, int k, int column) const {
    return transpose_b ? b[factor][static_cast<std::int64_t>(column) * inner_of(factor) + k]
                       : b[factor][static_cast<std::int64_t>(k) * columns + column];
  }
};

// Brings the block's columns of all factors into its own memory: [inner, own columns] each.
template <class T, int terms, int groups>
GRAPHRUN_DEVICE void bring(const Product<T, terms, groups>& p, T* to) {
  const Columns own(p.columns);
  for (int f = 0; f < Product<T, terms, groups>::kFactors; ++f) {
    const int count = p.inner_of(f) * own.count();
    for (int e = cuda::thread_index(); e < count; e += cuda::thread_count()) {
      // Neighbours read neighbours.
      const int k = p.transpose_b ? e % p.inner_of(f) : e / own.count();
      const int c = p.transpose_b ? e / p.inner_of(f) : e % own.count();
      to[k * own.count() + c] = p.factor_at(f, k, own.begin + c);
    }
    to += count;
  }
}

// Rows of the left factors that stand in the block's memory at once, for kDeep positions of the summed axis.
constexpr int kDeep = 32, kTileRows = 4, kTileColumns = 4, kMostTiles = 2;

// The block's columns of all results. An element's sum goes through the terms and their positions in order.
template <class T, int terms, int groups>
GRAPHRUN_DEVICE void multiply(const Product<T, terms, groups>& p, T* piece) {
  const Columns own(p.columns);
  const int width = groups * own.count();  // columns of all results side by side
  const int row_tiles = (p.rows + kTileRows - 1) / kTileRows, column_tiles = (width + kTileColumns - 1) / kTileColumns;
  const int tiles = row_tiles * column_tiles, padded = row_tiles * kTileRows;
  for (int first = 0; first < tiles; first += kMostTiles * cuda::thread_count()) {
    T sum[kMostTiles][kTileRows][kTileColumns] = {};
    const T* resident = static_cast<const T*>(p.resident);
    for (int i = 0; i < terms; ++i) {
      const int inner = p.inner[i];
      for (int begin = 0; begin < inner; begin += kDeep) {
        const int deep = inner - begin < kDeep ? inner - begin : kDeep;
        cuda::barrier();  // what stood there has been read
        for (int e = cuda::thread_index(); e < p.rows * deep; e += cuda::thread_count()) {
          const int row = e / deep, k = e % deep;
          piece[k * padded + row] = p.a[i][static_cast<std::int64_t>(row) * inner + begin + k];
        }
        cuda::barrier();
        GRAPHRUN_UNROLL
        for (int s = 0; s < kMostTiles; ++s) {
          const int tile = first + s * cuda::thread_count() + cuda::thread_index();
          if (tile >= tiles) break;
          const int row = tile / column_tiles * kTileRows, column = tile % column_tiles * kTileColumns;
          const T* factor[kTileColumns];
          std::int64_t stride = 0;
          for (int c = 0; c < kTileColumns; ++c) {
            const int at = column + c < width ? column + c : width - 1;
            const int group = at / own.count(), mine = at % own.count(), f = terms > 1 ? i : group;
            if (resident != nullptr) {
              // Of several results all factors are of one size; of several terms `resident` goes on with them.
              factor[c] = resident + (terms > 1 ? 0 : group * inner * own.count()) + begin * own.count() + mine;
              stride = own.count();
            } else if (p.transpose_b) {
              factor[c] = p.b[f] + static_cast<std::int64_t>(own.begin + mine) * inner + begin;
              stride = 1;
            } else {
              factor[c] = p.b[f] + static_cast<std::int64_t>(begin) * p.columns + own.begin + mine;
              stride = p.columns;
            }
          }
          for (int k = 0; k < deep; ++k) {
            T x[kTileRows], w[kTileColumns];
            GRAPHRUN_UNROLL
            for (int r = 0; r < kTileRows; ++r) x[r] = piece[k * padded + row + r];
            GRAPHRUN_UNROLL
            for (int c = 0; c < kTileColumns; ++c) w[c] = factor[c][k * stride];
            GRAPHRUN_UNROLL
            for (int r = 0; r < kTileRows; ++r) {
              GRAPHRUN_UNROLL
              for (int c = 0; c < kTileColumns; ++c) sum[s][r][c] += x[r] * w[c];
            }
          }
        }
      }
      if (terms > 1 && resident != nullptr) resident += inner * own.count();
    }
    GRAPHRUN_UNROLL
    for (int s = 0; s < kMostTiles; ++s) {
      const int tile = first + s * cuda::thread_count() + cuda::thread_index();
      if (tile >= tiles) break;
      const int row = tile / column_tiles * kTileRows, column = tile % column_tiles * kTileColumns;
      GRAPHRUN_UNROLL
      for (int r = 0; r < kTileRows; ++r) {
        GRAPHRUN_UNROLL
        for (int c = 0; c < kTileColumns; ++c) {
          if (row + r >= p.rows || column + c >= width) continue;
          const int group = (column + c) / own.count(), mine = (column + c) % own.count();
          p.y[group][static_cast<std::int64_t>(row + r) * p.columns + own.begin + mine] = sum[s][r][c];
        }
      }
    }
  }
}

// The block's columns of a tensor, as they are.
template <class T>
GRAPHRUN_DEVICE void copy(const T* from, T* to, int rows, int columns) {
  const Columns own(columns);
  for (int e = cuda::thread_index(); e < rows * own.count(); e += cuda::thread_count()) {
    const std::int64_t at = static_cast<std::int64_t>(e / own.count()) * columns + own.begin + e % own.count();
    to[at] = from[at];
  }
}

}  // namespace graphrun::loop
