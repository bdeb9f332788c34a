// Ops over all gradients together: their norm, whether they are finite, and the factor that clips them.
#include <algorithm>
#include <cmath>
#include <memory>

#include "ops/optimizer/norm.h"
#include "ops/optimizer/update.h"
#include "ops/schema.h"
#include "runtime/threads/threads.h"

namespace graphrun {

double norm_of_pieces(std::span<double> sums) {
  std::size_t n = sums.size();
  if (n == 0) return 0;
  for (; n > 1; n = (n + 1) / 2) {
    for (std::size_t i = 0; i < n / 2; ++i) sums[i] = sums[2 * i] + sums[2 * i + 1];
    if (n % 2 == 1) sums[n / 2] = sums[n - 1];
  }
  return std::sqrt(sums[0]);
}

namespace {

// The elements of all operands, divided into pieces that do not depend on the number of threads.
struct Pieces {
  struct Piece {
    std::size_t input;
    std::int64_t begin, count;
  };
  std::vector<Piece> all;

  explicit Pieces(const KernelRequest& request) {
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      const std::int64_t count = request.inputs[i].count();
      for (std::int64_t b = 0; b < count; b += kNormPiece) all.push_back({i, b, std::min(kNormPiece, count - b)});
    }
  }
  // results[i] = of(data, count) for piece i.
  template <class T, class R, class Of>
  void map(const KernelContext& c, R* results, const Of& of) const {
    parallel_ranges(static_cast<std::int64_t>(all.size()), 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Piece& p = all[static_cast<std::size_t>(i)];
        results[i] = of(c.inputs[p.input].as<const T>() + p.begin, static_cast<std::size_t>(p.count));
      }
    });
  }
};

template <class T>
Kernel norm_kernel(const KernelRequest& request) {
  const auto pieces = std::make_shared<const Pieces>(request);
  return {[pieces](const KernelContext& c) {
            auto* sums = static_cast<double*>(c.workspace);
            pieces->map<T>(c, sums, [](const T* x, std::size_t n) { return sum_of_squares(x, n); });
            *c.outputs[0].as<T>() = static_cast<T>(norm_of_pieces({sums, pieces->all.size()}));
          },
          pieces->all.size() * sizeof(double)};
}

template <class T>
Kernel finite_kernel(const KernelRequest& request) {
  const auto pieces = std::make_shared<const Pieces>(request);
  return {[pieces](const KernelContext& c) {
            auto* finite = static_cast<std::uint8_t*>(c.workspace);
            pieces->map<T>(c, finite, [](const T* x, std::size_t n) -> std::uint8_t { return all_finite(x, n); });
            *c.outputs[0].as<std::uint8_t>() =
                std::all_of(finite, finite + pieces->all.size(), [](std::uint8_t f) { return f != 0; });
          },
          pieces->all.size()};
}

void all_must_be_floats(const ir::InferContext& c) {
  for (std::size_t i = 0; i < c.inputs.size(); ++i) require_type(c, i, Type::kFloat);
}

REGISTER_OP("global_norm", "optimizer")
    .Doc(
        "y = √(Σ x²) over all elements of all operands, summed in float64 in an order that does not depend on threads.\n"
        "  let: \"norm = global_norm(dW, dU, db)\"")
    .VariadicInput("gs", "[...] FLOAT")
    .Output("y")
    .NoGradient("it is applied after differentiation")
    .Shape([](ir::InferContext& c) {
      all_must_be_floats(c);
      c.outputs = {{Type::kFloat, {}}};
    });
REGISTER_KERNEL("global_norm", kCpu, [](const KernelRequest& request) {
  return request.outputs.at(0).dtype == DType::kFloat32 ? norm_kernel<float>(request) : norm_kernel<double>(request);
});

REGISTER_OP("all_finite", "optimizer")
    .Doc("y = whether all elements of all operands are finite: BOOL [].\n  let: \"sound = all_finite(dW, dU, db)\"")
    .VariadicInput("gs", "[...] FLOAT")
    .Output("y")
    .NoGradient("the result is BOOL")
    .Shape([](ir::InferContext& c) {
      all_must_be_floats(c);
      c.outputs = {{Type::kBool, {}}};
    });
REGISTER_KERNEL("all_finite", kCpu, [](const KernelRequest& request) {
  return request.inputs.at(0).dtype == DType::kFloat32 ? finite_kernel<float>(request) : finite_kernel<double>(request);
});

template <class T>
Kernel clip_kernel(double limit) {
  return {[limit](const KernelContext& c) {
            const double factor = limit / static_cast<double>(*c.inputs[0].as<const T>());
            *c.outputs[0].as<T>() = static_cast<T>(factor >= 1 ? 1.0 : factor);
          },
          0};
}

REGISTER_OP("clip_scale", "optimizer")
    .Doc(
        "y = min(1, limit / norm): the factor that clips gradients of that norm (Pascanu et al. 2013). NaN if the norm is\n"
        "NaN.\n"
        "  let: \"factor = clip_scale(global_norm(dW, dU), limit=5)\"")
    .Input("norm", "[] FLOAT")
    .Required("limit", AttributeKind::kFloat, "the largest norm that is not clipped; above 0")
    .Output("y")
    .InPlace(0, 0)
    .NoGradient("it is applied after differentiation")
    .Shape([](ir::InferContext& c) {
      require_type(c, 0, Type::kFloat);
      if (!c.input(0).shape.empty()) {
        throw ir::OpError("E0304 wrong-rank", "clip_scale: norm must be a scalar, found " + c.input(0).str());
      }
      if (!(c.attributes->number("limit") > 0)) {
        throw ir::OpError("E0306 wrong-attribute",
                          "clip_scale: limit must be above 0, found " + std::to_string(c.attributes->number("limit")));
      }
      c.outputs = {c.input(0)};
    });
REGISTER_KERNEL("clip_scale", kCpu, [](const KernelRequest& request) {
  const double limit = request.attributes->number("limit");
  return request.outputs.at(0).dtype == DType::kFloat32 ? clip_kernel<float>(limit) : clip_kernel<double>(limit);
});

}  // namespace
}  // namespace graphrun
