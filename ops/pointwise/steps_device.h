// A pointwise program on a device, instruction by instruction: each is a launch of its op's own kernel, and what stands between
// them lies in the workspace. For .cu files.
#pragma once

#include <memory>
#include <vector>

#include "compiler/ir/pointwise_program.h"
#include "ops/axis.h"
#include "runtime/kernel.h"

namespace graphrun::cuda {

class ProgramSteps {
 public:
  // All instructions are of the sizes `work`. Where `whole`, results are the kernel's own; else they too lie in the workspace.
  ProgramSteps(const ir::PointwiseProgram& program, const KernelRequest& request, const Sizes& work, bool whole);

  std::size_t workspace() const { return workspace_; }
  void run(const KernelContext& c) const;
  // Result r, after a run.
  TensorView result(const KernelContext& c, std::size_t r) const { return view(c, operands_[results_[r]]); }

 private:
  // Where an operand of an instruction lies.
  struct Place {
    enum class Kind : std::uint8_t { kInput, kOutput, kWorkspace } kind = Kind::kInput;
    std::size_t index = 0;  // of the input or output; bytes into the workspace
    TensorView view;
  };
  struct Step {
    Kernel kernel;
    Attributes attributes;
    std::vector<std::size_t> inputs;  // of operands_
    std::size_t output = 0;
  };

  std::size_t place(const TensorView& view);  // in the workspace
  std::size_t number(const ir::PointwiseProgram::Operand& o);
  void add(const ir::OpSchema& op, Attributes attributes, std::vector<std::size_t> inputs, std::size_t output);
  static TensorView view(const KernelContext& c, const Place& place);

  Precision precision_ = Precision::kFloat32;
  std::vector<Place> operands_;
  std::vector<Step> steps_;
  std::vector<std::size_t> results_;  // of operands_
  std::size_t workspace_ = 0;
};

}  // namespace graphrun::cuda
