// A graph under construction: the root, or the body of a scan. A body is closed: a value of an enclosing graph enters it as an
// operand that is the same at every step.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/meaning.h"
#include "compiler/ir/builder.h"

namespace graphrun::frontend {

struct Region {
  explicit Region(Region* parent) : parent(parent), builder(graph) {}
  Region(const Region&) = delete;

  Region* parent;  // null: the root
  ir::Graph graph;
  ir::Builder builder;
  std::size_t counted = 0;  // how many of its values the expansion's budget has counted

  // A state of a body.
  struct State {
    std::string name;  // the leaf's path
    ir::ValueId before = ir::kNone, after = ir::kNone;
    ir::ValueId begin = ir::kNone;  // in the parent
  };
  std::vector<State> states;
  std::vector<ir::ValueId> each, each_operands;          // here, and in the parent
  std::vector<std::string> each_names;                   // in the scan's `each`
  std::vector<ir::ValueId> captured, captured_operands;  // here, and in the parent
  ir::ValueId step = ir::kNone;
  Dim steps;
  bool reverse = false;
  std::optional<Symbol> history;                 // the size of histories, if there are any
  std::map<ir::ValueId, ir::ValueId> captures;   // value in the parent -> value here
  std::map<ir::ValueId, ir::ValueId> histories;  // value -> its history

  // The value as a value of this region. Throws InternalError if it does not belong to this region or an enclosing one.
  ir::ValueId use(const TensorRef& value);
  TensorRef ref(ir::ValueId id) { return {this, id}; }
  const ir::TensorType& type(ir::ValueId id) const { return graph.type(id); }
  // The history of a body's value: its values at all steps so far, in a buffer with space for all steps.
  ir::ValueId history_of(ir::ValueId value, const std::string& path, ir::Graph& root);
};

}  // namespace graphrun::frontend
