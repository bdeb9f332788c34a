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

std::vector<std::string> suggested_names(const std::string& text) {
  constexpr std::size_t kNone = std::string::npos;
  std::vector<std::string> names;
  std::size_t i = text.find("did you mean '");
  while (i != kNone && (i = text.find('\'', i)) != kNone) {
    const std::size_t end = text.find('\'', i + 1);
    if (end == kNone) break;
    names.push_back(text.substr(i + 1, end - i - 1));
    if (end + 1 >= text.size() || text[end + 1] == '?') break;
    i = end + 1;
  }
  return names;
}

}  // namespace graphrun
