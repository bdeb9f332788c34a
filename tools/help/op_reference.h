// The operators' reference, from their schemas.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/op.h"

namespace graphrun {

// The signature, documentation, inputs, attributes with their defaults, results and gradient of an operator.
std::string op_reference(const ir::OpSchema& op);

// All operators that equations can use, by family.
std::string op_list();
std::vector<std::string> op_names();

}  // namespace graphrun
