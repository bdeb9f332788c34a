#include "tools/text/utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

// Reads one code point. Returns the number of its bytes, or 0 if they are not UTF-8.
std::size_t read_code_point(std::string_view text, utf8proc_int32_t& code) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const utf8proc_ssize_t n = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &code);
  return n <= 0 ? 0 : static_cast<std::size_t>(n);
}

bool begins_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }

// A normal form that leaves ASCII as it is.
std::string mapped(std::string_view text, int options) {
  if (std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return std::string(text);
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()), &out,
                   static_cast<utf8proc_option_t>(options));
  GRAPHRUN_CHECK(size >= 0, "utf8proc_map: the text is no UTF-8");
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(out, std::free);
  return {reinterpret_cast<const char*>(out), static_cast<std::size_t>(size)};
}

void append(utf8proc_int32_t code, std::string& text) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t n = utf8proc_encode_char(code, bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
}

constexpr utf8proc_int32_t kCapitalSigma = U'\u03A3', kCapitalDottedI = U'\u0130';
constexpr std::string_view kSigma = "\u03C3", kFinalSigma = "\u03C2", kDottedI = "i\u0307";

// Unicode's properties Case_Ignorable and, of the others, Cased. utf8proc has the categories and mappings from which most of
// both follows.
bool is_case_ignorable(utf8proc_int32_t code) {
  static constexpr std::u32string_view kWithinWords =
      U"'.:\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: return kWithinWords.find(static_cast<char32_t>(code)) != std::u32string_view::npos;
  }
}

bool is_cased(utf8proc_int32_t code) {
  const utf8proc_category_t category = utf8proc_category(code);
  if (category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT) return true;
  if (utf8proc_tolower(code) != code || utf8proc_toupper(code) != code) return true;
  const bool enclosed_letter =
      (code >= 0x1F130 && code <= 0x1F149) || (code >= 0x1F150 && code <= 0x1F169) || (code >= 0x1F170 && code <= 0x1F189);
  return enclosed_letter || code == U'\u00AA' || code == U'\u00BA';
}

}  // namespace

std::optional<std::size_t> first_bad_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char byte = static_cast<unsigned char>(text[i]);
    if (byte != 0 && byte < 0x80) {
      ++i;
      continue;
    }
    utf8proc_int32_t code = 0;
    const std::size_t n = byte == 0 ? 0 : read_code_point(text.substr(i), code);
    if (n == 0) return i;
    i += n;
  }
  return std::nullopt;
}

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_code_point));
}

std::string_view first_code_points(std::string_view text, std::size_t most) {
  std::size_t taken = 0, at = 0;
  for (; at < text.size(); ++at) {
    if (begins_code_point(text[at]) && taken++ == most) break;
  }
  return text.substr(0, at);
}

std::string_view within_bytes(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && !begins_code_point(text[most])) --most;
  return text.substr(0, most);
}

std::vector<std::string_view> code_points(std::string_view text) {
  std::vector<std::string_view> points;
  points.reserve(text.size() / 2 + 1);
  for (std::size_t i = 0; i < text.size();) {
    utf8proc_int32_t code = 0;
    std::size_t n = read_code_point(text.substr(i), code);
    if (n == 0) n = 1;
    points.push_back(text.substr(i, n));
    i += n;
  }
  return points;
}

bool is_space(std::string_view code_point) {
  utf8proc_int32_t code = 0;
  if (read_code_point(code_point, code) == 0) return false;
  if (code == ' ' || (code >= '\t' && code <= '\r') || code == 0x85) return true;
  const utf8proc_category_t category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

std::string nfc(std::string_view text) { return mapped(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE); }
std::string nfkc(std::string_view text) { return mapped(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT); }

std::string lower_case(std::string_view text) {
  std::string lowered;
  for (std::size_t i = 0; i < text.size();) {
    utf8proc_int32_t code = 0;
    const std::size_t length = read_code_point(text.substr(i), code);
    if (length == 0) return lowered + std::string(text.substr(i));
    i += length;
    append(utf8proc_tolower(code), lowered);
  }
  return lowered;
}

std::string full_lower_case(std::string_view text) {
  std::string lowered;
  bool in_word = false;                         // whether the last code point that is not ignored has case
  std::size_t final_sigma = std::string::npos;  // in `lowered`: nothing but ignored code points followed so far
  for (const std::string_view point : code_points(text)) {
    utf8proc_int32_t code = 0;
    read_code_point(point, code);
    const bool ignored = is_case_ignorable(code);
    if (!ignored) {
      if (final_sigma != std::string::npos && is_cased(code)) lowered.replace(final_sigma, kSigma.size(), kSigma);
      final_sigma = std::string::npos;
    }
    if (code == kCapitalSigma && in_word) {
      final_sigma = lowered.size();
      lowered += kFinalSigma;
    } else if (code == kCapitalDottedI) {
      lowered += kDottedI;
    } else {
      append(utf8proc_tolower(code), lowered);
    }
    if (!ignored) in_word = is_cased(code);
  }
  return lowered;
}

}  // namespace graphrun
