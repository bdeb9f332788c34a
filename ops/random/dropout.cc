// dropout and dropout_mask.
#include <cmath>
#include <memory>

#include "ops/over_sequence.h"
#include "ops/random/draw.h"
#include "ops/schema.h"
#include "runtime/random.h"
#include "runtime/threads.h"

namespace graphrun {
namespace {

// The hash of a row's place: the steps of the scans around the node, then the row's coordinates on the leading axes. Inside a
// scan the step stands for the axis that is not there, so the draws are those of the same tensor without the scan.
std::uint64_t fold_row(std::uint64_t hash, const Sizes& sizes, std::int64_t row) {
  std::int64_t below = 1;
  for (std::size_t axis = 0; axis + 1 < sizes.size(); ++axis) below *= sizes[axis];
  for (std::size_t axis = 0; axis + 1 < sizes.size(); ++axis) {
    below /= sizes[axis];
    hash = fold_coordinate(hash, static_cast<std::uint64_t>(row / below));
    row %= below;
  }
  return hash;
}

struct DropoutPlan {
  Sizes sizes;
  std::int64_t rows = 0, features = 0;
  std::uint64_t name = 0;
  std::uint32_t threshold = 0;
  double scale = 1;

  explicit DropoutPlan(const KernelRequest& request) : sizes(request.outputs.at(0).sizes) {
    const double rate = request.attributes->number("rate");
    const std::string& key = request.attributes->string("key");
    features = sizes.empty() ? 1 : sizes.back();
    rows = features == 0 ? 0 : element_count(sizes) / features;
    name = hash_name(key.data(), key.size());
    threshold = static_cast<std::uint32_t>(std::lround(rate * 16777216.0));  // of 2^24
    scale = 1 / (1 - rate);
  }

  // x null: the mask itself.
  template <class T>
  void run(const T* x, T* y, const RandomState& random) const {
    DrawRow common;
    common.key = fold_coordinate(fold_coordinate(random.seed, name), random.step >> 32);
    common.step = static_cast<std::uint32_t>(random.step);
    common.threshold = threshold;
    for (std::int64_t s : random.scan_steps) common.row = fold_coordinate(common.row, static_cast<std::uint64_t>(s));
    parallel_ranges(rows, std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(features, 1)),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t r = begin; r < end; ++r) {
                        DrawRow draw = common;
                        draw.row = fold_row(common.row, sizes, r);
                        drop_row(draw, x ? x + r * features : nullptr, y + r * features, features, scale);
                      }
                    });
  }
};

template <bool mask>
Kernel bind(const KernelRequest& request) {
  const auto plan = std::make_shared<const DropoutPlan>(request);
  if (request.outputs.at(0).dtype == DType::kFloat32) {
    return {[plan](const KernelContext& c) {
              plan->run(mask ? nullptr : c.inputs[0].as<const float>(), c.outputs[0].as<float>(), c.random);
            },
            0};
  }
  return {[plan](const KernelContext& c) {
            plan->run(mask ? nullptr : c.inputs[0].as<const double>(), c.outputs[0].as<double>(), c.random);
          },
          0};
}

void infer(ir::InferContext& c) {
  require_type(c, 0, Type::kFloat);
  const double rate = c.attributes->number("rate");
  if (!(rate >= 0 && rate < 1)) {
    throw ir::OpError("E0306 wrong-attribute",
                      c.op->name + ": rate must be at least 0 and below 1, found " + std::to_string(rate),
                      "help: rate is the share that is dropped, not the share that is kept");
  }
  c.outputs = {c.input(0)};
}

constexpr const char* kKeyDoc = "names the draw: two with one name draw alike; set by the compiler from the equation's path";

REGISTER_OP("dropout", "random")
    .Doc(
        "y = x / (1 - rate) with probability 1 - rate, else 0, drawn for each element (Srivastava et al. 2014, scaled in "
        "training\n"
        "instead of at test). In a scan's body it draws anew at every step. The draw is a function of seed, training step, "
        "key, the\n"
        "steps of the scans around it and the element's coordinates: of nothing else. Gone in inference.\n"
        "  let: \"x = dropout(gather(E, words), rate=0.5)\"")
    .Input("x", "[...] FLOAT")
    .Required("rate", AttributeKind::kFloat, "the share that is dropped, in [0, 1)")
    .TrainingOnly()
    .Identity([](const Attributes& a) { return a.number("rate") == 0; })
    .String("key", "", kKeyDoc)
    .OverSequence(over_leading_axes())
    .Output("y")
    .Random()
    .InPlace(0, 0)
    .Shape(infer)
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs(0)) return;
      c.set(0, c.b.op("dropout", {c.g()}, {{"rate", c.attributes.number("rate")}, {"key", c.attributes.string("key")}}));
    });
REGISTER_KERNEL("dropout", kCpu, bind<false>);

REGISTER_OP("dropout_mask", "random")
    .Doc(
        "The factors that dropout would draw for a value of x's shape, 1 / (1 - rate) or 0: made outside a scan and handed in, "
        "one\n"
        "mask serves all steps (Gal & Ghahramani 2016).\n"
        "  let: \"m = dropout_mask(zeros(shape=[batch, hidden]), rate=0.25)\"")
    .Input("x", "[...] FLOAT: only its shape is read")
    .Required("rate", AttributeKind::kFloat, "the share that is dropped, in [0, 1)")
    .TrainingOnly()
    .String("key", "", kKeyDoc)
    .OverSequence(over_leading_axes())
    .Output("y")
    .Random()
    .InPlace(0, 0)
    .Shape(infer)
    .NoGradient("the mask does not depend on x's elements");
REGISTER_KERNEL("dropout_mask", kCpu, bind<true>);

}  // namespace
}  // namespace graphrun
