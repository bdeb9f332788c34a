#include "ops/indices.h"

#include <string>

#include "runtime/base/status.h"

namespace graphrun {

void refuse_index(const Sizes& sizes, std::int64_t position, std::int32_t index, std::int64_t bound, std::string_view what) {
  Sizes place(sizes.size());
  std::int64_t rest = position;
  for (std::size_t i = place.size(); i-- > 0;) {
    place[i] = rest % sizes[i];
    rest /= sizes[i];
  }
  std::string text = std::string(what) + " " + std::to_string(index);
  if (!place.empty()) text += " at " + str(place);
  text += bound == 0 ? ": there is nothing to choose from" : " is not in 0 … " + std::to_string(bound - 1);
  throw UserError(ExitCode::kBadData, "E0610 index-out-of-range", text);
}

void check_indices(const TensorView& indices, std::int64_t bound, std::string_view what) {
  check_indices(indices, 0, indices.count(), bound, what);
}

void check_indices(const TensorView& indices, std::int64_t begin, std::int64_t end, std::int64_t bound, std::string_view what) {
  const auto* data = indices.as<std::int32_t>();
  bool good = true;
  for (std::int64_t i = begin; i < end; ++i) good &= data[i] >= 0 && data[i] < bound;
  if (good) return;
  for (std::int64_t i = begin; i < end; ++i) {
    if (data[i] < 0 || data[i] >= bound) refuse_index(indices.sizes, i, data[i], bound, what);
  }
}

}  // namespace graphrun
