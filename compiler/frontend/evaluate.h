// Operations on meanings that build nodes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/meaning.h"
#include "compiler/frontend/region.h"

namespace graphrun::frontend {

struct Scope;

// Operations on meanings that build nodes in the scope's region.
Meaning stacked(const Meaning& value, Region& region, const Location& at);  // a stack as one tensor, or a bundle of them
ir::ValueId as_value(const Meaning& value, Region& region, const Location& at, const std::string& what,
                     std::optional<Type> type = {});  // a tensor, or a number as a constant
Meaning apply_op(const std::string& op, std::vector<Meaning> operands, std::vector<std::pair<std::string, Meaning>> named,
                 const Location& at, Scope& scope);

}  // namespace graphrun::frontend
