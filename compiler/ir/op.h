// The compiler's view of an operator: its named inputs and attributes, its documentation, its shape rule and its gradient.
// Operators register a schema (ops/schema.h); rules about an op are defined with the op, nowhere else.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/fold.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/roles.h"

namespace graphrun::ir {

class GradientContext;

// Thrown by shape rules: the front end adds file, line and node.
class OpError : public std::runtime_error {
 public:
  OpError(std::string code, std::string text, std::string help = "")
      : std::runtime_error(text), code(std::move(code)), help(std::move(help)) {}
  std::string code;  // "E0301 shape-mismatch"
  std::string help;  // what to do; may be empty
};

struct InputSpec {
  std::string name;
  std::string doc;  // begins with the shape: "[..., n, k] FLOAT: left factor"
  bool optional = false;
  bool variadic = false;  // the last input only: one or more
};

// Which numbers an attribute may be.
enum class Range : std::uint8_t { kAny, kPositive, kNotNegative, kBelowOne };
bool is_within(Range range, double value);
// "a finite number above 0", for messages.
std::string_view expected_of(Range range);

struct AttributeSpec {
  std::string name;
  AttributeKind kind;
  std::optional<Attribute> default_value;  // absent: must be given
  std::string doc;
  bool training_only = false;  // inference uses the default, or 0 (dropout rates, label smoothing)
  Range range = Range::kAny;   // checked where jobs are (tools/job/train_check.cc)
};

// The input and output of a shape rule.
struct InferContext {
  const OpSchema* op = nullptr;
  std::vector<const TensorType*> inputs;   // null if optional and absent
  const Attributes* attributes = nullptr;  // complete: defaults filled in
  std::vector<TensorType> outputs;         // set by the rule

  const TensorType& input(std::size_t i) const { return *inputs[i]; }
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
};

// Which operands the Builder casts before the shape rule runs. INT32 or BOOL combined with FLOAT becomes FLOAT; users write all
// other casts themselves, so anything else is left for the shape rule to reject.
enum class Promotion : std::uint8_t {
  kNone,        // none
  kArithmetic,  // if one operand is FLOAT, all become FLOAT; the result has their type (add, maximum)
  kFloat,       // all become FLOAT, and so is the result (div, exp)
  kCompare,     // as kArithmetic; the result is BOOL (lt)
  kLogical,     // none: all must be BOOL, and so is the result (and)
  kSelect,      // the first must be BOOL; the others as kArithmetic (where)
};

class SequenceContext;

using ShapeRule = std::function<void(InferContext&)>;
using GradientRule = std::function<void(GradientContext&)>;
// Applies the op to all steps of a scan at once; returns its results, or none if it cannot (compiler/ir/sequence.h).
using SequenceRule = std::function<std::vector<ValueId>(SequenceContext&)>;

// The shape of an optimizer's slot, given its name and the parameter's shape; nullopt if such a parameter does not have the
// slot.
using SlotShapeRule =
    std::function<std::optional<Shape>(std::string_view slot, const Shape& parameter, const Attributes& attributes)>;

struct OpSchema {
  std::string name;
  std::string family;  // the folder in ops/; for documentation only
  std::string doc;     // equation, shapes, source, an example equation
  std::vector<InputSpec> inputs;
  std::vector<std::string> outputs;
  std::vector<AttributeSpec> attributes;
  ShapeRule infer;
  GradientRule gradient;    // null: see no_gradient
  std::string no_gradient;  // why there is none: "integer result", "an optimizer's update"
  SequenceRule sequence;    // null: the op stays in its loop
  bool sums = false;        // sums over all leading axes: on whole sequences it gives the sum of its results at each step
  // Output `first` may overwrite input `second` if this node is the last reader of that input.
  std::vector<std::pair<int, int>> in_place;
  // The same, if it depends on a node's attributes; null: `in_place` holds for every node.
  std::function<std::vector<std::pair<int, int>>(const Attributes&)> in_place_of;
  bool view = false;                                // output 0 is input 0's memory under another shape: nothing is computed
  bool random = false;                              // draws random numbers: never merged, never folded
  bool update = false;                              // changes a variable: never dead
  SlotShapeRule slot_shape;                         // of an optimizer's update; null: elementwise, slots of the same shape
  bool internal = false;                            // created only by the compiler; equations cannot use it
  std::string infix;                                // "+", where the language writes it so
  std::function<bool(const Attributes&)> identity;  // whether the op returns its first operand unchanged; null: never
  Promotion promotion = Promotion::kNone;
  bool commutative = false;  // op(a, b) is op(b, a), to the last bit
  bool pointwise = false;    // a line of ops/tiles/table.h: element by element over broadcast operands
  // The operands at some finite values of which the result, or its derivative, is not finite: the divisor of div, x of sqrt.
  std::vector<std::size_t> singular;
  // What passes know about it: compiler/ir/roles.h.
  Role role = Role::kNone;
  Access access = Access::kOther;
  Algebra algebra;
  std::optional<FoldKind> fold;  // the equivalent reduction in a fused program
  // For an op that selects a part of its only operand (of shape x): the range that it selects. For an op that puts its operand
  // into something larger: the range of the result. Positions are counted from the start.
  std::function<Window(const Attributes&, const Shape& x)> window;
  // Of an op that multiplies matrices: its multiplications, each of which comes with an addition. The types are complete, those
  // of the results too. Null: none are counted.
  std::function<Dim(const InferContext&)> multiply_adds;

  int input_index(std::string_view name) const;  // -1: none
  const AttributeSpec* attribute(std::string_view name) const;
  std::vector<std::pair<int, int>> in_place_pairs(const Attributes& a) const { return in_place_of ? in_place_of(a) : in_place; }
  std::optional<Shape> slot_shape_of(std::string_view slot, const Shape& parameter, const Attributes& a) const {
    return slot_shape ? slot_shape(slot, parameter, a) : parameter;
  }
  bool variadic() const { return !inputs.empty() && inputs.back().variadic; }
};

// Filled by static registrations; read-only after start-up.
class OpRegistry {
 public:
  static OpRegistry& instance();
  void add(OpSchema schema);                          // throws InternalError on a second op of that name
  const OpSchema* find(std::string_view name) const;  // null: none
  const OpSchema& get(std::string_view name) const;   // throws InternalError
  std::vector<const OpSchema*> all() const;           // by name

 private:
  std::map<std::string, OpSchema, std::less<>> ops_;
};

// Helpers for shape rules; each throws OpError with a message in the user's terms.
// Converts an axis in [-rank, rank) to [0, rank).
int resolve_axis(std::int64_t axis, std::size_t rank, std::string_view what);
// Checks that `lengths` (INT32, or absent) fits x [..] along `axis`: its dims are the leading dims of x without `axis`, or it
// is a scalar.
void check_lengths(const InferContext& c, std::size_t x, std::size_t lengths, int axis);
void require_type(const InferContext& c, std::size_t input, Type type);
void require_rank_at_least(const InferContext& c, std::size_t input, std::size_t rank);

}  // namespace graphrun::ir
