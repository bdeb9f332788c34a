// An editor, as far as `graphrun lsp` sees one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace graphrun::tests {

class LanguageClient {
 public:
  // Starts the server in a folder, with the encodings of columns that the client offers; `initialize`: also sends that request.
  explicit LanguageClient(const std::string& folder, const std::vector<std::string>& encodings = {}, bool initialize = true);
  ~LanguageClient();
  LanguageClient(const LanguageClient&) = delete;
  LanguageClient& operator=(const LanguageClient&) = delete;

  void send_bytes(const std::string& bytes);
  void send(const nlohmann::json& message);
  void notify(const std::string& method, const nlohmann::json& parameters);
  int begin_request(const std::string& method, const nlohmann::json& parameters);  // returns its number
  // The next message of the server, or the response to a request; null after a minute or at the end.
  nlohmann::json receive();
  nlohmann::json response_to(int number);
  nlohmann::json request(const std::string& method, const nlohmann::json& parameters) {
    return response_to(begin_request(method, parameters));
  }

  void open(const std::string& path, const std::string& text);
  // Replaces bytes [begin, end) of the text, as an editor does when its user types.
  void edit(const std::string& path, std::size_t begin, std::size_t end, const std::string& inserted);
  void close(const std::string& path);
  const std::string& text(const std::string& path) const { return texts_.at(path); }
  nlohmann::json position(const std::string& path, std::size_t offset) const;
  nlohmann::json at(const std::string& path, std::size_t offset) const;  // parameters of a request about a place
  nlohmann::json document(const std::string& path) const;                // parameters of a request about a document
  // The last diagnostics of the current text: those of the data too if they are known.
  nlohmann::json diagnostics(const std::string& path);
  std::string uri(const std::string& path) const;
  std::string path_of(const std::string& uri) const;  // relative to the folder
  const nlohmann::json& capabilities() const { return capabilities_; }

  int end();           // shutdown and exit; the exit code
  int wait_for_end();  // closes the input; the exit code, or 128 + the signal

 private:
  void note(const nlohmann::json& message);

  std::string folder_;
  pid_t process_ = -1;
  int in_ = -1, out_ = -1;
  std::string bytes_;
  int requests_ = 0;
  nlohmann::json capabilities_ = nlohmann::json::object();
  std::map<std::string, std::string> texts_;
  std::map<std::string, int> versions_;
  std::map<std::string, nlohmann::json> published_;  // the last ones, by URI
};

}  // namespace graphrun::tests
