// The messages of the language server protocol: JSON-RPC, each after a header with its length.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace graphrun::lsp {

using Json = nlohmann::json;

enum class ErrorCode {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kNotInitialized = -32002,
  kCancelled = -32800,
  kRequestFailed = -32803
};

// A request that the server answers with an error.
struct ResponseError {
  ErrorCode code;
  std::string message;
};

// Splits the bytes that arrive into the contents of messages. Skips what is not a header up to the next header.
class FrameReader {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  // The next whole message; nullopt until more bytes arrive.
  std::optional<std::string> next();

 private:
  std::string bytes_;
};

// The JSON of a message. Throws ResponseError if it is none, or is nested too deeply.
Json parsed(const std::string& content);
std::string framed(const Json& message);
Json response(const Json& id, Json result);
Json error_response(const Json& id, ErrorCode code, const std::string& message);
Json notification(const std::string& method, Json params);

}  // namespace graphrun::lsp
