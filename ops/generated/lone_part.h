// Pointwise ops that were not fused, as parts of a device's loops: each is a program of one instruction.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "compiler/ir/pointwise_program.h"
#include "ops/generated/loop_part.h"
#include "ops/tiles/tile_steps.h"

namespace graphrun {

// `instruction` reads the request's inputs in order. A kernel that is not bound as part of a program has no part.
inline void take_part_alone(Kernel& kernel, const KernelRequest& request, const std::string& op,
                            ir::PointwiseProgram::Instruction instruction = {}) {
  if (request.constant_inputs.empty()) return;
  instruction.op = ir::OpRegistry::instance().find(op);
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    instruction.operands.push_back(ir::PointwiseProgram::Operand::input(i));
  }
  const ir::PointwiseProgram program{{std::move(instruction)}, {0}};
  take_part(kernel, request,
            std::make_shared<const DeviceCode>(request.outputs.at(0).sizes, request.inputs, tile_steps(program, request),
                                               code_names(request)));
}

}  // namespace graphrun
