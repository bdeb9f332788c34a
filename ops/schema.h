// How an op is declared: one file per op (or family of similar ops) in ops/<family>/:
//
//   REGISTER_OP("softmax", "reduce")
//       .Doc("y = exp(x) / sum(exp(x)) along axis. Positions from `lengths` on get 0; over nothing it gives 0.\n"
//            "  let: \"weights = softmax(e, axis=0, lengths=lengths)\"")
//       .Input("x", "[...] FLOAT")
//       .OptionalInput("lengths", "INT32: the number of real positions along axis; its dims lead those of x without axis")
//       .Int("axis", -1, "the axis that sums to one")
//       .Output("y")
//       .Shape([](ir::InferContext& c) { … c.outputs = {c.input(0)}; })
//       .Gradient([](ir::GradientContext& c) { … });
//   REGISTER_KERNEL("softmax", kCpu, [](const KernelRequest& request) -> Kernel { … });
//
// In equations, inputs are given by position or by name, attributes by name.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// The documentation of the operand `lengths` of ops along an axis.
inline constexpr const char* kLengthsDoc =
    "INT32: the number of real positions along axis; its shape is that of x without axis, or the first part of that";

class OpDefinition {
 public:
  OpDefinition(std::string name, std::string family) {
    schema_.name = std::move(name);
    schema_.family = std::move(family);
  }
  OpDefinition& Doc(std::string doc) {
    schema_.doc = std::move(doc);
    return *this;
  }
  OpDefinition& Input(std::string name, std::string doc) { return AddInput(std::move(name), std::move(doc), false, false); }
  OpDefinition& OptionalInput(std::string name, std::string doc) {
    return AddInput(std::move(name), std::move(doc), true, false);
  }
  OpDefinition& VariadicInput(std::string name, std::string doc) {
    return AddInput(std::move(name), std::move(doc), false, true);
  }
  OpDefinition& Output(std::string name) {
    schema_.outputs.push_back(std::move(name));
    return *this;
  }
  // Attributes: with a default value, or required.
  OpDefinition& Bool(std::string n, bool d, std::string doc) {
    return Add(std::move(n), AttributeKind::kBool, d, std::move(doc));
  }
  OpDefinition& Int(std::string n, std::int64_t d, std::string doc) {
    return Add(std::move(n), AttributeKind::kInt, d, std::move(doc));
  }
  OpDefinition& Float(std::string n, double d, std::string doc) {
    return Add(std::move(n), AttributeKind::kFloat, d, std::move(doc));
  }
  OpDefinition& String(std::string n, std::string d, std::string doc) {
    return Add(std::move(n), AttributeKind::kString, std::move(d), std::move(doc));
  }
  OpDefinition& Required(std::string n, AttributeKind kind, std::string doc) {
    schema_.attributes.push_back({std::move(n), kind, std::nullopt, std::move(doc)});
    return *this;
  }
  OpDefinition& Default(std::string n, AttributeKind kind, Attribute d, std::string doc) {
    return Add(std::move(n), kind, std::move(d), std::move(doc));
  }
  OpDefinition& Shape(ir::ShapeRule rule) {
    schema_.infer = std::move(rule);
    return *this;
  }
  OpDefinition& Gradient(ir::GradientRule rule) {
    schema_.gradient = std::move(rule);
    return *this;
  }
  OpDefinition& NoGradient(std::string why) {
    schema_.no_gradient = std::move(why);
    return *this;
  }
  // How the op works on all steps of a scan at once: over_sequence.h has the common rules.
  OpDefinition& OverSequence(ir::SequenceRule rule) {
    schema_.sequence = std::move(rule);
    return *this;
  }
  OpDefinition& SumsOverLeadingAxes() {
    schema_.sums = true;
    return *this;
  }
  OpDefinition& InPlace(int output, int input) {
    schema_.in_place.emplace_back(output, input);
    return *this;
  }
  OpDefinition& InPlace(std::function<std::vector<std::pair<int, int>>(const Attributes&)> of) {
    schema_.in_place_of = std::move(of);
    return *this;
  }
  OpDefinition& View() {
    schema_.view = true;
    return *this;
  }
  OpDefinition& Random() {
    schema_.random = true;
    return *this;
  }
  OpDefinition& Update() {
    schema_.update = true;
    return *this;
  }
  OpDefinition& Internal() {
    schema_.internal = true;
    return *this;
  }
  OpDefinition& Infix(std::string symbol) {
    schema_.infix = std::move(symbol);
    return *this;
  }
  OpDefinition& Promote(ir::Promotion promotion) {
    schema_.promotion = promotion;
    return *this;
  }
  // For the attribute declared last: inference uses its default, or 0.
  OpDefinition& TrainingOnly() {
    schema_.attributes.back().training_only = true;
    return *this;
  }
  // For the attribute declared last: the allowed range.
  OpDefinition& Within(ir::Range range) {
    schema_.attributes.back().range = range;
    return *this;
  }
  OpDefinition& SlotShape(ir::SlotShapeRule rule) {
    schema_.slot_shape = std::move(rule);
    return *this;
  }
  OpDefinition& Identity(std::function<bool(const Attributes&)> when) {
    schema_.identity = std::move(when);
    return *this;
  }
  OpDefinition& Commutative() {
    schema_.commutative = true;
    return *this;
  }
  OpDefinition& Singular(std::vector<std::size_t> operands) {
    schema_.singular = std::move(operands);
    return *this;
  }
  OpDefinition& Pointwise() {
    schema_.pointwise = true;
    return *this;
  }
  // What passes know about it: compiler/ir/roles.h.
  OpDefinition& Role(ir::Role role) {
    schema_.role = role;
    return *this;
  }
  OpDefinition& Access(ir::Access access) {
    schema_.access = access;
    return *this;
  }
  OpDefinition& Algebra(ir::Algebra algebra) {
    schema_.algebra = algebra;
    return *this;
  }
  OpDefinition& Fold(std::optional<ir::FoldKind> reduction) {
    schema_.fold = reduction;
    return *this;
  }
  OpDefinition& Window(std::function<ir::Window(const Attributes&, const graphrun::Shape& x)> of) {
    schema_.window = std::move(of);
    return *this;
  }
  OpDefinition& MultiplyAdds(std::function<Dim(const ir::InferContext&)> count) {
    schema_.multiply_adds = std::move(count);
    return *this;
  }

  const ir::OpSchema& schema() const { return schema_; }

 private:
  OpDefinition& AddInput(std::string name, std::string doc, bool optional, bool variadic) {
    schema_.inputs.push_back({std::move(name), std::move(doc), optional, variadic});
    return *this;
  }
  OpDefinition& Add(std::string n, AttributeKind kind, Attribute d, std::string doc) {
    schema_.attributes.push_back({std::move(n), kind, std::move(d), std::move(doc)});
    return *this;
  }
  ir::OpSchema schema_;
};

struct OpRegistration {
  OpRegistration(const OpDefinition& definition) { ir::OpRegistry::instance().add(definition.schema()); }  // NOLINT
};
struct KernelRegistration {
  KernelRegistration(KernelRegistry& kernels, std::string_view op, KernelFactory factory) {
    kernels.add(op, std::move(factory));
  }
};

#define GRAPHRUN_CAT2(a, b) a##b
#define GRAPHRUN_CAT(a, b) GRAPHRUN_CAT2(a, b)
#define REGISTER_OP(name, family) \
  static const ::graphrun::OpRegistration GRAPHRUN_CAT(op_registration_, __COUNTER__) = ::graphrun::OpDefinition(name, family)
#define REGISTER_KERNEL(name, device, ...)                                                     \
  static const ::graphrun::KernelRegistration GRAPHRUN_CAT(kernel_registration_, __COUNTER__)( \
      ::graphrun::registered_kernels<::graphrun::DeviceKind::device>(), name, __VA_ARGS__)

}  // namespace graphrun
