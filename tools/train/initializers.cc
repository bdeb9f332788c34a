#include "tools/train/initializers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace graphrun {
namespace {

constexpr std::string_view kAll = "*";

std::string text_of(const VariableSpec& variable) {
  using Init = VariableSpec::Init;
  const std::string gain = variable.init_amount == 1 ? "" : fmt::format(" with gain {}", variable.init_amount);
  switch (variable.init) {
    case Init::kConstant: return fmt::format("constant {}", variable.init_amount);
    case Init::kUniform: return fmt::format("uniform {}", variable.init_amount);
    case Init::kNormal: return fmt::format("normal {}", variable.init_amount);
    case Init::kOrthogonal: return "orthogonal" + gain;
    case Init::kXavier: return "xavier" + gain;
  }
  return "";
}

// "read.forward.{W, U}, E": the names in order; consecutive names with the same path are combined.
std::string together(const std::vector<std::string>& names) {
  const auto path_of = [](const std::string& name) { return name.substr(0, name.rfind('.') + 1); };  // with its dot; "": none
  std::string text;
  for (std::size_t i = 0, end = 0; i < names.size(); i = end) {
    const std::string path = path_of(names[i]);
    std::vector<std::string> last;
    for (end = i; end < names.size() && path_of(names[end]) == path; ++end) last.push_back(names[end].substr(path.size()));
    const bool braces = last.size() > 1 && !path.empty();
    text += fmt::format("{}{}{}{}{}", i == 0 ? "" : ", ", path, braces ? "{" : "", fmt::join(last, ", "), braces ? "}" : "");
  }
  return text;
}

// Parameters grouped by how they begin, in the order of each group's first.
class Beginnings {
 public:
  void add(const InitializeRule* rule, const VariableSpec& variable) {
    const std::string by = rule                     ? fmt::format("match: \"{}\"", rule->match.text)
                           : variable.init_declared ? "declared by the graph"
                                                    : "default";
    const std::string text = fmt::format("{}, {}", by, text_of(variable));
    auto at = std::find_if(all_.begin(), all_.end(), [&](const auto& one) { return one.first == text; });
    if (at == all_.end()) at = all_.insert(at, {text, {}});
    at->second.push_back(variable.name);
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const auto& [by, names] : all_) lines.push_back(by + ": " + together(names));
    return lines;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> all_;
};

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  // The position of the last `*`, and how much of the name it covers so far; the search only goes back to that star.
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

const InitializeRule* initializer_of(const std::vector<InitializeRule>& rules, const VariableSpec& parameter, bool vectors) {
  const InitializeRule* of_all = nullptr;
  for (const InitializeRule& rule : rules) {
    if ((!vectors && !rule.vectors.empty()) || !matches(rule.match.text, parameter.name)) continue;
    if (rule.match.text != kAll) return &rule;
    if (!of_all) of_all = &rule;
  }
  return parameter.init_declared ? nullptr : of_all;
}

std::vector<std::string> apply_initializers(const std::vector<InitializeRule>& rules, Program& program,
                                            std::vector<Diagnostic>& warnings) {
  std::set<const InitializeRule*> used;
  Beginnings beginnings;
  for (VariableSpec& variable : program.variables) {
    if (variable.kind != VariableSpec::Kind::kParameter) continue;
    used.insert(initializer_of(rules, variable, true));
    const InitializeRule* const rule = initializer_of(rules, variable, false);  // also for the rows without a vector
    used.insert(rule);
    if (rule) {
      variable.init = rule->init;
      variable.init_amount = rule->amount;
    }
    beginnings.add(rule, variable);
  }
  for (const InitializeRule& rule : rules) {
    if (used.count(&rule) != 0) continue;
    warnings.push_back({Severity::kWarning,
                        "E0422 unused-initialize",
                        rule.match.at,
                        fmt::format("no parameter is initialized by match: \"{}\"", rule.match.text),
                        {}});
  }
  return beginnings.lines();
}

}  // namespace graphrun
