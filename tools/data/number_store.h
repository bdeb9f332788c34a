// A sequence of numbers with random access. A short sequence is in memory, a long one in a file without a name, which the
// system caches as far as memory allows. A data set may therefore be larger than memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace graphrun {

class NumberStore {
 public:
  // `in_memory`: the largest number of numbers in memory. The file is in $TMPDIR, otherwise in /var/tmp, and is removed with
  // the store.
  explicit NumberStore(std::int64_t in_memory) : in_memory_(in_memory) {}
  ~NumberStore();
  NumberStore(NumberStore&& other) noexcept;
  NumberStore& operator=(NumberStore&&) = delete;

  // Throws UserError (kNoRoom, E0502) if the file cannot be created or the disk is full.
  void append(std::span<const std::int32_t> numbers);
  std::int64_t size() const { return written_ + static_cast<std::int64_t>(tail_.size()); }
  // Replaces every number n by to[n]; must be called before close(). Throws like append, and if the file cannot be read.
  void renumber(std::span<const std::int32_t> to);
  // Ends appending. Throws like append.
  void close();
  // Numbers [begin, end). Requires close().
  std::span<const std::int32_t> read(std::int64_t begin, std::int64_t end) const;
  bool on_disk() const { return file_ >= 0; }

 private:
  void write_out();
  void renumber_file(std::span<const std::int32_t> to);
  [[noreturn]] void fail(const char* doing, int error) const;

  std::int64_t in_memory_;
  std::vector<std::int32_t> tail_;  // numbers that are not in a file
  std::int64_t written_ = 0;        // numbers in the file
  int file_ = -1;
  std::string folder_;
  const std::int32_t* mapped_ = nullptr;
};

}  // namespace graphrun
