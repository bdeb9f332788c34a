#include "tests/ops/interpreter.h"

#include <set>
#include <string>

#include "compiler/ir/op.h"

namespace graphrun::tests {
namespace {

constexpr std::int64_t kImaginedStep = 3;  // of an imaginary scan around the graph

Tensor poisoned(DType dtype, const Sizes& sizes) {
  Tensor t(dtype, sizes);
  if (t.bytes() > 0) std::memset(t.raw(), 0xA5, t.bytes());  // exposes kernels that leave elements unwritten
  return t;
}

// Where a kernel's tensors are: in host memory, or copied to a device until the kernel has finished.
class Places {
 public:
  explicit Places(const Device& device) : backend_(device.is_cpu() ? nullptr : &device.backend()) {
    if (backend_ != nullptr) backend_->use();
  }

  // Tensors that share memory on the host share it there too.
  TensorView of(const Tensor& t) {
    TensorView view = t.view();
    if (backend_ == nullptr || t.empty()) return view;
    DeviceMemory& memory = copies_[t.raw()].memory;
    if (memory.raw() == nullptr && t.bytes() > 0) {
      memory = DeviceMemory(*backend_, t.bytes());
      backend_->to_device(memory.raw(), t.raw(), t.bytes());
      copies_[t.raw()].bytes = t.bytes();
    }
    view.data = memory.raw();
    return view;
  }
  void* stream() const { return backend_ == nullptr ? nullptr : backend_->stream(); }
  void bring_back() const {
    for (const auto& [host, copy] : copies_) {
      if (copy.bytes > 0) backend_->to_host(host, copy.memory.raw(), copy.bytes);
    }
  }

 private:
  struct Copy {
    DeviceMemory memory;
    std::size_t bytes = 0;
  };
  Backend* const backend_;
  std::map<void*, Copy> copies_;
};

class Interpreter {
 public:
  Interpreter(const ir::Graph& graph, const InterpretOptions& options) : graph_(graph), options_(options) {}

  void feed(ir::ValueId value, const Tensor& tensor) {
    const DType dtype = concrete(graph_.type(value).type, options_.precision);
    values_[value] = tensor.dtype() == dtype ? tensor : tensor.converted(dtype);
  }
  const Tensor& at(ir::ValueId value) const { return values_.at(value); }

  void run(const ir::Node& node) {
    if (node.op->view) {
      const Tensor source = at(node.inputs[0]).clone();
      Tensor result(source.dtype(), evaluate(graph_.type(node.outputs[0]).shape, options_.symbols));
      GRAPHRUN_CHECK(result.count() == source.count(), node.op->name + ": a view of another size");
      if (source.bytes() > 0) std::memcpy(result.raw(), source.raw(), source.bytes());
      values_[node.outputs[0]] = result;
      return;
    }
    const KernelFactory* factory = options_.device->kernels().find(node.op->name);
    GRAPHRUN_CHECK(factory != nullptr, "no kernel for " + node.op->name);
    std::vector<Tensor> inputs, outputs;
    for (ir::ValueId v : node.inputs) inputs.push_back(v == ir::kNone ? Tensor() : options_.in_place ? at(v).clone() : at(v));
    for (ir::ValueId v : node.outputs) {
      outputs.push_back(
          poisoned(concrete(graph_.type(v).type, options_.precision), evaluate(graph_.type(v).shape, options_.symbols)));
    }
    if (options_.in_place) share(node, inputs, outputs);
    launch(*factory, node, inputs, outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) values_[node.outputs[i]] = outputs[i];
  }

 private:
  static void share(const ir::Node& node, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
    std::set<std::size_t> taken;
    for (const auto& [output, input] : node.op->in_place_pairs(node.attributes)) {
      const auto o = static_cast<std::size_t>(output), i = static_cast<std::size_t>(input);
      if (o >= outputs.size() || i >= inputs.size() || inputs[i].empty() || taken.count(o) || taken.count(100 + i)) continue;
      if (inputs[i].dtype() != outputs[o].dtype() || inputs[i].sizes() != outputs[o].sizes()) continue;
      outputs[o] = inputs[i];
      taken.insert({o, 100 + i});
    }
  }

  void launch(const KernelFactory& factory, const ir::Node& node, const std::vector<Tensor>& inputs,
              const std::vector<Tensor>& outputs) {
    KernelRequest request;
    request.attributes = &node.attributes;
    request.symbols = &options_.symbols;
    Places places(*options_.device);
    std::vector<TensorView> in, out;
    for (const Tensor& t : inputs) {
      in.push_back(places.of(t));
      request.inputs.push_back(in.back());
      request.inputs.back().data = nullptr;
      request.absent_inputs.push_back(t.empty());
    }
    for (const Tensor& t : outputs) {
      out.push_back(places.of(t));
      request.outputs.push_back(out.back());
      request.outputs.back().data = nullptr;
    }
    const Kernel kernel = factory(request);
    const Tensor workspace = poisoned(DType::kBool, {static_cast<std::int64_t>(kernel.workspace)});
    KernelContext context;
    context.attributes = &node.attributes;
    context.inputs = in;
    context.outputs = out;
    context.workspace = places.of(workspace).data;
    context.stream = places.stream();
    const auto low_step = Tensor::of<std::int32_t>({}, {11});
    context.random = {7, 11, std::span(&kImaginedStep, 1), static_cast<const std::uint32_t*>(places.of(low_step).data)};
    kernel.run(context);
    places.bring_back();
  }

  const ir::Graph& graph_;
  const InterpretOptions& options_;
  std::map<ir::ValueId, Tensor> values_;
};

}  // namespace

std::vector<Tensor> interpret(const ir::Graph& graph, const std::map<ir::ValueId, Tensor>& feeds,
                              const std::vector<ir::ValueId>& wanted, const InterpretOptions& options) {
  Interpreter interpreter(graph, options);
  for (const auto& [value, tensor] : feeds) interpreter.feed(value, tensor);
  for (const ir::Node& node : graph.nodes) interpreter.run(node);
  std::vector<Tensor> out;
  for (ir::ValueId v : wanted) out.push_back(interpreter.at(v));
  return out;
}

}  // namespace graphrun::tests
