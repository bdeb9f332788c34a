#include "runtime/file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "runtime/status.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // a system call moves less than 2 GiB

std::string reason(int error) { return std::system_category().message(error); }

[[noreturn]] void unreadable(const std::string& path, const std::string& why) {
  throw UserError(ExitCode::kBadData, "E0501 unreadable-file", "cannot read '" + path + "': " + why);
}

// A name beside the file that no other process and no other write of this one takes.
std::string temporary_name(const std::string& path) {
  static std::atomic<std::uint64_t> count{0};
  return path + ".tmp-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

// The file that a path leads to through links; the path itself where there is none yet.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : path;
}

}  // namespace

void unreadable_file(const std::string& path, int error) {
  if (error == ENOMEM)
    throw UserError(ExitCode::kNoRoom, "E0503 out-of-memory", "cannot read '" + path + "': " + reason(error));
  unreadable(path, reason(error));
}

bool is_there(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) unreadable_file(path, errno);
  return false;
}

void unwritable_file(const std::string& path, const std::string& doing, int error, const std::string& done) {
  const std::string text = "cannot " + doing + " '" + path + "'" + done + ": " + reason(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    throw UserError(ExitCode::kNoRoom, "E0505 no-room-on-disk", text, {"help: free space there, or write to another disk"});
  }
  throw UserError(ExitCode::kNoRoom, "E0502 unwritable-file", text);
}

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

struct Sha256::Impl {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  GRAPHRUN_CHECK(impl_->context && EVP_DigestInit_ex(impl_->context.get(), EVP_sha256(), nullptr) == 1, "sha256: init");
}

Sha256::~Sha256() = default;

void Sha256::update(const void* data, std::size_t size) {
  GRAPHRUN_CHECK(EVP_DigestUpdate(impl_->context.get(), data, size) == 1, "sha256: update");
}

std::string Sha256::hex() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  GRAPHRUN_CHECK(EVP_DigestFinal_ex(impl_->context.get(), bytes, &size) == 1, "sha256: final");
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.hex();
}

FileDigest digest_file(const std::string& path) {
  InputFile file(path);
  Sha256 hash;
  std::vector<char> piece(std::size_t{1} << 20);
  for (std::uint64_t left = file.size(); left > 0;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size()));
    file.read(piece.data(), size);
    hash.update(piece.data(), size);
    left -= size;
  }
  return {file.size(), hash.hex()};
}

// O_NONBLOCK: opening a pipe would wait for its writer. It means nothing to a regular file.
InputFile::InputFile(std::string path)
    : path_(std::move(path)), descriptor_(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) unreadable(path_, reason(errno));
  struct stat info {};
  const int failed = fstat(descriptor_, &info) == 0 ? 0 : errno;
  if (failed == 0 && S_ISREG(info.st_mode)) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    return;
  }
  close(descriptor_);
  if (failed != 0) unreadable(path_, reason(failed));
  unreadable(path_, S_ISDIR(info.st_mode) ? "it is a folder; expected a file" : "it is a pipe or device; expected a file");
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read(void* data, std::size_t size) {
  auto* out = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(descriptor_, out, std::min(size, kMostAtOnce));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) unreadable(path_, reason(errno));
    if (got == 0) unreadable(path_, "it ends " + std::to_string(size) + " bytes early");
    out += got;
    size -= static_cast<std::size_t>(got);
  }
}

std::string read_file(const std::string& path, std::uint64_t limit) {
  InputFile file(path);
  if (file.size() > limit) {
    throw UserError(
        ExitCode::kBadData, "E0504 file-too-large",
        "'" + path + "' has " + std::to_string(file.size()) + " bytes; at most " + std::to_string(limit) + " are read");
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(text.data(), text.size());
  return text;
}

AtomicFile::AtomicFile(const std::string& path) : path_(resolved(path)) {
  struct stat info {};
  const bool exists = stat(path_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) unwritable_file(path, "write", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = temporary_name(path_);
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) {
    temporary_.clear();  // nothing there to remove
    unwritable_file(path, "write", errno);
  }
  // The new file is as open to others as the one it replaces. A file system without permissions may refuse: no matter.
  if (exists && !temporary_.empty()) static_cast<void>(!fchmod(descriptor_, info.st_mode & 07777));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* doing, int error) {
  unwritable_file(path_, doing, error, " (after " + std::to_string(bytes_) + " bytes)");
}

void AtomicFile::write(const void* data, std::size_t size) {
  const auto* in = static_cast<const char*>(data);
  hash_.update(data, size);
  while (size > 0) {
    const ssize_t put = ::write(descriptor_, in, std::min(size, kMostAtOnce));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write", errno);
    in += put;
    size -= static_cast<std::size_t>(put);
    bytes_ += static_cast<std::uint64_t>(put);
  }
}

FileDigest AtomicFile::commit() {
  GRAPHRUN_CHECK(descriptor_ >= 0, "AtomicFile: committed twice");
  // Pipes and devices have no disk to wait for.
  if (!temporary_.empty() && fsync(descriptor_) != 0) fail("write", errno);
  const int closed = close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 && errno != EINTR) fail("write", errno);
  if (!temporary_.empty()) {
    if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename a temporary file to", errno);
    temporary_.clear();
    sync_folder(parent_folder(path_));
  }
  return {bytes_, hash_.hex()};
}

FileDigest write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  return file.commit();
}

void make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) unwritable_file(path, "make the folder", error.value());
}

void sync_folder(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) unwritable_file(path, "open the folder", errno);
  // Some network file systems cannot sync a folder and say so: nothing better can be done there.
  const int error = fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  close(descriptor);
  if (error != 0) unwritable_file(path, "write the folder", error);
}

void remove_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) unwritable_file(path, "remove the folder", error.value());
}

std::string parent_folder(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace graphrun
