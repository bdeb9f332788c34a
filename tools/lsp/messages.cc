#include "tools/lsp/messages.h"

#include <algorithm>
#include <cctype>

#include "tools/json/json.h"

namespace graphrun::lsp {
namespace {

constexpr std::size_t kLargestMessage = 64u << 20;
constexpr std::string_view kLength = "content-length:";

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// The number in a header's Content-Length; nullopt if it has none, or none that can be meant.
std::optional<std::size_t> length_in(std::string_view header) {
  const std::string text = lower_ascii(header);
  const std::size_t at = text.rfind(kLength);
  if (at == std::string::npos || (at > 0 && text[at - 1] != '\n' && text[at - 1] != '\r')) return std::nullopt;
  std::size_t i = at + kLength.size(), length = 0;
  while (i < text.size() && text[i] == ' ') ++i;
  if (i == text.size() || std::isdigit(static_cast<unsigned char>(text[i])) == 0) return std::nullopt;
  for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0; ++i) {
    length = 10 * length + static_cast<std::size_t>(text[i] - '0');
    if (length > kLargestMessage) return std::nullopt;
  }
  return length;
}

}  // namespace

std::optional<std::string> FrameReader::next() {
  while (true) {
    const std::size_t end = bytes_.find("\r\n\r\n");
    if (end == std::string::npos) {
      if (bytes_.size() > kLargestMessage) bytes_.clear();
      return std::nullopt;
    }
    const std::optional<std::size_t> length = length_in(std::string_view(bytes_).substr(0, end));
    if (!length) {
      bytes_.erase(0, end + 4);
      continue;
    }
    if (bytes_.size() < end + 4 + *length) return std::nullopt;
    std::string content = bytes_.substr(end + 4, *length);
    bytes_.erase(0, end + 4 + *length);
    return content;
  }
}

Json parsed(const std::string& content) {
  try {
    return parse_json_within(content);
  } catch (const JsonTooDeep& error) {
    throw ResponseError{ErrorCode::kParseError, std::string("the message is ") + error.what()};
  } catch (const Json::exception&) {
    throw ResponseError{ErrorCode::kParseError, "the message is not JSON"};
  }
}

std::string framed(const Json& message) {
  const std::string text = json_text_of_bytes(message);
  return "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
}

Json response(const Json& id, Json result) { return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}; }

Json error_response(const Json& id, ErrorCode code, const std::string& message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", static_cast<int>(code)}, {"message", message}}}};
}

Json notification(const std::string& method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace graphrun::lsp
