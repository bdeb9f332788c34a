// scatter_add on CUDA.
#include "ops/device_indices.h"
#include "ops/dispatch.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using cuda::for_elements;

// A block for each index k. The blocks whose index has not occurred before add the rows of all equal indices, in order: so the
// order of a sum is fixed, without atomics. `out` holds zeros.
constexpr int kOwnIndices = 8;  // consecutive indices that a thread looks at

struct FoundRows {
  std::int32_t any;                                           // whether some thread found an index
  std::int32_t counts[2][cuda::kBlockThreads];                // found by each thread; sums up to each thread
  std::int32_t positions[cuda::kBlockThreads * kOwnIndices];  // of what was found, in order
};

template <class T>
GRAPHRUN_GLOBAL void add_rows_kernel(cuda::CheckedIndices checked, std::int64_t count, std::int64_t rows, std::int64_t width,
                                     const T* values, T* out) {
  const std::int32_t* const indices = checked.data;
  FoundRows& found = *static_cast<FoundRows*>(cuda::shared_memory());
  const int t = cuda::thread_index();
  const std::int64_t k = cuda::block_index();
  const std::int32_t row = indices[k];
  if (row < 0 || row >= rows) {
    if (t == 0) checked.record(k, rows);
    return;
  }
  constexpr std::int64_t kPiece = cuda::kBlockThreads * kOwnIndices;
  if (t == 0) found.any = 0;
  cuda::barrier();
  for (std::int64_t begin = 0; begin < k; begin += kPiece) {
    for (int i = 0; i < kOwnIndices; ++i) {
      const std::int64_t at = begin + i * cuda::kBlockThreads + t;
      if (at < k && indices[at] == row) found.any = 1;
    }
    cuda::barrier();
    const bool occurred = found.any != 0;
    cuda::barrier();  // all have read it
    if (occurred) return;
  }
  for (std::int64_t begin = k; begin < count; begin += kPiece) {
    const std::int64_t own = begin + static_cast<std::int64_t>(t) * kOwnIndices;
    unsigned matches = 0;
    std::int32_t matched = 0;
    for (int i = 0; i < kOwnIndices; ++i) {
      if (own + i >= count || indices[own + i] != row) continue;
      matches |= 1u << i;
      ++matched;
    }
    cuda::barrier();  // the previous piece's positions, and `any`, have been read
    if (t == 0) found.any = 0;
    found.counts[0][t] = matched;
    cuda::barrier();
    if (matched != 0) found.any = 1;
    cuda::barrier();
    if (found.any == 0) continue;
    int now = 0;
    for (int step = 1; step < cuda::kBlockThreads; step *= 2, now = 1 - now) {
      found.counts[1 - now][t] = found.counts[now][t] + (t >= step ? found.counts[now][t - step] : 0);
      cuda::barrier();
    }
    std::int32_t place = found.counts[now][t] - matched;
    for (int i = 0; i < kOwnIndices; ++i) {
      if ((matches >> i & 1u) != 0) found.positions[place++] = static_cast<std::int32_t>(own + i - begin);
    }
    const std::int32_t all = found.counts[now][cuda::kBlockThreads - 1];
    cuda::barrier();
    for (std::int64_t column = t; column < width; column += cuda::kBlockThreads) {
      T sum = begin == k ? T(0) : out[row * width + column];
      GRAPHRUN_UNROLL_BY(4)
      for (std::int32_t i = 0; i < all; ++i) sum += values[(begin + found.positions[i]) * width + column];
      out[row * width + column] = sum;
    }
  }
}

template <class T>
Kernel scatter_add_kernel(const KernelRequest& request) {
  const std::int64_t rows = request.outputs[0].sizes.front(), all = request.outputs[0].count();
  const std::int64_t count = request.inputs[0].count(), width = rows == 0 ? 0 : all / rows;
  Kernel kernel{[=](const KernelContext& c) {
    if (count == 0 || all == 0) cuda::check_device_indices(c, c.inputs[0], rows);  // no block reads an index
    T* const out = c.outputs[0].as<T>();
    for_elements(
        c, all, GRAPHRUN_LAMBDA(std::int64_t i) { out[i] = 0; });
    if (count == 0 || all == 0) return;
    cuda::launch(c.stream, {count, cuda::kBlockThreads, sizeof(FoundRows), true}, &add_rows_kernel<T>,
                 cuda::checked_indices(c, c.inputs[0]), count, rows, width, static_cast<const T*>(c.inputs[1].as<T>()), out);
  }};
  kernel.refuse = cuda::refusal(request.inputs[0], rows, "scatter_add: index");
  return kernel;
}
REGISTER_KERNEL("scatter_add", kCuda, [](const KernelRequest& request) {
  return with_number(request.inputs[1].dtype, [&](auto zero) { return scatter_add_kernel<decltype(zero)>(request); });
});

}  // namespace
}  // namespace graphrun
