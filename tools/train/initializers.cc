#include "tools/train/initializers.h"

#include <fmt/format.h>

namespace graphrun {

bool matches(std::string_view pattern, std::string_view name) {
  // Where the last `*` stands, and up to where of the name it has been tried; linear but for backing up to that one star.
  std::size_t p = 0, n = 0, star = std::string_view::npos, tried = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      tried = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++tried;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

void apply_initializers(const std::vector<InitializeRule>& rules, Program& program, std::vector<Diagnostic>& warnings) {
  std::vector<bool> used(rules.size(), false);
  for (VariableSpec& variable : program.variables) {
    if (variable.kind != VariableSpec::Kind::kParameter) continue;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (!matches(rules[i].match.text, variable.name)) continue;
      if (!rules[i].vectors.empty()) {
        used[i] = true;
        continue;  // its other rows begin as a later rule says
      }
      variable.init = rules[i].init;
      variable.init_amount = rules[i].amount;
      used[i] = true;
      break;
    }
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (used[i]) continue;
    warnings.push_back({Severity::kWarning,
                        "E0422 unused-initialize",
                        rules[i].match.at,
                        fmt::format("no parameter begins as match: \"{}\" says", rules[i].match.text),
                        {}});
  }
}

}  // namespace graphrun
