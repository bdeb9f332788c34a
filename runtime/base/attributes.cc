#include "runtime/base/attributes.h"

#include "runtime/base/status.h"

namespace graphrun {

void missing_attribute(std::string_view name) {
  throw InternalError("attribute '" + std::string(name) + "' is missing or of another kind");
}

void OpaqueValue::wrong_type() { throw InternalError("an attribute's value is of another type"); }

}  // namespace graphrun
