// fused on CUDA: its instructions one after the other.
#include <algorithm>

#include "ops/pointwise/steps_device.h"
#include "ops/schema.h"

namespace graphrun {
namespace cuda {
namespace {

Type type_of(DType dtype) { return dtype == DType::kInt32 ? Type::kInt32 : dtype == DType::kBool ? Type::kBool : Type::kFloat; }

// Which float FLOAT is: an operand tells.
Precision precision_of(const KernelRequest& request) {
  for (const std::vector<TensorView>* views : {&request.inputs, &request.outputs}) {
    for (const TensorView& v : *views) {
      if (v.dtype == DType::kFloat64) return Precision::kFloat64;
    }
  }
  return Precision::kFloat32;
}

Attributes attributes_of(const ir::PointwiseProgram::Instruction& made) {
  Attributes attributes;
  if (made.op->name == "cast") attributes.set("type", std::string(name_of(made.to)));
  if (ir::is_draw(*made.op)) {
    attributes.set("rate", made.rate);
    attributes.set("key", made.key);
  }
  return attributes;
}

}  // namespace

ProgramSteps::ProgramSteps(const ir::PointwiseProgram& program, const KernelRequest& request, const Sizes& work, bool whole)
    : precision_(precision_of(request)) {
  using Kind = ir::PointwiseProgram::Operand::Kind;
  std::vector<ir::TensorType> inputs;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorView& v = request.inputs[i];
    inputs.push_back({type_of(v.dtype), Shape(v.sizes.begin(), v.sizes.end())});
    operands_.push_back({Place::Kind::kInput, i, v});
  }
  const std::vector<ir::TensorType> types = infer(program, inputs);
  std::vector<std::size_t> made_at(types.size());  // of operands_, by instruction
  for (std::size_t i = 0; i < types.size(); ++i) {
    const ir::PointwiseProgram::Instruction& made = program.instructions[i];
    std::vector<std::size_t> in;
    for (const ir::PointwiseProgram::Operand& o : made.operands) {
      in.push_back(o.kind == Kind::kInput ? o.index : o.kind == Kind::kInstruction ? made_at[o.index] : number(o));
    }
    const auto r =
        static_cast<std::size_t>(std::find(program.results.begin(), program.results.end(), i) - program.results.begin());
    const TensorView out{nullptr, concrete(types[i].type, precision_), work};
    if (whole && r < program.results.size()) {
      operands_.push_back({Place::Kind::kOutput, r, out});
      made_at[i] = operands_.size() - 1;
    } else {
      made_at[i] = place(out);
    }
    add(*made.op, attributes_of(made), std::move(in), made_at[i]);
  }
  for (std::size_t r : program.results) results_.push_back(made_at[r]);
}

std::size_t ProgramSteps::place(const TensorView& view) {
  operands_.push_back({Place::Kind::kWorkspace, workspace_, view});
  workspace_ += (view.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  return operands_.size() - 1;
}

std::size_t ProgramSteps::number(const ir::PointwiseProgram::Operand& o) {
  const std::size_t at = place({nullptr, concrete(o.type, precision_), {}});
  Attributes attributes;
  attributes.set("value", o.number);
  add(ir::OpRegistry::instance().get("constant"), std::move(attributes), {}, at);
  return at;
}

void ProgramSteps::add(const ir::OpSchema& op, Attributes attributes, std::vector<std::size_t> inputs, std::size_t output) {
  const KernelFactory* factory = KernelRegistry::instance().find(op.name, Device::kCuda);
  GRAPHRUN_CHECK(factory != nullptr, "no kernel for '" + op.name + "'");
  KernelRequest request;
  request.attributes = &attributes;
  for (std::size_t i : inputs) request.inputs.push_back(operands_[i].view);
  request.outputs = {operands_[output].view};
  Kernel kernel = (*factory)(request);
  GRAPHRUN_CHECK(kernel.workspace == 0, "a pointwise op with a workspace");
  steps_.push_back({std::move(kernel), std::move(attributes), std::move(inputs), output});
}

TensorView ProgramSteps::view(const KernelContext& c, const Place& place) {
  TensorView view = place.view;
  switch (place.kind) {
    case Place::Kind::kInput: view.data = c.inputs[place.index].data; break;
    case Place::Kind::kOutput: view.data = c.outputs[place.index].data; break;
    case Place::Kind::kWorkspace: view.data = static_cast<char*>(c.workspace) + place.index; break;
  }
  return view;
}

void ProgramSteps::run(const KernelContext& c) const {
  std::vector<TensorView> inputs;
  for (const Step& step : steps_) {
    inputs.clear();
    for (std::size_t i : step.inputs) inputs.push_back(view(c, operands_[i]));
    const TensorView output = view(c, operands_[step.output]);
    KernelContext own = c;
    own.attributes = &step.attributes;
    own.inputs = inputs;
    own.outputs = {&output, 1};
    own.workspace = nullptr;
    step.kernel.run(own);
  }
}

}  // namespace cuda

namespace {

REGISTER_KERNEL("fused", kCuda, [](const KernelRequest& request) {
  const auto steps = std::make_shared<const cuda::ProgramSteps>(ir::parse_program(request.attributes->string("code")), request,
                                                                request.outputs.at(0).sizes, true);
  return Kernel{[steps](const KernelContext& c) { steps->run(c); }, steps->workspace()};
});

}  // namespace
}  // namespace graphrun
