// The compiler's single representation: a graph of values and nodes in single-assignment form, with regions (a scan's body is a
// graph inside a node) and named variables (parameters, optimizer slots, states of a stream). Plain data: every stage takes a
// Graph and returns a Graph.
//
// Invariants (compiler/ir/verifier.h checks them):
//  - every value has one producer: a node, an input or a variable; nodes are ordered so that definitions precede uses;
//  - a region is closed: its nodes use only its own values; values from outside enter through its inputs;
//  - a node's operands and results match its op's schema, and re-running the shape rule gives the results' types.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/stable_vector.h"
#include "runtime/base/attributes.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/base/status.h"

namespace graphrun::ir {

struct OpSchema;

using ValueId = std::int32_t;
inline constexpr ValueId kNone = -1;  // an absent optional input

struct TensorType {
  Type type = Type::kFloat;
  Shape shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
  std::string str() const;  // "FLOAT[time, batch, 300]"
};

struct Value {
  std::string name;  // "encode.forward.p": the path of instances and the equation; unique within its graph
  TensorType type;
  std::int32_t node = -1;   // index of its producer in Graph::nodes; -1: an input or a variable
  std::int32_t result = 0;  // which of the producer's results
};

struct Graph;

struct Node {
  const OpSchema* op = nullptr;
  std::vector<ValueId> inputs;  // in the schema's order; kNone if optional and absent
  std::vector<ValueId> outputs;
  Attributes attributes;
  std::vector<Graph> regions;  // scan: one, its body
  Location at;
  // For a node that a pass merged from several: those nodes, in the order of its instructions, then of its reductions.
  std::vector<Origin> origins = {};
};

// A feed of the root graph, or an input of a region.
struct Input {
  ValueId value = kNone;
  std::optional<Dim> below;  // INT32: elements are in [0, below)
  std::optional<Symbol> lengths_of;
  std::string each = {};  // for a sequence that a scan's body reads: its name in `each`; passes need not preserve it
  // For a root: many consecutive runs are fed the same tensor. What kernels derive from it is kept until another one is fed.
  bool lasting = false;
};

// The initial value of a variable.
struct Initializer {
  enum class Kind : std::uint8_t { kConstant, kUniform, kNormal, kOrthogonal, kXavier } kind = Kind::kConstant;
  // The constant, the range or the deviation. Of kOrthogonal and kXavier the gain; 0 stands for 1, so that the default is the
  // same as in older models.
  double amount = 0;
  bool declared = false;  // specified in the graph; false: the default
  friend bool operator==(const Initializer&, const Initializer&) = default;
};
// The default: Glorot and Bengio's initialization for matrices, 0 for all other shapes.
Initializer default_initializer(const Shape& shape);

// A buffer that outlives a run. Its value's name is its full name, which checkpoints use.
struct Variable {
  enum class Kind : std::uint8_t { kParameter, kSlot, kState } kind = Kind::kParameter;
  ValueId value = kNone;  // its value when the run begins
  ValueId next = kNone;   // its value after the run; kNone: unchanged
  Initializer init;
  bool trainable = true;  // for parameters
  Location at;
};

struct Output {
  std::string name;
  ValueId value = kNone;
};

// A root graph has variables, and named outputs. A region has inputs and outputs by position.
//
// The body of a scan (op "scan", attributes `states` S, `each` E, `steps` Dim, `reverse` bool):
//   node inputs:   S initial states, E sequences [steps, …], then invariants
//   node outputs:  S final states, then each further body output stacked to [steps, …]
//   body inputs:   S states (before the step), E slices, the invariants, last the step: INT32 []
//   body outputs:  S states (after the step), then the step's outputs
// `reverse` runs the steps from last to first; slices and stacked outputs keep their positions. A scan knows nothing about
// padding: the front end adds selections to the body.
struct Graph {
  std::string name;  // of a body: the path of its scan, "members.0.decode"
  // For a body in a root that was just expanded: its path without the indices of repeats, "members.decode". Not part of the
  // text, and passes need not preserve it.
  std::string declared = {};
  StableVector<Value> values;  // a reference to an element, or to its type, stays valid when nodes are added
  std::vector<Node> nodes;
  std::vector<Input> inputs;
  std::vector<Variable> variables;
  std::vector<Output> outputs;
  // Symbols defined by an expression over others (the steps of a scan's history, by its time).
  std::map<Symbol, Dim> defined_symbols;
  // For a root that was just expanded: the names by which its files also call values, here and in regions, by path
  // ("crf.path"), and the values' own names. For fetches only: not part of the text, and passes need not preserve it.
  std::map<std::string, std::string> other_names;

  Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  const TensorType& type(ValueId id) const { return value(id).type; }
  const Output* output(std::string_view name) const;
  const Variable* variable(std::string_view name) const;
  std::int64_t parameter_count() const;  // the number of elements of all parameters
};

// The four counts that identify the operands of a scan, in the order that the comment of Graph gives. Every pass that inspects
// a scan starts here.
struct ScanLayout {
  std::size_t states = 0, each = 0, invariants = 0, outputs = 0;
  // Positions among the body's inputs.
  std::size_t each_begin() const { return states; }
  std::size_t invariant_begin() const { return states + each; }
  std::size_t step() const { return states + each + invariants; }
  // An output's position among the results, of the scan and of its body, where the states come first; and the output at a
  // position.
  std::size_t result_of(std::size_t output) const { return states + output; }
  std::size_t output_of(std::size_t result) const { return result - states; }
};
ScanLayout scan_layout(const Node& scan);
bool is_scan(const Node& node);
// The path of a state or output of a scan, "decode.s.h": the scan's path and the output's own.
std::string path_of(const Graph& body, const Output& output);

}  // namespace graphrun::ir
