// Products whose left factors have few rows, on the matrix units of a cluster of blocks. For the text of generated kernels.
//
// y_g [rows, columns] = Σ_t a_t [rows, inner_t] · b_{t or g}: several terms, or several results of one term. The right factors
// are read as they are, or were stored before (ops/matmul/few_rows.h), in the order in which threads read them. A cluster
// computes some columns of all rows; its blocks divide the summed axis, which leaves enough work in flight for products of a
// few microseconds. Each block multiplies its part and sends the sums of every tile to one block of the cluster, which adds
// them in the order of the parts.
#pragma once

#include "ops/generated/device_pack.h"
#include "runtime/cuda/matrix_units.h"

namespace graphrun::few_rows {

// The summed axis is divided into steps of two tiles, so that a thread loads four words of a right factor at once.
constexpr int kTilesOfStep = 2, kStepWords = kTilesOfStep * cuda::kUnitWords, kStepWordsOfThread = 2 * kTilesOfStep;
constexpr int kWordsOfTile = cuda::kWarpThreads * kStepWordsOfThread;  // of a column tile in a step
// Words of padding after each row of a left factor in shared memory, so that the threads of a warp read from 32 banks.
constexpr int kRowPadding = 4;

GRAPHRUN_DEVICE constexpr int steps_of(int inner, int in_word) {
  return (inner + kStepWords * in_word - 1) / (kStepWords * in_word);
}
GRAPHRUN_DEVICE constexpr int tiles_of_columns(int columns) { return (columns + cuda::kUnitColumns - 1) / cuda::kUnitColumns; }

// Where word `which` of a thread is along the summed axis of a step, in words. Its column is thread / 4 of the tile.
GRAPHRUN_DEVICE constexpr int word_of_step(int thread, int which) {
  return which / 2 * cuda::kUnitWords + thread % 4 + which % 2 * 4;
}

// The lengths of the summed axis, by term.
template <int... lengths>
struct Inner {
  static constexpr int kTerms = sizeof...(lengths);
  GRAPHRUN_DEVICE static constexpr int steps(int in_word) { return (steps_of(lengths, in_word) + ...); }
  // The most steps that one of `parts` blocks has.
  GRAPHRUN_DEVICE static constexpr int most_steps(int in_word, int parts) { return (steps(in_word) + parts - 1) / parts; }
  // Calls visit(term, length) for each term.
  template <class Visit>
  GRAPHRUN_DEVICE static void each(const Visit& visit) {
    int term = 0;
    (visit(term++, lengths), ...);
  }
  // The term that a step of all terms belongs to: its number, its length, and the step's number in it.
  struct StepOfTerm {
    int term, length, number;
  };
  GRAPHRUN_DEVICE static StepOfTerm step(int of_all, int in_word) {
    StepOfTerm found = {-1, 0, of_all};
    each([&](int term, int length) {
      if (found.term >= 0) return;
      const int of_term = steps_of(length, in_word);
      found.number < of_term ? void((found.term = term, found.length = length)) : void(found.number -= of_term);
    });
    return found;
  }
};

// What a kernel is compiled for. Tiles are 16 rows by 8 columns. The warps of a block divide its columns; `row_warps` warps
// have the same columns and divide the rows. A warp computes `warp_columns` tiles in each of its rows of tiles.
template <int row_tiles_, int warp_columns_, int warps_, int row_warps_, int parts_, int columns_, int groups_>
struct Shape {
  static constexpr int kRowTiles = row_tiles_, kWarpColumns = warp_columns_, kWarps = warps_, kRowWarps = row_warps_;
  static constexpr int kParts = parts_, kColumns = columns_, kGroups = groups_;
  static constexpr int kRows = kRowTiles * cuda::kUnitRows, kWarpRows = (kRowTiles + kRowWarps - 1) / kRowWarps;
  // Column tiles of a block, of one result, and of all.
  static constexpr int kOfBlock = kWarps / kRowWarps * kWarpColumns, kOfGroup = tiles_of_columns(kColumns);
  static constexpr int kTiles = kOfGroup * kGroups;
};

// Rounds steps [first, first + count) of the left factors' rows into `left`, `pitch` words a row; rows beyond the last are
// zeros. A warp takes whole rows, and its threads adjacent groups of four numbers. `wide`: rows begin at multiples of 16 bytes.
template <class Form, class S, class I, int pitch, bool wide>
GRAPHRUN_DEVICE void stage(const float* const (&a)[I::kTerms], int rows, int first, int count, unsigned* left) {
  constexpr int kInStep = kStepWords * Form::kInWord, kFours = kInStep / 4, kWords = 4 / Form::kInWord;
  constexpr int kOfWarp = (S::kRows + S::kWarps - 1) / S::kWarps, kAtOnce = kOfWarp <= 10 ? kOfWarp : 8;
  const int warp = cuda::thread_index() / cuda::kWarpThreads;
  for (int four = cuda::thread_index() % cuda::kWarpThreads; four < count * kFours; four += cuda::kWarpThreads) {
    const typename I::StepOfTerm step = I::step(first + four / kFours, Form::kInWord);
    const float* from = a[0];
    GRAPHRUN_UNROLL
    for (int t = 1; t < I::kTerms; ++t) from = step.term == t ? a[t] : from;
    const int inner = step.length, k = step.number * kInStep + four % kFours * 4;
    for (int begin = 0; begin < kOfWarp; begin += kAtOnce) {
      // All loads are issued before the first number is used. There are no branches, so elements outside are read from a valid
      // address, and replaced by zeros below.
      element::Pack<float, 4> x[kAtOnce];
      GRAPHRUN_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        const int row = warp + (begin + u) * S::kWarps;
        const float* const at = from + static_cast<std::int64_t>(row < rows ? row : 0) * inner;
        if constexpr (wide) {
          x[u] = element::load<4>(at + (k < inner ? k : 0));
        } else {
          GRAPHRUN_UNROLL
          for (int j = 0; j < 4; ++j) x[u].v[j] = at[k + j < inner ? k + j : 0];
        }
      }
      GRAPHRUN_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        const int row = warp + (begin + u) * S::kWarps;
        element::Pack<unsigned, kWords> words;
        GRAPHRUN_UNROLL
        for (int w = 0; w < kWords; ++w) {
          float numbers[Form::kInWord];
          GRAPHRUN_UNROLL
          for (int j = 0; j < Form::kInWord; ++j) {
            const int number = w * Form::kInWord + j;
            numbers[j] = row < rows && k + number < inner ? x[u].v[number] : 0.f;
          }
          words.v[w] = Form::word(numbers);
        }
        if (row < S::kRows) element::store(left + row * pitch + four * kWords, words);
      }
    }
  }
}

using RightWords = element::Pack<unsigned, kStepWordsOfThread>;

// Right factors that were stored before: words [step, column tile of all results, thread of a warp, kStepWordsOfThread].
template <class S>
struct StoredRight {
  const unsigned* packed;

  struct StoredTile {
    const unsigned* at;
    GRAPHRUN_DEVICE RightWords words(int step) const {
      return element::load<kStepWordsOfThread>(at + static_cast<std::int64_t>(step) * (S::kTiles * kWordsOfTile));
    }
  };
  GRAPHRUN_DEVICE StoredTile tile(int tile, int thread) const {
    return {packed + (tile * cuda::kWarpThreads + thread) * kStepWordsOfThread};
  }
};

// Right factors as they are: [inner, columns], or [columns, inner] if transposed.
template <class Form, class S, class I, bool transposed>
struct PlainRight {
  static constexpr int kFactors = I::kTerms > S::kGroups ? I::kTerms : S::kGroups;
  const float* const (&factors)[kFactors];

  struct PlainTile {
    const float* factors[I::kTerms];
    int column, thread;
    GRAPHRUN_DEVICE RightWords words(int of_all) const {
      const typename I::StepOfTerm step = I::step(of_all, Form::kInWord);
      const float* from = factors[0];
      GRAPHRUN_UNROLL
      for (int t = 1; t < I::kTerms; ++t) from = step.term == t ? factors[t] : from;
      // As above: elements outside are read from a valid address, and replaced by zeros.
      float x[kStepWordsOfThread][Form::kInWord];
      const bool there = column < S::kColumns;
      const int own = there ? column : 0;
      GRAPHRUN_UNROLL
      for (int w = 0; w < kStepWordsOfThread; ++w) {
        GRAPHRUN_UNROLL
        for (int j = 0; j < Form::kInWord; ++j) {
          const int k = (step.number * kStepWords + word_of_step(thread, w)) * Form::kInWord + j;
          const std::int64_t row = k < step.length ? k : 0;
          const float number = from[transposed ? own * static_cast<std::int64_t>(step.length) + row : row * S::kColumns + own];
          x[w][j] = there && k < step.length ? number : 0.f;
        }
      }
      RightWords out;
      GRAPHRUN_UNROLL
      for (int w = 0; w < kStepWordsOfThread; ++w) out.v[w] = Form::word(x[w]);
      return out;
    }
  };
  GRAPHRUN_DEVICE PlainTile tile(int tile, int thread) const {
    PlainTile out;
    const int group = S::kGroups > 1 ? tile / S::kOfGroup : 0;
    GRAPHRUN_UNROLL
    for (int t = 0; t < I::kTerms; ++t) out.factors[t] = factors[t];
    GRAPHRUN_UNROLL
    for (int g = 1; g < S::kGroups; ++g) out.factors[0] = group == g ? factors[g] : out.factors[0];
    out.column = (tile - group * S::kOfGroup) * cuda::kUnitColumns + thread / 4, out.thread = thread;
    return out;
  }
};

// `wide`: every row of a left factor begins at a multiple of 16 bytes.
template <class Form, class S, class I, class Right>
GRAPHRUN_DEVICE void multiply(const float* const (&a)[I::kTerms], const Right& factors, float* const (&y)[S::kGroups], int rows,
                              bool wide) {
  constexpr int kSteps = I::steps(Form::kInWord), kMost = I::most_steps(Form::kInWord, S::kParts);
  constexpr int kPitch = kMost * kStepWords + kRowPadding, kSlots = S::kWarpRows * S::kWarpColumns;
  const int part = cuda::cluster_rank(), cluster = static_cast<int>(cuda::block_index()) / S::kParts;
  const int first = kSteps * part / S::kParts, count = kSteps * (part + 1) / S::kParts - first;
  const int warp = cuda::thread_index() / cuda::kWarpThreads, thread = cuda::thread_index() % cuda::kWarpThreads;
  const int first_row = warp % S::kRowWarps, first_tile = cluster * S::kOfBlock;
  unsigned* const left = static_cast<unsigned*>(cuda::shared_memory());
  float* const sums = reinterpret_cast<float*>(left + S::kRows * kPitch);

  // The first steps of the right factors are loaded while the left factors are rounded.
  constexpr int kAhead = S::kWarpColumns > 2 ? 2 : 4;
  decltype(factors.tile(0, 0)) right[S::kWarpColumns];
  GRAPHRUN_UNROLL
  for (int c = 0; c < S::kWarpColumns; ++c) {
    // A tile beyond the last is the last one again, and is never written.
    const int tile = first_tile + warp / S::kRowWarps * S::kWarpColumns + c;
    right[c] = factors.tile(tile < S::kTiles ? tile : S::kTiles - 1, thread);
  }
  const auto words_of = [&](int step, int c) { return right[c].words(first + step); };
  RightWords words[kAhead][S::kWarpColumns];
  GRAPHRUN_UNROLL
  for (int u = 0; u < kAhead; ++u) {
    GRAPHRUN_UNROLL
    for (int c = 0; c < S::kWarpColumns && u < count; ++c) words[u][c] = words_of(u, c);
  }

  wide ? stage<Form, S, I, kPitch, true>(a, rows, first, count, left)
       : stage<Form, S, I, kPitch, false>(a, rows, first, count, left);
  cuda::cluster_barrier();  // the rows are there; and every block of the cluster runs, so its memory can be written

  float sum[S::kWarpRows][S::kWarpColumns][4] = {};
  for (int begin = 0; begin < count; begin += kAhead) {
    GRAPHRUN_UNROLL
    for (int u = 0; u < kAhead; ++u) {
      const int step = begin + u;
      if (step >= count) break;
      RightWords now[S::kWarpColumns];
      GRAPHRUN_UNROLL
      for (int c = 0; c < S::kWarpColumns; ++c) {
        now[c] = words[u][c];
        if (step + kAhead < count) words[u][c] = words_of(step + kAhead, c);
      }
      GRAPHRUN_UNROLL
      for (int half = 0; half < kTilesOfStep; ++half) {
        const unsigned* const at = left + (first_row * cuda::kUnitRows + thread / 4) * kPitch + step * kStepWords +
                                   half * cuda::kUnitWords + thread % 4;
        GRAPHRUN_UNROLL
        for (int r = 0; r < S::kWarpRows; ++r) {
          if (r * S::kRowWarps + first_row >= S::kRowTiles) break;
          const unsigned* const x = at + r * S::kRowWarps * cuda::kUnitRows * kPitch;
          const unsigned rows_of_tile[4] = {x[0], x[8 * kPitch], x[4], x[8 * kPitch + 4]};
          GRAPHRUN_UNROLL
          for (int c = 0; c < S::kWarpColumns; ++c) {
            const unsigned columns_of_tile[2] = {now[c].v[2 * half], now[c].v[2 * half + 1]};
            cuda::multiply_add<Form>(sum[r][c], rows_of_tile, columns_of_tile);
          }
        }
      }
    }
  }

  // The tiles of all warps' slots are numbered; block (number % parts) adds up the sums of a tile.
  using Sums = element::Pack<float, 4>;
  constexpr int kOwn = (kSlots * S::kWarps + S::kParts - 1) / S::kParts;
  const auto place = [&](int own, int of_part) {
    return sums + ((own * S::kParts + of_part) * cuda::kWarpThreads + thread) * 4;
  };
  GRAPHRUN_UNROLL
  for (int slot = 0; slot < kSlots; ++slot) {
    const int number = warp * kSlots + slot;
    Sums mine;
    GRAPHRUN_UNROLL
    for (int i = 0; i < 4; ++i) mine.v[i] = sum[slot / S::kWarpColumns][slot % S::kWarpColumns][i];
    element::store(cuda::memory_of(number % S::kParts, place(number / S::kParts, part)), mine);
  }
  cuda::cluster_barrier();
  for (int own = warp; own < kOwn; own += S::kWarps) {
    const int number = own * S::kParts + part;
    if (number >= kSlots * S::kWarps) break;
    Sums total = element::load<4>(place(own, 0));
    GRAPHRUN_UNROLL
    for (int other = 1; other < S::kParts; ++other) {
      const Sums next = element::load<4>(place(own, other));
      GRAPHRUN_UNROLL
      for (int i = 0; i < 4; ++i) total.v[i] += next.v[i];
    }
    const int slot = number % kSlots, of_warp = number / kSlots;
    const int row_tile = slot / S::kWarpColumns * S::kRowWarps + of_warp % S::kRowWarps;
    const int tile = first_tile + of_warp / S::kRowWarps * S::kWarpColumns + slot % S::kWarpColumns;
    if (tile >= S::kTiles || row_tile >= S::kRowTiles) continue;
    const int group = S::kGroups > 1 ? tile / S::kOfGroup : 0;
    float* to = y[0];
    GRAPHRUN_UNROLL
    for (int g = 1; g < S::kGroups; ++g) to = group == g ? y[g] : to;
    GRAPHRUN_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int row = row_tile * cuda::kUnitRows + thread / 4 + i / 2 * 8;
      const int column = (tile - group * S::kOfGroup) * cuda::kUnitColumns + thread % 4 * 2 + i % 2;
      if (row < rows && column < S::kColumns) to[static_cast<std::int64_t>(row) * S::kColumns + column] = total.v[i];
    }
  }
}

}  // namespace graphrun::few_rows
