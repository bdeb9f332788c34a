#include "tests/editing/language_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "tests/folders.h"

namespace graphrun::tests {

using nlohmann::json;

namespace {
constexpr int kPatience = 60'000;  // milliseconds; a test machine may be busy
}

LanguageClient::LanguageClient(const std::string& folder, const std::vector<std::string>& encodings, bool initialize)
    : folder_(folder) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  const std::string program = build_folder() + "/graphrun";
  process_ = fork();
  if (process_ == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    if (chdir(folder.c_str()) != 0) _exit(126);
    execl(program.c_str(), program.c_str(), "lsp", static_cast<char*>(nullptr));
    _exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  in_ = to[1], out_ = from[0];
  std::signal(SIGPIPE, SIG_IGN);
  if (!initialize) return;
  json parameters = {{"processId", nullptr}, {"rootUri", uri("")}, {"capabilities", json::object()}};
  if (!encodings.empty()) parameters["capabilities"]["general"]["positionEncodings"] = encodings;
  capabilities_ = request("initialize", parameters).at("result").at("capabilities");
  notify("initialized", json::object());
}

LanguageClient::~LanguageClient() {
  if (in_ >= 0) ::close(in_);
  if (out_ >= 0) ::close(out_);
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
}

void LanguageClient::send_bytes(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = write(in_, bytes.data() + done, bytes.size() - done);
    if (wrote <= 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

void LanguageClient::send(const json& message) {
  const std::string text = message.dump();
  send_bytes("Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text);
}

void LanguageClient::notify(const std::string& method, const json& parameters) {
  send({{"jsonrpc", "2.0"}, {"method", method}, {"params", parameters}});
}

int LanguageClient::begin_request(const std::string& method, const json& parameters) {
  send({{"jsonrpc", "2.0"}, {"id", ++requests_}, {"method", method}, {"params", parameters}});
  return requests_;
}

void LanguageClient::note(const json& message) {
  if (message.is_object() && message.value("method", "") == "textDocument/publishDiagnostics") {
    published_[message["params"]["uri"]] = message["params"];
  }
}

json LanguageClient::receive() {
  while (true) {
    const std::size_t header = bytes_.find("\r\n\r\n");
    if (header != std::string::npos) {
      const std::size_t length = std::stoul(bytes_.substr(bytes_.find(':') + 1));
      if (bytes_.size() >= header + 4 + length) {
        json message = json::parse(bytes_.substr(header + 4, length));
        bytes_.erase(0, header + 4 + length);
        note(message);
        return message;
      }
    }
    pollfd from{out_, POLLIN, 0};
    if (poll(&from, 1, kPatience) <= 0) return nullptr;
    char block[65536];
    const ssize_t got = read(out_, block, sizeof block);
    if (got <= 0) return nullptr;
    bytes_.append(block, static_cast<std::size_t>(got));
  }
}

json LanguageClient::response_to(int number) {
  while (true) {
    json message = receive();
    if (message.is_null() || (message.contains("id") && message["id"] == number)) return message;
  }
}

std::string LanguageClient::uri(const std::string& path) const {
  return "file://" + folder_ + (path.empty() ? "" : "/" + path);
}

std::string LanguageClient::path_of(const std::string& uri) const {
  const std::string start = this->uri("") + "/";
  return uri.compare(0, start.size(), start) == 0 ? uri.substr(start.size()) : uri;
}

void LanguageClient::open(const std::string& path, const std::string& text) {
  texts_[path] = text;
  versions_[path] = 1;
  published_.erase(uri(path));
  notify("textDocument/didOpen",
         {{"textDocument", {{"uri", uri(path)}, {"languageId", "graphrun"}, {"version", 1}, {"text", text}}}});
}

void LanguageClient::close(const std::string& path) {
  notify("textDocument/didClose", document(path));
  texts_.erase(path);
}

json LanguageClient::document(const std::string& path) const { return {{"textDocument", {{"uri", uri(path)}}}}; }

// In UTF-16, unless the server says otherwise.
json LanguageClient::position(const std::string& path, std::size_t offset) const {
  const bool bytes = capabilities_.value("positionEncoding", "utf-16") == "utf-8";
  int line = 0, character = 0;
  const std::string& text = texts_.at(path);
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n') {
      ++line, character = 0;
    } else if (bytes) {
      ++character;
    } else {
      character += (c & 0xC0) == 0x80 ? 0 : c >= 0xF0 ? 2 : 1;
    }
  }
  return {{"line", line}, {"character", character}};
}

json LanguageClient::at(const std::string& path, std::size_t offset) const {
  json parameters = document(path);
  parameters["position"] = position(path, offset);
  return parameters;
}

void LanguageClient::edit(const std::string& path, std::size_t begin, std::size_t end, const std::string& inserted) {
  json change = {{"range", {{"start", position(path, begin)}, {"end", position(path, end)}}}, {"text", inserted}};
  texts_[path].replace(begin, end - begin, inserted);
  json parameters = document(path);
  parameters["textDocument"]["version"] = ++versions_[path];
  parameters["contentChanges"] = json::array({change});
  notify("textDocument/didChange", parameters);
}

json LanguageClient::diagnostics(const std::string& path) {
  // Those of a change elsewhere may have the same version. The server publishes before it reads the second request.
  for (int k = 0; k < 2; ++k) request("textDocument/documentSymbol", document(path));
  const std::string at = uri(path);
  while (published_.count(at) == 0 || published_[at].value("version", 0) != versions_[path]) {
    if (receive().is_null()) return nullptr;
  }
  return published_[at]["diagnostics"];
}

int LanguageClient::end() {
  request("shutdown", nullptr);
  notify("exit", nullptr);
  return wait_for_end();
}

int LanguageClient::wait_for_end() {
  ::close(in_);
  in_ = -1;
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace graphrun::tests
