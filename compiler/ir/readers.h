// The readers of each value of a region, in two flat arrays: for passes over graphs of a hundred thousand nodes.
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

class Readers {
 public:
  explicit Readers(const Graph& graph);

  // The nodes that read `v`, in order; a node appears once for each operand that is `v`. Outputs are not readers.
  std::span<const std::int32_t> of(ValueId v) const {
    const auto begin = begin_[static_cast<std::size_t>(v)], end = begin_[static_cast<std::size_t>(v) + 1];
    return {nodes_.data() + begin, static_cast<std::size_t>(end - begin)};
  }

 private:
  std::vector<std::int32_t> begin_;  // by value, plus one final entry
  std::vector<std::int32_t> nodes_;
};

// Values that are read at the end of the region: outputs, next values.
std::vector<bool> read_at_end(const Graph& graph);

// Whether a node or an output reads v. For a single query: it walks the graph.
bool is_read(const Graph& graph, ValueId v);

}  // namespace graphrun::ir
