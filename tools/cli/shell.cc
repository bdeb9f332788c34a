#include "tools/cli/shell.h"

#include <cctype>
#include <string_view>

namespace graphrun {

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kPlain = "_@%+=:,./-";
  bool plain = !word.empty();
  std::string quoted = "'";
  for (const char c : word) {
    plain = plain && (std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos);
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return plain ? word : quoted + "'";
}

}  // namespace graphrun
