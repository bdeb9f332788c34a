#include "tools/text/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "runtime/base/status.h"

namespace graphrun {

std::string gzip(std::string_view text) {
  constexpr int kWindow = 15 + 16;  // gzip's header, without name and time
  constexpr int kMemory = 8;
  z_stream stream{};
  std::string bytes;
  const auto refuse = [&] {
    deflateEnd(&stream);
    throw UserError(ExitCode::kNoRoom, "E0503 out-of-memory",
                    "no memory to compress " + std::to_string(text.size()) + " bytes");
  };
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) refuse();
  for (int result = Z_OK; result != Z_STREAM_END;) {
    const std::size_t some = std::min<std::size_t>(text.size(), std::numeric_limits<uInt>::max() / 2);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(some);
    char buffer[1 << 16];
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    result = deflate(&stream, some == text.size() ? Z_FINISH : Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) refuse();
    text.remove_prefix(some - stream.avail_in);
    bytes.append(buffer, sizeof buffer - stream.avail_out);
  }
  deflateEnd(&stream);
  return bytes;
}

}  // namespace graphrun
