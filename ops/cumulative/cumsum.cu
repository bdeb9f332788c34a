// cumsum on CUDA.
#include "ops/cumulative/running.h"
#include "ops/dispatch.h"
#include "ops/reduce/columns_device.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using cuda::Column;

// The lanes of a column take one adjacent position each, sum them in shared memory with a tree whose shape depends only on the
// number of lanes, and continue from the previous total.
template <class In, class Out>
struct CumsumBody {
  using Total = RunningTotal<In>;
  const In* x;
  Out* out;  // may be x: each element is read and written by the same thread
  bool reverse;

  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    Total before = 0;
    for (std::int64_t base = 0; base < c.view.n; base += c.grid.lanes) {
      // In the order of summation; padded positions come last.
      const std::int64_t k = base + c.lane;
      const bool real = k < c.n;
      const std::int64_t place = c.exists && k < c.view.n ? c.at(real && reverse ? c.n - 1 - k : k) : 0;
      Total sum = real ? static_cast<Total>(x[place]) : Total(0), all = sum;
      if (c.grid.lanes > 1) sum = running_sum(c, sum, all);
      if (c.exists && k < c.view.n) out[place] = real ? static_cast<Out>(before + sum) : Out(0);
      before += all;
    }
  }

 private:
  // The sum of this lane's value and those of all lanes before it; `all` becomes the sum over all lanes.
  GRAPHRUN_DEVICE static Total running_sum(const Column& c, Total sum, Total& all) {
    Total* shared = static_cast<Total*>(cuda::shared_memory());
    const int t = cuda::thread_index(), step = c.grid.along_axis ? 1 : c.grid.results;
    cuda::barrier();  // all threads have read the previous contents
    shared[t] = sum;
    for (int reach = 1; reach < c.grid.lanes; reach *= 2) {
      cuda::barrier();
      const Total other = c.lane >= reach ? shared[t - reach * step] : Total(0);
      cuda::barrier();
      sum += other;
      shared[t] = sum;
    }
    cuda::barrier();
    all = shared[t + (c.grid.lanes - 1 - c.lane) * step];
    return sum;
  }
};

REGISTER_KERNEL("cumsum", kCuda, [](const KernelRequest& request) {
  const RunningSum r = running_of(request);
  return with_any(request.inputs[0].dtype, [&](auto in) {
    using In = decltype(in);
    using Out = RunningResult<In>;
    return Kernel{[r](const KernelContext& c) {
      cuda::for_columns(c, r.view, lengths_of(c, 1, r.view), sizeof(RunningTotal<In>),
                        CumsumBody<In, Out>{c.inputs[0].as<In>(), c.outputs[0].as<Out>(), r.reverse});
    }};
  });
});

}  // namespace
}  // namespace graphrun
