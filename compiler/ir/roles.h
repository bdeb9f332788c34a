// What passes know about an operator. Passes look for roles and properties, never for names. An operator declares them where it
// is defined (ops/schema.h); passes then rewrite it like any other, without a change to the passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

// What an operator computes. Several operators may have the same role. All of them have the operands and attributes given here,
// in this order; any others are optional. (`x` and so on are operands, names in quotes are attributes.)
enum class Role : std::uint8_t {
  kNone,                  // nothing that a pass looks for
  kScan,                  // a loop; compiler/ir/graph.h describes its operands and its region
  kNumber,                // the scalar "value"
  kZeros,                 // zeros, or false
  kSize,                  // the INT32 scalar "size"
  kRange,                 // the INT32 numbers from 0 to "n" - 1
  kAdd,                   // a + b
  kSubtract,              // a - b
  kMultiply,              // a * b
  kPower,                 // a to the power b
  kNegate,                // -x
  kMinimum,               // the smaller of a and b
  kEqual,                 // a == b
  kNotEqual,              // a != b
  kLess,                  // a < b
  kNot,                   // not x
  kSelect,                // a where the condition holds, else b: condition, a, b
  kCast,                  // x as "type"
  kDraw,                  // x, or only its shape, times random factors that "rate" and "key" determine
  kProgram,               // the pointwise program "code" of its operands (compiler/ir/pointwise_program.h); "rows": how they
                          // are read by row number (ops/tiles/row_reads.h)
  kReductionProgram,      // the same, whose results are reduced along "axis"; "lengths": whether the last operand is lengths
  kReshape,               // the elements of x under the shape "shape"
  kExpand,                // x with an axis of size 1 at "axis"
  kTranspose,             // x with its axes in the order "permutation"; empty: the last two swapped
  kBroadcast,             // x repeated to "shape"
  kSumTo,                 // x summed to "shape"
  kSlice,                 // a part of x along "axis", from "begin" to "end"
  kIndex,                 // x at one position "at" of "axis"
  kPad,                   // x surrounded by zeros: it begins at "begin" of "axis", whose size becomes "size"
  kPut,                   // a buffer with row i of its first axis replaced: buffer, row, i
  kSelectRows,            // the positions of "axis" of x that a list names: x, list
  kConcat,                // its operands one after another along "axis"
  kStack,                 // its operands along a new axis "axis"
  kSplit,                 // x cut into "parts" along "axis", a result each
  kStopGradient,          // x, which differentiation treats as a constant
  kMatmul,                // a @ b: "transpose_a", "transpose_b"
  kMatmulReduce,          // the sum over the leading axes of outer products of rows: a, b
  kLogsumexp,             // log Σ exp(x) along "axis"; "keep"; optional lengths
  kCrossEntropy,          // by row, the negative log-likelihood of a class: logits, target. For n equal logits, log n
  kCrossEntropyGradient,  // its gradient for the logits, 0 in rows where g is 0: logits, target, the loss, g
};

// Which elements of the operands an element of the result depends on.
enum class Access : std::uint8_t {
  kOther,        // any
  kElementwise,  // those at the same position, after the operands are broadcast against each other
  kRearrange,    // one: elements are moved, repeated or dropped
  kLookup,       // one, in a row that another operand selects
  kProduct,      // a row and a column: sums of products of two operands
  kReduction,    // all along one or several axes: "axis", where the op has such an attribute, up to `lengths`
};

// Algebraic properties of an operator. They hold bit for bit, except for the sign of zero.
struct Algebra {
  std::optional<double> left_neutral, right_neutral;  // op(e, x) is x; op(x, e) is x
  std::optional<double> absorbing;                    // op(a, x) and op(x, a) are a
  bool involution = false;                            // op(op(x)) is x
  bool idempotent = false;                            // op(op(x)) is op(x); with two operands, op(x, x) is x
  bool even = false;                                  // op(-x) is op(x)
  bool zero = false;                                  // op(0) is 0; with two operands, op(0, x) is 0 for finite x other than 0
};

// Positions [begin, end) of an axis.
struct Window {
  std::size_t axis = 0;
  Dim begin, end;
};

// The node that computes v; null for an input, a variable or kNone.
const Node* producer(const Graph& graph, ValueId v);
// The same, if that node has `role`; null otherwise.
const Node* made_by(const Graph& graph, ValueId v, Role role);
bool plays(const Node& node, Role role);
// The value of v, if a node of role kNumber computes it.
std::optional<double> number(const Graph& graph, ValueId v);
// Whether v is the number 0 or a tensor of zeros.
bool is_zeros(const Graph& graph, ValueId v);

}  // namespace graphrun::ir
