// Compares an op's gradient rule with central finite differences, in float64.
#pragma once

#include <string>

#include "tests/ops/case.h"

namespace graphrun::tests {

// Describes what is wrong with a case's gradient, "" if nothing: a FLOAT input without a gradient, an element that differs from
// the finite difference by more than a millionth of the largest element, or a gradient that is zero everywhere although the
// case does not say so. `scale` multiplies the derived gradient, to test this check itself.
std::string gradient_fault(const Case& c, double scale = 1);

}  // namespace graphrun::tests
