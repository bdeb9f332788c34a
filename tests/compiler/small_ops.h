// Small ops that tell when memory was overwritten too early: what they compute depends on every element of their operands, in
// an order that sharing memory wrongly would change. They are registered on demand, so that tests that walk the registry of
// operators don't meet them.
#pragma once

#include <cstring>
#include <mutex>
#include <vector>

#include "ops/schema.h"

namespace graphrun::test {

template <class Body>
Kernel float_kernel(const KernelRequest& request, std::size_t workspace, Body body) {
  const bool is_double = request.outputs.at(0).dtype == DType::kFloat64;
  return {[body, is_double](const KernelContext& c) { is_double ? body(c, double{}) : body(c, float{}); }, workspace};
}

inline void same_as_first(ir::InferContext& c) { c.outputs.assign(c.op->outputs.size(), c.input(0)); }

struct SmallOp {
  OpDefinition definition;
  KernelFactory kernel = nullptr;  // null: a view
};

// y = (a + b) / 2, in place over either.
inline SmallOp average_op() {
  return {OpDefinition("t_average", "test")
              .Input("a", "")
              .Input("b", "")
              .Output("y")
              .InPlace(0, 0)
              .InPlace(0, 1)
              .Internal()
              .Shape(same_as_first),
          [](const KernelRequest& r) {
            return float_kernel(r, 0, [](const KernelContext& c, auto zero) {
              using T = decltype(zero);
              for (std::int64_t i = 0; i < c.outputs[0].count(); ++i) {
                c.outputs[0].as<T>()[i] = (c.inputs[0].as<T>()[i] + c.inputs[1].as<T>()[i]) / 2;
              }
            });
          }};
}

// y = x/2 + 1, in place.
inline SmallOp twist_op() {
  return {OpDefinition("t_twist", "test").Input("x", "").Output("y").InPlace(0, 0).Internal().Shape(same_as_first),
          [](const KernelRequest& r) {
            return float_kernel(r, 0, [](const KernelContext& c, auto zero) {
              using T = decltype(zero);
              for (std::int64_t i = 0; i < c.outputs[0].count(); ++i) c.outputs[0].as<T>()[i] = c.inputs[0].as<T>()[i] / 2 + 1;
            });
          }};
}

// y_i = x_i/2 + x_{n-1-i}/4: never in place.
inline SmallOp mix_op() {
  return {OpDefinition("t_mix", "test").Input("x", "").Output("y").Internal().Shape(same_as_first), [](const KernelRequest& r) {
            return float_kernel(r, 0, [](const KernelContext& c, auto zero) {
              using T = decltype(zero);
              const std::int64_t n = c.outputs[0].count();
              for (std::int64_t i = 0; i < n; ++i) {
                c.outputs[0].as<T>()[i] = c.inputs[0].as<T>()[i] / 2 + c.inputs[0].as<T>()[n - 1 - i] / 4;
              }
            });
          }};
}

// The reverse, through a workspace, in place.
inline SmallOp reverse_op() {
  return {OpDefinition("t_reverse", "test").Input("x", "").Output("y").InPlace(0, 0).Internal().Shape(same_as_first),
          [](const KernelRequest& r) {
            return float_kernel(r, r.outputs[0].bytes(), [](const KernelContext& c, auto zero) {
              using T = decltype(zero);
              const std::int64_t n = c.outputs[0].count();
              T* space = static_cast<T*>(c.workspace);
              for (std::int64_t i = 0; i < n; ++i) space[n - 1 - i] = c.inputs[0].as<T>()[i];
              for (std::int64_t i = 0; i < n; ++i) c.outputs[0].as<T>()[i] = space[i] + T(0.125);
            });
          }};
}

// s = (a + b) / 2 over a, d = (a - b) / 2 over b.
inline SmallOp both_op() {
  return {OpDefinition("t_both", "test")
              .Input("a", "")
              .Input("b", "")
              .Output("s")
              .Output("d")
              .InPlace(0, 0)
              .InPlace(1, 1)
              .Internal()
              .Shape(same_as_first),
          [](const KernelRequest& r) {
            return float_kernel(r, 0, [](const KernelContext& c, auto zero) {
              using T = decltype(zero);
              for (std::int64_t i = 0; i < c.outputs[0].count(); ++i) {
                const T a = c.inputs[0].as<T>()[i], b = c.inputs[1].as<T>()[i];
                c.outputs[0].as<T>()[i] = (a + b) / 2;
                c.outputs[1].as<T>()[i] = (a - b) / 2;
              }
            });
          }};
}

// p - g/8, in place over p: an optimizer's step.
inline SmallOp update_op() {
  return {OpDefinition("t_update", "test")
              .Input("p", "")
              .Input("g", "")
              .Output("y")
              .InPlace(0, 0)
              .Internal()
              .Update()
              .Shape(same_as_first),
          [](const KernelRequest& r) {
            return float_kernel(r, 0, [](const KernelContext& c, auto zero) {
              using T = decltype(zero);
              for (std::int64_t i = 0; i < c.outputs[0].count(); ++i) {
                c.outputs[0].as<T>()[i] = c.inputs[0].as<T>()[i] * T(0.875) - c.inputs[1].as<T>()[i] / 8;
              }
            });
          }};
}

// 1, 2, 3, …: no operands.
inline SmallOp count_op() {
  return {OpDefinition("t_count", "test")
              .Output("y")
              .Internal()
              .Required("shape", AttributeKind::kShape, "")
              .Shape([](ir::InferContext& c) {
                c.outputs = {{Type::kFloat, c.attributes->shape("shape")}};
              }),
          [](const KernelRequest& r) {
            return float_kernel(r, 0, [](const KernelContext& c, auto zero) {
              using T = decltype(zero);
              for (std::int64_t i = 0; i < c.outputs[0].count(); ++i) c.outputs[0].as<T>()[i] = static_cast<T>(1 + i % 5);
            });
          }};
}

// The same elements along one axis: a view.
inline SmallOp flat_op() {
  return {OpDefinition("t_flat", "test").Input("x", "").Output("y").Internal().View().Shape([](ir::InferContext& c) {
    c.outputs = {{c.input(0).type, {element_count(c.input(0).shape)}}};
  })};
}

// x plus what the seed, the training step and the positions of the scans around it say; `at` INT32 [] is added as well.
inline SmallOp key_op() {
  return {OpDefinition("t_key", "test")
              .Input("x", "")
              .OptionalInput("at", "")
              .Output("y")
              .InPlace(0, 0)
              .Internal()
              .Shape(same_as_first),
          [](const KernelRequest& r) {
            return float_kernel(r, 0, [](const KernelContext& c, auto zero) {
              using T = decltype(zero);
              T key = static_cast<T>(c.random.seed + 2 * c.random.step);
              for (std::int64_t s : c.random.scan_steps) key = key * 3 + static_cast<T>(s);
              if (c.inputs[1].present()) key += 7 * static_cast<T>(*c.inputs[1].as<std::int32_t>());
              for (std::int64_t i = 0; i < c.outputs[0].count(); ++i) {
                c.outputs[0].as<T>()[i] = c.inputs[0].as<T>()[i] / 2 + key / 64;
              }
            });
          }};
}

// x with row `at` set to `row`, in place over x: how a cache grows.
inline SmallOp put_op() {
  return {OpDefinition("t_put", "test")
              .Input("x", "")
              .Input("row", "")
              .Input("at", "")
              .Output("y")
              .InPlace(0, 0)
              .Internal()
              .Shape(same_as_first),
          [](const KernelRequest&) {
            return Kernel{[](const KernelContext& c) {
              if (c.outputs[0].data != c.inputs[0].data) {
                std::memcpy(c.outputs[0].data, c.inputs[0].data, c.inputs[0].bytes());
              }
              const std::size_t bytes = c.inputs[1].bytes();
              const auto at = static_cast<std::size_t>(*c.inputs[2].as<std::int32_t>());
              std::memcpy(static_cast<char*>(c.outputs[0].data) + at * bytes, c.inputs[1].data, bytes);
            }};
          }};
}

// Fails with a bad index.
inline SmallOp fail_op() {
  return {OpDefinition("t_fail", "test").Input("x", "").Output("y").Internal().Shape(same_as_first), [](const KernelRequest&) {
            return Kernel{
                [](const KernelContext&) { throw UserError(ExitCode::kBadData, "E0610 index-out-of-range", "index 7 of 5"); }};
          }};
}

inline std::vector<SmallOp> small_ops() {
  return {average_op(), twist_op(), mix_op(), reverse_op(), both_op(), update_op(),
          count_op(),   flat_op(),  key_op(), put_op(),     fail_op()};
}

// Kernels of the CPU are registered before the program starts.
[[maybe_unused]] inline const bool small_kernels_are_registered = [] {
  for (const SmallOp& op : small_ops()) {
    if (op.kernel) registered_kernels<DeviceKind::kCpu>().add(op.definition.schema().name, op.kernel);
  }
  return true;
}();

inline void register_small_ops() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const SmallOp& op : small_ops()) ir::OpRegistry::instance().add(op.definition.schema());
  });
}

}  // namespace graphrun::test
