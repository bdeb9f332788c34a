#include "tools/job/bindings.h"

#include <cctype>

namespace graphrun {
namespace {

bool blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

ir::SourceText trimmed(const ir::SourceText& text, std::size_t begin, std::size_t end) {
  while (begin < end && blank(text.text[begin])) ++begin;
  while (end > begin && blank(text.text[end - 1])) --end;
  return text.part(begin, end);
}

// The offset of the `=` after a binding's name, or npos.
std::size_t sign_of(const std::string& text) {
  std::size_t i = 0;
  while (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_' || text[i] == '.')) ++i;
  if (i == 0) return std::string::npos;
  while (i < text.size() && blank(text[i])) ++i;
  const bool sign = i < text.size() && text[i] == '=' && (i + 1 == text.size() || text[i + 1] != '=');
  return sign ? i : std::string::npos;
}

}  // namespace

std::vector<ir::SourceText> split_list(const ir::SourceText& text) {
  std::vector<ir::SourceText> parts;
  const std::string& s = text.text;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size()) {
      if (s[i] == '\'') quoted = !quoted;
      if (quoted) continue;
      if (s[i] == '(' || s[i] == '[') ++depth;
      if (s[i] == ')' || s[i] == ']') --depth;
      if (s[i] != ',' || depth > 0) continue;
    }
    parts.push_back(trimmed(text, begin, i));
    begin = i + 1;
  }
  if (parts.size() == 1 && parts[0].text.empty()) parts.clear();
  return parts;
}

std::vector<BindingText> split_bindings(const ir::SourceText& text) {
  std::vector<BindingText> bindings;
  for (ir::SourceText& part : split_list(text)) {
    BindingText binding;
    const std::size_t sign = sign_of(part.text);
    if (sign != std::string::npos) {
      binding.name = trimmed(part, 0, sign).text;
      binding.value = trimmed(part, sign + 1, part.text.size());
    } else {
      binding.value = part;
    }
    binding.whole = std::move(part);
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

}  // namespace graphrun
