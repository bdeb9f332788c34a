// Decompresses text of gzip, zstd or xz, piece by piece.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace graphrun {

class Decompressor {
 public:
  enum class State {
    kMore,      // needs more bytes to continue
    kEnd,       // a complete file; another may follow
    kDamaged,   // see why()
    kNoMemory,  // out of memory
  };

  virtual ~Decompressor() = default;

  // Consumes the front of `from` and writes to the front of `to`; both then refer to what is left. `last`: there are no more
  // bytes. If `to` is full, there may be more text without more bytes.
  virtual State step(std::string_view& from, std::span<char>& to, bool last) = 0;
  // After kEnd, if there are more bytes: whether they are another file. Other bytes are ignored, as by gzip, or refused by
  // step(), as by zstd and xz.
  virtual bool continues(char first) = 0;

  const std::string& why() const { return why_; }

 protected:
  State damaged(const char* why);

 private:
  std::string why_;
};

// The decompressor of a file, chosen by its first bytes; null if they are plain text. Sets `no_memory` if there is not enough
// memory.
std::unique_ptr<Decompressor> decompressor(std::string_view first_bytes, bool& no_memory);

}  // namespace graphrun
