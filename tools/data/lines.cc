#include "tools/data/lines.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "tools/data/utf8.h"

namespace graphrun {

void data_error(std::string code, const std::string& file, std::int64_t line, std::int64_t column, std::string text,
                std::vector<std::string> notes) {
  Diagnostic d;
  d.code = std::move(code);
  d.at.file = intern_file(file);
  d.at.line = static_cast<int>(line);
  d.at.column = static_cast<int>(column < 1 ? 1 : column);
  d.text = std::move(text);
  d.notes = std::move(notes);
  throw UserError(ExitCode::kBadData, {std::move(d)});
}

struct LineReader::Source {
  gzFile compressed = nullptr;  // reads plain files too
  int descriptor = -1;
  ~Source() {
    if (compressed) gzclose(compressed);
  }
};

LineReader::LineReader(const std::string& path, Mode mode, std::size_t longest)
    : source_(std::make_unique<Source>()), name_(path), mode_(mode), longest_(longest) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
    throw UserError(ExitCode::kBadData, "E0540 unreadable-file", fmt::format("'{}' is a folder; expected a file", path));
  source_->compressed = gzopen(path.c_str(), "rb");
  if (!source_->compressed)
    throw UserError(ExitCode::kBadData, "E0540 unreadable-file",
                    fmt::format("cannot open '{}': {}", path, errno ? std::strerror(errno) : "out of memory"));
  gzbuffer(source_->compressed, 1 << 18);
}

LineReader::LineReader(int descriptor, std::string name, std::size_t longest)
    : source_(std::make_unique<Source>()), name_(std::move(name)), longest_(longest) {
  source_->descriptor = descriptor;
}

LineReader::~LineReader() = default;

bool LineReader::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
  }
  constexpr std::size_t kPiece = 1 << 16;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + kPiece);
  std::int64_t n = 0;
  if (source_->compressed) {
    n = gzread(source_->compressed, buffer_.data() + had, kPiece);
  } else {
    do n = ::read(source_->descriptor, buffer_.data() + had, kPiece);
    while (n < 0 && errno == EINTR);
  }
  buffer_.resize(had + static_cast<std::size_t>(n > 0 ? n : 0));
  if (n > 0) return true;
  int error = Z_OK;
  const char* message = source_->compressed ? gzerror(source_->compressed, &error) : "";
  if (n < 0 || (error != Z_OK && error != Z_STREAM_END)) {
    const bool by_system = !source_->compressed || error == Z_ERRNO;
    throw UserError(ExitCode::kBadData, "E0541 damaged-file",
                    fmt::format("cannot read '{}' past line {}: {}", name_, line_, by_system ? std::strerror(errno) : message));
  }
  at_end_ = true;
  return false;
}

bool LineReader::next(std::string& line) {
  while (true) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end != std::string::npos) {
      const std::string_view found = std::string_view(buffer_).substr(begin_, end - begin_);
      begin_ = scanned_ = end + 1;
      return accept(line, found);
    }
    scanned_ = buffer_.size();
    if (scanned_ - begin_ > longest_) return accept(line, std::string_view(buffer_).substr(begin_));
    if (fill()) continue;
    if (begin_ == buffer_.size()) return false;
    const std::string_view found = std::string_view(buffer_).substr(begin_);
    begin_ = buffer_.size();
    return accept(line, found);
  }
}

bool LineReader::accept(std::string& line, std::string_view found) {
  ++line_;
  if (mode_ == Mode::kText) {
    if (line_ == 1 && found.substr(0, 3) == "\xEF\xBB\xBF") found.remove_prefix(3);
    if (!found.empty() && found.back() == '\r') found.remove_suffix(1);
  }
  if (found.size() > longest_)
    data_error("E0642 line-too-long", name_, line_, 0,
               fmt::format("a line of more than {} bytes; expected lines of text", longest_));
  const auto bad = first_bad_byte(found);
  if (bad && found[*bad] == '\0')
    data_error("E0641 not-utf8", name_, line_, static_cast<std::int64_t>(*bad) + 1,
               "a NUL byte stands in the line; expected UTF-8 text",
               {"help: a binary file? Or UTF-16: iconv -f UTF-16 -t UTF-8 converts it"});
  if (bad)
    data_error("E0641 not-utf8", name_, line_, static_cast<std::int64_t>(*bad) + 1,
               fmt::format("byte 0x{:02X} is not UTF-8 text; expected UTF-8", static_cast<unsigned char>(found[*bad])),
               {"help: convert the file, e.g. iconv -f GB18030 -t UTF-8"});
  line.assign(found);
  return true;
}

bool LineReader::ready(int milliseconds) {
  while (!at_end_ && buffer_.find('\n', scanned_) == std::string::npos) {
    scanned_ = buffer_.size();
    if (source_->descriptor >= 0) {
      pollfd waiting{source_->descriptor, POLLIN, 0};
      if (poll(&waiting, 1, milliseconds) <= 0) return false;
    }
    if (scanned_ - begin_ > longest_) return true;
    fill();
  }
  return true;
}

std::vector<std::string> read_lines(const std::string& path, LineReader::Mode mode) {
  LineReader reader(path, mode);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

}  // namespace graphrun
