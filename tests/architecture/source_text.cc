#include "tests/architecture/source_text.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace graphrun::architecture {

std::vector<int> comparisons_of_op_names(const std::string& text) {
  // op->name == "add", "add" == node.op->name, family != "reduce", source->op == "add".
  static const std::regex comparison(
      R"(\b(op_?(->|\.)(name|family)|family)\s*[=!]=|[=!]=\s*[\w.>\-]*\bop_?(->|\.)(name|family)\b)"
      R"(|(->|\.)op\s*[=!]=\s*")");
  std::vector<int> lines;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (std::regex_search(line.substr(0, line.find("//")), comparison)) lines.push_back(number);
  }
  return lines;
}

std::string code_of(const std::string& text) {
  std::string code;
  std::size_t at = 0;
  // To behind the next `close`; keeps only the ends of lines.
  const auto skip_to = [&](const std::string& close) {
    const std::size_t found = text.find(close, at);
    const std::size_t end = found == std::string::npos ? text.size() : found + close.size();
    code.append(static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                    text.begin() + static_cast<std::ptrdiff_t>(end), '\n')),
                '\n');
    at = end;
  };
  const auto is_part_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  while (at < text.size()) {
    const char c = text[at], next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == '/' && next == '/') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '/' && next == '*') {
      skip_to("*/");
    } else if (c == 'R' && next == '"' && (at == 0 || !is_part_of_name(text[at - 1]))) {
      const std::size_t open = std::min(text.find('(', at), text.size());
      code += "\"\"";
      skip_to(")" + text.substr(at + 2, open - at - 2) + "\"");
    } else if (c == '"' || (c == '\'' && (at == 0 || !is_part_of_name(text[at - 1])))) {  // ' may separate digits
      code += c, code += c;
      for (++at; at < text.size() && text[at] != c && text[at] != '\n'; ++at) at += text[at] == '\\' ? 1 : 0;
      ++at;
    } else {
      code += c, ++at;
    }
  }
  return code;
}

namespace {

struct Token {
  std::string text;
  int line = 0;
  bool is_word() const { return std::isalnum(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_'; }
};

std::vector<Token> tokens_of(const std::string& code) {
  static const std::set<std::string> pairs = {"->", "++", "--", "+=", "-=", "::"};
  std::vector<Token> tokens;
  int line = 1;
  for (std::size_t at = 0; at < code.size();) {
    if (code[at] == '\n') ++line;
    std::size_t end = at;
    while (end < code.size() && (std::isalnum(static_cast<unsigned char>(code[end])) != 0 || code[end] == '_')) ++end;
    if (end == at) end = at + (pairs.count(code.substr(at, 2)) != 0 ? 2 : 1);
    if (std::isspace(static_cast<unsigned char>(code[at])) == 0) tokens.push_back({code.substr(at, end - at), line});
    at = end;
  }
  return tokens;
}

// Finds operands of + and - that are counts of a scan's operands, or positions where a kind of them begins.
class SlotOperands {
 public:
  explicit SlotOperands(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::vector<int> lines() const {
    std::vector<int> lines;
    for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
      const std::string& sign = tokens_[i].text;
      const bool adds = sign == "+" || sign == "-", changes = sign == "+=" || sign == "-=";
      if (!adds && !changes) continue;
      if (is_call_of("begin", i)) continue;  // of a container: an iterator to the operand at a position
      if ((ends_at(i) && adds) || begins_at(i + 1)) lines.push_back(tokens_[i].line);
    }
    return lines;
  }

 private:
  const std::string& at(std::size_t i) const {
    static const std::string none;
    return i < tokens_.size() ? tokens_[i].text : none;
  }
  // Whether the name at i, of a member where that is so, is a count or a position by itself, or where it is called.
  bool is_slot(std::size_t i, bool called) const {
    static const std::set<std::string> counts = {"states", "sequences", "invariants"}, members = {"each", "stacks"},
                                       positions = {"each_begin", "invariant_begin", "invariant", "next_state", "stack_output"};
    std::string name = at(i);
    const bool member = i > 0 && (at(i - 1) == "." || at(i - 1) == "->");
    if (called) return positions.count(name) != 0;
    if (name.size() > 1 && name.back() == '_') name.pop_back();
    return counts.count(name) != 0 || (member && members.count(name) != 0);
  }
  // The partner of a bracket, in steps of `by`.
  std::size_t partner(std::size_t i, std::size_t by, const std::string& open, const std::string& close) const {
    for (int depth = 0; i < tokens_.size(); i += by) {
      depth += at(i) == open, depth -= at(i) == close;
      if (depth == 0) return i;
    }
    return tokens_.size();
  }
  static constexpr std::size_t kBack = static_cast<std::size_t>(-1);
  // Whether what ends before token i is a call of this function.
  bool is_call_of(const std::string& name, std::size_t i) const {
    const std::size_t open = at(i - 1) == ")" ? partner(i - 1, kBack, ")", "(") : 0;
    return open > 0 && at(open - 1) == name;
  }
  // Whether an operand that is a slot ends before token i.
  bool ends_at(std::size_t i) const {
    if (i == 0) return false;
    if (at(i - 1) != ")") return is_slot(i - 1, false);
    const std::size_t open = partner(i - 1, kBack, ")", "(");
    if (open == 0 || open >= tokens_.size()) return ends_at(i - 1);
    const bool called = tokens_[open - 1].is_word() && at(open - 1) != "return";
    return called ? is_slot(open - 1, true) : ends_at(i - 1);  // else parentheses, or a cast
  }
  // Whether an operand that is a slot begins at token i.
  bool begins_at(std::size_t i) const {
    while (at(i) == "(" || at(i) == "*" || at(i) == "&") ++i;
    if (at(i) == "static_cast") {
      while (i < tokens_.size() && at(i) != "(") ++i;
      return begins_at(i + 1);
    }
    for (std::size_t name = i; i < tokens_.size() && tokens_[i].is_word(); name = i) {
      bool called = false, indexed = false;
      ++i;
      while (at(i) == "(" || at(i) == "[") {
        called |= at(i) == "(", indexed |= at(i) == "[";
        i = partner(i, 1, at(i), at(i) == "(" ? ")" : "]") + 1;
      }
      if (at(i) != "." && at(i) != "->" && at(i) != "::") return !indexed && is_slot(name, called);
      ++i;
    }
    return false;
  }

  const std::vector<Token> tokens_;
};

}  // namespace

std::vector<int> slot_arithmetic(const std::string& text) { return SlotOperands(tokens_of(code_of(text))).lines(); }

std::vector<std::string> types_defined(const std::string& text) {
  static const std::regex comment(R"(//[^\n]*)");
  // struct Name {, class Name final : public Other {; no declarations, and no definitions of another class's members.
  static const std::regex type(
      R"((\benum\s+)?\b(?:struct|class)\s+(?:[A-Z_]{4,}\s+|alignas\([^)]*\)\s+)?(\w+)(?:\s+final)?\s*(?::[^:;{][^;{]*)?\{)");
  static const std::regex enumeration(R"((?:^|\n)enum\s+(?:class\s+|struct\s+)?(\w+))");
  const std::string code = std::regex_replace(text, comment, "");
  std::vector<std::string> names;
  for (std::sregex_iterator at(code.begin(), code.end(), type), end; at != end; ++at) {
    if (!(*at)[1].matched) names.push_back((*at)[2]);
  }
  for (std::sregex_iterator at(code.begin(), code.end(), enumeration), end; at != end; ++at) names.push_back((*at)[1]);
  return names;
}

std::map<std::string, std::vector<std::string>> types_defined_twice(
    const std::map<std::string, std::vector<std::string>>& types) {
  constexpr std::string_view kEmulation = "_emulation.cc";
  std::map<std::string, std::vector<std::string>> sources;
  for (const auto& [path, names] : types) {
    for (const std::string& name : names) {
      if (path.ends_with(kEmulation)) {
        const auto other = types.find(path.substr(0, path.size() - kEmulation.size()) + ".cu");
        if (other != types.end() && std::count(other->second.begin(), other->second.end(), name) != 0) continue;
      }
      sources[name].push_back(path);
    }
  }
  std::erase_if(sources, [](const auto& named) { return named.second.size() < 2; });
  return sources;
}

}  // namespace graphrun::architecture
