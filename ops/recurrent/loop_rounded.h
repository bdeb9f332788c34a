// Products of a loop on the device's matrix units: factors are rounded as they come into the block's memory, sums are made in
// float32. For the text of generated kernels, and for the host, which tells how much memory they take.
//
// Both factors stand there in the order in which the threads of a warp read them (runtime/cuda/matrix_units.h): a tile of a
// left factor is 32 times four words, one of a right factor 32 times two, with zeros where a matrix ends within it.
#pragma once

#include "ops/recurrent/loop_device.h"
#include "runtime/cuda/matrix_units.h"

namespace graphrun::loop {

constexpr int kLeftWords = 4, kRightWords = 2;  // of a tile, a thread's
constexpr int kMostRoundedTiles = 4;            // that a warp sums up at a time
constexpr std::int64_t kLeftTileBytes = cuda::kWarpThreads * kLeftWords * sizeof(unsigned),
                       kRightTileBytes = cuda::kWarpThreads * kRightWords * sizeof(unsigned);

GRAPHRUN_DEVICE constexpr std::int64_t tiles_of(std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; }
// Of the summed axis.
GRAPHRUN_DEVICE constexpr std::int64_t tiles_deep(std::int64_t inner, int in_word) {
  return tiles_of(inner, cuda::kUnitWords * in_word);
}

// The word of numbers k and those after it; beyond `inner` there are zeros.
template <class Form>
GRAPHRUN_DEVICE unsigned word_at(const float* from, std::int64_t stride, int k, int inner) {
  float x[Form::kInWord];
  GRAPHRUN_UNROLL
  for (int j = 0; j < Form::kInWord; ++j) x[j] = k + j < inner ? from[(k + j) * stride] : 0;
  return Form::word(x);
}

// Word `which` of thread t's part of a right factor's tile: columns count from the block's first, those of several results one
// after the other.
template <class Form, int terms, int groups>
GRAPHRUN_DEVICE unsigned right_word(const Product<float, terms, groups>& p, const Columns& own, int term, int column_tile,
                                    int deep_tile, int t, int which) {
  const int column = column_tile * cuda::kUnitColumns + t / 4;
  if (column >= groups * own.count()) return 0;
  const int at = own.begin + p.column_of(column, own), inner = p.inner[term];
  const int k = (deep_tile * cuda::kUnitWords + t % 4 + which * 4) * Form::kInWord;
  const float* const b = p.b[terms > 1 ? term : p.group_of(column, own)];
  return p.transpose_b ? word_at<Form>(b + static_cast<std::int64_t>(at) * inner, 1, k, inner)
                       : word_at<Form>(b + at, p.columns, k, inner);
}

// Brings the block's columns of all factors into its own memory: [term, column tile, tile of the summed axis] tiles.
template <class Form, int terms, int groups>
GRAPHRUN_DEVICE void bring_rounded(const Product<float, terms, groups>& p, unsigned* to) {
  const Columns own(p.columns, p.part);
  const int column_tiles = static_cast<int>(tiles_of(groups * own.count(), cuda::kUnitColumns));
  for (int i = 0; i < terms; ++i) {
    const int deep_tiles = static_cast<int>(tiles_deep(p.inner[i], Form::kInWord));
    const int words = column_tiles * deep_tiles * cuda::kWarpThreads * kRightWords;
    for (int e = cuda::thread_index(); e < words; e += cuda::thread_count()) {
      const int t = e / kRightWords % cuda::kWarpThreads, tile = e / kRightWords / cuda::kWarpThreads;
      to[e] = right_word<Form>(p, own, i, tile / deep_tiles, tile % deep_tiles, t, e % kRightWords);
    }
    to += words;
  }
}

// Where a word of a left factor's row stands, of `deep` tiles of its summed axis.
GRAPHRUN_DEVICE constexpr int left_word_at(int row, int word, int deep) {
  const int tile = row / cuda::kUnitRows * deep + word / cuda::kUnitWords, t = row % 8 * 4 + word % 4;
  const int which = row % cuda::kUnitRows / 8 + word % cuda::kUnitWords / 4 * 2;
  return (tile * cuda::kWarpThreads + t) * kLeftWords + which;
}

// Rows of a left factor, `deep` tiles of its summed axis from `first` on, into `piece`: [row tile, deep] tiles.
template <class Form>
GRAPHRUN_DEVICE void stage(const float* a, int rows, int inner, int first, int deep, unsigned* piece) {
  const int across = deep * cuda::kUnitWords, padded = static_cast<int>(tiles_of(rows, cuda::kUnitRows)) * cuda::kUnitRows;
  for (int e = cuda::thread_index(); e < padded * across; e += cuda::thread_count()) {
    const int row = e / across, word = e % across;  // neighbours read neighbours
    const int k = (first * cuda::kUnitWords + word) * Form::kInWord;
    piece[left_word_at(row, word, deep)] =
        row < rows ? word_at<Form>(a + static_cast<std::int64_t>(row) * inner, 1, k, inner) : 0;
  }
}

// The block's columns of all results. `piece` holds `most_deep` tiles of the summed axis for every row, and four numbers of
// every thread. Where there are fewer tiles of results than warps, several warps sum up one, each its tiles of the summed axis.
// The order of an element's sum hangs on sizes alone.
template <class Form, int terms, int groups>
GRAPHRUN_DEVICE void multiply_rounded(const Product<float, terms, groups>& p, unsigned* piece, int most_deep) {
  const Columns own(p.columns, p.part);
  const int width = groups * own.count();
  const int column_tiles = static_cast<int>(tiles_of(width, cuda::kUnitColumns));
  const int tiles = static_cast<int>(tiles_of(p.rows, cuda::kUnitRows)) * column_tiles;
  const int warps = cuda::thread_count() / cuda::kWarpThreads, warp = cuda::thread_index() / cuda::kWarpThreads;
  const int t = cuda::thread_index() % cuda::kWarpThreads;
  const int sharing = tiles == 0 || tiles >= warps ? 1 : warps / tiles, together = warps / sharing;
  for (int first = 0; first < tiles; first += kMostRoundedTiles * together) {
    float sum[kMostRoundedTiles][4] = {};
    const unsigned* resident = static_cast<const unsigned*>(p.resident);
    for (int i = 0; i < terms; ++i) {
      const int all_deep = static_cast<int>(tiles_deep(p.inner[i], Form::kInWord));
      const int at_once = p.passed[i] != nullptr ? all_deep : most_deep;
      for (int begin = 0; begin < all_deep; begin += at_once) {
        const int deep = all_deep - begin < at_once ? all_deep - begin : at_once;
        const unsigned* rows = static_cast<const unsigned*>(p.passed[i]);
        if (rows == nullptr) {
          cuda::barrier();  // what stood there has been read
          stage<Form>(p.a[i], p.rows, p.inner[i], begin, deep, piece);
          cuda::barrier();
          rows = piece;
        }
        GRAPHRUN_UNROLL
        for (int s = 0; s < kMostRoundedTiles; ++s) {
          const int tile = first + s * together + warp / sharing;
          if (tile >= tiles) break;
          const int row_tile = tile / column_tiles, column_tile = tile % column_tiles;
          for (int d = warp % sharing; d < deep; d += sharing) {
            const auto left = element::load<kLeftWords>(rows + ((row_tile * deep + d) * cuda::kWarpThreads + t) * kLeftWords);
            unsigned right[kRightWords];
            if (resident != nullptr) {
              const int at = (column_tile * all_deep + begin + d) * cuda::kWarpThreads + t;
              const auto words = element::load<kRightWords>(resident + at * kRightWords);
              right[0] = words.v[0], right[1] = words.v[1];
            } else {
              right[0] = right_word<Form>(p, own, i, column_tile, begin + d, t, 0);
              right[1] = right_word<Form>(p, own, i, column_tile, begin + d, t, 1);
            }
            cuda::multiply_add<Form>(sum[s], left.v, right);
          }
        }
      }
      if (resident != nullptr) resident += column_tiles * all_deep * cuda::kWarpThreads * kRightWords;
    }
    if (sharing > 1) {
      float* const parts = reinterpret_cast<float*>(piece);
      cuda::barrier();
      GRAPHRUN_UNROLL
      for (int i = 0; i < 4; ++i) parts[cuda::thread_index() * 4 + i] = sum[0][i];
      cuda::barrier();
      if (warp % sharing != 0 || warp / sharing >= tiles) continue;
      for (int other = 1; other < sharing; ++other) {
        GRAPHRUN_UNROLL
        for (int i = 0; i < 4; ++i) sum[0][i] += parts[(cuda::thread_index() + other * cuda::kWarpThreads) * 4 + i];
      }
    }
    GRAPHRUN_UNROLL
    for (int s = 0; s < kMostRoundedTiles; ++s) {
      const int tile = first + s * together + warp / sharing;
      if (tile >= tiles) break;
      GRAPHRUN_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int row = tile / column_tiles * cuda::kUnitRows + t / 4 + i / 2 * 8;
        const int column = tile % column_tiles * cuda::kUnitColumns + t % 4 * 2 + i % 2;
        if (row >= p.rows || column >= width) continue;
        const std::int64_t at = own.begin + p.column_of(column, own);
        p.y[p.group_of(column, own)][static_cast<std::int64_t>(row) * p.columns + at] = sum[s][i];
      }
    }
  }
}

}  // namespace graphrun::loop
