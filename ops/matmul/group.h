// Matrix products that run as one kernel: either with a common left factor, or summed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/matmul/packed.h"
#include "ops/matmul/product.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// Products whose results have the same shape.
struct ProductGroup {
  enum class Kind : std::uint8_t { kMany, kSum } kind = Kind::kMany;
  // kMany: y_i = a · b_i, inputs a, b_0, b_1, …, all of one size. kSum: y = Σ a_i · b_i, inputs a_0, b_0, a_1, b_1, …; all
  // products but the first accumulate.
  std::vector<MatrixProduct> products;

  // The most products that one launch of a device takes.
  static constexpr std::size_t kMostFactors = 8;

  // The number of products summed, and the number of separate results.
  std::size_t terms() const { return kind == Kind::kSum ? products.size() : 1; }
  std::size_t groups() const { return kind == Kind::kMany ? products.size() : 1; }
  std::size_t a(std::size_t i) const { return kind == Kind::kMany ? 0 : 2 * i; }
  std::size_t b(std::size_t i) const { return kind == Kind::kMany ? i + 1 : 2 * i + 1; }
  std::size_t y(std::size_t i) const { return kind == Kind::kMany ? i : 0; }
  double operations() const;
};

// The kernel. If the right factors are constant, it has a form by columns, for threads that share a loop: constant within a
// loop, or from run to run if packing them pays off. float32 and float64. The order of an element's sum does not depend on the
// number of threads.
Kernel group_kernel(const KernelRequest& request, ProductGroup group);

// The common packed form of the right factors: it must be the same for all, so that they can form one kernel.
PackedForm packed_form(const KernelRequest& request, const ProductGroup& group);

// The right factors of a group, packed for products with few rows. The memory holds the panels, and then, for each column step
// of 16, a number that says from which end its thread starts.
//
// Successive runs traverse the panels in opposite directions: if the matrices are larger than the cache, the panels that a core
// read last are still cached when the next run starts.
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
  void multiply_int8_group(const KernelContext& c, std::int64_t begin, std::int64_t end, bool back) const;
  char* panels(const KernelContext& c, std::size_t i) const { return static_cast<char*>(c.workspace) + offset_[i]; }
  // Concurrent loops may share one packed group: which direction a run takes does not matter, but the access must be atomic.
  std::atomic_ref<std::int32_t> turn(const KernelContext& c, std::int64_t begin) const;

  ProductGroup group_;
  PackedForm form_;
  std::vector<PackedProduct> packed_;
  std::vector<std::size_t> offset_;  // of each factor's panels, in bytes; then of the direction flags
};

}  // namespace graphrun
