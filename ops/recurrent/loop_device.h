// The building blocks of a loop that a device runs as one launch: the addresses of operands at a step, the columns of a block,
// and products. For the text of generated kernels.
#pragma once

#include "ops/generated/device_pack.h"
#include "ops/index/moves.h"
#include "runtime/cuda/primitives.h"

namespace graphrun::loop {

// The device's form of LoopPlace (runtime/scan/launch.h).
struct Place {
  char *first, *even, *odd;
  std::int64_t stride, shift;
};

struct Step {
  std::int64_t number, steps;  // its index, counted from 0, and the number of steps
  bool reverse;
  GRAPHRUN_DEVICE Step next() const { return {number + 1, steps, reverse}; }
  GRAPHRUN_DEVICE std::int64_t position(std::int64_t shift = 0) const {
    return reverse ? steps - 1 - (number + shift) : number + shift;
  }
};

GRAPHRUN_DEVICE char* address(const Place& place, const Step& step) {
  if (step.number == 0 && place.first != nullptr) return place.first;
  return (step.number % 2 == 0 ? place.even : place.odd) + place.stride * step.position(place.shift);
}

// The addresses of all operands, in shared memory: if every thread computed those that it needs from the kernel's arguments,
// all would wait for the same arithmetic in every step.
struct Addresses {
  static constexpr int kBytesOfPlace = static_cast<int>(sizeof(Place) + 2 * sizeof(char*));
  Place* places;
  char** found;  // those of an even step, then those of an odd step
  int count;

  // Also computes the addresses of the first step. `memory` has kBytesOfPlace for each operand.
  template <int operands>
  GRAPHRUN_DEVICE Addresses(const Place (&arguments)[operands], char* memory, const Step& first)
      : places(reinterpret_cast<Place*>(memory)), found(reinterpret_cast<char**>(places + operands)), count(operands) {
    for (int p = cuda::thread_index(); p < operands; p += cuda::thread_count()) places[p] = arguments[p];
    cuda::barrier();
    find(first);
    cuda::barrier();
  }
  // To be called for the following step once all threads of the block have finished the previous one. The last threads do it:
  // they have least to do where work is not divided evenly. A barrier must come before of() is called for that step.
  GRAPHRUN_DEVICE void find(const Step& step) const {
    char** const to = found + step.number % 2 * count;
    for (int p = cuda::thread_count() - 1 - cuda::thread_index(); p < count; p += cuda::thread_count()) {
      to[p] = address(places[p], step);
    }
  }
  template <class T>
  GRAPHRUN_DEVICE T* of(int operand, const Step& step) const {
    return reinterpret_cast<T*>(found[step.number % 2 * count + operand]);
  }
};

// As IndexFault (runtime/program/kernel.h).
struct FaultPlace {
  std::int32_t node, index;
  std::int64_t position;
};

// Where an instruction records an index that is out of range.
struct Fault {
  FaultPlace* place;  // null: faults are not recorded
  std::int32_t node;

  // Returns `index`, or the nearest index in [0, bound) if it is out of range. Records the first bad index that any block
  // finds.
  GRAPHRUN_DEVICE std::int64_t checked(std::int32_t index, std::int64_t bound, std::int64_t position) const {
    if (index >= 0 && index < bound) return index;
    if (place != nullptr && cuda::exchange_if(&place->node, 0, node)) {
      place->index = index;
      place->position = position;
    }
    return index < 0 || bound == 0 ? 0 : bound - 1;
  }
};

// Indices or lengths of an instruction that moves elements.
struct Integers {
  const std::int32_t* data;
  Fault fault;
  GRAPHRUN_DEVICE std::int64_t at(std::int64_t place, std::int64_t bound) const {
    return fault.checked(data[place], bound, place);
  }
};

constexpr int kColumnsTogether = 4;

// A block's part of every result: its share of the columns, in the rows of its cluster, or in its part of a grid's rows.
struct Part {
  int block, blocks;      // the block's number among those that share columns
  int cluster, clusters;  // the cluster's number among those that share rows
  int together;           // shares begin at multiples of this number of columns
  GRAPHRUN_DEVICE int first_row(int rows) const { return cut(rows, cluster); }
  GRAPHRUN_DEVICE int rows(int rows) const { return cut(rows, cluster + 1) - cut(rows, cluster); }

 private:
  GRAPHRUN_DEVICE int cut(int rows, int cluster) const {
    return static_cast<int>(static_cast<long long>(rows) * cluster / clusters);
  }
};

// For a grid: the rows are divided into `row_parts`, and the blocks of each part share the columns.
GRAPHRUN_DEVICE Part part_of_grid(int blocks, int row_parts) {
  const int block = static_cast<int>(cuda::block_index());
  return {block % blocks, blocks, block / blocks, row_parts, kColumnsTogether};
}

// A block's columns: a range of `full` columns that begins at a multiple of Part::together. The last blocks may have fewer, or
// none. Code that numbers a block's columns always numbers `full` of them: if sizes are constants in the text, `full` is a
// constant too, and divisions by it are cheap.
struct Columns {
  int begin, end, full;
  GRAPHRUN_DEVICE Columns(int columns, const Part& part) {
    const int steps = (columns + part.together - 1) / part.together;
    full = (steps + part.blocks - 1) / part.blocks * part.together;
    begin = part.block * full < columns ? part.block * full : columns;
    end = begin + full < columns ? begin + full : columns;
  }
  GRAPHRUN_DEVICE int count() const { return end - begin; }
};

// A product's results that only the same block reads may stay in shared memory: [group, row, Columns::full], with the rows of
// the block's part. Returns where those of `group` begin.
template <class T>
GRAPHRUN_DEVICE T* local_result(char* place, int group, const Part& part, int all_rows, int columns) {
  return reinterpret_cast<T*>(place) + group * part.rows(all_rows) * Columns(columns, part).full;
}
// For code that indexes the whole tensor: a base address such that these indices find the block's columns of a row in `local`.
// `row` is counted from the part's first.
template <class T>
GRAPHRUN_DEVICE const T* as_whole(const T* local, int row, const Part& part, int all_rows, int columns) {
  const Columns own(columns, part);
  return local + row * own.full - (static_cast<std::int64_t>(part.first_row(all_rows) + row) * columns + own.begin);
}

// y_g [rows, columns] = Σ_i a_i [rows, inner_i] · b_{i or g}: several terms, or several results of one term. The rows are those
// of the block's cluster.
template <class T, int terms, int groups>
struct Product {
  static constexpr int kFactors = terms > groups ? terms : groups;
  int rows, columns, inner[terms];
  bool transpose_b;  // factors are stored [columns, inner]
  int row_tiles;     // on matrix units: tiles of the rows, the most that a block has
  Part part;
  const T *a[terms], *b[kFactors];
  T* y[groups];
  bool local;                 // results are in shared memory, as local_result() says
  const void* passed[terms];  // all rows of a left factor, in the order of loop_passed.h; or null
  const void* resident;       // the block's columns of all factors in shared memory, as bring() stores them; or null

  // The block's columns of all results are numbered one result after the other, Columns::full of each: the result of a column,
  // and its index there.
  GRAPHRUN_DEVICE static int group_of(int column, const Columns& own) { return groups > 1 ? column / own.full : 0; }
  GRAPHRUN_DEVICE static int column_of(int column, const Columns& own) { return groups > 1 ? column % own.full : column; }
  GRAPHRUN_DEVICE int inner_of(int factor) const { return terms > 1 ? chosen(inner, factor) : inner[0]; }
  GRAPHRUN_DEVICE const T* factor(int f) const { return chosen(b, f); }
  // Stores an element of the block's columns.
  GRAPHRUN_DEVICE void set(int group, int row, int column, const Columns& own, T x) const {
    const std::int64_t at = local ? static_cast<std::int64_t>(row) * own.full + column - own.begin
                                  : static_cast<std::int64_t>(row) * columns + column;
    chosen(y, group)[at] = x;
  }
  GRAPHRUN_DEVICE T factor_at(int f, int k, int column) const {
    return transpose_b ? factor(f)[static_cast<std::int64_t>(column) * inner_of(f) + k]
                       : factor(f)[static_cast<std::int64_t>(k) * columns + column];
  }

 private:
  // Selects by comparison: an array with a run-time index would not stay in registers.
  template <class X, int count>
  GRAPHRUN_DEVICE static X chosen(X const (&of)[count], int which) {
    X x = of[0];
    GRAPHRUN_UNROLL
    for (int k = 1; k < count; ++k) x = which == k ? of[k] : x;
    return x;
  }
};

// Copies the block's columns of all factors to shared memory: [inner, own columns] each.
template <class T, int terms, int groups>
GRAPHRUN_DEVICE void bring(const Product<T, terms, groups>& p, T* to) {
  const Columns own(p.columns, p.part);
  for (int f = 0; f < Product<T, terms, groups>::kFactors; ++f) {
    const int count = p.inner_of(f) * own.full;
    for (int e = cuda::thread_index(); e < count; e += cuda::thread_count()) {
      // Adjacent threads read adjacent elements.
      const int k = p.transpose_b ? e % p.inner_of(f) : e / own.full;
      const int c = p.transpose_b ? e / p.inner_of(f) : e % own.full;
      to[k * own.full + c] = own.begin + c < own.end ? p.factor_at(f, k, own.begin + c) : T(0);
    }
    to += count;
  }
}

// The left factors are staged in shared memory, kDeep positions of the summed axis at a time.
constexpr int kDeep = 32, kTileRows = 4, kTileColumns = 4, kMostTiles = 2;

// The staged piece is [inner, rows], with rows padded to whole tiles.
GRAPHRUN_DEVICE constexpr int padded_rows(int rows) { return (rows + kTileRows - 1) / kTileRows * kTileRows; }

// Computes the block's columns of all results. The sum of an element runs over the terms and their positions in order.
template <class T, int terms, int groups>
GRAPHRUN_DEVICE void multiply(const Product<T, terms, groups>& p, T* piece) {
  const Columns own(p.columns, p.part);
  const int width = groups * own.full;  // columns of all results together
  const int padded = padded_rows(p.rows), column_tiles = (width + kTileColumns - 1) / kTileColumns;
  const int tiles = padded / kTileRows * column_tiles;
  for (int first = 0; first < tiles; first += kMostTiles * cuda::thread_count()) {
    T sum[kMostTiles][kTileRows][kTileColumns] = {};
    const T* resident = static_cast<const T*>(p.resident);
    for (int i = 0; i < terms; ++i) {
      const int inner = p.inner[i], most_deep = p.passed[i] != nullptr ? inner : kDeep;
      for (int begin = 0; begin < inner; begin += most_deep) {
        const int deep = inner - begin < most_deep ? inner - begin : most_deep;
        const T* left = static_cast<const T*>(p.passed[i]);
        if (left == nullptr) {
          cuda::barrier();  // the previous piece has been read
          for (int e = cuda::thread_index(); e < p.rows * deep; e += cuda::thread_count()) {
            const int row = e / deep, k = e % deep;
            piece[k * padded + row] = p.a[i][static_cast<std::int64_t>(row) * inner + begin + k];
          }
          cuda::barrier();
          left = piece;
        }
        GRAPHRUN_UNROLL
        for (int s = 0; s < kMostTiles; ++s) {
          const int tile = first + s * cuda::thread_count() + cuda::thread_index();
          if (tile >= tiles) break;
          const int row = tile / column_tiles * kTileRows, column = tile % column_tiles * kTileColumns;
          const T* factor[kTileColumns];
          std::int64_t stride = 0;
          for (int c = 0; c < kTileColumns; ++c) {
            const int at = column + c < width ? column + c : width - 1;
            const int group = p.group_of(at, own), mine = p.column_of(at, own), f = terms > 1 ? i : group;
            const int there = own.begin + mine < p.columns ? own.begin + mine : p.columns - 1;  // what lies beyond is discarded
            if (resident != nullptr) {
              // With several results all factors have the same size; with several terms `resident` advances past each.
              factor[c] = resident + (terms > 1 ? 0 : group * inner * own.full) + begin * own.full + mine;
              stride = own.full;
            } else if (p.transpose_b) {
              factor[c] = p.factor(f) + static_cast<std::int64_t>(there) * inner + begin;
              stride = 1;
            } else {
              factor[c] = p.factor(f) + static_cast<std::int64_t>(begin) * p.columns + there;
              stride = p.columns;
            }
          }
          for (int k = 0; k < deep; ++k) {
            T x[kTileRows], w[kTileColumns];
            GRAPHRUN_UNROLL
            for (int r = 0; r < kTileRows; ++r) x[r] = left[k * padded + row + r];
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
      if (terms > 1 && resident != nullptr) resident += inner * own.full;
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
          const int group = p.group_of(column + c, own), mine = p.column_of(column + c, own);
          if (own.begin + mine >= own.end) continue;
          p.set(group, row + r, own.begin + mine, own, sum[s][r][c]);
        }
      }
    }
  }
}

// Calls work(row, column, i) for every element of the block's part of a tensor. i is the index in the whole tensor; rows are
// counted from the cluster's first.
template <class Work>
GRAPHRUN_DEVICE void for_own_elements(const Part& part, int all_rows, int columns, const Work& work) {
  const Columns own(columns, part);
  const int first = part.first_row(all_rows), count = part.rows(all_rows) * own.full;
  for (int e = cuda::thread_index(); e < count; e += cuda::thread_count()) {
    const int row = e / own.full, column = own.begin + e % own.full;
    if (column < own.end) work(row, column, static_cast<std::int64_t>(first + row) * columns + column);
  }
}

// Copies unchanged.
template <class T>
GRAPHRUN_DEVICE void copy(const T* from, T* to, const Part& part, int all_rows, int columns) {
  for_own_elements(part, all_rows, columns, [=](int, int, std::int64_t i) { to[i] = from[i]; });
}

}  // namespace graphrun::loop
