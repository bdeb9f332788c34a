#include "tests/documentation/markdown.h"

#include <sstream>

namespace graphrun::documentation {

namespace {

// The texts of `line` between `open` and the next `close`.
std::vector<std::string> between(const std::string& line, const std::string& open, char close) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; (at = line.find(open, at)) != std::string::npos;) {
    const std::size_t first = at + open.size(), last = line.find(close, first);
    if (last == std::string::npos) break;
    texts.push_back(line.substr(first, last - first));
    at = last + 1;
  }
  return texts;
}

}  // namespace

Page read_page(const std::string& text) {
  Page page;
  std::istringstream in(text);
  bool fenced = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) {
      fenced = !fenced;
      if (fenced) page.blocks.push_back({line.substr(3), {}, number});
      continue;
    }
    if (fenced) {
      page.blocks.back().lines.push_back(line);
      continue;
    }
    for (const std::string& code : between(line, "`", '`')) page.code.push_back({code, number});
    for (const std::string& target : between(line, "](", ')'))
      if (target.find("://") == std::string::npos && !target.starts_with("#"))
        page.links.push_back({target.substr(0, target.find('#')), number});
  }
  return page;
}

std::vector<std::string> words(const std::string& command) {
  std::vector<std::string> result;
  std::string word;
  const auto flush = [&] {
    if (!word.empty()) result.push_back(word);
    word.clear();
  };
  for (const char c : command) {
    if (c == '#' && word.empty()) break;
    if (c == ' ' || c == '\t' || c == '"' || c == '\'' || c == '|' || c == '<' || c == '>') {
      flush();
    } else {
      word += c;
    }
  }
  flush();
  return result;
}

}  // namespace graphrun::documentation
