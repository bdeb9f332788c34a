// Text that gzip, zstd or xz wrote, piece by piece as it comes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace graphrun {

class Decompressor {
 public:
  enum class State {
    kMore,      // it goes on, where there are more bytes
    kEnd,       // a whole file: the end, unless another follows
    kDamaged,   // and why()
    kNoMemory,  // the system has none
  };

  virtual ~Decompressor() = default;

  // Takes from the front of `from` and writes to the front of `to`; both then hold what is left of them. `last`: no other bytes
  // come. Where `to` is full there may be more text without more bytes.
  virtual State step(std::string_view& from, std::span<char>& to, bool last) = 0;
  // After kEnd, where more bytes come: whether they are text too. What is not is left out, as gzip does, or refused by step(),
  // as zstd and xz do.
  virtual bool goes_on(char first) = 0;

  const std::string& why() const { return why_; }

 protected:
  State damaged(const char* why);

 private:
  std::string why_;
};

// The decompressor of a file, by its first bytes; null where they are text. `no_memory` is set where there is none for it.
std::unique_ptr<Decompressor> decompressor(std::string_view first_bytes, bool& no_memory);

}  // namespace graphrun
