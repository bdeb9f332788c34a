// Products of a loop on the device's matrix units: factors are rounded when they are copied to shared memory, unless their form
// is float32 itself, and sums are float32. For the text of generated kernels, and for the host, which computes how much memory
// they take.
//
// In shared memory, both factors are stored in the order in which the threads of a warp read them
// (runtime/cuda/matrix_units.h): a tile of a left factor is 32 times four words, a tile of a right factor 32 times two. The
// last tiles of a matrix are padded with zeros.
#pragma once

#include "ops/recurrent/loop_device.h"
#include "runtime/cuda/matrix_units.h"

namespace graphrun::loop {

constexpr int kLeftWords = 4, kRightWords = 2;  // words of a tile per thread
constexpr std::int64_t kLeftTileBytes = cuda::kWarpThreads * kLeftWords * sizeof(unsigned),
                       kRightTileBytes = cuda::kWarpThreads * kRightWords * sizeof(unsigned);

GRAPHRUN_DEVICE constexpr std::int64_t tiles_of(std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; }
// The number of tiles along the summed axis.
GRAPHRUN_DEVICE constexpr std::int64_t tiles_deep(std::int64_t inner, int in_word) {
  return tiles_of(inner, cuda::kUnitWords * in_word);
}

// The size of a left factor.
GRAPHRUN_DEVICE constexpr std::int64_t rounded_left_bytes(std::int64_t rows, std::int64_t inner, int in_word) {
  return tiles_of(rows, cuda::kUnitRows) * tiles_deep(inner, in_word) * kLeftTileBytes;
}

// The word of the numbers number(0), number(1), ….
template <class Form, class Number>
GRAPHRUN_DEVICE unsigned word_of(const Number& number) {
  float x[Form::kInWord];
  GRAPHRUN_UNROLL
  for (int j = 0; j < Form::kInWord; ++j) x[j] = number(j);
  return Form::word(x);
}
// The word that contains numbers k and following; beyond `inner` there are zeros.
template <class Form>
GRAPHRUN_DEVICE unsigned word_at(const float* from, std::int64_t stride, int k, int inner) {
  return word_of<Form>([=](int j) { return k + j < inner ? from[(k + j) * stride] : 0.f; });
}

// Word `which` of thread t's part of a right factor's tile. Columns are counted from the block's first, one result after the
// other.
template <class Form, int terms, int groups>
GRAPHRUN_DEVICE unsigned right_word(const Product<float, terms, groups>& p, const Columns& own, int term, int column_tile,
                                    int deep_tile, int t, int which) {
  const int column = column_tile * cuda::kUnitColumns + t / 4;
  const int at = own.begin + p.column_of(column, own), inner = p.inner[term];
  if (column >= groups * own.full || at >= own.end) return 0;
  const int k = (deep_tile * cuda::kUnitWords + t % 4 + which * 4) * Form::kInWord;
  const float* const b = p.factor(terms > 1 ? term : p.group_of(column, own));
  return p.transpose_b ? word_at<Form>(b + static_cast<std::int64_t>(at) * inner, 1, k, inner)
                       : word_at<Form>(b + at, p.columns, k, inner);
}

// Calls store(e, load(e)) for the thread's share of `count` places. Several loads are issued before the first store: the
// compiler cannot move a load above a store that may alias it.
template <int at_once, class Load, class Store>
GRAPHRUN_DEVICE void move_all(int count, const Load& load, const Store& store) {
  const int all = cuda::thread_count();
  int e = cuda::thread_index();
  for (; e + (at_once - 1) * all < count; e += at_once * all) {
    decltype(load(e)) loaded[at_once];
    GRAPHRUN_UNROLL
    for (int k = 0; k < at_once; ++k) loaded[k] = load(e + k * all);
    GRAPHRUN_UNROLL
    for (int k = 0; k < at_once; ++k) store(e + k * all, loaded[k]);
  }
  for (; e < count; e += all) store(e, load(e));
}

constexpr int kQuad = 4;  // numbers that a thread loads at once

// The position of a word of a right factor in bring_rounded()'s order.
GRAPHRUN_DEVICE constexpr int right_word_at(int column, int word, int deep_tiles) {
  const int tile = column / cuda::kUnitColumns * deep_tiles + word / cuda::kUnitWords;
  const int t = column % cuda::kUnitColumns * 4 + word % 4;
  return (tile * cuda::kWarpThreads + t) * kRightWords + word % cuda::kUnitWords / 4;
}

// Copies a term's factors, of which four adjacent numbers can be loaded at a time. If these are adjacent along the summed axis,
// they are one or more words of a column; otherwise, each is a part of a word of a different column.
template <class Form, int terms, int groups>
GRAPHRUN_DEVICE void bring_quads(const Product<float, terms, groups>& p, const Columns& own, int term, int column_tiles,
                                 int deep_tiles, unsigned* to) {
  constexpr int in_word = Form::kInWord;
  const int inner = p.inner[term], columns = column_tiles * cuda::kUnitColumns, words = deep_tiles * cuda::kUnitWords;
  const auto factor_of = [&](int column) { return p.factor(terms > 1 ? term : p.group_of(column, own)); };
  // Whether a column is one of the block's; the others are padding.
  const auto is_own = [&](int column) { return column < groups * own.full && own.begin + p.column_of(column, own) < own.end; };
  if (p.transpose_b) {
    constexpr int made = kQuad / in_word;  // words
    const int across = words / made;
    const auto place = [&](int e, int& column, int& word) { column = e / across, word = e % across * made; };
    move_all<8>(
        columns * across,
        [&](int e) {
          int column, word;
          place(e, column, word);
          if (!is_own(column) || word * in_word >= inner) return element::repeated<kQuad>(0.f);
          const std::int64_t at = own.begin + p.column_of(column, own);
          return element::load<kQuad>(factor_of(column) + at * inner + word * in_word);
        },
        [&](int e, const element::Pack<float, kQuad>& x) {
          int column, word;
          place(e, column, word);
          GRAPHRUN_UNROLL
          for (int w = 0; w < made; ++w) {
            to[right_word_at(column, word + w, deep_tiles)] = word_of<Form>([&](int j) { return x.v[w * in_word + j]; });
          }
        });
    return;
  }
  struct Quads {
    element::Pack<float, kQuad> of[in_word];  // of each number of a word
  };
  // Threads take eight words of the same columns, then the next columns: a warp reads whole sectors of several rows, and its
  // words fall into different banks.
  const int quads = columns / kQuad;
  const auto place = [&](int e, int& column, int& word) {
    const int rest = e / cuda::kUnitWords;
    column = rest % quads * kQuad, word = rest / quads * cuda::kUnitWords + e % cuda::kUnitWords;
  };
  move_all<4>(
      quads * words,
      [&](int e) {
        int column, word;
        place(e, column, word);
        Quads x;
        GRAPHRUN_UNROLL
        for (int j = 0; j < in_word; ++j) {
          const int k = word * in_word + j;
          if (!is_own(column) || k >= inner) {
            x.of[j] = element::repeated<kQuad>(0.f);
            continue;
          }
          x.of[j] = element::load<kQuad>(factor_of(column) + static_cast<std::int64_t>(k) * p.columns + own.begin +
                                         p.column_of(column, own));
        }
        return x;
      },
      [&](int e, const Quads& x) {
        int column, word;
        place(e, column, word);
        GRAPHRUN_UNROLL
        for (int c = 0; c < kQuad; ++c) {
          to[right_word_at(column + c, word, deep_tiles)] = word_of<Form>([&](int j) { return x.of[j].v[c]; });
        }
      });
}

// Copies the block's columns of all factors to shared memory: [term, column tile, tile of the summed axis] tiles.
template <class Form, int terms, int groups>
GRAPHRUN_DEVICE void bring_rounded(const Product<float, terms, groups>& p, unsigned* to) {
  const Columns own(p.columns, p.part);
  const int column_tiles = static_cast<int>(tiles_of(groups * own.full, cuda::kUnitColumns));
  for (int i = 0; i < terms; ++i) {
    const int deep_tiles = static_cast<int>(tiles_deep(p.inner[i], Form::kInWord));
    const int words = column_tiles * deep_tiles * cuda::kWarpThreads * kRightWords;
    bool quads = (p.transpose_b ? p.inner[i] : p.columns) % kQuad == 0 && own.full % kQuad == 0;
    for (int g = 0; g < groups; ++g) {
      const auto at = reinterpret_cast<std::uintptr_t>(p.factor(terms > 1 ? i : g));
      quads = quads && at % sizeof(element::Pack<float, kQuad>) == 0;
    }
    if (quads) {
      bring_quads<Form>(p, own, i, column_tiles, deep_tiles, to);
    } else {
      move_all<8>(
          words,
          [&](int e) {
            const int t = e / kRightWords % cuda::kWarpThreads, tile = e / kRightWords / cuda::kWarpThreads;
            return right_word<Form>(p, own, i, tile / deep_tiles, tile % deep_tiles, t, e % kRightWords);
          },
          [&](int e, unsigned word) { to[e] = word; });
    }
    to += words;
  }
}

// The position of a word of a left factor's row, if there are `deep` tiles along the summed axis.
GRAPHRUN_DEVICE constexpr int left_word_at(int row, int word, int deep) {
  const int tile = row / cuda::kUnitRows * deep + word / cuda::kUnitWords, t = row % 8 * 4 + word % 4;
  const int which = row % cuda::kUnitRows / 8 + word % cuda::kUnitWords / 4 * 2;
  return (tile * cuda::kWarpThreads + t) * kLeftWords + which;
}

// Copies rows of a left factor, `deep` tiles along its summed axis from `first` on, to `piece`: [row tile, deep] tiles.
template <class Form>
GRAPHRUN_DEVICE void stage(const float* a, int rows, int inner, int first, int deep, unsigned* piece) {
  const int across = deep * cuda::kUnitWords, padded = static_cast<int>(tiles_of(rows, cuda::kUnitRows)) * cuda::kUnitRows;
  for (int e = cuda::thread_index(); e < padded * across; e += cuda::thread_count()) {
    const int row = e / across, word = e % across;  // adjacent threads read adjacent elements
    const int k = (first * cuda::kUnitWords + word) * Form::kInWord;
    piece[left_word_at(row, word, deep)] =
        row < rows ? word_at<Form>(a + static_cast<std::int64_t>(row) * inner, 1, k, inner) : 0;
  }
}

// Rows and columns of tiles that a warp computes at a time: the more, the fewer times it reads a tile.
constexpr int kMostWarpRows = 2, kMostWarpColumns = 8;
GRAPHRUN_DEVICE constexpr int warp_rows_of(std::int64_t row_tiles) { return row_tiles > 1 ? kMostWarpRows : 1; }
GRAPHRUN_DEVICE constexpr int warp_columns_of(std::int64_t column_tiles) {
  return column_tiles > kMostWarpColumns / 2 ? kMostWarpColumns : kMostWarpColumns / 2;
}
// Bytes of a tile's sums per thread.
constexpr std::int64_t kSumBytes = 4 * sizeof(float);

// How warps divide the tiles of a product's results. An item is up to `warp_rows` by `warp_columns` tiles. If there are fewer
// items than warps, several warps share an item and divide the tiles of its summed axis.
struct Warps {
  int row_tiles, column_tiles, rows, columns;  // tiles of the block's results, and of an item
  int items, sharing, together;                // number of items; warps that share one; items computed at a time
  int warp, thread;                            // the warp's number in the block, the thread's in the warp
  GRAPHRUN_DEVICE Warps(int all_row_tiles, int width, int warps, int warp_rows, int warp_columns) {
    row_tiles = all_row_tiles;
    column_tiles = static_cast<int>(tiles_of(width, cuda::kUnitColumns));
    // Make the items as equal as possible.
    const int across = static_cast<int>(tiles_of(column_tiles, warp_columns));
    const int down = static_cast<int>(tiles_of(row_tiles, warp_rows));
    rows = down == 0 ? 0 : static_cast<int>(tiles_of(row_tiles, down));
    columns = across == 0 ? 0 : static_cast<int>(tiles_of(column_tiles, across));
    items = down * across;
    sharing = items == 0 || items >= warps ? 1 : warps / items;
    together = warps / sharing;
    warp = cuda::thread_index() / cuda::kWarpThreads, thread = cuda::thread_index() % cuda::kWarpThreads;
  }
  // The first tile of an item.
  GRAPHRUN_DEVICE int row_of(int item) const { return item / static_cast<int>(tiles_of(column_tiles, columns)) * rows; }
  GRAPHRUN_DEVICE int column_of(int item) const { return item % static_cast<int>(tiles_of(column_tiles, columns)) * columns; }
};

// The number of tiles of the summed axis that a warp loads of a left factor before it uses the first: many if they come from
// the device's memory, as on a grid.
constexpr int kAheadInBlock = 4, kAheadInMemory = 8;

// Adds `deep` tiles of one term's summed axis to the warp's sums; the left tiles are in `rows`, [row tile, deep]. Indices of
// tiles beyond the last mean the last one again; those sums are discarded.
template <class Form, int ahead, int warp_rows, int warp_columns, class Right>
GRAPHRUN_DEVICE void add_tiles(float (&sum)[warp_rows][warp_columns][4], const Warps& w, int item, const unsigned* rows,
                               int deep, const Right& right) {
  const unsigned* left[warp_rows];
  GRAPHRUN_UNROLL
  for (int r = 0; r < warp_rows; ++r) {
    const int tile = w.row_of(item) + r < w.row_tiles ? w.row_of(item) + r : w.row_tiles - 1;
    left[r] = rows + (tile * deep * cuda::kWarpThreads + w.thread) * kLeftWords;
  }
  for (int first = w.warp % w.sharing; first < deep; first += ahead * w.sharing) {
    element::Pack<unsigned, kLeftWords> x[ahead][warp_rows];
    GRAPHRUN_UNROLL
    for (int u = 0; u < ahead; ++u) {
      const int d = first + u * w.sharing < deep ? first + u * w.sharing : deep - 1;
      GRAPHRUN_UNROLL
      for (int r = 0; r < warp_rows; ++r) x[u][r] = element::load<kLeftWords>(left[r] + d * cuda::kWarpThreads * kLeftWords);
    }
    GRAPHRUN_UNROLL
    for (int u = 0; u < ahead; ++u) {
      const int d = first + u * w.sharing;
      if (d >= deep) break;
      GRAPHRUN_UNROLL
      for (int c = 0; c < warp_columns; ++c) {
        const element::Pack<unsigned, kRightWords> b = right(c, d);
        GRAPHRUN_UNROLL
        for (int r = 0; r < warp_rows; ++r) cuda::multiply_add<Form>(sum[r][c], x[u][r].v, b.v);
      }
    }
  }
}

// Adds up the sums of warps that share an item, `most` tiles at a time, in the order of the warps, and calls write(tile,
// total): each of the warps does so for some of the tiles.
template <int warp_rows, int warp_columns, int threads, class Write>
GRAPHRUN_DEVICE void add_parts(const float (&sum)[warp_rows][warp_columns][4], const Warps& w, bool works, unsigned* piece,
                               int most, const Write& write) {
  using Sums = element::Pack<float, 4>;
  constexpr int kTiles = warp_rows * warp_columns;
  float* const parts = reinterpret_cast<float*>(piece);
  const auto place = [&](int k, int warp) { return parts + (k * threads + warp * cuda::kWarpThreads + w.thread) * 4; };
  const int mine = w.warp % w.sharing, first_warp = w.warp - mine;
  for (int first = 0; first < kTiles; first += most) {
    cuda::barrier();  // the previous contents have been read
    GRAPHRUN_UNROLL
    for (int k = 0; k < kTiles; ++k) {
      if (!works || k < first || k >= first + most) continue;
      Sums own;
      GRAPHRUN_UNROLL
      for (int i = 0; i < 4; ++i) own.v[i] = sum[k / warp_columns][k % warp_columns][i];
      element::store(place(k - first, w.warp), own);
    }
    cuda::barrier();
    // Not unrolled: each warp adds other tiles, and unrolled code would make warps fetch different instructions.
    for (int k = mine; k < kTiles; k += w.sharing) {
      if (!works || k < first || k >= first + most) continue;
      Sums total = element::load<4>(place(k - first, first_warp));
      for (int other = 1; other < w.sharing; ++other) {
        const Sums next = element::load<4>(place(k - first, first_warp + other));
        GRAPHRUN_UNROLL
        for (int i = 0; i < 4; ++i) total.v[i] += next.v[i];
      }
      write(k, total.v);
    }
  }
}

// Computes the block's columns of all results, `warp_rows` by `warp_columns` tiles per warp at a time. With `in_block`, the
// right factors are in shared memory; `ahead`: as for add_tiles. `piece` has room for `most_deep` tiles of the summed axis for
// every row, or for the sums of `most_sums` tiles of every thread. The order of an element's sum depends on sizes alone.
template <class Form, int warp_rows, int warp_columns, bool in_block, int ahead, int threads, int terms, int groups>
GRAPHRUN_DEVICE void multiply_rounded(const Product<float, terms, groups>& p, unsigned* piece, int most_deep, int most_sums) {
  const Columns own(p.columns, p.part);
  const int width = groups * own.full;
  const Warps w(p.row_tiles, width, threads / cuda::kWarpThreads, warp_rows, warp_columns);
  for (int first = 0; first < w.items; first += w.together) {
    const int item = first + w.warp / w.sharing;
    const bool works = item < w.items && w.warp / w.sharing < w.together;
    float sum[warp_rows][warp_columns][4] = {};
    const unsigned* resident = static_cast<const unsigned*>(p.resident);
    for (int i = 0; i < terms; ++i) {
      const int all_deep = static_cast<int>(tiles_deep(p.inner[i], Form::kInWord));
      const int at_once = p.passed[i] != nullptr ? all_deep : most_deep;
      for (int begin = 0; begin < all_deep; begin += at_once) {
        const int deep = all_deep - begin < at_once ? all_deep - begin : at_once;
        const unsigned* rows = static_cast<const unsigned*>(p.passed[i]);
        if (rows == nullptr) {
          cuda::barrier();  // the previous contents have been read
          stage<Form>(p.a[i], p.rows, p.inner[i], begin, deep, piece);
          cuda::barrier();
          rows = piece;
        }
        if (!works) continue;
        int column[warp_columns];
        GRAPHRUN_UNROLL
        for (int c = 0; c < warp_columns; ++c) {
          const int tile = w.column_of(item) + c;
          column[c] = tile < w.column_tiles ? tile : w.column_tiles - 1;
        }
        if constexpr (in_block) {
          const unsigned* factor[warp_columns];
          GRAPHRUN_UNROLL
          for (int c = 0; c < warp_columns; ++c) {
            factor[c] = resident + ((column[c] * all_deep + begin) * cuda::kWarpThreads + w.thread) * kRightWords;
          }
          add_tiles<Form, ahead, warp_rows, warp_columns>(sum, w, item, rows, deep, [&](int c, int d) {
            return element::load<kRightWords>(factor[c] + d * cuda::kWarpThreads * kRightWords);
          });
        } else {
          add_tiles<Form, ahead, warp_rows, warp_columns>(sum, w, item, rows, deep, [&](int c, int d) {
            element::Pack<unsigned, kRightWords> words;
            GRAPHRUN_UNROLL
            for (int k = 0; k < kRightWords; ++k) words.v[k] = right_word<Form>(p, own, i, column[c], begin + d, w.thread, k);
            return words;
          });
        }
      }
      if (in_block) resident += w.column_tiles * all_deep * cuda::kWarpThreads * kRightWords;
    }
    const auto write = [&](int k, const float(&total)[4]) {
      const int r = k / warp_columns, c = k % warp_columns;
      if (r >= w.rows || c >= w.columns) return;
      GRAPHRUN_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int row = (w.row_of(item) + r) * cuda::kUnitRows + w.thread / 4 + i / 2 * 8;
        const int column = (w.column_of(item) + c) * cuda::kUnitColumns + w.thread % 4 * 2 + i % 2;
        const int at = own.begin + p.column_of(column, own);
        if (row >= p.rows || column >= width || at >= own.end) continue;
        p.set(p.group_of(column, own), row, at, own, total[i]);
      }
    };
    if (w.sharing > 1) {
      add_parts<warp_rows, warp_columns, threads>(sum, w, works, piece, most_sums, write);
      continue;
    }
    if (!works) continue;
    GRAPHRUN_UNROLL
    for (int k = 0; k < warp_rows * warp_columns; ++k) write(k, sum[k / warp_columns][k % warp_columns]);
  }
}

}  // namespace graphrun::loop
