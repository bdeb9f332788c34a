// Left factors that the blocks of a cluster pass to each other: every block has the cluster's rows of them in its own memory,
// in the order in which its products read them, and whoever makes elements puts them there, for all. There are two of each:
// while some blocks still read what one step made, others bring what the next makes. For the text of generated kernels.
#pragma once

#include "ops/recurrent/loop_rounded.h"

namespace graphrun::loop {

GRAPHRUN_DEVICE Part part_of_cluster() {
  const int blocks = cuda::cluster_size();
  return {cuda::cluster_rank(), blocks, static_cast<int>(cuda::block_index()) / blocks,
          static_cast<int>(cuda::block_count()) / blocks};
}

// The order of multiply(): as they are.
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
  // Elements k to k + n of a row.
  template <int n>
  GRAPHRUN_DEVICE void store(char* to, int row, int k, const Packed<n>& packed) const {
    GRAPHRUN_UNROLL
    for (int j = 0; j < n; ++j) reinterpret_cast<T*>(to)[(k + j) * padded + row] = packed.v[j];
  }
};

// The order of multiply_rounded(), rounded: words, or where elements come one by one, their parts.
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
};

// To every block of the cluster, where `to` is in this one's memory.
template <class Order, class T, int n>
GRAPHRUN_DEVICE void pass(const Order& order, char* to, int row, int k, const T (&x)[n]) {
  const typename Order::template Packed<n> packed = Order::pack(x);
  const int blocks = cuda::cluster_size();
  int block = cuda::cluster_rank();  // each begins with another
  for (int i = 0; i < blocks; ++i) {
    order.template store<n>(cuda::memory_of(block, to), row, k, packed);
    block = block + 1 == blocks ? 0 : block + 1;
  }
}

// The block's part of a tensor.
template <class Order, class T>
GRAPHRUN_DEVICE void pass_own(const T* from, const Part& part, int all_rows, int columns, char* to) {
  const Order order(part.rows(all_rows), columns);
  for_own_elements(part, all_rows, columns, [&](int row, int column, std::int64_t i) {
    const T x[1] = {from[i]};
    pass(order, to, row, column, x);
  });
}

// All of the cluster's rows of a tensor, for this block alone.
template <class Order, class T>
GRAPHRUN_DEVICE void take_all(const T* from, const Part& part, int all_rows, int inner, char* to) {
  const Order order(part.rows(all_rows), inner);
  from += static_cast<std::int64_t>(part.first_row(all_rows)) * inner;
  for (int e = cuda::thread_index(); e < part.rows(all_rows) * inner; e += cuda::thread_count()) {
    const T x[1] = {from[e]};
    order.template store<1>(to, e / inner, e % inner, Order::pack(x));
  }
}

// What no row and no element of the summed axis fills stays zero.
GRAPHRUN_DEVICE void clear(char* memory, int bytes) {
  for (int w = cuda::thread_index(); w < bytes / 4; w += cuda::thread_count()) reinterpret_cast<unsigned*>(memory)[w] = 0;
}

}  // namespace graphrun::loop
