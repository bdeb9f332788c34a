// Left factors that blocks pass to each other, in the order in which their products read them, and rounded as these products
// round. The block that computes elements stores them for all readers. In a cluster, each block keeps all rows of the cluster
// in shared memory; in a grid, they are in the device's memory. Everything is double-buffered: while some blocks still read the
// values of one step, others write those of the next. For the text of generated kernels.
#pragma once

#include "ops/recurrent/loop_rounded.h"

namespace graphrun::loop {

GRAPHRUN_DEVICE Part part_of_cluster(int blocks, int together) {
  return {cuda::cluster_rank(), blocks, static_cast<int>(cuda::block_index()) / blocks,
          static_cast<int>(cuda::block_count()) / blocks, together};
}

// Bytes that a thread sends at once, at most.
constexpr int kSlotBytes = 16;
constexpr int kSlotWords = kSlotBytes / static_cast<int>(sizeof(unsigned));

// The order that multiply() reads: unrounded.
template <class T>
struct PlainOrder {
  int padded;
  GRAPHRUN_DEVICE PlainOrder(int rows, int /*inner*/) : padded(padded_rows(rows)) {}

  template <int n>
  using Packed = element::Pack<T, n>;
  template <int n>
  GRAPHRUN_DEVICE static Packed<n> pack(const T (&x)[n]) {
    Packed<n> packed;
    GRAPHRUN_UNROLL
    for (int j = 0; j < n; ++j) packed.v[j] = x[j];
    return packed;
  }
  // Stores elements k to k + n of a row.
  template <int n>
  GRAPHRUN_DEVICE void store(char* to, int row, int k, const Packed<n>& packed) const {
    GRAPHRUN_UNROLL
    for (int j = 0; j < n; ++j) reinterpret_cast<T*>(to)[(k + j) * padded + row] = packed.v[j];
  }
  // A block's part is contiguous; rows are padded to multiples of 16 bytes. send() calls send(position, words) for what a slot
  // contains.
  GRAPHRUN_DEVICE int slots(const Columns& own, int /*row_tiles*/) const {
    return own.count() * padded * static_cast<int>(sizeof(T)) / kSlotBytes;
  }
  // The bytes of all slots of a block.
  GRAPHRUN_DEVICE int bytes(const Columns& own, int row_tiles) const { return slots(own, row_tiles) * kSlotBytes; }
  template <class Send>
  GRAPHRUN_DEVICE void send(const char* from, const Columns& own, int slot, const Send& send) const {
    const int at = own.begin * padded * static_cast<int>(sizeof(T)) + slot * kSlotBytes;
    send(at, element::load<kSlotWords>(reinterpret_cast<const unsigned*>(from + at)));
  }
};

// The order that multiply_rounded() reads: rounded, in whole words or, if elements are stored one by one, in parts of words.
template <class Form>
struct TileOrder {
  static constexpr int kInWord = Form::kInWord;
  int deep;
  GRAPHRUN_DEVICE TileOrder(int /*rows*/, int inner) : deep(static_cast<int>(tiles_deep(inner, kInWord))) {}

  template <int n>
  struct Packed {
    static constexpr bool kWhole = n % kInWord == 0;
    unsigned words[kWhole ? n / kInWord : n];
  };
  template <int n>
  GRAPHRUN_DEVICE static Packed<n> pack(const float (&x)[n]) {
    Packed<n> packed;
    constexpr int together = Packed<n>::kWhole ? kInWord : 1;
    GRAPHRUN_UNROLL
    for (int w = 0; w < n / together; ++w) {
      float of_word[kInWord] = {};
      GRAPHRUN_UNROLL
      for (int j = 0; j < together; ++j) of_word[j] = x[w * together + j];
      packed.words[w] = Form::word(of_word);
    }
    return packed;
  }
  // k is a multiple of n.
  template <int n>
  GRAPHRUN_DEVICE void store(char* to, int row, int k, const Packed<n>& packed) const {
    unsigned* const words = reinterpret_cast<unsigned*>(to);
    if constexpr (Packed<n>::kWhole) {
      GRAPHRUN_UNROLL
      for (int w = 0; w < n / kInWord; ++w) words[left_word_at(row, k / kInWord + w, deep)] = packed.words[w];
    } else {
      static_assert(n == 1 && kInWord == 2);
      unsigned short* const halves = reinterpret_cast<unsigned short*>(words + left_word_at(row, k / kInWord, deep));
      halves[k % kInWord] = static_cast<unsigned short>(packed.words[0]);
    }
  }
  // A slot is the words of a tile that a thread reads at once, for the tiles that can contain columns of a block with `full`
  // columns. A block's columns begin at a word.
  GRAPHRUN_DEVICE static bool whole_tiles(const Columns& own) { return own.full % (kInWord * cuda::kUnitWords) == 0; }
  GRAPHRUN_DEVICE static int tiles(const Columns& own) {
    return static_cast<int>(tiles_deep(own.full, kInWord)) + (whole_tiles(own) ? 0 : 1);
  }
  GRAPHRUN_DEVICE int slots(const Columns& own, int row_tiles) const { return row_tiles * tiles(own) * cuda::kWarpThreads; }
  GRAPHRUN_DEVICE int bytes(const Columns& own, int row_tiles) const {
    if (own.count() == 0) return 0;
    if (whole_tiles(own)) return row_tiles * static_cast<int>(tiles_deep(own.count(), kInWord) * kLeftTileBytes);
    const int words = static_cast<int>(tiles_of(own.end, kInWord)) - own.begin / kInWord;
    return row_tiles * words * cuda::kUnitRows * static_cast<int>(sizeof(unsigned));
  }
  template <class Send>
  GRAPHRUN_DEVICE void send(const char* from, const Columns& own, int slot, const Send& send) const {
    static_assert(kLeftWords == kSlotWords);
    const int t = slot % cuda::kWarpThreads, tile = slot / cuda::kWarpThreads;
    const int across = own.begin / (kInWord * cuda::kUnitWords) + tile % tiles(own), row_tile = tile / tiles(own);
    const int at = ((row_tile * deep + across) * cuda::kWarpThreads + t) * kSlotBytes;
    if (own.count() == 0) return;
    const unsigned* const words = reinterpret_cast<const unsigned*>(from + at);
    if (whole_tiles(own)) {
      if (across * kInWord * cuda::kUnitWords < own.end) send(at, element::load<kSlotWords>(words));
      return;
    }
    const int begin = own.begin / kInWord, end = static_cast<int>(tiles_of(own.end, kInWord));
    const int word = across * cuda::kUnitWords + t % 4;  // of the slot's first two words; the other two are four words further
    const bool first = word >= begin && word < end, last = word + 4 >= begin && word + 4 < end;
    if (first && last) {
      send(at, element::load<kSlotWords>(words));
    } else if (first) {
      send(at, element::load<kSlotWords / 2>(words));
    } else if (last) {
      send(at + kSlotBytes / 2, element::load<kSlotWords / 2>(words + kSlotWords / 2));
    }
  }
};

template <class Order, class T, int n>
GRAPHRUN_DEVICE void put(const Order& order, char* to, int row, int k, const T (&x)[n]) {
  order.template store<n>(to, row, k, Order::pack(x));
}

// Stores the block's part of a tensor.
template <class Order, class T>
GRAPHRUN_DEVICE void put_own(const T* from, const Part& part, int all_rows, int columns, char* to) {
  const Order order(part.rows(all_rows), columns);
  for_own_elements(part, all_rows, columns, [&](int row, int column, std::int64_t i) {
    const T x[1] = {from[i]};
    put(order, to, row, column, x);
  });
}

// The parts of a passed factor that the other blocks of the cluster send: each of its two buffers has a counter. A block sends
// the value of a step only after it has received, and read, all of the step before. So nothing arrives in a buffer while a
// block still reads it (its loads are over, since their numbers were multiplied before the barrier that precedes sending), and
// no round of a counter ends before all threads have seen the end of the previous one.
struct Arriving {
  static constexpr std::size_t kBytes = 2 * sizeof(cuda::Arrivals);
  cuda::Arrivals* counters;
  int bytes;  // that arrive for a step

  // `counters` has kBytes. A barrier of the cluster must follow.
  template <class Order>
  GRAPHRUN_DEVICE static Arriving of(char* counters, const Order& order, const Part& part, int columns, int row_tiles) {
    Arriving made = {reinterpret_cast<cuda::Arrivals*>(counters), 0};
    Part other = part;
    for (other.block = 0; other.block < part.blocks; ++other.block) {
      if (other.block != part.block) made.bytes += order.bytes(Columns(columns, other), row_tiles);
    }
    if (cuda::thread_index() == 0) {
      for (int b = 0; b < 2; ++b) {
        cuda::begin_arrivals(made.counters + b);
        cuda::expect_arrivals(made.counters + b, made.bytes);
      }
    }
    return made;
  }
  GRAPHRUN_DEVICE cuda::Arrivals* counter(std::int64_t step) const { return counters + step % 2; }
  // Waits until the value of a step has arrived. `first`: this is the first wait for it; the block then begins to expect the
  // next value of the same buffer.
  GRAPHRUN_DEVICE void await(std::int64_t step, bool first) const {
    cuda::await_arrivals(counter(step), static_cast<int>(step / 2 % 2));
    if (first && cuda::thread_index() == 0) cuda::expect_arrivals(counter(step), bytes);
  }
};

// Sends what the block stored in its shared memory to the other blocks of its cluster; `arrivals`, if not null, counts it
// there. A thread loads a slot once. If there are fewer slots than threads, several threads share a slot, and each sends it to
// some of the blocks.
template <class Order>
GRAPHRUN_DEVICE void send_own(const Part& part, int all_rows, int columns, int row_tiles, char* mine,
                              cuda::Arrivals* arrivals) {
  const Order order(part.rows(all_rows), columns);
  const Columns own(columns, part);
  const int slots = order.slots(own, row_tiles), threads = cuda::thread_count();
  if (slots == 0) return;
  const int sharing = threads > slots ? threads / slots : 1, which = cuda::thread_index() / slots;
  if (sharing > 1 && which >= sharing) return;
  for (int slot = sharing > 1 ? cuda::thread_index() % slots : cuda::thread_index(); slot < slots; slot += sharing * threads) {
    order.send(mine, own, slot, [&](int at, const auto& words) {
      GRAPHRUN_UNROLL_BY(4)
      for (int k = sharing > 1 ? which : 0; k < part.blocks - 1; k += sharing) {
        const int next = part.block + 1 + k;  // each block begins with a different one
        const int other = next < part.blocks ? next : next - part.blocks;
        if (arrivals != nullptr) {
          cuda::send_words(other, reinterpret_cast<unsigned*>(mine + at), words.v, arrivals);
        } else {
          element::store(reinterpret_cast<unsigned*>(cuda::memory_of(other, mine) + at), words);
        }
      }
    });
  }
}

// Stores all of the cluster's rows of a tensor, for this block only.
template <class Order, class T>
GRAPHRUN_DEVICE void take_all(const T* from, const Part& part, int all_rows, int inner, char* to) {
  const Order order(part.rows(all_rows), inner);
  from += static_cast<std::int64_t>(part.first_row(all_rows)) * inner;
  move_all<8>(
      part.rows(all_rows) * inner, [&](int e) { return from[e]; },
      [&](int e, T number) {
        const T x[1] = {number};
        order.template store<1>(to, e / inner, e % inner, Order::pack(x));
      });
}

// Zeros the memory, so that padding of rows and of the summed axis is zero.
GRAPHRUN_DEVICE void clear(char* memory, int bytes) {
  for (int w = cuda::thread_index(); w < bytes / 4; w += cuda::thread_count()) reinterpret_cast<unsigned*>(memory)[w] = 0;
}

}  // namespace graphrun::loop
