// The forms that instructions of a scan's body take in a loop that a device runs as one launch (runtime/scan/launch.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/pointwise_program.h"
#include "ops/axis_view.h"
#include "ops/generated/device_code.h"
#include "ops/generated/reduction_text.h"
#include "ops/tiles/tile_steps.h"
#include "runtime/program/kernel.h"
#include "runtime/scan/launch.h"

namespace graphrun {

template <>
inline constexpr const char* kArgumentTypeName<LoopPlace> = "loop::Place";

// Pointwise work whose results all have the program's shape.
struct PointwisePart {
  std::shared_ptr<const DeviceCode> code;
  std::size_t results = 0;
};

// Pointwise work whose results are reduced along an axis as they are computed.
struct ReductionPart {
  std::shared_ptr<const DeviceCode> code;
  KernelFolds folds;
  AxisView view;
};

// An op that computes each element of its only result independently: see ElementText (ops/recurrent/element_text.h).
struct ElementPart {
  std::function<void(ArgumentLayout&)> add_members;  // adds members to struct Arguments, after the operands; may be null
  std::string element;                               // the statement that computes element `e` from arguments `a`
  std::vector<DType> inputs;
  DType output = DType::kFloat32;
};

// Products with weights: ops/matmul/product_part.h.
struct ProductPart;

// The form of a kernel in a loop. Code that distinguishes the alternatives visits the variant (in_each_case), so that it does
// not compile until it handles a new alternative.
struct LoopPart {
  using Alternatives = std::variant<std::shared_ptr<const PointwisePart>, std::shared_ptr<const ReductionPart>,
                                    std::shared_ptr<const ElementPart>, std::shared_ptr<const ProductPart>>;
  Alternatives is;
};

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// Calls the function among `cases` (one for each alternative) that fits the part.
template <class... Cases>
auto in_each_case(const LoopPart& part, Cases... cases) {
  return std::visit([overloaded = Overloaded{std::move(cases)...}](const auto& is) { return overloaded(*is); }, part.is);
}

template <class Part>
std::shared_ptr<const LoopPart> loop_part(Part part) {
  return std::make_shared<const LoopPart>(LoopPart{std::make_shared<const Part>(std::move(part))});
}

// The largest number of parts into which a grid's blocks divide the rows.
constexpr std::int64_t kMostRowParts = 8;

// Declares that rows of the results (along the first axis) can be computed independently; `operations` is the total.
inline void share_by_rows(Kernel& kernel, const KernelRequest& request, double operations, std::vector<bool> reads_other_rows) {
  const Sizes& result = request.outputs.at(0).sizes;
  if (result.empty() || result[0] == 0) return;
  auto rows = std::make_shared<RowKernel>();
  rows->rows = result[0];
  rows->operations = operations;
  rows->reads_other_rows = std::move(reads_other_rows);
  kernel.by_rows = std::move(rows);
}

// Declares that columns of the results (along the last axis) can be computed independently.
inline void share_by_columns(Kernel& kernel, const KernelRequest& request, std::vector<bool> reads_other_columns) {
  const Sizes& result = request.outputs.at(0).sizes;
  if (result.empty()) return;
  auto columns = std::make_shared<ColumnKernel>();
  columns->columns = result.back();
  columns->reads_other_columns = std::move(reads_other_columns);
  kernel.by_columns = std::move(columns);
}

// The same for pointwise work, which reads the same rows of those operands that have them.
inline void share_by_rows(Kernel& kernel, const KernelRequest& request, const Sizes& work) {
  const Sizes& result = request.outputs.at(0).sizes;
  if (result.empty() || work.empty() || work[0] != result[0]) return;
  std::vector<bool> reads_other_rows;
  for (const TensorView& v : request.inputs) reads_other_rows.push_back(v.sizes.size() != work.size() || v.sizes[0] != work[0]);
  share_by_rows(kernel, request, static_cast<double>(element_count(work)), std::move(reads_other_rows));
}

// Makes pointwise work a part of loops, divided along its last axis or its first.
inline void take_part(Kernel& kernel, const KernelRequest& request, std::shared_ptr<const DeviceCode> code) {
  const Sizes& result = code->sizes();
  if (code->inputs() == 0 && code->draws().empty()) return;
  share_by_rows(kernel, request, result);
  std::vector<bool> reads_other_columns;
  for (const TensorView& v : request.inputs)
    reads_other_columns.push_back(result.empty() || v.sizes.empty() || v.sizes.back() != result.back());
  share_by_columns(kernel, request, std::move(reads_other_columns));
  kernel.part = loop_part(PointwisePart{std::move(code), request.outputs.size()});
}

// Makes a reduction a part of loops by rows, if it does not reduce the first axis.
inline void take_part(Kernel& kernel, const KernelRequest& request, const Sizes& work, const AxisView& view,
                      std::shared_ptr<const DeviceCode> code, KernelFolds folds) {
  if (work.empty() || work[0] == 0 || view.outer % work[0] != 0) return;
  share_by_rows(kernel, request, work);
  if (kernel.by_rows != nullptr) kernel.part = loop_part(ReductionPart{std::move(code), std::move(folds), view});
}

// Makes an op that computes each element of its result independently a part of loops by rows.
inline void take_part_of_elements(Kernel& kernel, const KernelRequest& request, std::vector<bool> reads_other_rows,
                                  std::string element, std::function<void(ArgumentLayout&)> add_members = nullptr) {
  ElementPart part;
  part.add_members = std::move(add_members), part.element = std::move(element);
  for (const TensorView& v : request.inputs) part.inputs.push_back(v.dtype);
  const TensorView& result = request.outputs.at(0);
  part.output = result.dtype;
  kernel.part = loop_part(std::move(part));
  share_by_rows(kernel, request, 0, std::move(reads_other_rows));
}

// Makes a plain reduction without lengths a part of loops by rows.
inline void take_part_of_reduction(Kernel& kernel, const KernelRequest& request, const AxisView& view, ir::FoldKind fold) {
  if (request.inputs.size() > 1 && !request.absent_inputs.at(1)) return;
  const TensorView& x = request.inputs[0];
  const bool computes = adds_up(fold) || fold == ir::FoldKind::kLogSumExp;
  if (x.dtype == DType::kBool || (x.dtype == DType::kInt32 && computes)) return;
  KernelRequest work;
  work.inputs = {x};
  work.outputs = {{nullptr, x.dtype, x.sizes}};
  ir::PointwiseProgram::Instruction same;
  same.op = ir::OpRegistry::instance().find("cast");
  same.to = x.dtype == DType::kInt32 ? Type::kInt32 : Type::kFloat;
  same.operands = {ir::PointwiseProgram::Operand::input(0)};
  const ir::PointwiseProgram program{{std::move(same)}, {0}};
  KernelRequest shared = request;
  shared.inputs.resize(1);
  take_part(kernel, shared, x.sizes, view, std::make_shared<const DeviceCode>(x.sizes, work.inputs, tile_steps(program, work)),
            {{{fold, 0}}, {}});
}

}  // namespace graphrun
