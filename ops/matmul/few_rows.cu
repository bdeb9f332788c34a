#include "ops/matmul/few_rows.h"

#include <cstdint>
#include <utility>

#include "ops/matmul/device/few_rows_device.h"
#include "runtime/cuda/generated.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

// Stores the words of one right factor. Element i is a word of its steps: [step, column tile, thread, word].
template <class Form>
struct StoreRightBody {
  const float* from;
  unsigned* to;                       // where its first step and column tile are
  std::int64_t inner, columns;        // of the factor
  std::int64_t tiles, tiles_of_step;  // its column tiles, and those of all factors
  bool transposed;                    // it is stored [columns, inner]
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const {
    using few_rows::kStepWordsOfThread, few_rows::kWordsOfTile;
    const std::int64_t step = i / (tiles * kWordsOfTile), tile = i / kWordsOfTile % tiles;
    const int of_tile = static_cast<int>(i % kWordsOfTile), thread = of_tile / kStepWordsOfThread;
    const int which = of_tile % kStepWordsOfThread;
    const std::int64_t column = tile * cuda::kUnitColumns + thread / 4;
    const std::int64_t word = step * few_rows::kStepWords + few_rows::word_of_step(thread, which);
    float x[Form::kInWord];
    GRAPHRUN_UNROLL
    for (int j = 0; j < Form::kInWord; ++j) {
      const std::int64_t k = word * Form::kInWord + j;
      x[j] = k < inner && column < columns ? from[transposed ? column * inner + k : k * columns + column] : 0.f;
    }
    to[(step * tiles_of_step + tile) * kWordsOfTile + of_tile] = Form::word(x);
  }
};

template <class Form>
void store_right(const FewRowsPlan& plan, const KernelContext& c) {
  std::int64_t first_step = 0, first_tile = 0;
  for (std::size_t i = 0; i < plan.group.products.size(); ++i) {
    const MatrixProduct& p = plan.group.products[i];
    const std::int64_t steps = few_rows::steps_of(static_cast<int>(p.k), Form::kInWord);
    const std::int64_t tiles = few_rows::tiles_of_columns(static_cast<int>(p.n));
    unsigned* const to = static_cast<unsigned*>(c.workspace) + (first_step * plan.tiles + first_tile) * few_rows::kWordsOfTile;
    const auto* const from = c.inputs[plan.group.b(i)].as<const float>();
    cuda::for_elements(c, steps * tiles * few_rows::kWordsOfTile,
                       StoreRightBody<Form>{from, to, p.k, p.n, tiles, plan.tiles, p.transpose_b});
    plan.group.kind == ProductGroup::Kind::kSum ? first_step += steps : first_tile += tiles;
  }
}

void multiply_few_rows(const FewRowsPlan& plan, cuda::GeneratedKernel& kernel, const KernelContext& c) {
  constexpr std::uintptr_t kWide = 16;
  ArgumentBytes arguments(plan.arguments);
  bool wide = true;
  for (std::size_t t = 0; t < plan.left.size(); ++t) {
    const void* const a = c.inputs[plan.group.a(t)].data;
    arguments.set_address(plan.left[t], a);
    wide &= reinterpret_cast<std::uintptr_t>(a) % kWide == 0 && plan.group.products[t].k % 4 == 0;
  }
  for (std::size_t g = 0; g < plan.results.size(); ++g) arguments.set_address(plan.results[g], c.outputs[plan.group.y(g)].data);
  if (plan.stores()) arguments.set_address(plan.right[0], c.workspace);
  for (std::size_t i = 0; !plan.stores() && i < plan.right.size(); ++i)
    arguments.set_address(plan.right[i], c.inputs[plan.group.b(i)].data);
  arguments.set(plan.wide, std::int32_t{wide});
  kernel.launch(c.stream, {plan.clusters * plan.parts, plan.warps * cuda::kWarpThreads, plan.shared, true, false, plan.parts},
                arguments.bytes());
}

}  // namespace

void run_few_rows(Kernel& kernel, const KernelRequest& request, const ProductGroup& group) {
  std::optional<FewRowsPlan> planned = plan_few_rows(request, group);
  if (!planned) return;
  const auto plan = std::make_shared<const FewRowsPlan>(*std::move(planned));
  if (!plan->stores()) {
    kernel.run = [plan, code = cuda::generated_kernel(plan->text.entry, plan->text.text)](const KernelContext& c) {
      multiply_few_rows(*plan, *code, c);
    };
    kernel.workspace = 0;
    return;
  }
  const auto code = std::make_shared<std::shared_ptr<cuda::GeneratedKernel>>();
  const auto choose = [plan, code] { *code = cuda::generated_kernel(plan->text.entry, plan->text.text); };
  const auto prepare = [plan](const KernelContext& c) {
    switch (plan->precision) {
      case ProductPrecision::kFloat32: return store_right<cuda::SplitFloat32>(*plan, c);
      case ProductPrecision::kTf32: return store_right<cuda::Tf32>(*plan, c);
      case ProductPrecision::kBFloat16: return store_right<cuda::BFloat16>(*plan, c);
    }
  };
  const auto run = [plan, code](const KernelContext& c) { multiply_few_rows(*plan, **code, c); };
  kernel.prepared = std::make_shared<PreparedKernel>(PreparedKernel{plan->packed, choose, prepare, run});
}

}  // namespace graphrun
