// The operators' reference, from their schemas.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/op.h"

namespace graphrun {

// Signature, documentation, inputs, attributes with their defaults, results, gradient.
std::string op_reference(const ir::OpSchema& op);

// All operators that equations can name, by family.
std::string op_list();
std::vector<std::string> op_names();

}  // namespace graphrun
