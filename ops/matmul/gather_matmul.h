// Rows of a table times matrices that stay the same from run to run: each row's products are computed when a run first names
// the row, and kept. A row's result depends on no other row, so it does not matter which batch named it first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/matmul/group.h"
#include "ops/matmul/packed.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// The first operand that is a matrix: table, indices, keep (may be absent), matrices.
inline constexpr std::size_t kGatherMatmulMatrix = 3;
// The operands that the products of a gather_matmul's request see: gathered rows, then the matrices.
KernelRequest product_request(const KernelRequest& request);
// Its products, all of one size.
ProductGroup plan_gather_matmul(const KernelRequest& products, bool transpose_b);

// The results of rows, kept in memory that runs on several threads use at the same time without waiting for each other. At
// most `room` rows are kept, the first ones that are named; in text, these include the frequent words. Each row has a state:
// unknown, claimed by the run that computes it (or by one that found no room), or kept at a place.
class KeptRows {
 public:
  KeptRows(std::int64_t rows, std::int64_t width);

  std::size_t bytes() const { return places_ + static_cast<std::size_t>(room_ * width_) * sizeof(float); }
  std::int64_t room() const { return room_; }
  void forget(char* memory) const;
  // The kept result of a row, or null.
  const float* find(char* memory, std::int64_t row) const;
  // Whether the caller has to compute the row, write its result to place(), and publish() it.
  bool claim(char* memory, std::int64_t row) const;
  // Where the result of a claimed row goes, before publish(); null: there is no room.
  float* place(char* memory) const;
  void publish(char* memory, std::int64_t row, const float* place) const;

 private:
  static constexpr std::int32_t kUnknown = 0, kClaimed = -1;  // states; from 1 on: a place
  std::atomic_ref<std::int32_t> taken(char* memory) const;    // the number of places
  std::atomic_ref<std::int32_t> state(char* memory, std::int64_t row) const;
  float* at(char* memory, std::int32_t place) const { return reinterpret_cast<float*>(memory + places_) + place * width_; }

  std::int64_t rows_, width_, room_;
  std::size_t places_;  // the offset of the results
};

// The kernel for lasting operands. Its memory holds the packed matrices, scratch space for each thread that runs it at the same
// time, and KeptRows.
class GatherProducts {
 public:
  GatherProducts(std::int64_t table_rows, const ProductGroup& group, PackedForm form);
  // Whether there is code for it and, if nothing is kept, packed matrices pay off for the batch's number of rows.
  bool available() const;

  std::size_t bytes() const { return kept_at_ + (keeps_ ? kept_.bytes() : 0); }
  std::int64_t panel() const { return products_.back().product.panel(); }
  std::int64_t columns() const { return product_.n; }
  std::vector<std::int64_t> layout() const;  // ColumnKernel::layout
  // Packs columns of the matrices; with the first column, forgets all rows.
  void prepare(const KernelContext& c, std::int64_t begin, std::int64_t end) const;
  // Computes all columns, on the calling thread and others.
  void run(const KernelContext& c) const;

 private:
  // A product of some rows at once.
  struct RowsProduct {
    std::int64_t rows;
    PackedProduct product;
  };
  class Scratch;
  void run_block(const KernelContext& c, const Scratch& scratch, std::int64_t first, std::int64_t count) const;
  void compute(const KernelContext& c, const Scratch& scratch, const std::int64_t* rows, std::int64_t count, bool keep) const;
  void multiply(const KernelContext& c, const RowsProduct& step, std::int64_t times, const Scratch& scratch) const;
  char* memory(const KernelContext& c) const { return static_cast<char*>(c.workspace); }
  char* panels(const KernelContext& c, std::int64_t matrix) const {
    return memory(c) + static_cast<std::size_t>(matrix) * matrix_bytes_;
  }
  char* kept(const KernelContext& c) const { return memory(c) + kept_at_; }
  // The most rows that are computed at once.
  std::int64_t most_rows() const;
  std::size_t scratch_bytes() const;
  // A row of the batch with its products in a matrix's result.
  float* result(const KernelContext& c, std::int64_t matrix, std::int64_t row) const {
    return c.outputs[static_cast<std::size_t>(matrix)].as<float>() + row * product_.n;
  }

  const std::int64_t table_rows_, matrices_;
  const MatrixProduct product_;  // of all rows of the batch
  const bool keeps_;
  const KeptRows kept_;
  std::vector<RowsProduct> products_;  // of fewer and fewer rows
  std::int64_t scratches_;
  std::size_t matrix_bytes_ = 0, scratch_at_ = 0, kept_at_ = 0;
};

}  // namespace graphrun
