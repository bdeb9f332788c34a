// Copies nodes of one graph into another under new value ids.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"

namespace graphrun::ir {

class Transplant {
 public:
  Transplant(const Graph& from, Graph& to) : from_(from), builder_(to) {}
  void map(ValueId from, ValueId to) { ids_[from] = to; }
  bool has(ValueId v) const { return ids_.count(v) != 0; }
  ValueId operator()(ValueId v) const { return v == kNone ? kNone : ids_.at(v); }
  Builder& builder() { return builder_; }
  void copy(std::size_t n) {
    const Node& node = from_.nodes[n];
    Node copy = node;
    for (ValueId& v : copy.inputs) v = (*this)(v);
    std::vector<TensorType> types;
    std::vector<std::string> names;
    for (ValueId v : node.outputs) {
      types.push_back(from_.type(v));
      names.push_back(from_.value(v).name);
    }
    const std::vector<ValueId> out = builder_.append(std::move(copy), types, names);
    for (std::size_t i = 0; i < out.size(); ++i) map(node.outputs[i], out[i]);
  }

 private:
  const Graph& from_;
  Builder builder_;
  std::map<ValueId, ValueId> ids_;
};

}  // namespace graphrun::ir
