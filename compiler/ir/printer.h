// Prints a graph as text: one node per line, in the graph's order. compiler/ir/parser.h parses it to the same graph.
//
//   graph "demo" {
//     symbol <steps> = <2*time>
//     input %x: INT32[time, batch] below <100> lengths_of <time>
//     parameter %W: FLOAT[4, 4] = uniform(0.08) declared frozen next %W.next at "demo.pbtxt":3:1
//     %p: FLOAT[time, batch, 4] = matmul(%x, %W; transpose_b=true) at "demo.pbtxt":5:8+6 via "jobs/demo.pbtxt":1:1
//     %end: FLOAT[batch, 4], %y: FLOAT[time, batch, 4] = scan(%h, %p; each=1, states=1, steps=<time>) body "step" {
//       …
//     }
//     output "y" = %y
//   }
//
// Values: %name, or %"any text"; an absent operand is _ (omitted at the end). Sizes are in <>. The form of an attribute shows
// its kind: true, 3, 0.5, "text", <time+1> (a size), [time, 4] (a shape), (1, 0) (integers); attributes with the schema's
// default value are omitted. A location is file, line, column and, unless it is 1, the number of bytes. `#` starts a comment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

struct PrintOptions {
  bool locations = true;
};

// The parser and the verifier reject regions nested deeper than this.
inline constexpr int kMostRegionDepth = 100;

// Total: also prints graphs that violate invariants, as far as possible; a value that cannot be named is printed as %<number>.
std::string print(const Graph& graph, const PrintOptions& options = {});
// The line of one node, without its regions and line end: for messages and labels.
std::string print(const Graph& graph, const Node& node, const PrintOptions& options = {.locations = false});

// The parts: an attribute's value, a float that parses back to the same bits, a quoted string.
std::string print(const Attribute& value);
std::string print(double value);
std::string quoted(std::string_view text);

// Parts of expressions as equations write them, for people.
// How tightly an operator binds, loosest first.
enum class Precedence : std::uint8_t { kOr, kAnd, kNot, kCompare, kSum, kProduct, kMinus, kPower, kAtom };
struct WrittenExpression {
  std::string text;
  Precedence precedence = Precedence::kAtom;
};
// The operator `symbol` (OpSchema::infix) with one or two operands, which get parentheses if they bind less tightly.
WrittenExpression write_infix(const std::string& symbol, const std::vector<WrittenExpression>& operands);
WrittenExpression write_number(double value, Type type = Type::kFloat);
WrittenExpression write_size(const Dim& size);
// 0.5, true, 'INT32', [m, n].
std::string write_attribute(const Attribute& value);
// "axis=0", … in the schema's order, without those that have their default value.
std::vector<std::string> write_attributes(const OpSchema& op, const Attributes& attributes);

// The keywords of the text form.
std::string_view name_of(Initializer::Kind kind);  // "uniform"
std::string_view name_of(Variable::Kind kind);     // "parameter"

// Bitwise equality: unlike ==, distinguishes 0.0 from -0.0 and treats a NaN as equal to itself.
bool same_attribute(const Attribute& a, const Attribute& b);

}  // namespace graphrun::ir
