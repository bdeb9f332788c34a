// Bytes as gzip, zstd and xz write them.
#pragma once

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace graphrun {

inline std::string gzip_of(std::string_view text) {
  z_stream stream{};
  GRAPHRUN_CHECK(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "gzip");
  std::string bytes(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  GRAPHRUN_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "gzip");
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

// With a checksum of the text, as the program writes it.
inline std::string zstd_of(std::string_view text) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  bytes.resize(ZSTD_compress2(context, bytes.data(), bytes.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return bytes;
}

inline std::string xz_of(std::string_view text) {
  std::string bytes(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  GRAPHRUN_CHECK(
      lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                              reinterpret_cast<std::uint8_t*>(bytes.data()), &size, bytes.size()) == LZMA_OK,
      "xz");
  bytes.resize(size);
  return bytes;
}

}  // namespace graphrun
