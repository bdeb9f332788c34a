#include "ops/over_sequence.h"

#include <algorithm>
#include <vector>

#include "compiler/ir/op.h"

namespace graphrun {

using ir::SequenceContext;
using ir::ValueId;

ir::SequenceRule over_leading_axes(std::initializer_list<std::size_t> shared) {
  return [shared = std::vector<std::size_t>(shared)](SequenceContext& c) -> std::vector<ValueId> {
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      const bool is_shared = std::find(shared.begin(), shared.end(), i) != shared.end();
      if (is_shared && c.is_sequence(i)) return {};
      inputs.push_back(is_shared ? c.operands[i].value : c.sequence(i));
    }
    return c.again(std::move(inputs));
  };
}

ir::SequenceRule over_leading_axes_with_axis() {
  return [](SequenceContext& c) -> std::vector<ValueId> {
    const auto after = [](std::int64_t axis) { return axis < 0 ? axis : axis + 1; };
    const Attribute* given = &c.attributes.all().find("axis")->second;
    if (const auto* axis = std::get_if<std::int64_t>(given)) return c.again(c.all_sequences(), {{"axis", after(*axis)}});
    std::vector<std::int64_t> axes = std::get<std::vector<std::int64_t>>(*given);
    if (axes.empty()) {
      for (std::size_t k = 0; k < c.rank(0); ++k) axes.push_back(static_cast<std::int64_t>(k + 1));
      if (axes.empty()) return {};  // a scalar: there is no axis to name
    } else {
      std::transform(axes.begin(), axes.end(), axes.begin(), after);
    }
    return c.again(c.all_sequences(), {{"axis", axes}});
  };
}

ir::SequenceRule over_broadcast_operands() {
  return [](SequenceContext& c) {
    std::size_t rank = 0;
    for (std::size_t i = 0; i < c.operands.size(); ++i) rank = std::max(rank, c.rank(i));
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      inputs.push_back(c.is_sequence(i) ? c.aligned(i, rank) : c.operands[i].value);
    }
    return c.again(std::move(inputs));
  };
}

}  // namespace graphrun
