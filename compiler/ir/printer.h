// A graph as text: one node a line, in the order of the graph. compiler/ir/parser.h reads it back to the same graph.
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
// Values: %name, or %"any text"; an absent operand is _ (at the end: left out). Sizes stand in <>. Attributes tell their kind
// by their look: true, 3, 0.5, "text", <time+1> (a size), [time, 4] (a shape), (1, 0) (integers); those that have the value of
// the schema's default are left out. A location is file, line, column and, where it is not 1, the number of bytes. `#` begins a
// comment.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

struct PrintOptions {
  bool locations = true;
};

// Regions that nest deeper than this are refused by the parser and by the verifier.
inline constexpr int kMostRegionDepth = 100;

// Total: prints a graph that breaks invariants too, as far as it can be shown; what cannot be named stands as %<number>.
std::string print(const Graph& graph, const PrintOptions& options = {});
// One node's line, without its regions and the line's end: for messages and labels.
std::string print(const Graph& graph, const Node& node, const PrintOptions& options = {.locations = false});

// The parts: an attribute's value, a float that reads back bit for bit, a string in quotes.
std::string print(const Attribute& value);
std::string print(double value);
std::string quoted(std::string_view text);

// The words of the text form.
std::string_view name_of(Initializer::Kind kind);  // "uniform"
std::string_view name_of(Variable::Kind kind);     // "parameter"

// Equal to the last bit: unlike ==, tells 0.0 from -0.0 and takes a NaN for equal to itself.
bool same_attribute(const Attribute& a, const Attribute& b);

}  // namespace graphrun::ir
