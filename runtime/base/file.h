// Reads whole files, and writes files so that no reader ever sees a partial one. Every error is a UserError that names the
// path, the operation and the system's reason: E0501 unreadable-file, E0504 file-too-large (kBadData); E0502 unwritable-file,
// E0503 out-of-memory, E0505 no-room-on-disk (kNoRoom). Calls interrupted by a signal are restarted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// SHA-256 of bytes that arrive in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(const void* data, std::size_t size);
  std::string hex();  // finishes the hash: 64 lower-case hex digits; call once

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Identifies the contents of a file.
struct FileDigest {
  std::uint64_t bytes = 0;
  std::string sha256;
  friend bool operator==(const FileDigest&, const FileDigest&) = default;
};

std::string sha256(std::string_view bytes);
FileDigest digest_file(const std::string& path);

// A regular file open for sequential reading. Folders, pipes and devices are refused.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // when the file was opened
  void read(void* data, std::size_t size);      // exactly `size` bytes; fewer are an error

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// Reads the whole file. Throws E0504 if it has more than `limit` bytes.
std::string read_file(const std::string& path, std::uint64_t limit);

// A file's text without the byte order mark that some editors write before it.
std::string_view without_byte_order_mark(std::string_view text);

// A file that appears under its name, complete and on disk, only when it is committed: it is written under a temporary name in
// the same folder, fsynced and renamed, and the folder is fsynced. Without commit() nothing remains. If the name is a link, the
// file that it leads to is replaced; if it is a pipe or device (/dev/stdout), bytes go straight there.
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

  std::string path_, temporary_;  // empty temporary_: written in place
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  Sha256 hash_;
};

FileDigest write_file(const std::string& path, std::string_view text);

// Throws the UserError for a failed read: E0503 if the system is out of memory, else E0501. `error`: the errno.
[[noreturn]] void unreadable_file(const std::string& path, int error);

// Whether anything exists at the path (following links); whether it is anything but a folder. Throws UserError if that cannot
// be determined (unreadable_file).
bool is_there(const std::string& path);
bool is_file_there(const std::string& path);

// Writes to an open descriptor. Returns the number of bytes written; if it is less than `size`, errno holds the reason.
std::size_t write_some(int descriptor, const void* data, std::size_t size);

// Throws the UserError for a failed write: E0505 if the disk is full, E0503 if the system is out of memory, else E0502.
// `doing`: "write"; `error`: the errno; `done`: the progress made, " (after 12 bytes)".
[[noreturn]] void unwritable_file(const std::string& path, const std::string& doing, int error, const std::string& done = "");

std::string machine_name();  // the host's name

std::vector<std::string> names_in(const std::string& folder);  // the names of its entries, in no particular order

void make_folders(const std::string& path);          // including parents; does nothing if it exists
void sync_folder(const std::string& path);           // makes the folder's entries durable
void remove_folder(const std::string& path);         // with its contents, following no link; does nothing if there is none
std::string parent_folder(const std::string& path);  // "." if the path names none

}  // namespace graphrun
