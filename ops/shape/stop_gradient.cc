// stop_gradient: a value that differentiation treats as constant. It is a view, so nothing is computed; after differentiation
// the compiler removes it (compiler/passes/simplify_shape.cc).
#include "ops/over_sequence.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

REGISTER_OP("stop_gradient", "shape")
    .Doc(
        "y = x, treated as a constant in differentiation: no gradient flows through y to x, so x is trained only through its\n"
        "other readers. `graphrun gradcheck` keeps y constant too.\n"
        "  x [...] -> y of x's shape\n"
        "  let: \"target = stop_gradient(score)\"    let: \"rounded = x + stop_gradient(floor(x + 0.5) - x)\"")
    .Input("x", "[...]")
    .OverSequence(over_leading_axes())
    .Role(ir::Role::kStopGradient)
    .Access(ir::Access::kRearrange)
    .Output("y")
    .View()
    .Shape([](ir::InferContext& c) { c.outputs = {c.input(0)}; })
    .NoGradient("that is its purpose");

}  // namespace
}  // namespace graphrun
