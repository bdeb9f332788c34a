#include "tools/lsp/repair.h"

#include <algorithm>

#include "compiler/frontend/text_hints.h"
#include "tools/lsp/text_positions.h"

namespace graphrun::lsp {
namespace {

constexpr int kMostRepairs = 24;

// Closes a quote that the line leaves open, before a brace that closes the message; returns false if there is none.
bool close_quote(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (text[i] == '#') return false;
    const std::size_t aside = end_of_aside(text, i);
    if (aside == i) continue;
    if (aside < end && text[aside] == text[i]) {
      i = aside;
      continue;
    }
    std::size_t at = end;
    while (at > i + 1 && (text[at - 1] == '}' || text[at - 1] == ' ' || text[at - 1] == '\r')) --at;
    text.insert(at, 1, text[i]);
    return true;
  }
  return false;
}

}  // namespace

RepairedText read_repaired(std::string_view text, const std::string* file, google::protobuf::Message& message) {
  RepairedText out;
  if (text.size() > kLargestSource) {  // no text of that size is read
    out.changed = true;
    out.places = parse_source(out.text, file, &message);
    return out;
  }
  out.text = text;
  for (int repair = 0; repair <= kMostRepairs; ++repair) {
    try {
      message.Clear();
      out.places = parse_source(out.text, file, &message);
      return out;
    } catch (const UserError& error) {
      out.changed = true;
      // An unknown field is the smallest loss: its line; any other mistake may be about what follows.
      const Location at = error.diagnostics().front().at;
      const std::size_t line = at.line < 1 ? 0 : TextPositions(out.text).offset_of_byte(at.line, 1);
      const std::size_t end = std::min(out.text.find('\n', line), out.text.size());
      if (close_quote(out.text, line, end)) continue;
      const bool blank = std::all_of(out.text.begin() + static_cast<std::ptrdiff_t>(line),
                                     out.text.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c == ' '; });
      if (blank || repair == kMostRepairs) break;
      std::fill(out.text.begin() + static_cast<std::ptrdiff_t>(line), out.text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    }
  }
  // Nothing is left that can be read.
  for (char& c : out.text) {
    if (c != '\n') c = ' ';
  }
  message.Clear();
  out.places = parse_source(out.text, file, &message);
  return out;
}

}  // namespace graphrun::lsp
