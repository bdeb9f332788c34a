#include "tests/documentation/markdown.h"

#include <cmark.h>

#include <algorithm>
#include <memory>
#include <sstream>

namespace graphrun::documentation {

Page read_page(const std::string& text) {
  const std::unique_ptr<cmark_node, decltype(&cmark_node_free)> page_node(
      cmark_parse_document(text.data(), text.size(), CMARK_OPT_DEFAULT), cmark_node_free);
  const std::unique_ptr<cmark_iter, decltype(&cmark_iter_free)> at(cmark_iter_new(page_node.get()), cmark_iter_free);
  Page page;
  for (cmark_event_type event; (event = cmark_iter_next(at.get())) != CMARK_EVENT_DONE;) {
    if (event != CMARK_EVENT_ENTER) continue;
    cmark_node* const node = cmark_iter_get_node(at.get());
    const int line = cmark_node_get_start_line(node);
    if (cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK) {
      const std::string fence = cmark_node_get_fence_info(node);
      const std::size_t space = std::min(fence.find(' '), fence.size());
      page.blocks.push_back({fence.substr(0, space), fence.substr(space), {}, line});
      std::istringstream lines(cmark_node_get_literal(node));
      for (std::string shown; std::getline(lines, shown);) page.blocks.back().lines.push_back(shown);
    } else if (cmark_node_get_type(node) == CMARK_NODE_CODE) {
      page.code.push_back({cmark_node_get_literal(node), line});
    } else if (cmark_node_get_type(node) == CMARK_NODE_LINK) {
      const std::string target = cmark_node_get_url(node);
      if (target.find("://") == std::string::npos && !target.starts_with("#"))
        page.links.push_back({target.substr(0, target.find('#')), line});
    }
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
