#include "tools/run/line_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "runtime/base/file.h"
#include "runtime/base/system_call.h"

namespace graphrun {
namespace {

// pread may return fewer bytes than requested. Sets errno if it returns false.
bool read_at(int file, char* to, std::size_t size, off_t at) {
  while (size > 0) {
    const ssize_t n = uninterrupted([&] { return pread(file, to, size, at); });
    if (n == 0) errno = EIO;  // another program truncated the file
    if (n <= 0) return false;
    to += n, at += n, size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

LineFile::LineFile(std::string path) : path_(std::move(path)) {
  file_ = uninterrupted([this] { return open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666); });
  if (file_ < 0) unwritable_file(path_, "write", errno);
  try {
    cut_torn_line();
  } catch (...) {
    close(file_);
    throw;
  }
}

LineFile::~LineFile() { close(file_); }

// Searches backwards, block by block.
void LineFile::cut_torn_line() {
  const off_t size = lseek(file_, 0, SEEK_END);
  off_t whole = std::max<off_t>(size, 0);
  std::array<char, 4096> block{};
  while (whole > 0) {
    const off_t begin = std::max<off_t>(0, whole - static_cast<off_t>(block.size()));
    const auto bytes = static_cast<std::size_t>(whole - begin);
    if (!read_at(file_, block.data(), bytes, begin)) unreadable_file(path_, errno);
    const std::size_t end = std::string_view(block.data(), bytes).rfind('\n');
    whole = begin + (end == std::string_view::npos ? 0 : static_cast<off_t>(end) + 1);
    if (end != std::string_view::npos) break;
  }
  if (whole < size && uninterrupted([&] { return ftruncate(file_, whole); }) != 0) unwritable_file(path_, "shorten", errno);
}

void LineFile::write(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  if (write_some(file_, text.data(), text.size()) < text.size()) unwritable_file(path_, "write", errno);
}

}  // namespace graphrun
