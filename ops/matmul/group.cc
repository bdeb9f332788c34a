#include "ops/matmul/group.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "ops/matmul/rounded_group.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

constexpr std::size_t kTurnBytes = 64;  // a cache line for each column step, so that no two threads share one

// Enough for a block of any of the products.
std::size_t scratch_of_blocks(const ProductGroup& group, DType dtype) {
  std::size_t most = 0;
  for (const MatrixProduct& p : group.products) most = std::max(most, scratch_of_block(p, dtype));
  return most;
}

// The products of a sum differ in their inner sizes.
const MatrixProduct& largest_of(const ProductGroup& group) {
  return *std::max_element(group.products.begin(), group.products.end(),
                           [](const auto& p, const auto& q) { return p.operations() < q.operations(); });
}

// The blocks of a group's results.
struct GroupBlocks {
  GroupBlocks(const ProductGroup& of, DType dtype)
      : group(of),
        sums(of.kind == ProductGroup::Kind::kSum),
        grid(largest_of(of), sums ? 1 : static_cast<std::int64_t>(of.products.size())),
        count(sums ? grid.blocks() : grid.blocks() * static_cast<std::int64_t>(of.products.size())),
        runner(count, scratch_of_blocks(of, dtype)) {}

  template <class T>
  void run(const KernelContext& c) const {
    const MatrixProduct& first = group.products[0];
    if (first.m == 0 || first.n == 0) return;
    const auto compute = [&](std::size_t g, const ProductBlock& block, void* scratch) {
      multiply(group.products[g], block, c.inputs[group.a(g)].as<const T>(), c.inputs[group.b(g)].as<const T>(),
               c.outputs[group.y(g)].as<T>(), scratch);
    };
    runner.run(c.workspace, group.operations() / static_cast<double>(count), [&](std::int64_t i, void* scratch) {
      const ProductBlock block = grid.block(first, i % grid.blocks());
      if (block.rows == 0 || block.columns == 0) return;
      if (!sums) return compute(static_cast<std::size_t>(i / grid.blocks()), block, scratch);
      for (std::size_t g = 0; g < group.products.size(); ++g) compute(g, block, scratch);
    });
  }

  const ProductGroup group;
  const bool sums;
  const ProductGrid grid;
  const std::int64_t count;
  const BlockRunner runner;
};

template <class T>
void run_columns_plainly(const ProductGroup& group, const KernelContext& c, std::int64_t begin, std::int64_t end) {
  for (std::size_t i = 0; i < group.products.size(); ++i) {
    multiply_plainly(group.products[i], {0, group.products[i].m, begin, end - begin}, c.inputs[group.a(i)].as<const T>(),
                     c.inputs[group.b(i)].as<const T>(), c.outputs[group.y(i)].as<T>());
  }
}

std::shared_ptr<const ColumnKernel> columns_of(const std::shared_ptr<const ProductGroup>& group, DType dtype, PackedForm form) {
  auto kernel = std::make_shared<ColumnKernel>();
  const std::size_t count = group->products.size();
  kernel->columns = group->products[0].n;
  kernel->operations = group->operations();
  kernel->reads_other_columns.assign(group->b(count - 1) + 1, false);
  for (std::size_t i = 0; i < count; ++i) kernel->reads_other_columns[group->a(i)] = true;
  const auto packed = std::make_shared<const PackedGroup>(*group, form);
  if (dtype == DType::kFloat32 && packed->available()) {
    kernel->step = packed->panel();
    kernel->packed_bytes = packed->bytes();
    kernel->layout = packed->layout();
    kernel->alone = packed->serves_alone();
    kernel->prepares_from.assign(group->b(count - 1) + 1, false);
    for (std::size_t i = 0; i < count; ++i) kernel->prepares_from[group->b(i)] = true;
    kernel->prepare = [packed](const KernelContext& c, std::int64_t begin, std::int64_t end) { packed->pack(c, begin, end); };
    kernel->run = [packed](const KernelContext& c, std::int64_t begin, std::int64_t end) { packed->multiply(c, begin, end); };
    return kernel;
  }
  kernel->prepare = [](const KernelContext&, std::int64_t, std::int64_t) {};
  kernel->run = [group, dtype](const KernelContext& c, std::int64_t begin, std::int64_t end) {
    dtype == DType::kFloat32 ? run_columns_plainly<float>(*group, c, begin, end)
                             : run_columns_plainly<double>(*group, c, begin, end);
  };
  return kernel;
}

// Whether all right factors are worth packing before the products run.
bool are_constant(const KernelRequest& request, const ProductGroup& group, PackedForm form) {
  for (std::size_t i = 0; i < group.products.size(); ++i) {
    const bool lasts = request.is_lasting(group.b(i)) && form.serves_alone(group.products[i]);
    if (!request.is_constant(group.b(i)) && !lasts) return false;
  }
  return true;
}

}  // namespace

double ProductGroup::operations() const {
  return std::accumulate(products.begin(), products.end(), 0.0,
                         [](double sum, const MatrixProduct& p) { return sum + p.operations(); });
}

PackedForm packed_form(const KernelRequest& request, const ProductGroup& group) {
  const WeightForm first = request.form_of(group.b(0));
  bool alike = true;
  for (std::size_t i = 1; i < group.products.size(); ++i) alike &= request.form_of(group.b(i)) == first;
  const WeightForm form = alike ? first : WeightForm::kFloat32;
  return form != WeightForm::kInt8 && rounds_factors(request, group.products[0]) ? PackedForm::of_pairs() : PackedForm(form);
}

Kernel group_kernel(const KernelRequest& request, ProductGroup of) {
  const auto group = std::make_shared<const ProductGroup>(std::move(of));
  const DType dtype = request.outputs.at(0).dtype;
  GRAPHRUN_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64,
                 "no kernel of products for " + std::string(name_of(dtype)));
  const MatrixProduct& p = group->products[0];
  Kernel kernel;
  const auto rounded = rounds_factors(request, p) ? std::make_shared<const RoundedGroup>(*group) : nullptr;
  if (rounded != nullptr && rounded->available()) {
    kernel = {[rounded](const KernelContext& c) { rounded->run(c); }, rounded->workspace()};
  } else {
    const auto blocks = std::make_shared<const GroupBlocks>(*group, dtype);
    kernel = {
        [blocks, dtype](const KernelContext& c) { dtype == DType::kFloat32 ? blocks->run<float>(c) : blocks->run<double>(c); },
        blocks->runner.workspace()};
  }
  const PackedForm form = packed_form(request, *group);
  if (p.transpose_a) {
    kernel.no_columns = "its left factor is transposed";
  } else if (!are_constant(request, *group, form)) {
    kernel.no_columns = "its right factor changes from step to step";
  } else if (p.m > 0 && p.n > 0 && p.k > 0) {
    kernel.by_columns = columns_of(group, dtype, form);
  }
  return kernel;
}

// All products have the panels of the largest.
PackedGroup::PackedGroup(const ProductGroup& group, PackedForm form) : group_(group), form_(form) {
  const std::int64_t panel = PackedProduct(largest_of(group), form).panel();
  std::size_t at = 0;
  for (const MatrixProduct& p : group.products) {
    packed_.emplace_back(p, form, panel);
    offset_.push_back(at);
    at += (packed_.back().bytes() + kTurnBytes - 1) / kTurnBytes * kTurnBytes;
  }
  offset_.push_back(at);
}

bool PackedGroup::available() const {
  return std::all_of(packed_.begin(), packed_.end(), [](const PackedProduct& p) { return p.available(); });
}

std::size_t PackedGroup::bytes() const {
  const std::int64_t turns = (group_.products[0].n + kColumnStep - 1) / kColumnStep;
  return offset_.back() + static_cast<std::size_t>(turns) * kTurnBytes;
}

std::vector<std::int64_t> PackedGroup::layout() const {
  std::vector<std::int64_t> all;
  for (const PackedProduct& packed : packed_) {
    for (std::int64_t part : packed.layout()) all.push_back(part);
  }
  return all;
}

std::atomic_ref<std::int32_t> PackedGroup::turn(const KernelContext& c, std::int64_t begin) const {
  const auto step = static_cast<std::size_t>(begin / kColumnStep);
  return std::atomic_ref(
      *reinterpret_cast<std::int32_t*>(static_cast<char*>(c.workspace) + offset_.back() + step * kTurnBytes));
}

void PackedGroup::pack(const KernelContext& c, std::int64_t begin, std::int64_t end) const {
  for (std::size_t i = 0; i < packed_.size(); ++i) {
    packed_[i].pack(c.inputs[group_.b(i)].as<const float>(), panels(c, i), begin, end);
  }
  for (std::int64_t column = begin; column < end; column += kColumnStep) turn(c, column).store(0, std::memory_order_relaxed);
}

// All matrices multiply the same rows.
void PackedGroup::multiply_int8_group(const KernelContext& c, std::int64_t begin, std::int64_t end, bool back) const {
  constexpr std::size_t kMostTogether = 8;
  std::array<QuantizedProduct::Right, kMostTogether> rights;
  const std::size_t count = packed_.size();
  for (std::size_t done = 0; done < count;) {
    std::size_t some = 0;
    for (; some < kMostTogether && done < count; ++some, ++done) {
      const std::size_t i = back ? count - 1 - done : done;
      rights[some] = {packed_[i].quantized(), panels(c, i), c.outputs[group_.y(i)].as<float>()};
    }
    QuantizedProduct::multiply({rights.data(), some}, c.inputs[group_.a(0)].as<const float>(), begin, end, back);
  }
}

void PackedGroup::multiply(const KernelContext& c, std::int64_t begin, std::int64_t end) const {
  const bool sum = group_.kind == ProductGroup::Kind::kSum;
  const std::atomic_ref<std::int32_t> turns = turn(c, begin);
  const bool back = turns.load(std::memory_order_relaxed) != 0;
  turns.store(back ? 0 : 1, std::memory_order_relaxed);
  const std::size_t count = packed_.size();
  if (!sum && form_.matrix == WeightForm::kInt8) return multiply_int8_group(c, begin, end, back);
  struct ColumnsOfProduct {
    std::size_t product;
    std::int64_t begin, end;
  };
  // Each row is rounded once for all panels. In a sum, panels of the same columns follow each other, so that sums stay cached.
  const std::int64_t width = sum && !form_.rounds_rows() ? packed_[0].columns_at_once() : end - begin;
  const std::int64_t ranges = (end - begin + width - 1) / width;
  const auto parts = static_cast<std::size_t>(ranges) * count;
  const auto part_of = [&](std::size_t i) -> ColumnsOfProduct {
    const auto range = static_cast<std::int64_t>(i / count);
    const std::int64_t column = begin + (back ? ranges - 1 - range : range) * width;
    return {back && !sum ? count - 1 - i : i % count, column, std::min(column + width, end)};
  };
  for (std::size_t i = 0; i < parts; ++i) {
    const ColumnsOfProduct part = part_of(i);
    const std::size_t p = part.product;
    const void* then = nullptr;
    if (i + 1 < parts) {
      const ColumnsOfProduct next = part_of(i + 1);
      then = packed_[next.product].first_panel(panels(c, next.product), next.begin, next.end, back);
    }
    packed_[p].multiply(c.inputs[group_.a(p)].as<const float>(), panels(c, p), c.outputs[group_.y(p)].as<float>(), part.begin,
                        part.end, back, then);
  }
}

}  // namespace graphrun
