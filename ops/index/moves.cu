// The CUDA kernels of ops/index/moves.def, and their parts in loops.
#include "ops/index/moves.h"

#include <string>
#include <type_traits>

#include "ops/device_indices.h"
#include "ops/dispatch.h"
#include "ops/generated/loop_part.h"
#include "ops/index/move_sizes.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

// Lengths are not checked: what they exceed is cut off.
template <class Move>
using IntegersOf = std::conditional_t<Move::kReads == moves::Reads::kIndices, cuda::CheckedIndices, moves::NoIntegers>;

template <class Move, class T>
struct MovedElement {
  Move move;
  const T* x;
  IntegersOf<Move> integers;
  T* out;
  GRAPHRUN_DEVICE void operator()(std::int64_t e) const { out[e] = moves::element(move, x, integers, e); }
};

// The statement that computes an element of the result in a loop.
template <class Move>
std::string element_text(DType dtype) {
  const std::string x =
      moves::kMarks<Move> ? "static_cast<const " + std::string(device_type(dtype)) + "*>(nullptr)" : std::string("a.x0");
  const std::string integers = Move::kReads == moves::Reads::kNothing
                                   ? "moves::NoIntegers{}"
                                   : "loop::Integers{a.x" + std::to_string(SizedMove<Move>::kIntegers) + ", fault}";
  return "  a.y0[e] = moves::element(a.move, " + x + ", " + integers + ", e);\n";
}

template <class Move, class T>
Kernel move_kernel(const KernelRequest& request, const SizedMove<Move>& sized, const char* what) {
  constexpr std::size_t kIntegers = SizedMove<Move>::kIntegers;
  constexpr bool kIndexed = Move::kReads == moves::Reads::kIndices;
  const TensorView& result = request.outputs[0];
  Kernel kernel{[move = sized.move, count = result.count()](const KernelContext& c) {
    IntegersOf<Move> integers;
    if constexpr (Move::kReads != moves::Reads::kNothing) integers.data = c.inputs[kIntegers].template as<std::int32_t>();
    if constexpr (kIndexed) {
      // Nothing is moved, and so no index is read, or there is nothing to index.
      if (count == 0 || move.bound == 0) return cuda::check_device_indices(c, c.inputs[kIntegers], move.bound);
      integers.fault = c.fault, integers.node = c.node;
    }
    const T* const x = moves::kMarks<Move> ? nullptr : c.inputs[0].template as<T>();
    cuda::for_elements(c, count, MovedElement<Move, T>{move, x, integers, c.outputs[0].template as<T>()});
  }};
  if constexpr (kIndexed) {
    kernel.refuse = cuda::refusal(request.inputs[kIntegers], sized.move.bound, what);
    if (sized.move.bound == 0) return kernel;
  }
  if (result.count() == 0) return kernel;
  take_part_of_elements(kernel, request, sized.reads_other_rows(request), element_text<Move>(result.dtype),
                        [move = sized.move](ArgumentLayout& to) { to.add_spelled("move", Move::kName, move); });
  share_by_columns(kernel, request, sized.reads_other_columns(request));
  return kernel;
}

template <class Move>
Kernel bind_move(const KernelRequest& request, const SizedMove<Move>& sized, const char* what) {
  return with_any(request.outputs[0].dtype, [&](auto zero) { return move_kernel<Move, decltype(zero)>(request, sized, what); });
}

#define MOVE(name, move, what) \
  REGISTER_KERNEL(#name, kCuda, [](const KernelRequest& request) { return bind_move(request, move, what); });
#include "ops/index/moves.def"
#undef MOVE

}  // namespace
}  // namespace graphrun
