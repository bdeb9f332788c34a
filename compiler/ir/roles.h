// What an operator is to a pass. Passes look for roles and properties, never for names: an operator that says what it is, where
// it is defined (ops/schema.h), is rewritten as the others are, and no pass has to know of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

// What an operator computes. Several operators may play one role; all of them have the operands and attributes given here, in
// this order, and no others but optional ones. (`x` and so on are operands, names in quotes attributes.)
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
  kMinimum,               // the lesser of a and b
  kEqual,                 // a == b
  kNotEqual,              // a != b
  kLess,                  // a < b
  kNot,                   // not x
  kSelect,                // a where the condition holds, else b: condition, a, b
  kCast,                  // x as "type"
  kDraw,                  // x, or only its shape, times random factors that "rate" and "key" determine
  kProgram,               // the pointwise program "code" of its operands (compiler/ir/pointwise_program.h)
  kReductionProgram,      // the program "code" of its operands, whose results are reduced along "axis"
                          // (compiler/ir/pointwise_program.h)
  kReshape,               // the elements of x under the shape "shape"
  kExpand,                // x with an axis of size 1 at "axis"
  kTranspose,             // x with its axes in the order "permutation"; empty: the last two swapped
  kBroadcast,             // x repeated to "shape"
  kSumTo,                 // x summed to "shape"
  kSlice,                 // a part of x along "axis", from "begin" to "end"
  kIndex,                 // x at one position "at" of "axis"
  kPad,                   // x within zeros: from "begin" on, of an axis "axis" of size "size"
  kPut,                   // a buffer, of which row i of the first axis is another: buffer, row, i
  kConcat,                // its operands behind each other along "axis"
  kStack,                 // its operands along a new axis "axis"
  kSplit,                 // x cut into "parts" along "axis", a result each
  kStopGradient,          // x, as a constant to differentiation
  kMatmul,                // a @ b: "transpose_a", "transpose_b"
  kMatmulReduce,          // the sum over the leading axes of outer products of rows: a, b
  kLogsumexp,             // log Σ exp(x) along "axis"; "keep"; optional lengths
  kCrossEntropy,          // by row, the negative log-likelihood of a class: logits, target. Of n equal logits it is log n
  kCrossEntropyGradient,  // the gradient of that by logits, 0 in rows of which g is 0: logits, target, the loss, g
};

// Which elements of the operands an element of a result is made from.
enum class Access : std::uint8_t {
  kOther,        // any
  kElementwise,  // those at its own place, of operands that are broadcast against each other
  kRearrange,    // one: elements move, repeat or go
  kLookup,       // one, of a row that another operand names
  kProduct,      // a row and a column: sums of products of two operands
  kReduction,    // all along one or several axes: "axis", where the op has such an attribute, up to `lengths`
};

// What holds for the numbers that an operator computes: to the last bit, but for the sign of a zero.
struct Algebra {
  std::optional<double> left_neutral, right_neutral;  // op(e, x) is x; op(x, e) is x
  std::optional<double> absorbing;                    // op(a, x) and op(x, a) are a
  bool involution = false;                            // op(op(x)) is x
  bool idempotent = false;                            // op(op(x)) is op(x); of two operands, op(x, x) is x
  bool even = false;                                  // op(-x) is op(x)
};

// Positions [begin, end) of an axis.
struct Window {
  std::size_t axis = 0;
  Dim begin, end;
};

// The node that computes v; null for an input, a variable or kNone.
const Node* producer(const Graph& graph, ValueId v);
// The same where that node plays `role`; null otherwise.
const Node* made_by(const Graph& graph, ValueId v, Role role);
bool plays(const Node& node, Role role);
// The number that v is, where a node of role kNumber computes it.
std::optional<double> number(const Graph& graph, ValueId v);
// Whether v is the number 0 or a tensor of zeros.
bool is_zeros(const Graph& graph, ValueId v);

}  // namespace graphrun::ir
