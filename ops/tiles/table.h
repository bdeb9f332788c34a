// The table of pointwise ops (table.def) as data, for schemas, generated code and documentation.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "compiler/ir/op.h"

namespace graphrun {

struct PointwiseLine {
  std::string_view name;
  int arity;  // 1, 2 or 3
  ir::Promotion promotion;
  std::string_view expression;      // C over the operands' names; T is the element's type
  std::string_view derivatives[3];  // one for each operand; "" if it has none
  std::string_view infix;
  std::string_view doc;

  // Named x; a, b; or condition, a, b.
  std::string_view operand(int i) const {
    constexpr std::string_view kNames[] = {"condition", "a", "b"};
    return arity == 1 ? std::string_view("x") : kNames[i + 3 - arity];
  }
};

// In the table's order: the index of a line is the index of its tile (ops/tiles/tiles.h).
const std::vector<PointwiseLine>& pointwise_table();

}  // namespace graphrun
