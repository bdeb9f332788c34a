#include "tools/text/lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "runtime/base/compressed.h"
#include "runtime/base/file.h"
#include "runtime/base/system_call.h"
#include "tools/text/decompress.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

constexpr std::size_t kLeftOut = 4;  // the most bytes of a line that are not text: a byte order mark, CR

Diagnostic at_line(std::string code, const std::string& file, std::int64_t line, std::int64_t column, std::string text,
                   std::vector<std::string> notes) {
  Diagnostic d;
  d.code = std::move(code);
  d.at.file = intern_file(file);
  d.at.line = static_cast<int>(line);
  d.at.column = static_cast<int>(column < 1 ? 1 : column);
  d.text = std::move(text);
  d.notes = std::move(notes);
  return d;
}

}  // namespace

void data_error(std::string code, const std::string& file, std::int64_t line, std::int64_t column, std::string text,
                std::vector<std::string> notes) {
  throw UserError(ExitCode::kBadData, {at_line(std::move(code), file, line, column, std::move(text), std::move(notes))});
}

// Reads a descriptor whose text may be compressed.
class DescriptorStream {
 public:
  DescriptorStream(int descriptor, bool owned) : descriptor_(descriptor), owned_(owned) {}
  ~DescriptorStream() {
    if (owned_) close(descriptor_);
  }
  DescriptorStream(const DescriptorStream&) = delete;
  DescriptorStream& operator=(const DescriptorStream&) = delete;

  int descriptor() const { return descriptor_; }
  bool has_some() const { return full_ || at_ < bytes_.size(); }  // has bytes that were read but not returned

  // Why reading failed.
  struct Failure {
    std::string why;  // empty: it did not fail
    bool no_memory = false;
  };

  // Reads at most `size` bytes of text, and at least one except at the end. Negative on failure, with `why`.
  std::int64_t read(char* text, std::size_t size, Failure& why) {
    if (!begun_) {
      begun_ = true;
      while (may_be_compressed(bytes_) && more(why) > 0) continue;
      bool none = false;
      decompressor_ = decompressor(bytes_, none);
      if (none) why = no_memory();
    }
    if (!why.why.empty()) return -1;
    return decompressor_ ? decompress(text, size, why) : plain(text, size, why);
  }

 private:
  static constexpr std::size_t kPiece = 1 << 18;
  static Failure no_memory() { return {"no memory for the decompression", true}; }

  // Appends available input to bytes_.
  std::int64_t more(Failure& why) {
    const std::size_t had = bytes_.size();
    bytes_.resize(had + kPiece);
    const ssize_t n = uninterrupted([&] { return ::read(descriptor_, bytes_.data() + had, kPiece); });
    if (n < 0) why = {std::strerror(errno), errno == ENOMEM};
    bytes_.resize(had + static_cast<std::size_t>(n > 0 ? n : 0));
    return n;
  }
  std::int64_t refill(Failure& why) {
    bytes_.clear();
    at_ = 0;
    return more(why);
  }

  std::int64_t plain(char* text, std::size_t size, Failure& why) {
    if (!has_some() && refill(why) <= 0) return why.why.empty() ? 0 : -1;
    const std::size_t n = std::min(size, bytes_.size() - at_);
    std::memcpy(text, bytes_.data() + at_, n);
    at_ += n;
    return static_cast<std::int64_t>(n);
  }

  std::int64_t decompress(char* text, std::size_t size, Failure& why) {
    using State = Decompressor::State;
    while (true) {
      if (!has_some()) last_ = refill(why) <= 0;
      if (!why.why.empty()) return -1;
      if (last_ && state_ == State::kEnd) return 0;
      if (state_ == State::kEnd && !decompressor_->continues(bytes_[at_])) return 0;
      std::string_view from = std::string_view(bytes_).substr(at_);
      std::span<char> to(text, size);
      state_ = decompressor_->step(from, to, last_);
      at_ = bytes_.size() - from.size();
      full_ = state_ == State::kMore && to.empty();  // there may be more text
      if (state_ == State::kNoMemory) why = no_memory();
      if (state_ == State::kDamaged) why.why = decompressor_->why();
      if (!why.why.empty()) return -1;
      if (to.size() < size) return static_cast<std::int64_t>(size - to.size());
      if (last_ && state_ == State::kMore) {
        why.why = "unexpected end of file";
        return -1;
      }
    }
  }

  const int descriptor_;
  const bool owned_;    // close it at the end
  std::string bytes_;   // bytes of the stream
  std::size_t at_ = 0;  // position of the first byte not returned
  bool begun_ = false, last_ = false, full_ = false;
  std::unique_ptr<Decompressor> decompressor_;  // null if the bytes are plain text
  Decompressor::State state_ = Decompressor::State::kMore;
};

struct LineReader::Source {
  Source(int descriptor, bool owned) : stream(descriptor, owned) {}
  DescriptorStream stream;
};

LineReader::LineReader(const std::string& path, Mode mode, std::size_t longest) : name_(path), mode_(mode), longest_(longest) {
  const auto fail = [&](const std::string& text) { throw UserError(ExitCode::kBadData, "E0540 unreadable-file", text); };
  const auto cannot_open = [&](int error) {
    if (error == ENOMEM) unreadable_file(path, error);
    fail(fmt::format("cannot open '{}': {}", path, std::strerror(error)));
  };
  const int file = uninterrupted([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (file < 0) cannot_open(errno);
  source_ = std::make_unique<Source>(file, true);
  struct stat status {};
  if (fstat(file, &status) != 0) cannot_open(errno);
  if (S_ISDIR(status.st_mode)) fail(fmt::format("'{}' is a folder; expected a file", path));
}

LineReader::LineReader(int descriptor, std::string name, std::size_t longest)
    : source_(std::make_unique<Source>(descriptor, false)), name_(std::move(name)), longest_(longest) {}

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
  DescriptorStream::Failure why;
  const std::int64_t n = source_->stream.read(buffer_.data() + had, kPiece, why);
  buffer_.resize(had + static_cast<std::size_t>(n > 0 ? n : 0));
  if (n > 0) return true;
  if (n < 0) {
    throw UserError(why.no_memory ? ExitCode::kNoRoom : ExitCode::kBadData,
                    why.no_memory ? "E0503 out-of-memory" : "E0541 damaged-file",
                    fmt::format("cannot read '{}' past line {}: {}", name_, line_, why.why));
  }
  at_end_ = true;
  return false;
}

bool LineReader::drop_rest() {
  if (!dropping_) return true;
  const std::size_t end = buffer_.find('\n', begin_);
  begin_ = scanned_ = end == std::string::npos ? buffer_.size() : end + 1;
  dropping_ = end == std::string::npos && !at_end_;
  return !dropping_;
}

void LineReader::refuse(std::string code, std::size_t byte, std::string text, std::vector<std::string> notes) const {
  const auto column = static_cast<std::int64_t>(byte) + 1;
  throw BadLine(ExitCode::kBadData, {at_line(std::move(code), name_, line_, column, std::move(text), std::move(notes))});
}

bool LineReader::next(std::string& line) {
  while (!drop_rest()) fill();
  while (true) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end != std::string::npos) {
      const std::string_view found = std::string_view(buffer_).substr(begin_, end - begin_);
      begin_ = scanned_ = end + 1;
      return accept(line, found);
    }
    scanned_ = buffer_.size();
    if (scanned_ - begin_ > longest_ + kLeftOut) {
      dropping_ = true;
      return accept(line, std::string_view(buffer_).substr(begin_));
    }
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
    if (line_ == 1) found = without_byte_order_mark(found);
    if (!found.empty() && found.back() == '\r') found.remove_suffix(1);
  }
  if (found.size() > longest_)
    refuse("E0642 line-too-long", 0, fmt::format("a line of more than {} bytes; expected lines of text", longest_));
  const auto bad = first_bad_byte(found);
  if (bad && found[*bad] == '\0')
    refuse("E0641 not-utf8", *bad, "the line has a NUL byte; expected UTF-8 text",
           {"help: a binary file? Or UTF-16: iconv -f UTF-16 -t UTF-8 converts it"});
  if (bad)
    refuse("E0641 not-utf8", *bad,
           fmt::format("byte 0x{:02X} is not UTF-8 text; expected UTF-8", static_cast<unsigned char>(found[*bad])),
           {"help: convert the file, e.g. iconv -f GB18030 -t UTF-8"});
  line.assign(found);
  return true;
}

bool LineReader::ready(int milliseconds) {
  while (!at_end_ && (!drop_rest() || buffer_.find('\n', scanned_) == std::string::npos)) {
    scanned_ = buffer_.size();
    if (!source_->stream.has_some()) {
      pollfd waiting{source_->stream.descriptor(), POLLIN, 0};
      if (uninterrupted([&] { return poll(&waiting, 1, milliseconds); }) <= 0) return false;
    }
    if (scanned_ - begin_ > longest_ + kLeftOut) return true;
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
