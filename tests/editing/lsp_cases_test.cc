// The cases of tests/lsp/: requests in, answers out. GRAPHRUN_UPDATE=1 writes the answers.
//
// A case is a list of steps, "-- COMMAND …", each followed by lines: the text of a file, or the answer.
//   -- disk PATH               a file in the folder, with the lines that follow
//   -- remove PATH             no such file any more
//   -- watched PATH            the client tells that this file was changed, created or removed
//   -- open PATH [FILE]        the editor opens it with these lines, or with the text of a shipped file
//   -- change PATH OLD => NEW  edits the first occurrence of OLD; \n is a line break
//   -- diagnostics PATH
//   -- hover PATH WORDS        WORDS occur in the text; ^ in them is the cursor
//   -- complete, definition, references, highlights, rename (PATH NAME WORDS), actions PATH WORDS
//   -- symbols PATH, format PATH
//   -- raw JSON                any message; its answer
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/editing/language_client.h"
#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string file_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string unescaped(std::string text) {
  for (std::size_t at = text.find("\\n"); at != std::string::npos; at = text.find("\\n", at)) text.replace(at, 2, "\n");
  return text;
}

std::string shown(const json& range) {
  const auto end = [](const json& p) {
    return std::to_string(p["line"].get<int>() + 1) + ":" + std::to_string(p["character"].get<int>() + 1);
  };
  return end(range["start"]) + "-" + end(range["end"]);
}

class CaseRunner {
 public:
  explicit CaseRunner(const fs::path& folder) : folder_(folder), client_(folder.string()) {}

  // The answer to a step; nullopt if its lines are input.
  std::optional<std::string> step(const std::string& line, const std::string& body) {
    std::istringstream words(line);
    std::string command, path;
    words >> command >> path;
    std::string rest;
    std::getline(words >> std::ws, rest);
    if (command == "disk") {
      fs::create_directories((folder_ / path).parent_path());
      std::ofstream(folder_ / path, std::ios::binary) << body;
      return std::nullopt;
    }
    if (command == "remove") {
      EXPECT_TRUE(fs::remove(folder_ / path)) << line;
      return std::nullopt;
    }
    if (command == "watched") {
      const json change = {{"uri", client_.uri(path)}, {"type", fs::exists(folder_ / path) ? 2 : 3}};
      client_.notify("workspace/didChangeWatchedFiles", {{"changes", json::array({change})}});
      return std::nullopt;
    }
    if (command == "open") {
      client_.open(path, rest.empty() ? body : file_text(fs::path(tests::source_folder()) / rest));
      return std::nullopt;
    }
    if (command == "change") {
      const std::size_t arrow = rest.find(" => ");
      const std::string old = unescaped(rest.substr(0, arrow)), now = unescaped(rest.substr(arrow + 4));
      const std::size_t at = client_.text(path).find(old);
      EXPECT_NE(at, std::string::npos) << line;
      client_.edit(path, at, at + old.size(), now);
      return std::nullopt;
    }
    if (command == "raw") {
      client_.send(json::parse(path + " " + rest));
      return client_.receive().dump() + "\n";
    }
    if (command == "diagnostics") return diagnostics(path);
    if (command == "symbols")
      return symbols(client_.request("textDocument/documentSymbol", client_.document(path))["result"], "");
    if (command == "format") {
      json parameters = client_.document(path);
      parameters["options"] = {{"tabSize", 2}, {"insertSpaces", true}};
      return edits(client_.request("textDocument/formatting", parameters));
    }
    std::string name;
    if (command == "rename") {
      std::istringstream more(rest);
      more >> name;
      std::getline(more >> std::ws, rest);
    }
    const std::size_t offset = cursor(path, rest);
    json parameters = client_.at(path, offset);
    if (command == "hover") {
      const json answer = client_.request("textDocument/hover", parameters)["result"];
      return answer.is_null() ? "nothing\n" : shown(answer["range"]) + "\n" + answer["contents"]["value"].get<std::string>();
    }
    if (command == "complete")
      return completion(path, offset, client_.request("textDocument/completion", parameters)["result"]);
    if (command == "definition") return locations(client_.request("textDocument/definition", parameters)["result"]);
    if (command == "references") {
      parameters["context"] = {{"includeDeclaration", true}};
      return locations(client_.request("textDocument/references", parameters)["result"]);
    }
    if (command == "highlights") {
      std::string out;
      const json found = client_.request("textDocument/documentHighlight", parameters)["result"];
      for (const json& h : found) out += shown(h["range"]) + "\n";
      return out;
    }
    if (command == "rename") {
      parameters["newName"] = name;
      return edits(client_.request("textDocument/rename", parameters));
    }
    if (command == "actions") {
      json range = client_.document(path);
      range["range"] = {{"start", parameters["position"]}, {"end", parameters["position"]}};
      range["context"] = {{"diagnostics", json::array()}};
      std::string out;
      const json found = client_.request("textDocument/codeAction", range)["result"];
      for (const json& action : found) {
        out += action["title"].get<std::string>() + "\n" + edits({{"result", action["edit"]}});
      }
      return out;
    }
    ADD_FAILURE() << "no command " << command;
    return std::nullopt;
  }

  int end() { return client_.end(); }

 private:
  std::size_t cursor(const std::string& path, const std::string& words) {
    const std::size_t mark = words.find('^');
    std::string needle = words;
    if (mark != std::string::npos) needle.erase(mark, 1);
    const std::size_t at = client_.text(path).find(needle);
    EXPECT_NE(at, std::string::npos) << path << " has no " << needle;
    return at + (mark == std::string::npos ? 0 : mark);
  }

  std::string diagnostics(const std::string& path) {
    std::string out;
    for (const json& d : client_.diagnostics(path)) {
      out += shown(d["range"]) + (d["severity"] == 1 ? " error " : " warning ") + d.value("code", "") + ": " +
             d["message"].get<std::string>() + "\n";
    }
    return out.empty() ? "none\n" : without_folder(out);
  }

  // Those that an editor shows: with the beginning that is written.
  std::string completion(const std::string& path, std::size_t offset, const json& answer) {
    std::string out;
    int others = 0;
    const json cursor = client_.position(path, offset);
    for (const json& item : answer["items"]) {
      const json& start = item["textEdit"]["range"]["start"];
      const auto written = static_cast<std::size_t>(cursor["character"].get<int>() - start["character"].get<int>());
      const std::string word = client_.text(path).substr(offset - written, written);
      const std::string label = item["label"];
      if (label.compare(0, word.size(), word) != 0) continue;
      if (out.size() > 1500) {
        ++others;
        continue;
      }
      out += label + " | " + item["textEdit"]["newText"].get<std::string>() + " | " +
             item["detail"].get<std::string>().substr(0, 70) + "\n";
    }
    if (others > 0) out += "and others\n";
    return out.empty() ? "nothing\n" : out;
  }

  std::string locations(const json& answer) {
    std::vector<std::string> all;
    for (const json& l : answer) all.push_back(client_.path_of(l["uri"]) + " " + shown(l["range"]) + "\n");
    std::sort(all.begin(), all.end());
    std::string out;
    for (const std::string& one : all) out += one;
    return out.empty() ? "nothing\n" : out;
  }

  std::string symbols(const json& answer, const std::string& indent) {
    std::string out;
    for (const json& s : answer) {
      out += indent + s["detail"].get<std::string>() + " " + s["name"].get<std::string>() + " " + shown(s["range"]) + "\n" +
             symbols(s["children"], indent + "  ");
    }
    return out;
  }

  std::string edits(const json& response) {
    if (response.contains("error")) return without_folder("error: " + response["error"]["message"].get<std::string>() + "\n");
    const json& answer = response["result"];
    std::string out;
    const auto add = [&](const std::string& where, const json& list) {
      for (const json& e : list) {
        std::string text = e["newText"];
        for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 4))
          text.replace(at, 1, "\n  | ");
        out += where + shown(e["range"]) + " → " + text + "\n";
      }
    };
    if (answer.is_array()) {
      add("", answer);
    } else {
      for (const auto& [uri, list] : answer["changes"].items()) add(client_.path_of(uri) + " ", list);
    }
    return out.empty() ? "no change\n" : out;
  }

  std::string without_folder(std::string text) const {
    const std::string folder = folder_.string() + "/", shipped = tests::source_folder() + "/";
    for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) text.erase(at, folder.size());
    for (std::size_t at; (at = text.find(shipped)) != std::string::npos;) text.replace(at, shipped.size(), "SHIPPED/");
    return text;
  }

  fs::path folder_;
  tests::LanguageClient client_;
};

class LspCases : public ProgramTest {};

TEST_F(LspCases, AnswerAsWritten) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(tests::source_folder()) / "tests/lsp")) {
    if (entry.path().extension() == ".test") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_GE(files.size(), 5u);
  for (const fs::path& file : files) {
    SCOPED_TRACE(file);
    const fs::path folder = fs::canonical(root_) / file.stem();
    fs::create_directories(folder);
    fs::copy(fs::path(tests::source_folder()) / "graphs", folder / "graphs", fs::copy_options::recursive);
    CaseRunner runner(folder);
    const std::string text = file_text(file);
    std::string out;
    std::istringstream lines(text);
    std::string line, header, body;
    const auto flush = [&] {
      if (header.empty()) {
        out += body;
        return;
      }
      const std::optional<std::string> answer = runner.step(header, body);
      out += "-- " + header + "\n" + answer.value_or(body);
    };
    while (std::getline(lines, line)) {
      if (line.compare(0, 3, "-- ") != 0) {
        body += line + "\n";
        continue;
      }
      flush();
      header = line.substr(3);
      body.clear();
    }
    flush();
    EXPECT_EQ(runner.end(), 0);
    if (std::getenv("GRAPHRUN_UPDATE") != nullptr) {
      std::ofstream(file, std::ios::binary) << out;
    } else {
      EXPECT_EQ(out, text);
    }
  }
}

}  // namespace
}  // namespace graphrun
