#include "ops/matmul/few_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "ops/matmul/device/few_rows_device.h"
#include "ops/matmul/product_part.h"
#include "ops/matmul/vectors.h"
#include "runtime/cuda/matrix_units.h"

namespace graphrun {
namespace {

// Whether all right factors are the same at every step of a scan.
bool are_constant(const KernelRequest& request, const ProductGroup& group) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < group.products.size(); ++i) count += request.is_constant(group.b(i));
  return count == group.products.size();
}

// Whether a separate kernel pays off: smaller products take little time either way, and larger ones are left to cuBLAS.
bool pays(const MatrixProduct& p) {
  constexpr std::int64_t kFewestElements = 128 * 128, kMostOperations = std::int64_t{1} << 29;
  return p.k * p.n >= kFewestElements && p.k * p.n <= kMostOperations / p.m;
}

bool can_be_few(const KernelRequest& request, const ProductGroup& group) {
  constexpr std::int64_t kMostRows = 128, kMostElements = std::int64_t{1} << 28;
  const bool constant = are_constant(request, group);
  const bool splits = request.products == ProductPrecision::kFloat32;
  if (!(splits ? request.device.splits_float32 : request.device.matrix_units)) return false;
  if (request.outputs[0].dtype != DType::kFloat32 || group.products.size() > ProductGroup::kMostFactors) return false;
  for (std::size_t i = 0; i < group.products.size(); ++i) {
    const MatrixProduct& p = group.products[i];
    if (p.transpose_a || p.transpose_b != group.products[0].transpose_b || (p.accumulate && i == 0)) return false;
    if (p.m == 0 || p.n == 0 || p.k == 0 || p.m > kMostRows || p.n >= kMostElements / p.k) return false;
    if (!constant && !pays(p)) return false;
  }
  // With up to four rows, ops/matmul/vectors.h is faster, unless the right factors are stored rounded. Splitting float32 takes
  // time: with 64 rows, cuBLAS is faster, unless the right factors are stored.
  const bool few_vectors = are_vector_products(group);
  return constant ? !(splits && few_vectors) : !(splits || few_vectors);
}

// Chooses clusters of at most eight blocks, a size that every device with clusters supports, and gives each enough columns that
// all clusters run at once. Two warps with the same columns take half of the rows each, which halves what they read from shared
// memory.
bool divide(FewRowsPlan& plan, const DeviceLimits& limits) {
  constexpr std::int64_t kMostWarps = 8, kMostWarpColumns = 8, kMostSums = 32;  // tiles of sums in a thread's registers
  constexpr std::size_t kSizes = 3;                                             // of clusters: 2, 4 and 8
  std::size_t size = kSizes;
  while (size > 0 && limits.clusters[size - 1] == 0) --size;
  const std::int64_t warps = std::min<std::int64_t>(limits.threads / cuda::kWarpThreads, kMostWarps);
  if (size == 0 || warps == 0) return false;
  const std::int64_t row_tiles = (plan.group.products[0].m + cuda::kUnitRows - 1) / cuda::kUnitRows;
  const std::int64_t row_warps = row_tiles > 1 && warps % 2 == 0 ? 2 : 1, column_warps = warps / row_warps;
  const std::int64_t warp_rows = (row_tiles + row_warps - 1) / row_warps;
  const std::int64_t at_once = limits.clusters[size - 1] * column_warps, parts = DeviceLimits::cluster_size(size - 1);
  const std::int64_t most_columns = std::clamp<std::int64_t>(kMostSums / warp_rows, 1, kMostWarpColumns);
  const std::int64_t columns = std::clamp<std::int64_t>((plan.tiles + at_once - 1) / at_once, 1, most_columns);
  const std::int64_t most_steps = (plan.steps + parts - 1) / parts, sums = warp_rows * columns * warps;
  const std::int64_t pitch = most_steps * few_rows::kStepWords + few_rows::kRowPadding;
  plan.warps = static_cast<int>(warps), plan.row_warps = static_cast<int>(row_warps), plan.parts = static_cast<int>(parts);
  plan.row_tiles = static_cast<int>(row_tiles), plan.warp_columns = static_cast<int>(columns);
  plan.clusters = (plan.tiles + column_warps * columns - 1) / (column_warps * columns);
  plan.shared = static_cast<std::size_t>(row_tiles * cuda::kUnitRows * pitch) * sizeof(unsigned) +
                static_cast<std::size_t>((sums + parts - 1) / parts * parts * cuda::kWarpThreads * 4) * sizeof(float);
  return plan.shared <= limits.shared;
}

void make_text(FewRowsPlan& plan) {
  std::string left, results, lengths;
  for (std::size_t t = 0; t < plan.group.terms(); ++t) {
    plan.left.push_back(plan.arguments.add_address(fmt::format("a{}", t), "const float"));
    left += fmt::format("{}arguments.a{}", t == 0 ? "" : ", ", t);
    lengths += fmt::format("{}{}", t == 0 ? "" : ", ", plan.group.products[t].k);
  }
  for (std::size_t g = 0; g < plan.group.groups(); ++g) {
    plan.results.push_back(plan.arguments.add_address(fmt::format("y{}", g), "float"));
    results += fmt::format("{}arguments.y{}", g == 0 ? "" : ", ", g);
  }
  const std::string shape = fmt::format("few_rows::Shape<{}, {}, {}, {}, {}, {}, {}>", plan.row_tiles, plan.warp_columns,
                                        plan.warps, plan.row_warps, plan.parts, plan.group.products[0].n, plan.group.groups());
  const std::string inner = fmt::format("few_rows::Inner<{}>", lengths), form = unit_form(plan.precision).type;
  std::string factors, right;
  if (plan.stores()) {
    plan.right.push_back(plan.arguments.add_address("right", "const unsigned"));
    right = fmt::format("few_rows::StoredRight<{}>{{arguments.right}}", shape);
  } else {
    for (std::size_t i = 0; i < plan.group.products.size(); ++i) {
      plan.right.push_back(plan.arguments.add_address(fmt::format("b{}", i), "const float"));
      factors += fmt::format("{}arguments.b{}", i == 0 ? "" : ", ", i);
    }
    factors = fmt::format("  const float* const factors[] = {{{}}};\n", factors);
    right =
        fmt::format("few_rows::PlainRight<{}, {}, {}, {}>{{factors}}", form, shape, inner, plan.group.products[0].transpose_b);
  }
  plan.arguments.add("rows", static_cast<std::int32_t>(plan.group.products[0].m));
  plan.wide = plan.arguments.add<std::int32_t>("wide");
  const std::string body = fmt::format(
      R"x({}{}
GRAPHRUN_ENTRY(graphrun_@, Arguments) {{
  const float* const left[] = {{{}}};
  float* const results[] = {{{}}};
{}  few_rows::multiply<{}, {}, {}>(
      left, {}, results, arguments.rows, arguments.wide != 0);
}}
{})x",
      kTextBegin, plan.arguments.text(), left, results, factors, form, shape, inner, right, kTextEnd);
  plan.text = named_text("#include \"ops/matmul/device/few_rows_device.h\"\n", body);
}

}  // namespace

std::optional<FewRowsPlan> plan_few_rows(const KernelRequest& request, const ProductGroup& group) {
  if (!can_be_few(request, group)) return {};
  FewRowsPlan plan;
  plan.group = group, plan.precision = request.products;
  for (std::size_t t = 0; t < plan.group.terms(); ++t)
    plan.steps += few_rows::steps_of(static_cast<int>(group.products[t].k), unit_form(plan.precision).in_word);
  plan.tiles =
      few_rows::tiles_of_columns(static_cast<int>(group.products[0].n)) * static_cast<std::int64_t>(plan.group.groups());
  if (are_constant(request, group))
    plan.packed = static_cast<std::size_t>(plan.steps * plan.tiles) * few_rows::kWordsOfTile * sizeof(unsigned);
  if (!divide(plan, request.device)) return {};
  make_text(plan);
  return plan;
}

}  // namespace graphrun
