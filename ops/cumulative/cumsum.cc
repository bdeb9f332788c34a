// cumsum: running sums along an axis.
#include <algorithm>
#include <array>
#include <cstdint>

#include "ops/axis.h"
#include "ops/cumulative/running.h"
#include "ops/dispatch.h"
#include "ops/over_sequence.h"
#include "ops/parallel.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

constexpr std::int64_t kTogether = 64;  // columns summed together, so that rows are read contiguously

// Columns [first, first + count) of one outer index.
template <class In, class Out>
void sum_columns(const In* x, Out* out, const RunningSum& r, const Lengths& lengths, std::int64_t outer, std::int64_t first,
                 std::int64_t count) {
  std::array<RunningTotal<In>, kTogether> totals{};
  std::array<std::int64_t, kTogether> n{};
  for (std::int64_t i = 0; i < count; ++i) n[static_cast<std::size_t>(i)] = lengths.at(outer * r.view.inner + first + i);
  for (std::int64_t k = 0; k < r.view.n; ++k) {
    const std::int64_t position = r.reverse ? r.view.n - 1 - k : k;
    const std::int64_t row = (outer * r.view.n + position) * r.view.inner + first;
    for (std::int64_t i = 0; i < count; ++i) {
      RunningTotal<In>& total = totals[static_cast<std::size_t>(i)];
      const bool real = position < n[static_cast<std::size_t>(i)];
      if (real) total += static_cast<RunningTotal<In>>(x[row + i]);
      out[row + i] = real ? static_cast<Out>(total) : Out{0};
    }
  }
}

template <class In, class Out>
void cumsum(const In* x, Out* out, const RunningSum& r, const Lengths& lengths) {
  const std::int64_t groups = (r.view.inner + kTogether - 1) / kTogether;
  parallel_for(r.view.outer * groups, r.view.count(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) {
      const std::int64_t first = g % groups * kTogether;
      sum_columns(x, out, r, lengths, g / groups, first, std::min(kTogether, r.view.inner - first));
    }
  });
}

REGISTER_OP("cumsum", "cumulative")
    .Doc(
        "y = the sum of x up to and including each position of axis or, with reverse=true, from each position on. BOOL is\n"
        "counted, with an INT32 result. Positions at or beyond `lengths` do not count and get 0. float32 is summed in float64\n"
        "and rounded at each position.\n"
        "  x [..., n, ...] -> y of x's shape\n"
        "  let: \"elapsed = cumsum(durations, axis=0, lengths=lengths)\"    let: \"left = cumsum(x, axis=0, reverse=true)\"")
    .Input("x", "[...] FLOAT, INT32 or BOOL")
    .OptionalInput("lengths", kLengthsDoc)
    .Required("axis", AttributeKind::kInt, "the axis of the sum")
    .Bool("reverse", false, "true: sum from the last real position to the first")
    .OverSequence(over_leading_axes_with_axis())
    .Output("y")
    .InPlace(0, 0)
    .Shape([](ir::InferContext& c) {
      ir::check_lengths(c, 0, 1, ir::resolve_axis(c.attributes->integer("axis"), c.input(0).shape.size(), "cumsum"));
      c.outputs = {{c.input(0).type == Type::kFloat ? Type::kFloat : Type::kInt32, c.input(0).shape}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      const bool forwards = c.attributes.boolean("reverse");
      c.set(0, c.b.op("cumsum", {c.g(), c.x(1)}, {{"axis", c.attributes.integer("axis")}, {"reverse", !forwards}}));
    });
REGISTER_KERNEL("cumsum", kCpu, [](const KernelRequest& request) {
  const RunningSum r = running_of(request);
  return with_any(request.inputs[0].dtype, [&](auto in) {
    using In = decltype(in);
    using Out = RunningResult<In>;
    return Kernel{
        [r](const KernelContext& c) { cumsum(c.inputs[0].as<In>(), c.outputs[0].as<Out>(), r, lengths_of(c, 1, r.view)); }};
  });
});

}  // namespace
}  // namespace graphrun
