#include "ops/optimizer/update_op.h"

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

OpDefinition update_op(const std::string& name, const std::vector<std::pair<std::string, std::string>>& slots,
                       Counted counted) {
  OpDefinition op(name, "optimizer");
  op.Input("p", "[...] FLOAT: the parameter").Input("g", "[...] FLOAT: its gradient").Output("p").InPlace(0, 0);
  for (std::size_t k = 0; k < slots.size(); ++k) {
    op.Input(slots[k].first, "[...] FLOAT: " + slots[k].second + ", 0 at first").Output(slots[k].first);
    op.InPlace(static_cast<int>(1 + k), static_cast<int>(2 + k));
  }
  op.Input("rate", "[] FLOAT: the learning rate");
  if (counted == Counted::kYes) op.Input("t", "[] FLOAT: the number of this update, 1 for the first");
  op.OptionalInput("scale", "[] FLOAT: multiplies the gradient (a clip's factor); 1 where absent");
  op.Float("l2", 0, "of the penalty l2/2 Σ p², whose gradient l2 * p adds to the scaled one")
      .Float("weight_decay", 0, "decoupled: takes rate * weight_decay * p off, beside the gradient (Loshchilov & Hutter 2019)");
  op.Update().NoGradient("an optimizer's update");
  const std::size_t tensors = 2 + slots.size();
  op.Shape([tensors](InferContext& c) {
    require_one_shape(c, 0, tensors);
    for (std::size_t i = tensors; i < c.op->inputs.size(); ++i) require_scalar(c, i);
    c.outputs = {c.input(0)};
    for (std::size_t i = 2; i < tensors; ++i) c.outputs.push_back(c.input(i));
  });
  return op;
}

}  // namespace graphrun
