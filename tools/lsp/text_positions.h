// Positions in a text as editors count them, and offsets.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace graphrun::lsp {

// The unit of columns that client and server have agreed on.
enum class Encoding { kUtf8, kUtf16 };

struct Position {
  std::size_t line = 0, character = 0;  // from 0
  friend auto operator<=>(const Position&, const Position&) = default;
};

bool part_of_name(char c);  // a letter, a digit or _

// A place as the compiler counts: its lines end with LF alone, and columns are bytes. Both count from 1.
struct BytePlace {
  int line = 1, column = 1;
};

// Lines of positions end with LF, CR LF or CR. Positions behind the end of a line or of the text mean that end.
class TextPositions {
 public:
  explicit TextPositions(std::string_view text);
  std::size_t offset(const Position& at, Encoding encoding) const;
  Position position(std::size_t offset, Encoding encoding) const;
  std::size_t offset_of_byte(int line, int column) const;  // of a BytePlace
  BytePlace place(std::size_t offset) const;
  std::string_view line(std::size_t number) const;  // without its end

 private:
  std::size_t line_end(std::size_t line) const;
  std::string_view text_;
  std::vector<std::size_t> starts_, after_lf_;  // of the lines of positions, and of the compiler's
};

}  // namespace graphrun::lsp
