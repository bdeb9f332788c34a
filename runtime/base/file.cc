#include "runtime/base/file.h"

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
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/system_call.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // a system call transfers less than 2 GiB

std::string reason(int error) { return std::system_category().message(error); }

[[noreturn]] void unreadable(const std::string& path, const std::string& why) {
  throw UserError(ExitCode::kBadData, "E0501 unreadable-file", "cannot read '" + path + "': " + why);
}

// A name in the same folder that no other process, and no other write of this process, uses.
std::string temporary_name(const std::string& path) {
  static std::atomic<std::uint64_t> count{0};
  return path + ".tmp-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

bool means_none(int error) { return error == ENOENT || error == ENOTDIR; }

// The file that a path resolves to through links; the path itself if no file exists yet.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  if (!real && !means_none(errno)) unwritable_file(path, "write", errno);
  return real ? std::string(real.get()) : path;
}

// The status of the file that the path resolves to, or nothing if there is none.
std::optional<struct stat> status_of(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) return info;
  if (!means_none(errno)) unreadable_file(path, errno);
  return std::nullopt;
}

[[noreturn]] void no_room(const char* code, const std::string& text, std::vector<std::string> notes = {}) {
  throw UserError(ExitCode::kNoRoom, code, text, std::move(notes));
}

// OpenSSL's hash functions fail only when they cannot allocate memory.
void check_hash(bool done) {
  if (!done) no_room("E0503 out-of-memory", "no memory for a SHA-256 hash");
}

}  // namespace

void unreadable_file(const std::string& path, int error) {
  if (error == ENOMEM) no_room("E0503 out-of-memory", "cannot read '" + path + "': " + reason(error));
  unreadable(path, reason(error));
}

bool is_there(const std::string& path) { return status_of(path).has_value(); }

bool is_file_there(const std::string& path) {
  const auto info = status_of(path);
  return info && !S_ISDIR(info->st_mode);
}

void unwritable_file(const std::string& path, const std::string& doing, int error, const std::string& done) {
  const std::string text = "cannot " + doing + " '" + path + "'" + done + ": " + reason(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    no_room("E0505 no-room-on-disk", text, {"help: free space there, or write to another disk"});
  }
  no_room(error == ENOMEM ? "E0503 out-of-memory" : "E0502 unwritable-file", text);
}

std::size_t write_some(int descriptor, const void* data, std::size_t size) {
  const auto* in = static_cast<const char*>(data);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t put = uninterrupted([&] { return ::write(descriptor, in + done, std::min(size - done, kMostAtOnce)); });
    if (put < 0) break;
    done += static_cast<std::size_t>(put);
  }
  return done;
}

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

struct Sha256::Impl {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  check_hash(impl_->context && EVP_DigestInit_ex(impl_->context.get(), EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::update(const void* data, std::size_t size) { check_hash(EVP_DigestUpdate(impl_->context.get(), data, size) == 1); }

std::string Sha256::hex() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check_hash(EVP_DigestFinal_ex(impl_->context.get(), bytes, &size) == 1);
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

// O_NONBLOCK: opening a pipe would otherwise wait for its writer. The flag has no effect on regular files.
InputFile::InputFile(std::string path)
    : path_(std::move(path)),
      descriptor_(uninterrupted([this] { return open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); })) {
  if (descriptor_ < 0) unreadable_file(path_, errno);
  struct stat info {};
  const int failed = fstat(descriptor_, &info) == 0 ? 0 : errno;
  if (failed == 0 && S_ISREG(info.st_mode)) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    return;
  }
  close(descriptor_);
  if (failed != 0) unreadable_file(path_, failed);
  unreadable(path_, S_ISDIR(info.st_mode) ? "it is a folder; expected a file" : "it is a pipe or device; expected a file");
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read(void* data, std::size_t size) {
  auto* out = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = uninterrupted([&] { return ::read(descriptor_, out, std::min(size, kMostAtOnce)); });
    if (got < 0) unreadable_file(path_, errno);
    if (got == 0) unreadable(path_, "it ends " + std::to_string(size) + " bytes early");
    out += got;
    size -= static_cast<std::size_t>(got);
  }
}

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
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
  const auto info = status_of(path_);
  if (info && S_ISDIR(info->st_mode)) unwritable_file(path, "write", EISDIR);
  const bool in_place = info && !S_ISREG(info->st_mode);
  if (!in_place) temporary_ = temporary_name(path_);
  descriptor_ = uninterrupted([&] {
    return in_place ? open(path_.c_str(), O_WRONLY | O_CLOEXEC)
                    : open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  });
  if (descriptor_ < 0) unwritable_file(path, "write", errno);
  // Give the new file the permissions of the one it replaces. A file system without permissions may refuse, which is harmless.
  if (info && !in_place) static_cast<void>(!fchmod(descriptor_, info->st_mode & 07777));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* doing, int error) {
  unwritable_file(path_, doing, error, " (after " + std::to_string(bytes_) + " bytes)");
}

void AtomicFile::write(const void* data, std::size_t size) {
  hash_.update(data, size);
  const std::size_t done = write_some(descriptor_, data, size);
  const int error = errno;
  bytes_ += done;
  if (done < size) fail("write", error);
}

FileDigest AtomicFile::commit() {
  GRAPHRUN_CHECK(descriptor_ >= 0, "AtomicFile: committed twice");
  // Pipes and devices are not synced to disk.
  if (!temporary_.empty() && uninterrupted([&] { return fsync(descriptor_); }) != 0) fail("write", errno);
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

std::vector<std::string> names_in(const std::string& folder) {
  while (true) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
      names.push_back(i->path().filename().string());
    if (!error) return names;
    if (error != std::errc::interrupted) unreadable_file(folder, error.value());
  }
}

void make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) unwritable_file(path, "make the folder", error.value());
}

void sync_folder(const std::string& path) {
  const int descriptor = uninterrupted([&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor < 0) unwritable_file(path, "open the folder", errno);
  // Some network file systems cannot sync a folder and say so; nothing better can be done then.
  const bool synced = uninterrupted([&] { return fsync(descriptor); }) == 0;
  const int error = synced || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  close(descriptor);
  if (error != 0) unwritable_file(path, "write the folder", error);
}

void remove_folder(const std::string& path) {
  std::error_code error;
  do std::filesystem::remove_all(path, error);
  while (error == std::errc::interrupted);
  if (error) unwritable_file(path, "remove the folder", error.value());
}

std::string parent_folder(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace graphrun
