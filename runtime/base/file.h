// Files read whole and written so that nobody ever sees half of one. Every error is a UserError that names the path, what was
// being done and the system's reason: E0501 unreadable-file, E0504 file-too-large (kBadData); E0502 unwritable-file, E0503
// out-of-memory, E0505 no-room-on-disk (kNoRoom). No signal interrupts what is done here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// SHA-256 of bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(const void* data, std::size_t size);
  std::string hex();  // ends it: 64 lower-case digits; call once

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What tells one content of a file from another.
struct FileDigest {
  std::uint64_t bytes = 0;
  std::string sha256;
  friend bool operator==(const FileDigest&, const FileDigest&) = default;
};

std::string sha256(std::string_view bytes);
FileDigest digest_file(const std::string& path);

// A regular file open for reading, front to back. Folders, pipes and devices are refused.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // when it was opened
  void read(void* data, std::size_t size);      // exactly so many bytes; fewer are an error

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// The whole file; E0504 where it has more than `limit` bytes.
std::string read_file(const std::string& path, std::uint64_t limit);

// A file that appears under its name, whole and on disk, when it is committed: written under a temporary name beside it,
// fsynced, renamed, the folder fsynced. Without commit() nothing is left. Where the name is that of a link, the file it leads
// to is replaced; where it is that of a pipe or device (/dev/stdout), bytes go straight there.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  FileDigest commit();

 private:
  [[noreturn]] void fail(const char* doing, int error);

  std::string path_, temporary_;  // no temporary: written in place
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  Sha256 hash_;
};

FileDigest write_file(const std::string& path, std::string_view text);

// Throws what a failure to read is: E0501, and E0503 where the system has no memory for it. `error`: of errno.
[[noreturn]] void unreadable_file(const std::string& path, int error);

// Whether anything is there, through links; anything but a folder. Throws UserError where that can't be told
// (unreadable_file).
bool is_there(const std::string& path);
bool is_file_there(const std::string& path);

// Writes to an open descriptor; fewer bytes than `size` were written where it fails, and errno tells why.
std::size_t write_some(int descriptor, const void* data, std::size_t size);

// Throws what a failure to write is: E0505 where the disk is full, E0503 where the system has no memory for it, else E0502.
// `doing`: "write"; `error`: of errno; `done`: what was achieved, " (after 12 bytes)".
[[noreturn]] void unwritable_file(const std::string& path, const std::string& doing, int error, const std::string& done = "");

std::string machine_name();  // the host's

std::vector<std::string> names_in(const std::string& folder);  // of its entries, in no order

void make_folders(const std::string& path);          // with those above it; nothing where it exists
void sync_folder(const std::string& path);           // its entries are on disk then
void remove_folder(const std::string& path);         // with all in it, following no link; nothing where there is none
std::string parent_folder(const std::string& path);  // "." where it has none

}  // namespace graphrun
