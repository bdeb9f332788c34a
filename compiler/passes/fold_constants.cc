#include "compiler/passes/fold_constants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_map>

#include "compiler/ir/op.h"
#include "compiler/rewrite/rewrite.h"
#include "runtime/device/device.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::Node;
using ir::OpSchema;
using ir::TensorType;
using ir::ValueId;

struct Scalar {
  Type type;
  double value;
};

// Room for one element of any dtype.
struct alignas(kAlignment) Cell {
  std::array<std::byte, kAlignment> bytes{};
};

TensorView view(Type type, void* data) { return {data, concrete(type, Precision::kFloat64), {}}; }

void store(const Scalar& s, Cell& cell) {
  switch (s.type) {
    case Type::kFloat: std::memcpy(cell.bytes.data(), &s.value, sizeof s.value); return;
    case Type::kInt32: {
      const auto i = static_cast<std::int32_t>(s.value);
      std::memcpy(cell.bytes.data(), &i, sizeof i);
      return;
    }
    case Type::kBool: cell.bytes[0] = std::byte{s.value != 0}; return;
  }
}

double load(Type type, const Cell& cell) {
  double real = 0;
  std::int32_t integer = 0;
  switch (type) {
    case Type::kFloat: std::memcpy(&real, cell.bytes.data(), sizeof real); return real;
    case Type::kInt32: std::memcpy(&integer, cell.bytes.data(), sizeof integer); return integer;
    case Type::kBool: return cell.bytes[0] != std::byte{0};
  }
  return real;
}

// The value of an op on scalars; nullopt if it has no kernel or the kernel refuses.
std::optional<Scalar> evaluate(const Node& node, const std::vector<Scalar>& operands, Type type) {
  const KernelFactory* factory = cpu_device().kernels().find(node.op->name);
  if (!factory) return std::nullopt;
  static const SymbolValues no_symbols;
  KernelRequest request;
  request.attributes = &node.attributes;
  request.symbols = &no_symbols;
  request.absent_inputs.assign(operands.size(), false);
  request.outputs = {view(type, nullptr)};
  std::vector<Cell> cells(operands.size() + 1);
  std::vector<TensorView> inputs, outputs = {view(type, cells.back().bytes.data())};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    store(operands[i], cells[i]);
    request.inputs.push_back(view(operands[i].type, nullptr));
    inputs.push_back(view(operands[i].type, cells[i].bytes.data()));
  }
  try {
    const Kernel kernel = (*factory)(request);
    std::vector<Cell> workspace(kernel.workspace / sizeof(Cell) + 1);
    KernelContext context;
    context.attributes = &node.attributes;
    context.inputs = inputs;
    context.outputs = outputs;
    context.workspace = workspace.data();
    kernel.run(context);
  } catch (const UserError&) {
    return std::nullopt;
  }
  return Scalar{type, load(type, cells.back())};
}

class Folder {
 public:
  explicit Folder(Graph& g) : g_(g) {}

  bool run() {
    bool changed = false;
    for (Node& node : g_.nodes) {
      if (!node.regions.empty() || node.outputs.size() != 1 || node.op->random || node.op->update) continue;
      const ValueId result = node.outputs[0];
      if (const std::optional<double> number = ir::number(g_, result)) {
        remember(known_, result, {g_.type(result).type, *number});
        continue;
      }
      const std::optional<Scalar> scalar = fold(node);
      if (!scalar) continue;
      if (!g_.type(result).shape.empty()) {
        remember(repeated_, result, *scalar);
        continue;
      }
      remember(known_, result, *scalar);
      node.op = &constant_;
      node.inputs.clear();
      node.attributes = {};
      node.attributes.set("value", scalar->value);
      node.attributes.set("type", std::string(name_of(scalar->type)));
      changed = true;
    }
    return repeat() || changed;
  }

 private:
  // Replaces the nodes whose results repeat one number.
  bool repeat() {
    const auto goes = [&](const Node& node) {
      return node.outputs.size() == 1 && repeated_.count(node.outputs[0]) != 0 && !reads_a_scalar(node);
    };
    if (std::none_of(g_.nodes.begin(), g_.nodes.end(), goes)) return false;
    Rebuild rebuild(g_);
    for (Node& node : rebuild.old_nodes()) {
      if (!goes(node)) {
        rebuild.keep(std::move(node));
        continue;
      }
      const ValueId result = node.outputs[0];
      const Scalar& number = repeated_.at(result);
      ir::Builder& b = rebuild.builder();
      b.set_location(node.at), b.set_name("number");
      const ValueId scalar = b.constant(number.value, number.type);
      rebuild.replace(result, b.op("broadcast_to", {scalar}, {{"shape", Shape(g_.type(result).shape)}}));
    }
    rebuild.finish();
    return true;
  }

  // Whether a change of shape reads a scalar itself: a view of it costs nothing.
  bool reads_a_scalar(const Node& node) const { return node.inputs.size() == 1 && g_.type(node.inputs[0]).shape.empty(); }

  std::optional<Scalar> number_of(ValueId v) const {
    for (const auto* numbers : {&known_, &repeated_}) {
      if (const auto it = numbers->find(v); it != numbers->end()) return it->second;
    }
    return std::nullopt;
  }

  void remember(std::unordered_map<ValueId, Scalar>& numbers, ValueId v, const Scalar& s) const {
    if (s.type == Type::kInt32 && !(std::abs(s.value) <= std::numeric_limits<std::int32_t>::max())) return;
    numbers[v] = s;
  }

  // The number that every element of the node's result is.
  std::optional<Scalar> fold(const Node& node) const {
    const TensorType& type = g_.type(node.outputs[0]);
    for (const ir::Role role : {ir::Role::kBroadcast, ir::Role::kReshape, ir::Role::kExpand}) {
      if (ir::plays(node, role)) return number_of(node.inputs[0]);
    }
    if (ir::plays(node, ir::Role::kSize)) {
      const Dim& size = node.attributes.dim("size");
      const bool fits =
          size.is_constant() && size.constant() >= 0 && size.constant() <= std::numeric_limits<std::int32_t>::max();
      return fits ? std::optional(Scalar{Type::kInt32, static_cast<double>(size.constant())}) : std::nullopt;
    }
    if (!node.op->pointwise && !ir::plays(node, ir::Role::kCast)) return std::nullopt;
    std::vector<Scalar> operands;
    for (ValueId v : node.inputs) {
      const std::optional<Scalar> number = number_of(v);
      if (!number) return std::nullopt;
      operands.push_back(*number);
    }
    return evaluate(node, operands, type.type);
  }

  Graph& g_;
  const OpSchema& constant_ = ir::OpRegistry::instance().get("constant");
  std::unordered_map<ValueId, Scalar> known_;     // scalars
  std::unordered_map<ValueId, Scalar> repeated_;  // values whose elements are all this number
};

}  // namespace

PassResult fold_constants(Graph graph) {
  const bool changed = rewrite_inner_first(graph, [](Graph& g, const Node*) { return Folder(g).run(); });
  return {std::move(graph), changed};
}

}  // namespace graphrun
