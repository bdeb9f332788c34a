// Detects compressed files by their first bytes.
#pragma once

#include <algorithm>
#include <string_view>

namespace graphrun {

inline constexpr std::string_view kGzipMagic = "\x1F\x8B";
inline constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";
inline constexpr std::string_view kXzMagic("\xFD\x37\x7A\x58\x5A\0", 6);
inline constexpr std::string_view kMagics[] = {kGzipMagic, kZstdMagic, kXzMagic};

inline bool begins_compressed(std::string_view bytes) {
  return std::any_of(std::begin(kMagics), std::end(kMagics), [&](std::string_view magic) { return bytes.starts_with(magic); });
}

// Whether the bytes so far are a prefix of a compressed file's signature, so that the following bytes decide.
inline bool may_be_compressed(std::string_view bytes) {
  const auto decides = [&](std::string_view magic) { return bytes.size() < magic.size() && magic.starts_with(bytes); };
  return std::any_of(std::begin(kMagics), std::end(kMagics), decides);
}

}  // namespace graphrun
