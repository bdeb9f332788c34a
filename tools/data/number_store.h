// Numbers end to end, read at random: in memory while they are few, else in a file without a name, which the system keeps in
// memory as far as there is room. So a data set may be larger than memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace graphrun {

class NumberStore {
 public:
  // `in_memory`: numbers, at most. The file lies in the folder that TMPDIR names, else /var/tmp, and is gone with the store.
  explicit NumberStore(std::int64_t in_memory) : in_memory_(in_memory) {}
  ~NumberStore();
  NumberStore(NumberStore&& other) noexcept;
  NumberStore& operator=(NumberStore&&) = delete;

  // Throws UserError (kNoRoom, E0502) where the file can't be made or has no room.
  void append(std::span<const std::int32_t> numbers);
  std::int64_t size() const { return written_ + static_cast<std::int64_t>(tail_.size()); }
  // Every number n becomes to[n], in place. Before close(). Throws as append, and where the file can't be read.
  void renumber(std::span<const std::int32_t> to);
  // Ends appending. Throws as append.
  void close();
  // Numbers [begin, end). Needs close().
  std::span<const std::int32_t> read(std::int64_t begin, std::int64_t end) const;
  bool on_disk() const { return file_ >= 0; }

 private:
  void write_out();
  void renumber_file(std::span<const std::int32_t> to);
  [[noreturn]] void fail(const char* doing, int error) const;

  std::int64_t in_memory_;
  std::vector<std::int32_t> tail_;  // what no file has
  std::int64_t written_ = 0;        // numbers in the file
  int file_ = -1;
  std::string folder_;
  const std::int32_t* mapped_ = nullptr;
};

}  // namespace graphrun
