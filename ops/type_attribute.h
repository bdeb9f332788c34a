// The attribute `type` of ops whose result type is given by name.
#pragma once

#include "ops/schema.h"

namespace graphrun {

inline constexpr const char* kTypeDoc = "'FLOAT', 'INT32' or 'BOOL'";

// Throws OpError if it is not the name of a type.
inline Type type_attribute(const ir::InferContext& c) {
  const std::string& name = c.attributes->string("type");
  for (Type type : {Type::kFloat, Type::kInt32, Type::kBool}) {
    if (name == name_of(type)) return type;
  }
  throw ir::OpError("E0306 wrong-attribute", c.op->name + ": type must be " + kTypeDoc + ", found '" + name + "'");
}

}  // namespace graphrun
