// Makes nodes: fills in defaults, runs the op's shape rule, names the results. All code that adds to a graph uses it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"

namespace graphrun::ir {

using NamedAttributes = std::vector<std::pair<std::string, Attribute>>;

// A node's attributes: those given, the schema's defaults for the others. Throws OpError if an attribute without a default is
// missing.
Attributes complete(const OpSchema& op, const NamedAttributes& given);

// Checks that `given`, one flag for each operand, has the op's required inputs and no more than it takes. Throws OpError
// (E0305).
void check_inputs(const OpSchema& op, const std::vector<bool>& given);

class Builder {
 public:
  explicit Builder(Graph& graph);

  Graph& graph() { return *graph_; }
  // Sets the source location of the nodes made from now on, and the stem of their results' names.
  void set_location(const Location& at) { at_ = at; }
  const Location& location() const { return at_; }
  void set_name(std::string name) { name_ = std::move(name); }
  const std::string& name() const { return name_; }

  // Values without a node.
  ValueId input(std::string name, TensorType type);  // appended to graph.inputs
  ValueId variable(std::string name, TensorType type, Variable variable);

  ValueId value(std::string name, TensorType type);  // a result of a node under construction

  // Throws OpError if operands or attributes do not fit the schema. If the rule says so, INT32 and BOOL operands are cast
  // before the shape rule runs (pointwise: INT32 or BOOL with FLOAT gives FLOAT). Trailing absent inputs may be omitted. Does
  // not simplify pointwise identities (x * 1, x + 0): passes do that.
  std::vector<ValueId> node(const OpSchema& op, std::vector<ValueId> inputs, const NamedAttributes& attributes = {});
  ValueId op(std::string_view name, std::vector<ValueId> inputs, const NamedAttributes& attributes = {});  // its only result
  std::vector<ValueId> ops(std::string_view name, std::vector<ValueId> inputs, const NamedAttributes& attributes = {});

  ValueId constant(double value, Type type = Type::kFloat);  // a scalar; one node per distinct value and type
  ValueId zeros(const TensorType& type);
  ValueId cast(ValueId value, Type type);  // no node if it already has that type
  ValueId dim(const Dim& dim);             // a size as an INT32 scalar
  // The sum of `value` over the axes that broadcasting `shape` to it added or stretched; no node if the shapes are equal.
  ValueId sum_to(ValueId value, const Shape& shape);
  // An equation of the language over named values: equation("g * y * (1 - y)", {{"g", g}, {"y", y}}).
  ValueId equation(std::string_view text, const std::vector<std::pair<std::string, ValueId>>& names);
  // Adds a scan; see Graph's comment for `body`. Results: final states, then stacked outputs.
  std::vector<ValueId> scan(std::vector<ValueId> inputs, Graph body, std::size_t states, std::size_t each, const Dim& steps,
                            bool reverse);

  // A name that is not used in this graph yet: `stem`, or `stem.1`, …
  std::string unique(std::string stem);
  // Appends a node that is known to be valid (copied from elsewhere), with results of these types.
  std::vector<ValueId> append(Node node, const std::vector<TensorType>& types, const std::vector<std::string>& names);

 private:
  Graph* graph_;
  Location at_;
  std::string name_;
  std::unordered_map<std::string, int> names_;
  std::map<std::pair<double, int>, ValueId> constants_;
};

// The input of a gradient rule: the forward node's operands and results as values of the graph under construction, the
// gradients of its results, and a builder. A rule sets the gradient of every FLOAT input for which needs(i) holds, with the
// input's shape (use sum_to). Rules only build nodes; a generic walk accumulates and prunes.
class GradientContext {
 public:
  GradientContext(Builder& builder, const OpSchema& op, const Attributes& attributes, std::vector<ValueId> inputs,
                  std::vector<ValueId> outputs, std::vector<ValueId> d_outputs, std::vector<bool> needs)
      : b(builder),
        op(op),
        attributes(attributes),
        inputs(std::move(inputs)),
        outputs(std::move(outputs)),
        d_outputs(std::move(d_outputs)),
        needs_(std::move(needs)),
        d_inputs(this->inputs.size(), kNone) {}

  Builder& b;
  const OpSchema& op;
  const Attributes& attributes;
  std::vector<ValueId> inputs;  // kNone if absent
  std::vector<ValueId> outputs;
  std::vector<ValueId> d_outputs;  // kNone: no gradient flows into that result

 private:
  std::vector<bool> needs_;

 public:
  std::vector<ValueId> d_inputs;  // set by the rule

  ValueId x(std::size_t i = 0) const { return inputs[i]; }
  ValueId y(std::size_t i = 0) const { return outputs[i]; }
  ValueId g(std::size_t i = 0) const { return d_outputs[i]; }
  bool needs(std::size_t i = 0) const { return needs_[i]; }
  const TensorType& type(ValueId v) const { return b.graph().type(v); }
  const Shape& shape(ValueId v) const { return b.graph().type(v).shape; }
  void set(std::size_t i, ValueId gradient) { d_inputs[i] = gradient; }
};

}  // namespace graphrun::ir
