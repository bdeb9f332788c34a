#include "tools/report/measure.h"

#include <fmt/format.h>

namespace graphrun {

const Tensor& BatchValues::at(const std::string& name) const {
  const auto found = tensors.find(name);
  GRAPHRUN_CHECK(found != tensors.end(), "report: no value '" + name + "' in the batch");
  return found->second;
}

void report_error(const Location& at, std::string text, std::string help) {
  Diagnostic d;
  d.code = "E0414 bad-report";
  d.at = at;
  d.text = std::move(text);
  if (!help.empty()) d.notes.push_back("help: " + help);
  throw UserError(ExitCode::kInvalidGraph, {std::move(d)});
}

Mask::Mask(const Sizes& x, const Tensor* lengths, const NameUse& use) {
  if (!lengths) return;
  const Sizes& sizes = lengths->sizes();
  bool fits = lengths->dtype() == DType::kInt32 && !sizes.empty() && x.size() > sizes.size();
  for (std::size_t i = 0; fits && i + 1 < sizes.size(); ++i) fits = sizes[i] == x[i];
  if (fits) fits = sizes.back() == x[sizes.size()];
  if (!fits) {
    report_error(use.at, fmt::format("lengths {}{} do not fit a value {}: expected INT32 [batch] for [time, batch, …]",
                                     name_of(lengths->dtype()), str(sizes), str(x)));
  }
  lengths_ = lengths->data<std::int32_t>();
  time_ = x[sizes.size() - 1];
  batch_ = sizes.back();
  for (std::size_t i = sizes.size() + 1; i < x.size(); ++i) inner_ *= x[i];
}

}  // namespace graphrun
