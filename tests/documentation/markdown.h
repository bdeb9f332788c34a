// What the documentation tests read from a Markdown page: its blocks of code, its `code`, and the targets of its links. If code
// in a paragraph continues on the next line, cmark's line numbers for the rest of the paragraph are one too low.
#pragma once

#include <string>
#include <vector>

namespace graphrun::documentation {

struct Block {
  std::string language;            // "pbtxt"; empty where the fence names none
  std::string info;                // the other words of the fence's line
  std::vector<std::string> lines;  // without the fences
  int line = 0;                    // of the opening fence
};

struct Span {
  std::string text;
  int line = 0;
};

struct Page {
  std::vector<Block> blocks;
  std::vector<Span> code;   // `inline`
  std::vector<Span> links;  // [text](target), those inside the tree
};

Page read_page(const std::string& text);

// The words of a shell command, which end at white space, quotes or redirections; without the comment.
std::vector<std::string> words(const std::string& command);

}  // namespace graphrun::documentation
