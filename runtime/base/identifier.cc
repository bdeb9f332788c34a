#include "runtime/base/identifier.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace graphrun {
namespace {

// Keywords of C++, and lower-case names that some compiler or C library defines as macros.
constexpr auto kWords = std::to_array<std::string_view>({"alignas",
                                                         "alignof",
                                                         "and",
                                                         "and_eq",
                                                         "asm",
                                                         "assert",
                                                         "auto",
                                                         "bitand",
                                                         "bitor",
                                                         "bool",
                                                         "break",
                                                         "case",
                                                         "catch",
                                                         "char",
                                                         "char16_t",
                                                         "char32_t",
                                                         "char8_t",
                                                         "class",
                                                         "co_await",
                                                         "co_return",
                                                         "co_yield",
                                                         "compl",
                                                         "concept",
                                                         "const",
                                                         "const_cast",
                                                         "consteval",
                                                         "constexpr",
                                                         "constinit",
                                                         "continue",
                                                         "cuda",
                                                         "decltype",
                                                         "default",
                                                         "delete",
                                                         "do",
                                                         "double",
                                                         "dynamic_cast",
                                                         "element",
                                                         "else",
                                                         "enum",
                                                         "errno",
                                                         "explicit",
                                                         "export",
                                                         "extern",
                                                         "false",
                                                         "float",
                                                         "for",
                                                         "friend",
                                                         "goto",
                                                         "graphrun",
                                                         "if",
                                                         "inline",
                                                         "int",
                                                         "lines",
                                                         "linux",
                                                         "long",
                                                         "loop",
                                                         "mutable",
                                                         "namespace",
                                                         "new",
                                                         "noexcept",
                                                         "not",
                                                         "not_eq",
                                                         "nullptr",
                                                         "operator",
                                                         "or",
                                                         "or_eq",
                                                         "private",
                                                         "protected",
                                                         "public",
                                                         "register",
                                                         "reinterpret_cast",
                                                         "requires",
                                                         "return",
                                                         "short",
                                                         "signed",
                                                         "sizeof",
                                                         "static",
                                                         "static_assert",
                                                         "static_cast",
                                                         "std",
                                                         "stderr",
                                                         "stdin",
                                                         "stdout",
                                                         "struct",
                                                         "switch",
                                                         "template",
                                                         "this",
                                                         "thread_local",
                                                         "throw",
                                                         "true",
                                                         "try",
                                                         "typedef",
                                                         "typeid",
                                                         "typename",
                                                         "union",
                                                         "unix",
                                                         "unsigned",
                                                         "using",
                                                         "virtual",
                                                         "void",
                                                         "volatile",
                                                         "wchar_t",
                                                         "while",
                                                         "xor",
                                                         "xor_eq"});

bool is_number(std::string_view part) {
  return std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Whether the part of a name is a suffix that selects one of several values, or one of a state's values.
bool tells_which(std::string_view part) { return is_number(part) || part == "before" || part == "begin"; }
// Whether the part of a name is a prefix that the compiler adds for what it derived from the value.
bool tells_what(std::string_view part) { return part == "d" || part == "saved" || part == "next"; }

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    if (end > begin) parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Names of macros are in capitals.
bool may_be_macro(std::string_view name) {
  return name.size() > 1 && std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c) != 0; });
}

}  // namespace

std::string short_name(std::string_view value) {
  const std::vector<std::string_view> parts = parts_of(value);
  std::size_t own = parts.size();  // the index of the last part that is a name; suffixes follow it
  while (own > 0 && tells_which(parts[own - 1])) --own;
  if (own > 0) --own;
  std::string name = own > 0 && tells_what(parts[0]) ? std::string(parts[0]) : "";
  for (std::size_t i = own; i < parts.size(); ++i) name += (name.empty() ? "" : "_") + std::string(parts[i]);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "value" + name;
  // Names with two underscores, or with one at the beginning before a capital, are reserved for the compiler.
  name.erase(0, std::min(name.find_first_not_of('_'), name.size() - 1));
  name.erase(std::unique(name.begin(), name.end(), [](char a, char b) { return a == '_' && b == '_'; }), name.end());
  return name == "_" ? "value" : name;
}

std::string identifier(std::string_view value) {
  const std::string name = short_name(value);
  const bool word = std::find(kWords.begin(), kWords.end(), name) != kWords.end();
  return word || may_be_macro(name) ? name + "_" : name;
}

std::string Identifiers::take(std::string name) {
  std::string found = name;
  for (int number = 1; !taken_.insert(found).second; ++number)
    found = name + (name.ends_with('_') ? "" : "_") + std::to_string(number);
  return found;
}

}  // namespace graphrun
