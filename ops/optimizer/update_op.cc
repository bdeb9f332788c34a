#include "ops/optimizer/update_op.h"

#include <utility>

namespace graphrun {

using ir::InferContext;

void require_scalar(const InferContext& c, std::size_t input) {
  require_type(c, input, Type::kFloat);
  if (c.has(input) && !c.input(input).shape.empty()) {
    throw ir::OpError("E0304 wrong-rank",
                      c.op->name + ": " + c.op->inputs[input].name + " must be a scalar, found " + c.input(input).str());
  }
}

void require_one_shape(const InferContext& c, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    require_type(c, i, Type::kFloat);
    if (c.input(i).shape != c.input(first).shape) {
      throw ir::OpError("E0301 shape-mismatch", c.op->name + ": " + c.op->inputs[i].name + " is " + c.input(i).str() +
                                                    ", but " + c.op->inputs[first].name + " " + c.input(first).str());
    }
  }
}

namespace {

// Checks that a slot is present with its shape, or absent, as the schema's rule says for the parameter.
void require_slot(const InferContext& c, std::size_t input) {
  const std::string& name = c.op->inputs[input].name;
  const std::optional<Shape> shape = c.op->slot_shape_of(name, c.input(0).shape, *c.attributes);
  const std::string expected = shape ? ir::TensorType{Type::kFloat, *shape}.str() : "none";
  if (c.has(input) == shape.has_value() && (!shape || c.input(input).shape == *shape))
    return require_type(c, input, Type::kFloat);
  throw ir::OpError("E0301 shape-mismatch", c.op->name + ": " + name + " is " +
                                                (c.has(input) ? c.input(input).str() : "absent") + ", but for p of " +
                                                c.input(0).str() + " expected " + expected);
}

}  // namespace

UpdateOp& UpdateOp::Doc(const std::string& source, const std::string& equations) {
  doc_ = source + ":\n  " + equations + ",\nwith g' = scale * g + l2 * p.";
  return *this;
}

UpdateOp& UpdateOp::AddSlot(std::string name, std::string doc, bool optional) {
  slots_.push_back({std::move(name), std::move(doc), optional});
  return *this;
}

UpdateOp& UpdateOp::SlotShape(ir::SlotShapeRule rule) {
  slot_shape_ = std::move(rule);
  return *this;
}

UpdateOp& UpdateOp::Setting(std::string name, double value, ir::Range range, std::string doc) {
  settings_.push_back({std::move(name), std::move(doc), value, range});
  return *this;
}

UpdateOp& UpdateOp::Flag(std::string name, bool value, std::string doc) {
  settings_.push_back({std::move(name), std::move(doc), value, ir::Range::kAny});
  return *this;
}

UpdateOp::operator OpRegistration() const {
  OpDefinition op(name_ + "_update", "optimizer");
  op.Doc(doc_).Input("p", "[...] FLOAT: the parameter").Input("g", "[...] FLOAT: its gradient").Output("p").InPlace(0, 0);
  // The result that is a slot's next value depends on how many slots before it are present.
  std::size_t certain = 0;
  for (std::size_t k = 0; k < slots_.size(); ++k) {
    const SlotInput& slot = slots_[k];
    const std::string shape = slot_shape_ ? "" : "[...] ";
    if (slot.optional) {
      op.OptionalInput(slot.name, shape + "FLOAT: " + slot.doc + ", initially 0");
    } else {
      op.Input(slot.name, shape + "FLOAT: " + slot.doc + ", initially 0");
    }
    op.Output(slot.name);
    for (std::size_t result = certain; result <= k; ++result) op.InPlace(static_cast<int>(1 + result), static_cast<int>(2 + k));
    if (!slot.optional) ++certain;
  }
  op.Input("rate", "[] FLOAT: the learning rate");
  if (counted_ == Counted::kYes) op.Input("t", "[] FLOAT: the number of this update, 1 for the first");
  op.OptionalInput("scale", "[] FLOAT: a factor of the gradient, for clipping; 1 if absent");
  op.Float("l2", 0, "factor of the penalty l2/2 Σ p², whose gradient l2 * p is added to the scaled gradient")
      .Within(ir::Range::kNotNegative)
      .Float("weight_decay", 0,
             "decoupled weight decay: subtracts rate * weight_decay * p in addition (Loshchilov & Hutter 2019)")
      .Within(ir::Range::kNotNegative);
  for (const SettingSpec& s : settings_) {
    const AttributeKind kind = std::holds_alternative<bool>(s.value) ? AttributeKind::kBool : AttributeKind::kFloat;
    op.Default(s.name, kind, s.value, s.doc).Within(s.range);
  }
  op.Update().NoGradient("it is the update of an optimizer").SlotShape(slot_shape_);
  const std::size_t slots_end = 2 + slots_.size();
  op.Shape([slots_end](InferContext& c) {
    require_one_shape(c, 0, 2);
    c.outputs = {c.input(0)};
    for (std::size_t i = 2; i < slots_end; ++i) {
      require_slot(c, i);
      if (c.has(i)) c.outputs.push_back(c.input(i));
    }
    for (std::size_t i = slots_end; i < c.op->inputs.size(); ++i) require_scalar(c, i);
  });
  return op;
}

}  // namespace graphrun
