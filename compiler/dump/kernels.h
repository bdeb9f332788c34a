// The generated kernels of a program, as text for people.
#pragma once

#include <string>

#include "runtime/device/device.h"
#include "runtime/program/program.h"

namespace graphrun {

// Every instruction in the order in which it runs, with the equation that it came from as a comment: file, line and text. On
// the CPU, fused groups and loops are printed as statements that compute what their machine code computes. On a device,
// generated kernels are printed as its compiler receives them, plus these comments. `sizes` has every symbol. Throws what bind
// throws.
std::string describe_kernels(const Program& program, const SymbolValues& sizes, Target target);

}  // namespace graphrun
