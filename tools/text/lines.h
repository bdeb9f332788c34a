// Reads lines of text from files, compressed or not, and from descriptors. Every error names file and line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace graphrun {

inline constexpr std::size_t kLongestLine = std::size_t{1} << 20;  // bytes

// Throws UserError (kBadData) about a line of a data file. `column` is in bytes, from 1; 0 means the whole line.
[[noreturn]] void data_error(std::string code, const std::string& file, std::int64_t line, std::int64_t column,
                             std::string text, std::vector<std::string> notes = {});

// A line that is not UTF-8 (E0641) or too long (E0642). The reader can continue with the next line.
class BadLine : public UserError {
 public:
  using UserError::UserError;
};

class LineReader {
 public:
  // kText: drops a byte order mark, and accepts CR LF like LF. kExact: a line is everything before LF.
  enum class Mode { kText, kExact };

  // Reads a file, also if gzip, zstd or xz compressed it. Throws UserError: (kBadData) E0540 if it cannot be opened; (kNoRoom)
  // E0503.
  explicit LineReader(const std::string& path, Mode mode = Mode::kText, std::size_t longest = kLongestLine);
  // Reads an open descriptor, which stays open; `name` is for messages.
  LineReader(int descriptor, std::string name, std::size_t longest = kLongestLine);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Reads the next line, without its end; false at the end of the text. The last line needs no LF. Throws BadLine, and
  // UserError: (kBadData) E0541 for a damaged or unreadable file; (kNoRoom) E0503 if memory runs out.
  bool next(std::string& line);
  // Whether a whole line, or the end, is available now or within `milliseconds`.
  bool ready(int milliseconds);

  const std::string& name() const { return name_; }
  std::int64_t line() const { return line_; }  // the number of the last line read, from 1

 private:
  bool fill();       // reads more bytes into the buffer; false at the end
  bool drop_rest();  // drops the rest of a line that was too long; false if its end has not been read
  [[noreturn]] void refuse(std::string code, std::size_t byte, std::string text, std::vector<std::string> notes = {}) const;
  bool accept(std::string& line, std::string_view found);

  struct Source;
  std::unique_ptr<Source> source_;
  std::string name_;
  Mode mode_ = Mode::kText;
  std::size_t longest_;
  std::string buffer_;
  std::size_t begin_ = 0, scanned_ = 0;  // where the text not yet returned begins; how far it was searched for LF
  bool at_end_ = false, dropping_ = false;
  std::int64_t line_ = 0;
};

// All lines of a small text file (a job, a list); throws like LineReader's constructor.
std::vector<std::string> read_lines(const std::string& path, LineReader::Mode mode = LineReader::Mode::kText);

}  // namespace graphrun
