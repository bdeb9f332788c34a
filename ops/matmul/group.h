// Matrix products that run as one kernel: side by side on one left factor, or added up.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/matmul/packed.h"
#include "ops/matmul/product.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// Products with results of one shape.
struct ProductGroup {
  enum class Kind : std::uint8_t { kMany, kSum } kind = Kind::kMany;
  // kMany: y_i = a · b_i, inputs a, b_0, b_1, …, all of one size. kSum: y = Σ a_i · b_i, inputs a_0, b_0, a_1, b_1, …; all but
  // the first accumulate.
  std::vector<Product> products;

  std::size_t a(std::size_t i) const { return kind == Kind::kMany ? 0 : 2 * i; }
  std::size_t b(std::size_t i) const { return kind == Kind::kMany ? i + 1 : 2 * i + 1; }
  std::size_t y(std::size_t i) const { return kind == Kind::kMany ? i : 0; }
  double operations() const;
};

// The kernel; with a form by columns, for threads that share a loop, where the right factors are constant: the same at every
// step, or from run to run where packing them is worth it. float32 and float64. An element's sums do not depend on the number
// of threads.
Kernel group_kernel(const KernelRequest& request, ProductGroup group);

// The right factors of a group packed for products with few rows. What stands in memory: panels, then for every column step of
// 16 a number that tells its thread from which end to go through them.
//
// Panels are gone through from first to last and from last to first by turns: what a core read last at one step is still in its
// cache at the next, of matrices that are larger than the cache.
class PackedGroup {
 public:
  PackedGroup(const ProductGroup& group, PackedForm form);
  bool available() const;
  std::size_t bytes() const;
  std::int64_t panel() const { return packed_[0].panel(); }
  std::vector<std::int64_t> layout() const;  // ColumnKernel::layout
  bool serves_alone() const { return packed_[0].serves_alone(); }
  void pack(const KernelContext& c, std::int64_t begin, std::int64_t end) const;
  void multiply(const KernelContext& c, std::int64_t begin, std::int64_t end) const;

 private:
  char* panels(const KernelContext& c, std::size_t i) const { return static_cast<char*>(c.workspace) + offset_[i]; }
  // Loops that run at the same time may run on what was packed once: whose turn it was is no matter, that it is one is.
  std::atomic_ref<std::int32_t> turn(const KernelContext& c, std::int64_t begin) const;

  ProductGroup group_;
  PackedForm form_;
  std::vector<PackedProduct> packed_;
  std::vector<std::size_t> offset_;  // of each factor's panels, in bytes; then that of the turns
};

}  // namespace graphrun
