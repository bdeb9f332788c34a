#include "tools/lsp/text_positions.h"

#include <algorithm>
#include <cctype>

namespace graphrun::lsp {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Code points above U+FFFF take two units of UTF-16; in UTF-8 they begin with a byte from 0xF0.
std::size_t units_of(char c, Encoding encoding) {
  if (encoding == Encoding::kUtf8) return 1;
  return continues_character(c) ? 0 : static_cast<unsigned char>(c) >= 0xF0 ? 2 : 1;
}

}  // namespace

bool part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

TextPositions::TextPositions(std::string_view text) : text_(text), starts_{0}, after_lf_{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') after_lf_.push_back(i + 1);
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))) starts_.push_back(i + 1);
  }
}

std::size_t TextPositions::line_end(std::size_t line) const {
  std::size_t end = line + 1 < starts_.size() ? starts_[line + 1] : text_.size();
  while (end > starts_[line] && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  return end;
}

std::string_view TextPositions::line(std::size_t number) const {
  if (number >= starts_.size()) return "";
  return text_.substr(starts_[number], line_end(number) - starts_[number]);
}

std::size_t TextPositions::offset(const Position& at, Encoding encoding) const {
  if (at.line >= starts_.size()) return text_.size();
  const std::size_t end = line_end(at.line);
  std::size_t i = starts_[at.line], units = 0;
  while (i < end && units < at.character) units += units_of(text_[i++], encoding);
  while (i < end && continues_character(text_[i])) ++i;
  return i;
}

Position TextPositions::position(std::size_t offset, Encoding encoding) const {
  offset = std::min(offset, text_.size());
  const auto line = static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin()) - 1;
  Position at{line, 0};
  for (std::size_t i = starts_[line]; i < offset; ++i) at.character += units_of(text_[i], encoding);
  return at;
}

std::size_t TextPositions::offset_of_byte(int line, int column) const {
  if (line < 1) return 0;
  const auto index = static_cast<std::size_t>(line) - 1;
  if (index >= after_lf_.size()) return text_.size();
  const std::size_t begin = after_lf_[index];
  std::size_t end = index + 1 < after_lf_.size() ? after_lf_[index + 1] : text_.size();
  while (end > begin && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  return std::min(begin + static_cast<std::size_t>(std::max(column, 1)) - 1, end);
}

BytePlace TextPositions::place(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto line = std::upper_bound(after_lf_.begin(), after_lf_.end(), offset) - after_lf_.begin();
  const std::size_t begin = after_lf_[static_cast<std::size_t>(line) - 1];
  return {static_cast<int>(line), static_cast<int>(offset - begin) + 1};
}

}  // namespace graphrun::lsp
