// Definitions shared by the reductions: the reduced axes, the result's shape, and the mapping of a gradient back to the
// operand's shape.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/axis.h"
#include "ops/schema.h"

namespace graphrun {

// Adjacent axes [first, last) that a reduction removes.
struct AxisRange {
  int first = 0, last = 0;
};

// The attribute `axis` of a reduction: a list of adjacent axes; empty means all. Throws ir::OpError.
AxisRange reduced_axes(const ir::OpSchema& op, const Attributes& attributes, std::size_t rank);

// Checks x (input 0) and lengths (input 1), and sets the result's shape from the attributes `axis` and `keep`.
void infer_reduction(ir::InferContext& c, Type result);

// A bound or running kernel's operand, viewed along its reduced axes.
AxisView reduced_view(const Attributes& attributes, const Sizes& sizes);

// `value`, which has the shape of a reduction's result, with axes of size 1 inserted so that it broadcasts to x. These
// functions are for gradient rules of ops with inputs (x, lengths?).
ir::ValueId beside_operand(ir::GradientContext& c, ir::ValueId value);
// `value`, which has x's shape, with 0 at and beyond the lengths.
ir::ValueId real_positions(ir::GradientContext& c, ir::ValueId value);

// `value`, which has the shape of a reduction's result, broadcast back to the shape of x; 0 at and beyond the lengths.
ir::ValueId spread(ir::GradientContext& c, ir::ValueId value);

// The attributes and inputs of a reduction, in the order common to all of them.
OpDefinition reduction(std::string name, std::string doc, std::string x);

}  // namespace graphrun
