#include "tools/text/decompress.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <cstdint>

#include "runtime/base/compressed.h"

namespace graphrun {
namespace {

using State = Decompressor::State;

// zlib and xz have the same fields.
template <class Stream, class Run>
int run_on(Stream& stream, std::string_view& from, std::span<char>& to, const Run& run) {
  using Byte = std::remove_reference_t<decltype(*stream.next_out)>;
  stream.next_in = reinterpret_cast<Byte*>(const_cast<char*>(from.data()));
  stream.avail_in = static_cast<decltype(stream.avail_in)>(from.size());
  stream.next_out = reinterpret_cast<Byte*>(to.data());
  stream.avail_out = static_cast<decltype(stream.avail_out)>(to.size());
  const int result = static_cast<int>(run());
  from.remove_prefix(from.size() - stream.avail_in);
  to = to.last(stream.avail_out);
  return result;
}

class Gzip : public Decompressor {
 public:
  ~Gzip() override { inflateEnd(&stream_); }
  bool begin() { return inflateInit2(&stream_, kGzipFormat) == Z_OK; }

  State step(std::string_view& from, std::span<char>& to, bool) override {
    switch (run_on(stream_, from, to, [&] { return inflate(&stream_, Z_NO_FLUSH); })) {
      case Z_OK:
      case Z_BUF_ERROR: return State::kMore;
      case Z_STREAM_END: return State::kEnd;
      case Z_MEM_ERROR: return State::kNoMemory;
      default: return damaged(stream_.msg);
    }
  }
  bool continues(char first) override { return first == kGzipMagic[0] && inflateReset(&stream_) == Z_OK; }

 private:
  static constexpr int kGzipFormat = 15 + 16;  // zlib's code for it
  z_stream stream_{};
};

class Xz : public Decompressor {
 public:
  ~Xz() override { lzma_end(&stream_); }
  bool begin() { return lzma_stream_decoder(&stream_, kMostMemory, LZMA_CONCATENATED) == LZMA_OK; }

  // Decompresses concatenated files, with zeros between them, until the end.
  State step(std::string_view& from, std::span<char>& to, bool last) override {
    switch (run_on(stream_, from, to, [&] { return lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN); })) {
      case LZMA_OK:
      case LZMA_BUF_ERROR: return State::kMore;
      case LZMA_STREAM_END: return State::kEnd;
      case LZMA_MEM_ERROR: return State::kNoMemory;
      case LZMA_MEMLIMIT_ERROR: return damaged("it takes more than 256 MiB to decompress");
      default: return damaged(nullptr);
    }
  }
  bool continues(char) override { return false; }

 private:
  static constexpr std::uint64_t kMostMemory = std::uint64_t{256} << 20;  // xz -9 needs 65 MiB
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class Zstd : public Decompressor {
 public:
  ~Zstd() override { ZSTD_freeDStream(stream_); }
  bool begin() { return (stream_ = ZSTD_createDStream()) != nullptr; }

  State step(std::string_view& from, std::span<char>& to, bool) override {
    ZSTD_inBuffer in{from.data(), from.size(), 0};
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    const std::size_t result = ZSTD_decompressStream(stream_, &out, &in);
    from.remove_prefix(in.pos);
    to = to.subspan(out.pos);
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) return State::kNoMemory;
    if (ZSTD_isError(result)) return damaged(ZSTD_getErrorName(result));
    return result == 0 ? State::kEnd : State::kMore;
  }
  bool continues(char) override { return true; }

 private:
  ZSTD_DStream* stream_ = nullptr;
};

template <class Kind>
std::unique_ptr<Decompressor> begun(bool& no_memory) {
  auto kind = std::make_unique<Kind>();
  no_memory = !kind->begin();
  return kind;
}

}  // namespace

State Decompressor::damaged(const char* why) {
  why_ = why != nullptr ? why : "damaged compressed data";
  return State::kDamaged;
}

std::unique_ptr<Decompressor> decompressor(std::string_view first_bytes, bool& no_memory) {
  if (first_bytes.starts_with(kGzipMagic)) return begun<Gzip>(no_memory);
  if (first_bytes.starts_with(kZstdMagic)) return begun<Zstd>(no_memory);
  if (first_bytes.starts_with(kXzMagic)) return begun<Xz>(no_memory);
  return nullptr;
}

}  // namespace graphrun
