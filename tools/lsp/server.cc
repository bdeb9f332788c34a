#include "tools/lsp/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "compiler/frontend/graph_paths.h"
#include "runtime/base/system_call.h"
#include "tools/cli/program.h"
#include "tools/json/json.h"
#include "tools/lsp/background_check.h"
#include "tools/lsp/features.h"
#include "tools/lsp/file_stamps.h"
#include "tools/lsp/file_watchers.h"

namespace graphrun::lsp {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 2000;  // of a project, in which names are looked for

class Server : public Workspace {
 public:
  Server(int in, int out) : in_(in), out_(out) {}

  ExitCode run() {
    while (!ended_) {
      if (waiting_.empty()) publish();
      if (!receive(waiting_.empty()) && waiting_.empty()) break;  // the client is gone
      if (waiting_.empty()) continue;
      const std::string content = std::move(waiting_.front());
      waiting_.pop_front();
      handle(content);
    }
    return shut_down_ && ended_ ? ExitCode::kDone : ExitCode::kRunFailed;
  }

  const Documents& documents() const override { return documents_; }
  Encoding encoding() const override { return encoding_; }

  const Analysis& analysis(const std::string& path, Depth depth) override {
    if (analyzed_ != documents_.revision()) {
      // References into older analyses end here: nothing keeps one from one request to the next.
      analyses_.clear();
      stamps_.clear();
      analyzed_ = documents_.revision();
    }
    Kept& kept = analyses_[path];
    if (!kept.analysis || kept.depth < depth) {
      // The shallower one may be in use.
      if (kept.analysis) replaced_.push_back(std::move(kept.analysis));
      const AskedSources asked;
      const FileStamps::Time began = std::chrono::system_clock::now();
      kept = {analyze(path, documents_, depth), depth, asked.paths()};
      std::set<std::string> on_disk;
      for (const std::string& file : asked.paths()) {
        if (documents_.find(resolved_path(file)) == nullptr) on_disk.insert(file);
      }
      stamps_.add(on_disk, began);
    }
    return *kept.analysis;
  }

  std::vector<std::string> files_near(const std::string& path) override {
    std::set<std::string> files = {path};
    for (const auto& [open, document] : documents_.all()) files.insert(open);
    std::set<std::string> folders = folders_;
    folders.insert(frontend::find_graphs_root(path));
    for (const std::string& folder : folders) {
      std::error_code error;
      fs::recursive_directory_iterator i(folder, fs::directory_options::skip_permission_denied, error), end;
      for (; !error && i != end && files.size() < kMostFiles; i.increment(error)) {
        const std::string name = i->path().filename().string();
        if (i->is_directory(error) && (name.starts_with(".") || name.starts_with("build"))) i.disable_recursion_pending();
        if (i->path().extension() != ".pbtxt") continue;
        const fs::path canonical = fs::weakly_canonical(i->path(), error);
        if (!error) files.insert(canonical.string());
      }
    }
    return {files.begin(), files.end()};
  }

 private:
  struct Kept {
    std::unique_ptr<Analysis> analysis;
    Depth depth = Depth::kNames;
    std::set<std::string> sources;  // that it has asked for
  };
  using Texts = std::map<std::string, std::string>;

  // The texts that the check of a job depends on, by path: its own and those of graphs.
  Texts texts_for(const std::string& path) {
    analysis(path, Depth::kMeanings);
    Texts texts = {{path, documents_.text_of(path)}};
    for (const std::string& source : analyses_.at(path).sources) texts[source] = documents_.text_of(resolved_path(source));
    return texts;
  }

  // Reads what has arrived; with `wait`, until something has. Returns false at the end of the input.
  bool receive(bool wait) {
    std::vector<pollfd> from = {{in_, POLLIN, 0}};
    std::vector<std::string> checked;
    for (const auto& [path, check] : checks_) {
      from.push_back({check.process->descriptor(), POLLIN, 0});
      checked.push_back(path);
    }
    if (uninterrupted([&] { return poll(from.data(), from.size(), wait ? -1 : 0); }) <= 0) return true;
    for (std::size_t k = 0; k < checked.size(); ++k) {
      if (from[k + 1].fd >= 0 && from[k + 1].revents == 0) continue;  // below 0, the check could not begin
      const std::optional<std::string> result = checks_.at(checked[k]).process->receive();
      if (!result) continue;
      Texts texts = std::move(checks_.at(checked[k]).texts);
      checks_.erase(checked[k]);
      if (full_.count(checked[k]) != 0) continue;  // it will be checked again
      if (texts != texts_for(checked[k])) {        // by a change to another document
        full_.insert(checked[k]);
        published_ = 0;
        continue;
      }
      const Json diagnostics = parse_json_or_discard(*result);
      if (!diagnostics.is_array()) {
        results_.erase(checked[k]);
        published_ = 0;
        continue;
      }
      send_diagnostics(checked[k], diagnostics);
      results_[checked[k]] = {std::move(texts), diagnostics};
    }
    if (from[0].revents == 0) return true;
    char block[65536];
    const ssize_t got = uninterrupted([&] { return read(in_, block, sizeof block); });
    if (got <= 0) return false;
    reader_.add({block, static_cast<std::size_t>(got)});
    while (std::optional<std::string> content = reader_.next()) {
      note_cancellation(*content);
      waiting_.push_back(std::move(*content));
    }
    return true;
  }

  // A request may be cancelled while it waits: the notification comes after it.
  void note_cancellation(const std::string& content) {
    if (content.find("$/cancelRequest") == std::string::npos) return;
    Json message;
    try {
      message = parsed(content);
    } catch (const ResponseError&) {  // which its turn will answer
      return;
    }
    if (message.is_object() && message.value("method", Json()) == "$/cancelRequest" && message.contains("params") &&
        message["params"].is_object() && message["params"].contains("id")) {
      cancelled_.insert(json_text_of_bytes(message["params"]["id"]));
    }
  }

  void send(const Json& message) {
    const std::string text = framed(message);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t wrote = uninterrupted([&] { return write(out_, text.data() + done, text.size() - done); });
      if (wrote <= 0) {
        ended_ = true;
        return;
      }
      done += static_cast<std::size_t>(wrote);
    }
  }

  void handle(const std::string& content) {
    Json message;
    try {
      message = parsed(content);
    } catch (const ResponseError& error) {
      return send(error_response(nullptr, error.code, error.message));
    }
    if (!message.is_object()) return send(error_response(nullptr, ErrorCode::kInvalidRequest, "a message is an object"));
    const bool is_request = message.contains("id");
    const Json id = is_request ? message["id"] : Json();
    if (!message.contains("method")) return;  // a response: the client watches files, or it does not
    if (!message["method"].is_string())
      return send(error_response(id, ErrorCode::kInvalidRequest, "the method is not a string"));
    const auto method = message["method"].get<std::string>();
    const Json parameters = message.contains("params") ? message["params"] : Json::object();
    replaced_.clear();
    try {
      if (!is_request) return notified(method, parameters);
      if (cancelled_.erase(json_text_of_bytes(id)) != 0) {
        return send(error_response(id, ErrorCode::kCancelled, "the request was cancelled"));
      }
      if (stamps_.changed()) take_disk();
      send(response(id, answer(method, parameters)));
    } catch (const ResponseError& error) {
      if (is_request) send(error_response(id, error.code, error.message));
    } catch (const Json::exception& error) {
      if (is_request) send(error_response(id, ErrorCode::kInvalidParams, error.what()));
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      if (is_request) send(error_response(id, ErrorCode::kInternalError, error.what()));
    }
  }

  // Files on disk have changed, on which every open document may depend. Results stay until a new check replaces them, so that
  // mistakes in the data do not vanish for a moment whenever a file is written.
  void take_disk() {
    documents_.touch();
    for (const auto& [path, document] : documents_.all()) full_.insert(path);
  }

  // Changes of open documents are those of the editor; the files do not count.
  void watched_files_changed(const Json& parameters) {
    const Json& changes = parameters.at("changes");
    const bool any = std::any_of(changes.begin(), changes.end(), [&](const Json& change) {
      return documents_.find(path_of_uri(change.at("uri").get<std::string>())) == nullptr;
    });
    if (any) take_disk();
  }

  // Makes the client watch what the open documents depend on.
  void watch_files() {
    std::set<FileWatchers::Watched> others;
    const auto in_project = [&](const std::string& path) {
      return std::any_of(folders_.begin(), folders_.end(), [&](const std::string& folder) {
        return path == folder || path.starts_with(folder.ends_with('/') ? folder : folder + "/");
      });
    };
    for (const auto& [path, document] : documents_.all()) {
      const std::string root = resolved_path(frontend::find_graphs_root(path)), folder = fs::path(path).parent_path().string();
      if (!in_project(root)) others.insert(FileWatchers::graphs_below(root));
      if (!in_project(folder)) others.insert(FileWatchers::graphs_in(folder));
      for (const std::string& file : analysis(path, Depth::kMeanings).data_files) {
        others.insert(FileWatchers::file(resolved_path(file)));
      }
    }
    for (const Json& request : watchers_.watch(others)) send(request);
  }

  void notified(const std::string& method, const Json& parameters) {
    if (method == "exit") {
      ended_ = true;
    } else if (method == "initialized") {
      may_ask_ = true;
      published_ = 0;
    } else if (method == "textDocument/didOpen") {
      documents_.open(parameters);
      full_.insert(path_in(parameters));
    } else if (method == "textDocument/didChange") {
      documents_.change(parameters, encoding_);
      // The result that a check would have replaced may be out of date.
      if (checks_.erase(path_in(parameters)) != 0) results_.erase(path_in(parameters));
    } else if (method == "textDocument/didSave") {
      documents_.touch();
      full_.insert(path_in(parameters));
    } else if (method == "textDocument/didClose") {
      const std::string path = path_in(parameters);
      const std::string uri = documents_.uri_of(path);
      documents_.close(parameters);
      checks_.erase(path);
      results_.erase(path);
      full_.erase(path);
      send(notification("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}}));
    } else if (method == "$/cancelRequest") {  // the request has been answered by now; its id may be used again
      cancelled_.erase(json_text_of_bytes(parameters.at("id")));
    } else if (method == "workspace/didChangeWatchedFiles") {
      watched_files_changed(parameters);
    }
  }

  Json answer(const std::string& method, const Json& parameters) {
    if (method == "initialize") return initialize(parameters);
    if (!initialized_) throw ResponseError{ErrorCode::kNotInitialized, "the first request is initialize"};
    if (shut_down_) throw ResponseError{ErrorCode::kInvalidRequest, "the server has shut down"};
    if (method == "shutdown") {
      shut_down_ = true;
      return nullptr;
    }
    if (method == "textDocument/hover") return hover(*this, cursor(parameters));
    if (method == "textDocument/completion") return completion(*this, cursor(parameters));
    if (method == "textDocument/definition") return definition(*this, cursor(parameters));
    if (method == "textDocument/references") {
      const bool declaration = parameters.contains("context") && parameters["context"].value("includeDeclaration", false);
      return references(*this, cursor(parameters), declaration);
    }
    if (method == "textDocument/documentHighlight") return highlights(*this, cursor(parameters));
    if (method == "textDocument/prepareRename") return prepare_rename(*this, cursor(parameters));
    if (method == "textDocument/rename") return rename(*this, cursor(parameters), parameters.at("newName").get<std::string>());
    if (method == "textDocument/documentSymbol") return document_symbols(*this, open_path(parameters));
    if (method == "textDocument/formatting") return formatting(*this, open_path(parameters));
    if (method == "textDocument/codeAction") {
      const std::string path = open_path(parameters);
      const TextPositions positions(documents_.find(path)->text);
      const auto offset = [&](const char* end) {
        return positions.offset(position_in(parameters.at("range").at(end)), encoding_);
      };
      return code_actions(*this, path, offset("start"), offset("end"));
    }
    throw ResponseError{ErrorCode::kMethodNotFound, fmt::format("there is no method {}", method)};
  }

  Json initialize(const Json& parameters) {
    const Json::json_pointer encodings("/capabilities/general/positionEncodings");
    if (parameters.contains(encodings) && parameters[encodings].is_array()) {
      const Json& offered = parameters[encodings];
      if (std::find(offered.begin(), offered.end(), "utf-8") != offered.end()) encoding_ = Encoding::kUtf8;
    }
    if (parameters.contains("workspaceFolders") && parameters["workspaceFolders"].is_array()) {
      for (const Json& folder : parameters["workspaceFolders"])
        folders_.insert(path_of_uri(folder.at("uri").get<std::string>()));
    } else if (parameters.contains("rootUri") && parameters["rootUri"].is_string()) {
      folders_.insert(path_of_uri(parameters["rootUri"].get<std::string>()));
    }
    watchers_.read_capabilities(parameters);
    initialized_ = true;
    return {{"serverInfo", {{"name", "graphrun"}, {"version", std::string(version())}}},
            {"capabilities",
             {{"positionEncoding", encoding_ == Encoding::kUtf8 ? "utf-8" : "utf-16"},
              {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
              {"completionProvider", {{"triggerCharacters", {"\"", ".", "(", "=", ",", " ", "/", "@"}}}},
              {"hoverProvider", true},
              {"definitionProvider", true},
              {"referencesProvider", true},
              {"documentHighlightProvider", true},
              {"renameProvider", {{"prepareProvider", true}}},
              {"documentSymbolProvider", true},
              {"documentFormattingProvider", true},
              {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}}}}};
  }

  static std::string path_in(const Json& parameters) {
    return path_of_uri(parameters.at("textDocument").at("uri").get<std::string>());
  }
  std::string open_path(const Json& parameters) const {
    const std::string path = path_in(parameters);
    if (documents_.find(path) == nullptr) throw ResponseError{ErrorCode::kInvalidParams, "the document is not open"};
    return path;
  }
  static Position position_in(const Json& at) {
    return {at.at("line").get<std::size_t>(), at.at("character").get<std::size_t>()};
  }
  Cursor cursor(const Json& parameters) const {
    const std::string path = open_path(parameters);
    return {path, TextPositions(documents_.find(path)->text).offset(position_in(parameters.at("position")), encoding_)};
  }

  // Publishes the diagnostics of every open document after a change: another one's may follow from it.
  void publish() {
    if (published_ == documents_.revision() || !initialized_) return;
    published_ = documents_.revision();
    for (const auto& [path, document] : documents_.all()) {
      const Analysis& a = analysis(path, Depth::kMeanings);
      const auto known = results_.find(path);
      if (known != results_.end() && known->second.texts == texts_for(path)) {
        send_diagnostics(path, known->second.diagnostics);
      } else {
        send_diagnostics(path, diagnostics_json(documents_, path, a.diagnostics, encoding_));
      }
      if (!a.job || full_.erase(path) == 0) continue;
      checks_[path] = {std::make_unique<BackgroundCheck>([this, path = path] {
                         return json_text_of_bytes(diagnostics_json(documents_, path, check_file(path, documents_), encoding_));
                       }),
                       texts_for(path)};
    }
    if (may_ask_) watch_files();
  }

  void send_diagnostics(const std::string& path, const Json& diagnostics) {
    const Document* const document = documents_.find(path);
    if (document == nullptr) return;
    Json parameters = {{"uri", document->uri}, {"diagnostics", diagnostics}};
    if (!document->version.is_null()) parameters["version"] = document->version;
    send(notification("textDocument/publishDiagnostics", std::move(parameters)));
  }

  const int in_, out_;
  FrameReader reader_;
  std::deque<std::string> waiting_;
  std::set<std::string> cancelled_;  // ids of requests that wait, as JSON
  bool initialized_ = false, may_ask_ = false, shut_down_ = false, ended_ = false;
  Encoding encoding_ = Encoding::kUtf16;
  std::set<std::string> folders_;  // of the project
  Documents documents_;
  std::map<std::string, Kept> analyses_;  // of the texts of revision analyzed_
  std::vector<std::unique_ptr<Analysis>> replaced_;
  FileStamps stamps_;  // of the files that these analyses have read
  FileWatchers watchers_;
  std::uint64_t analyzed_ = 0, published_ = 0;
  std::set<std::string> full_;  // documents whose data is to be checked too
  struct RunningCheck {
    std::unique_ptr<BackgroundCheck> process;
    Texts texts;  // that it sees
  };
  std::map<std::string, RunningCheck> checks_;
  struct CheckResult {
    Texts texts;
    Json diagnostics;
  };
  std::map<std::string, CheckResult> results_;  // hold while the texts are these
};

}  // namespace

ExitCode serve(int in, int out) { return Server(in, out).run(); }

}  // namespace graphrun::lsp
