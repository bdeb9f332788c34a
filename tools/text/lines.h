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

// Throws UserError (kBadData) at a line of a data file. `column` is in bytes, from 1; 0: the whole line.
[[noreturn]] void data_error(std::string code, const std::string& file, std::int64_t line, std::int64_t column,
                             std::string text, std::vector<std::string> notes = {});

// A line that is not UTF-8 (E0641) or too long (E0642). The reader can continue with the next line.
class BadLine : public UserError {
 public:
  using UserError::UserError;
};

class LineReader {
 public:
  // kText: a byte order mark is dropped, CR LF ends a line like LF. kExact: a line is what stands before LF.
  enum class Mode { kText, kExact };

  // A file; what gzip, zstd or xz wrote is read directly. Throws UserError: (kBadData) E0540 where it can't be opened,
  // (kNoRoom) E0503.
  explicit LineReader(const std::string& path, Mode mode = Mode::kText, std::size_t longest = kLongestLine);
  // An open descriptor, which stays open; `name` stands in messages.
  LineReader(int descriptor, std::string name, std::size_t longest = kLongestLine);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next line without its end; false at the end of the text. A last line needs no LF. Throws BadLine, and UserError:
  // (kBadData) E0541 for a damaged or unreadable file, (kNoRoom) E0503 where there is no memory to read it.
  bool next(std::string& line);
  // Whether next() can answer at once or after at most `milliseconds`: a whole line, or the end, is there.
  bool ready(int milliseconds);

  const std::string& name() const { return name_; }
  std::int64_t line() const { return line_; }  // the number of the last line read, from 1

 private:
  bool fill();       // more bytes into the buffer; false at the end
  bool drop_rest();  // of a line that was too long; false: its end has not been read
  [[noreturn]] void refuse(std::string code, std::size_t byte, std::string text, std::vector<std::string> notes = {}) const;
  bool accept(std::string& line, std::string_view found);

  struct Source;
  std::unique_ptr<Source> source_;
  std::string name_;
  Mode mode_ = Mode::kText;
  std::size_t longest_;
  std::string buffer_;
  std::size_t begin_ = 0, scanned_ = 0;  // of what is not yet given out; up to where no LF stands
  bool at_end_ = false, dropping_ = false;
  std::int64_t line_ = 0;
};

// The whole of a small text file (a job, a list); throws as LineReader's constructor.
std::vector<std::string> read_lines(const std::string& path, LineReader::Mode mode = LineReader::Mode::kText);

}  // namespace graphrun
