#include "runtime/base/suggestion.h"

#include <algorithm>

namespace graphrun {

std::string suggestion(const std::vector<std::string>& names, std::size_t most) {
  const std::size_t count = std::min(names.size(), most);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "did you mean " : i + 1 == count ? " or " : ", ") + ("'" + names[i] + "'");
  }
  return text.empty() ? text : text + "?";
}

}  // namespace graphrun
