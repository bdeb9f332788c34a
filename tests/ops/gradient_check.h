// An op's gradient rule against central finite differences, in float64.
#pragma once

#include <string>

#include "tests/ops/case.h"

namespace graphrun::tests {

// What is wrong with the gradient of a case, "" if nothing: a FLOAT input without a gradient, an element that differs from the
// finite difference by more than a millionth of the largest element, a gradient that is zero everywhere where the case does not
// say so. `scale` multiplies the derived gradient, for a test of this check itself.
std::string gradient_fault(const Case& c, double scale = 1);

}  // namespace graphrun::tests
