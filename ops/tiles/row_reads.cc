#include "ops/tiles/row_reads.h"

#include <algorithm>
#include <string>

#include "ops/indices.h"

namespace graphrun {
namespace {

constexpr const char* kRows = "rows";

}  // namespace

void RowReads::check(const KernelContext& c) const {
  if (any()) check_indices(c.inputs[list], bound, "row");
}

ProgramWork program_work(const KernelRequest& request, bool has_lengths) {
  ProgramWork work{request, {request.attributes->integers(kRows), 0, 0, 0}, request.inputs.size()};
  std::vector<TensorView>& operands = work.request.inputs;
  if (has_lengths) operands.pop_back(), --work.lengths;
  RowReads& rows = work.rows;
  if (!rows.any()) return work;
  rows.list = operands.size() - 1;
  rows.count = operands.back().count();
  operands.pop_back();
  rows.bound = std::int64_t{1} << 31;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (rows.reads(k)) rows.bound = std::min(rows.bound, operands[k].sizes[static_cast<std::size_t>(rows.axes[k])]);
  }
  return work;
}

std::vector<ir::TensorType> operands_of_program(const ir::InferContext& c, std::size_t operands, bool has_lengths) {
  const std::vector<std::int64_t>& axes = c.attributes->integers(kRows);
  const std::size_t inputs = operands + (axes.empty() ? 0 : 1) + (has_lengths ? 1 : 0);
  const std::string& op = c.op->name;
  std::string expected = op + ": the code reads " + std::to_string(operands) + " inputs";
  if (inputs > operands) expected += ", with a list of rows or lengths " + std::to_string(inputs);
  GRAPHRUN_CHECK(c.inputs.size() == inputs, expected + ", the node has " + std::to_string(c.inputs.size()));
  GRAPHRUN_CHECK(axes.empty() || axes.size() == operands, op + ": rows must have a number for each operand");
  std::vector<ir::TensorType> types;
  for (std::size_t k = 0; k < operands; ++k) types.push_back(c.input(k));
  if (axes.empty()) return types;
  const ir::TensorType& list = c.input(operands);
  GRAPHRUN_CHECK(list.type == Type::kInt32 && list.shape.size() == 1, op + ": found a list of rows " + list.str());
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] < 0) continue;
    const auto axis = static_cast<std::size_t>(axes[k]);
    GRAPHRUN_CHECK(axis + 1 < types[k].shape.size(), op + ": rows along the last axis of " + types[k].str());
    types[k].shape[axis] = list.shape[0];
  }
  return types;
}

}  // namespace graphrun
