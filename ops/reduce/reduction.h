// What the reductions share: which axes go, the result's shape, and the way back of a gradient to the operand's shape.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/axis.h"
#include "ops/schema.h"

namespace graphrun {

// Neighbouring axes [first, last) that a reduction removes.
struct AxisRange {
  int first = 0, last = 0;
};

// The attribute `axis` of a reduction: a list of neighbouring axes, or empty: all. Throws ir::OpError.
AxisRange reduced_axes(const ir::OpSchema& op, const Attributes& attributes, std::size_t rank);

// Checks x (input 0) and lengths (input 1) and fills in the result's shape for attributes `axis` and `keep`.
void infer_reduction(ir::InferContext& c, Type result);

// The operand of a bound or running kernel around its reduced axes.
AxisView reduced_view(const Attributes& attributes, const Sizes& sizes);

// `value`, of a reduction's result shape, with axes of size 1 where it needs them to broadcast to x. For gradient rules of ops
// with inputs (x, lengths?), as those below.
ir::ValueId beside_operand(ir::GradientContext& c, ir::ValueId value);
// `value`, of x's shape, 0 from the lengths on.
ir::ValueId real_positions(ir::GradientContext& c, ir::ValueId value);

// `value`, of a reduction's result shape, broadcast back to the shape of x; 0 from the lengths on.
ir::ValueId spread(ir::GradientContext& c, ir::ValueId value);

// Reductions' attributes and inputs, in the order that all of them have.
OpDefinition reduction(std::string name, std::string doc, std::string x);

}  // namespace graphrun
