#include "tools/data/number_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/base/system_call.h"

namespace graphrun {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  // numbers written at once

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/var/tmp";
}

// Opens a file without a name; -1 if that fails.
int open_nameless(const std::string& folder) {
  const int file = uninterrupted([&] { return open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); });
  if (file >= 0 || errno == ENOENT || errno == EACCES) return file;
  std::string name = folder + "/graphrun-data-XXXXXX";  // for file systems without such files
  const int named = uninterrupted([&] { return mkostemp(name.data(), O_CLOEXEC); });
  if (named >= 0) unlink(name.c_str());
  return named;
}

void renumber_all(std::vector<std::int32_t>& numbers, std::span<const std::int32_t> to) {
  for (std::int32_t& number : numbers) number = to[static_cast<std::size_t>(number)];
}

// Returns the number of bytes read. If it is less than `size`, errno is set.
std::size_t read_some(int descriptor, void* to, std::size_t size) {
  auto* const out = static_cast<char*>(to);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = uninterrupted([&] { return read(descriptor, out + done, size - done); });
    if (got == 0) errno = EIO;  // the file was truncated
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

NumberStore::NumberStore(NumberStore&& other) noexcept
    : in_memory_(other.in_memory_),
      tail_(std::move(other.tail_)),
      written_(std::exchange(other.written_, 0)),
      file_(std::exchange(other.file_, -1)),
      folder_(std::move(other.folder_)),
      mapped_(std::exchange(other.mapped_, nullptr)) {}

NumberStore::~NumberStore() {
  if (mapped_ != nullptr) munmap(const_cast<std::int32_t*>(mapped_), static_cast<std::size_t>(written_) * sizeof(std::int32_t));
  if (file_ >= 0) ::close(file_);
}

void NumberStore::fail(const char* doing, int error) const {
  throw UserError(ExitCode::kNoRoom, "E0502 unwritable-file",
                  fmt::format("cannot {} a temporary file of {} bytes in '{}': {}", doing,
                              static_cast<std::size_t>(size()) * sizeof(std::int32_t), folder_, std::strerror(error)),
                  {"help: data that is too large for memory goes there; TMPDIR names another folder"});
}

void NumberStore::append(std::span<const std::int32_t> numbers) {
  GRAPHRUN_CHECK(mapped_ == nullptr, "NumberStore::append after close");
  tail_.insert(tail_.end(), numbers.begin(), numbers.end());
  if (file_ < 0 ? static_cast<std::int64_t>(tail_.size()) > in_memory_ : tail_.size() >= kPiece) write_out();
}

void NumberStore::write_out() {
  if (file_ < 0) {
    folder_ = temporary_folder();
    file_ = open_nameless(folder_);
    if (file_ < 0) fail("open", errno);
  }
  const char* bytes = reinterpret_cast<const char*>(tail_.data());
  const std::size_t count = tail_.size() * sizeof(std::int32_t);
  if (write_some(file_, bytes, count) < count) fail("write", errno);
  written_ += static_cast<std::int64_t>(tail_.size());
  tail_ = {};
  tail_.reserve(kPiece);
}

void NumberStore::renumber(std::span<const std::int32_t> to) {
  GRAPHRUN_CHECK(mapped_ == nullptr, "NumberStore::renumber after close");
  renumber_all(tail_, to);
  if (file_ >= 0) renumber_file(to);
}

// Uses read and write, not mmap: writing to a mapped page on a full disk would end the program.
void NumberStore::renumber_file(std::span<const std::int32_t> to) {
  std::vector<std::int32_t> piece;
  for (std::int64_t begin = 0; begin < written_; begin += static_cast<std::int64_t>(piece.size())) {
    piece.resize(std::min(kPiece, static_cast<std::size_t>(written_ - begin)));
    const auto bytes = piece.size() * sizeof(std::int32_t);
    const auto offset = static_cast<off_t>(begin) * static_cast<off_t>(sizeof(std::int32_t));
    if (lseek(file_, offset, SEEK_SET) < 0 || read_some(file_, piece.data(), bytes) < bytes) fail("read", errno);
    renumber_all(piece, to);
    if (lseek(file_, offset, SEEK_SET) < 0 || write_some(file_, piece.data(), bytes) < bytes) fail("write", errno);
  }
}

void NumberStore::close() {
  if (file_ < 0 || mapped_ != nullptr) return tail_.shrink_to_fit();
  write_out();
  tail_ = {};
  void* mapped = mmap(nullptr, static_cast<std::size_t>(written_) * sizeof(std::int32_t), PROT_READ, MAP_SHARED, file_, 0);
  if (mapped == MAP_FAILED) fail("map", errno);
  mapped_ = static_cast<const std::int32_t*>(mapped);
}

std::span<const std::int32_t> NumberStore::read(std::int64_t begin, std::int64_t end) const {
  const std::int32_t* numbers = file_ < 0 ? tail_.data() : mapped_;
  GRAPHRUN_CHECK(begin >= 0 && begin <= end && end <= size() && (file_ < 0 || numbers), "NumberStore::read");
  return {numbers + begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace graphrun
