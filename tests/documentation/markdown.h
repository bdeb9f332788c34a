// What the documentation tests read from a Markdown page: its blocks of code, its `code`, and the targets of its links. Where
// code in a paragraph goes over the end of a line, cmark counts what stands behind it in the paragraph one line too high up.
#pragma once

#include <string>
#include <vector>

namespace graphrun::documentation {

struct Block {
  std::string language;            // "pbtxt"; empty where the fence names none
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

// The words of a shell command, as far as they end at white space, quotes or redirections; the comment is gone.
std::vector<std::string> words(const std::string& command);

}  // namespace graphrun::documentation
