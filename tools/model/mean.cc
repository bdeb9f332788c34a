#include "tools/model/mean.h"

#include <fmt/format.h>

#include <vector>

#include "runtime/base/status.h"

namespace graphrun {

void Mean::add(const NamedTensors& parameters, const std::string& where) {
  if (count_ == 0) {
    first_ = parameters;
    where_ = where;
    for (const auto& [name, tensor] : parameters) sums_[name] = Tensor(DType::kFloat64, tensor.sizes());
  }
  std::vector<std::string> notes;
  for (const auto& [name, tensor] : first_) {
    const auto it = parameters.find(name);
    if (it == parameters.end()) {
      notes.push_back("note: missing: " + name);
    } else if (it->second.sizes() != tensor.sizes()) {
      notes.push_back(fmt::format("note: {} is {}, not {}", name, str(it->second.sizes()), str(tensor.sizes())));
    }
  }
  for (const auto& [name, tensor] : parameters) {
    if (first_.count(name) == 0) notes.push_back("note: surplus: " + name);
  }
  if (!notes.empty()) {
    throw UserError(ExitCode::kBadData, "E0668 unlike-models", fmt::format("'{}' cannot be averaged with '{}'", where, where_),
                    std::move(notes));
  }
  for (const auto& [name, tensor] : parameters) {
    double* const sum = sums_.at(name).data<double>();
    for (std::int64_t i = 0; i < tensor.count(); ++i) sum[i] += tensor.at(i);
  }
  ++count_;
}

NamedTensors Mean::result() const {
  NamedTensors means;
  for (const auto& [name, sum] : sums_) {
    Tensor mean = sum.clone();
    for (std::int64_t i = 0; i < mean.count(); ++i) mean.data<double>()[i] /= static_cast<double>(count_);
    means[name] = mean.converted(first_.at(name).dtype());
  }
  return means;
}

}  // namespace graphrun
