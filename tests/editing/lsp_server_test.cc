// graphrun lsp beyond single answers: messages that are wrong, cancelled requests, encodings, random edits, and speed.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/draw.h"
#include "tests/editing/language_client.h"
#include "tests/folders.h"
#include "tests/sanitized.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using tests::LanguageClient;

class LspServer : public ProgramTest {
 protected:
  std::string folder() const { return fs::canonical(root_).string(); }
};

const char* const kCell = R"text(name: "cell"
input { name: "x" shape: "[batch, 3]" }
let: "g = tanh(x)"
doc: "ö𝛼" output: "y = g * x"
)text";

TEST_F(LspServer, EndsAsTheProtocolSays) {
  LanguageClient well(folder());
  EXPECT_EQ(well.request("shutdown", nullptr)["result"], nullptr);
  EXPECT_EQ(well.request("textDocument/hover", json::object())["error"]["code"], -32600);
  well.notify("exit", nullptr);
  EXPECT_EQ(well.wait_for_end(), 0);
  LanguageClient early(folder());
  early.notify("exit", nullptr);
  EXPECT_EQ(early.wait_for_end(), 1);
  LanguageClient gone(folder());
  EXPECT_EQ(gone.wait_for_end(), 1);
}

TEST_F(LspServer, WaitsForInitialize) {
  LanguageClient client(folder(), {}, false);
  EXPECT_EQ(client.request("textDocument/hover", json::object())["error"]["code"], -32002);
  EXPECT_TRUE(client.request("initialize", json::object()).contains("result"));
}

TEST_F(LspServer, SurvivesMessagesThatAreNone) {
  LanguageClient client(folder());
  client.send_bytes("no header\r\n\r\nContent-Length: nine\r\n\r\nContent-Length: 99999999999999\r\n\r\n");
  client.send_bytes("Content-Length: 9\r\n\r\nno json {");
  EXPECT_EQ(client.receive()["error"]["code"], -32700);
  client.send_bytes("Content-Length: 4\r\nContent-Type: text\r\n\r\nnull");
  EXPECT_EQ(client.receive()["error"]["code"], -32600);
  // Nested so deeply that a copy overflows the stack; the second is looked at while it waits.
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const std::string& parameters : {deep, "{\"id\": " + deep + "}"}) {
    const std::string content = R"({"jsonrpc": "2.0", "id": 5, "method": "$/cancelRequest", "params": )" + parameters + "}";
    client.send_bytes("Content-Length: " + std::to_string(content.size()) + "\r\n\r\n" + content);
    const json error = client.receive()["error"];
    EXPECT_EQ(error["code"], -32700);
    EXPECT_EQ(error["message"], "the message is nested more than 1000 deep");
  }
  client.send({{"jsonrpc", "2.0"}, {"id", 1}, {"result", nullptr}});  // the response to no request
  client.notify("$/unknown", {{"a", 1}});
  client.notify("textDocument/didChange",
                {{"textDocument", {{"uri", "file:///never/opened.pbtxt"}}}, {"contentChanges", json::array()}});
  client.notify("textDocument/didOpen", 3);
  client.notify("textDocument/didClose", {{"textDocument", nullptr}});
  EXPECT_EQ(client.request("workspace/unknown", json::array())["error"]["code"], -32601);
  EXPECT_EQ(client.request("textDocument/rename", "text")["error"]["code"], -32602);
  // In pieces, as pipes deliver.
  const std::string content = R"({"jsonrpc":"2.0","id":77,"method":"nothing"})";
  const std::string bytes = "Content-Length: " + std::to_string(content.size()) + "\r\n\r\n" + content;
  for (const char c : bytes) client.send_bytes(std::string(1, c));
  EXPECT_EQ(client.response_to(77)["error"]["code"], -32601);
  EXPECT_EQ(client.end(), 0);
}

TEST_F(LspServer, AnswersCancelledRequestsWithAnError) {
  LanguageClient client(folder());
  client.open("cell.pbtxt", kCell);
  // In one write, so that the cancellation waits behind the request.
  const auto framed = [](const json& message) {
    return "Content-Length: " + std::to_string(message.dump().size()) + "\r\n\r\n" + message.dump();
  };
  const json hover = {{"jsonrpc", "2.0"}, {"id", 41}, {"method", "textDocument/hover"}, {"params", client.at("cell.pbtxt", 5)}};
  json other = hover;
  other["id"] = 42;
  client.send_bytes(framed(hover) + framed(other) +
                    framed({{"jsonrpc", "2.0"}, {"method", "$/cancelRequest"}, {"params", {{"id", 42}}}}));
  EXPECT_TRUE(client.response_to(41).contains("result"));
  EXPECT_EQ(client.response_to(42)["error"]["code"], -32800);
  // One that has been answered, or that there never was, cancels no later request with its id.
  client.notify("$/cancelRequest", {{"id", 43}});
  client.request("textDocument/hover", client.at("cell.pbtxt", 5));
  other["id"] = 43;
  client.send_bytes(framed(other));
  EXPECT_TRUE(client.response_to(43).contains("result"));
  EXPECT_EQ(client.end(), 0);
}

TEST_F(LspServer, CountsColumnsAsAgreed) {
  for (const auto& [offered, agreed, column] : {std::tuple{std::vector<std::string>{}, "utf-16", 28},
                                                {std::vector<std::string>{"utf-32", "utf-16"}, "utf-16", 28},
                                                {std::vector<std::string>{"utf-16", "utf-8"}, "utf-8", 31}}) {
    LanguageClient client(folder(), offered);
    EXPECT_EQ(client.capabilities()["positionEncoding"], agreed);
    const std::string text = kCell;
    client.open("cell.pbtxt", text);
    const json found = client.request("textDocument/hover", client.at("cell.pbtxt", text.find("* x") + 2));
    ASSERT_FALSE(found["result"].is_null());
    EXPECT_EQ(found["result"]["range"]["start"]["character"], column);
  }
}

// A carriage return alone ends a line for editors, but not for the compiler.
TEST_F(LspServer, CountsLinesAsEditorsDo) {
  LanguageClient client(folder());
  const std::string path = "cell.pbtxt";
  client.open(path, "# c\rcomment\nname: \"a\" let: \"x = 1\"\routput: \"y = x + zz\"\n");
  const json found = client.diagnostics(path);
  ASSERT_EQ(found.size(), 1u) << found;
  EXPECT_EQ(found[0]["range"], (json{{"start", {{"line", 3}, {"character", 17}}}, {"end", {{"line", 3}, {"character", 19}}}}));
  json at = client.document(path);
  at["position"] = {{"line", 3}, {"character", 13}};
  const json hover = client.request("textDocument/hover", at)["result"];
  ASSERT_FALSE(hover.is_null());
  EXPECT_EQ(hover["range"], (json{{"start", {{"line", 3}, {"character", 13}}}, {"end", {{"line", 3}, {"character", 14}}}}));
  at["position"] = {{"line", 3}, {"character", 14}};
  const json items = client.request("textDocument/completion", at)["result"]["items"];
  EXPECT_TRUE(std::any_of(items.begin(), items.end(), [](const json& item) { return item["label"] == "x"; })) << items;
  const json defined = client.request("textDocument/definition", at)["result"];
  ASSERT_EQ(defined.size(), 1u) << defined;
  EXPECT_EQ(defined[0]["range"],
            (json{{"start", {{"line", 2}, {"character", 16}}}, {"end", {{"line", 2}, {"character", 17}}}}));
  EXPECT_EQ(client.end(), 0);
}

// A file that the editor has not saved, under a name that is no path.
TEST_F(LspServer, ServesDocumentsWithoutAFile) {
  LanguageClient client(folder());
  client.notify(
      "textDocument/didOpen",
      {{"textDocument", {{"uri", "untitled:Untitled-1"}, {"languageId", "graphrun"}, {"version", 3}, {"text", kCell}}}});
  json published = client.receive();
  EXPECT_EQ(published["params"]["uri"], "untitled:Untitled-1");
  EXPECT_EQ(published["params"]["version"], 3);
  EXPECT_EQ(published["params"]["diagnostics"].size(), 0u) << published;
}

// An editor opens what its user asks for: here more than a model file may have.
TEST_F(LspServer, ServesADocumentThatIsTooLarge) {
  LanguageClient client(folder());
  const std::string path = "large.pbtxt", comment = "# " + std::string(17u << 20, 'x') + "\n";
  for (const std::string& text : {kCell + comment, "# proto-message: graphrun.Job\n" + comment}) {
    client.open(path, text);
    json found = client.diagnostics(path);
    ASSERT_EQ(found.size(), 1u) << found;
    EXPECT_EQ(found[0]["code"], "E0112");
    EXPECT_THAT(found[0]["message"].get<std::string>(), HasSubstr("a model file has at most 16777216"));
    EXPECT_TRUE(client.request("textDocument/hover", client.at(path, 5)).contains("result"));
    EXPECT_TRUE(client.request("textDocument/completion", client.at(path, text.size() - 1)).contains("result"));
    client.close(path);
  }
  client.open(path, kCell);
  EXPECT_EQ(client.diagnostics(path), json::array());
  EXPECT_EQ(client.end(), 0);
}

// Those that the server publishes next; nothing else is awaited.
json next_diagnostics(LanguageClient& client) {
  const json message = client.receive();
  EXPECT_TRUE(message.is_object() && message.value("method", "") == "textDocument/publishDiagnostics") << message;
  return message.is_object() && message.contains("params") ? message["params"].value("diagnostics", json()) : json();
}

// The data of a job is read after what needs none, and the answer is that of graphrun check.
TEST_F(LspServer, ChecksTheDataOfJobsInTheBackground) {
  write_segmenter();
  std::string text = read("graphs/jobs/segment.pbtxt");
  const std::size_t at = text.find("train: \"");
  text.insert(at + 8, "none/");
  LanguageClient client(folder());
  client.open("graphs/jobs/segment.pbtxt", text);
  EXPECT_EQ(next_diagnostics(client), json::array());
  const json found = next_diagnostics(client);
  ASSERT_EQ(found.size(), 1u) << found;
  EXPECT_EQ(found[0]["code"], "E0501");
  EXPECT_EQ(client.end(), 0);
}

void set_age(const fs::path& path, std::chrono::hours age) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - age);
}

// Mistakes in the data stay while other files are opened, edited and written, and come back when a change is undone.
TEST_F(LspServer, KeepsTheMistakesOfDataWhileTheyHold) {
  write_segmenter();
  const std::string path = "graphs/jobs/segment.pbtxt", data = read("data/train.seg");
  write("data/train.seg", data + "\xff\n");
  // The server does not trust the time of a file that was written while it started.
  for (const auto& entry : fs::recursive_directory_iterator(root_)) set_age(entry.path(), std::chrono::hours(2));
  LanguageClient client(folder());
  client.open(path, read(path));
  EXPECT_EQ(next_diagnostics(client), json::array());
  const json mistakes = next_diagnostics(client);
  ASSERT_EQ(mistakes.size(), 1u) << mistakes;
  client.open("cell.pbtxt", kCell);
  EXPECT_EQ(client.diagnostics(path), mistakes);
  client.edit("cell.pbtxt", 0, 0, "# another\n");
  EXPECT_EQ(client.diagnostics(path), mistakes);
  // The graph of the job, as it is on disk, and then with a mistake.
  const std::string graph = "graphs/tagger.pbtxt", wrong = "let: \"wrong = nothing\"\n";
  client.open(graph, read(graph));
  EXPECT_EQ(client.diagnostics(path), mistakes);
  client.edit(graph, 0, 0, wrong);
  EXPECT_NE(client.diagnostics(path), mistakes);
  client.edit(graph, 0, wrong.size(), "");
  EXPECT_EQ(client.diagnostics(path), mistakes);
  client.edit(path, 0, 0, "# another place\n");
  EXPECT_EQ(client.diagnostics(path), json::array());
  client.edit(path, 0, 16, "");
  EXPECT_EQ(client.diagnostics(path), mistakes);
  client.close(graph);
  EXPECT_EQ(client.diagnostics(path), mistakes);
  set_age(root_ / graph, std::chrono::hours(1));
  EXPECT_EQ(client.diagnostics(path), mistakes);
  EXPECT_EQ(client.end(), 0);
}

// The registrations of watchers that the server asks for: their ids, and patterns where they begin.
std::vector<std::string> watchers_in(const json& message) {
  std::vector<std::string> all;
  if (message["method"] == "client/unregisterCapability") {
    for (const json& gone : message["params"]["unregisterations"]) all.push_back("no " + gone["id"].get<std::string>());
  }
  if (message["method"] != "client/registerCapability") return all;
  for (const json& of : message["params"]["registrations"]) {
    EXPECT_EQ(of["method"], "workspace/didChangeWatchedFiles");
    for (const json& watcher : of["registerOptions"]["watchers"]) {
      const json& pattern = watcher["globPattern"];
      const std::string text = pattern.is_string()
                                   ? pattern.get<std::string>()
                                   : pattern["baseUri"].get<std::string>() + " " + pattern["pattern"].get<std::string>();
      all.push_back(of["id"].get<std::string>() + ": " + text);
    }
  }
  return all;
}

// A job on disk outside of the project; the editor can watch files, with relative patterns or without.
TEST_F(LspServer, AsksTheClientToWatchFiles) {
  write_segmenter();
  fs::create_directories(root_ / "project");
  const std::string job = read("graphs/jobs/segment.pbtxt"), path = "graphs/jobs/segment.pbtxt", root = "file://" + folder();
  for (const bool relative : {true, false}) {
    LanguageClient client(folder(), {}, false);
    const json can = {{"dynamicRegistration", true}, {"relativePatternSupport", relative}};
    client.request("initialize", {{"processId", nullptr},
                                  {"rootUri", root + "/project"},
                                  {"capabilities", {{"workspace", {{"didChangeWatchedFiles", can}}}}}});
    client.notify("initialized", json::object());
    json message = client.receive();
    EXPECT_THAT(watchers_in(message), testing::ElementsAre("project: **/*.pbtxt"));
    client.send({{"jsonrpc", "2.0"}, {"id", message["id"]}, {"result", nullptr}});
    const auto next = [&] {
      do message = client.receive();
      while (message["method"] == "textDocument/publishDiagnostics");
      return watchers_in(message);
    };
    const auto watched = [&](const std::string& folder_in, const std::string& pattern) {
      return "others: " + (relative ? root + folder_in + " " + pattern : folder() + folder_in + "/" + pattern);
    };
    client.open(path, job);
    EXPECT_THAT(next(), testing::UnorderedElementsAre(watched("/data", "train.seg"), watched("/data", "dev.seg"),
                                                      watched("/graphs", "**/*.pbtxt"), watched("/graphs/jobs", "*.pbtxt")));
    EXPECT_NE(message["id"], json());
    // Another file of data, with a name that patterns would take for one of theirs.
    const std::size_t at = client.text(path).find("train.seg");
    client.edit(path, at, at + 5, "t[r]ain");
    EXPECT_THAT(next(), testing::ElementsAre("no others"));
    EXPECT_THAT(next(), testing::Contains(watched("/data", "t[[]r[]]ain.seg")));
    client.close(path);
    EXPECT_THAT(next(), testing::ElementsAre("no others"));
    EXPECT_EQ(client.end(), 0);
  }
  // An editor that cannot, or that does not say, is not asked.
  LanguageClient other(folder());
  other.open(path, job);
  EXPECT_EQ(other.receive()["method"], "textDocument/publishDiagnostics");
  EXPECT_EQ(other.end(), 0);
}

// The data of a job appears, and is damaged; the job is open meanwhile.
TEST_F(LspServer, ChecksAJobAgainWhenItsDataChanges) {
  write_segmenter();
  const std::string path = "graphs/jobs/segment.pbtxt", data = read("data/train.seg");
  fs::remove(root_ / "data/train.seg");
  LanguageClient client(folder());
  client.open(path, read(path));
  EXPECT_EQ(next_diagnostics(client), json::array());
  json found = next_diagnostics(client);
  const auto tell = [&](int type) {
    const json change = {{"uri", client.uri("data/train.seg")}, {"type", type}};
    client.notify("workspace/didChangeWatchedFiles", {{"changes", json::array({change})}});
    EXPECT_EQ(next_diagnostics(client), found);  // until the data has been read
  };
  ASSERT_EQ(found.size(), 1u) << found;
  EXPECT_EQ(found[0]["code"], "E0501");
  write("data/train.seg", data);
  tell(1);
  found = next_diagnostics(client);
  EXPECT_EQ(found, json::array());
  write("data/train.seg", data + "\xff\n");
  tell(2);
  found = next_diagnostics(client);
  ASSERT_EQ(found.size(), 1u) << found;
  // An edit stops the check of data that is in order again. Undone, it does not bring back the mistakes from before.
  write("data/train.seg", data);
  tell(2);
  client.edit(path, 0, 0, "# another\n");
  client.edit(path, 0, 10, "");
  EXPECT_EQ(client.diagnostics(path), json::array());
  // Of an open document, the file does not count: nothing is checked again.
  const json change = {{"uri", client.uri(path)}, {"type", 2}};
  client.notify("workspace/didChangeWatchedFiles", {{"changes", json::array({change})}});
  client.notify("workspace/didChangeWatchedFiles", {{"changes", 3}});
  client.notify("workspace/didChangeWatchedFiles", nullptr);
  EXPECT_TRUE(client.request("textDocument/documentSymbol", client.document(path)).contains("result"));
  EXPECT_EQ(client.end(), 0);
}

// The answers about a text do not depend on the texts before it: another server, which sees only this one, gives the same.
json answers(LanguageClient& client, const std::string& path, const std::vector<std::size_t>& places) {
  // The diagnostics of a job are published again when its data has been read, at any time.
  const json published = client.diagnostics(path);
  json all = {path.find("/jobs/") == std::string::npos ? published : json(),
              client.request("textDocument/documentSymbol", client.document(path))["result"]};
  for (const std::size_t offset : places) {
    for (const char* method : {"textDocument/hover", "textDocument/completion", "textDocument/definition"}) {
      const json response = client.request(method, client.at(path, offset));
      EXPECT_TRUE(response.is_object() && response.contains("result")) << method << " " << response;
      all.push_back(response.is_object() ? response.value("result", json()) : json());
    }
  }
  return all;
}

TEST_F(LspServer, RandomEditsLeaveNoStaleAnswer) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root_ / "graphs")) {
    if (entry.path().extension() == ".pbtxt") files.push_back(fs::relative(entry.path(), root_).string());
  }
  std::sort(files.begin(), files.end());
  ASSERT_GT(files.size(), 50u);
  files = tests::some_if_sanitized(files, 0, 6);
  static constexpr const char* kPieces[] = {"\"",
                                            "{",
                                            "}",
                                            "#",
                                            "\n",
                                            "x",
                                            " ",
                                            "(",
                                            ")",
                                            "[",
                                            "]",
                                            ",",
                                            "=",
                                            ".",
                                            ":",
                                            "h @ W",
                                            "let: \"q = tanh(x)\"\n",
                                            "arg { name: \"z\" }\n",
                                            "ü",
                                            "𝛼",
                                            "graph {",
                                            "name: ",
                                            "softmax(",
                                            "\\"};
  LanguageClient typing(folder()), fresh(folder());
  tests::Draw draw(7);
  for (const std::string& path : files) {
    SCOPED_TRACE(path);
    const std::string original = read(path);
    typing.open(path, original);
    for (int round = 0; round < 2; ++round) {
      for (int k = 0; k < 4; ++k) {
        const std::string& text = typing.text(path);
        std::size_t begin = draw.below(text.size() + 1), end = begin;
        const auto inside = [&](std::size_t i) {
          return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
        };
        if (draw.one_in(2)) end = std::min(text.size(), begin + draw.below(12));
        while (inside(begin)) --begin;
        while (inside(end)) ++end;
        typing.edit(path, begin, end, draw.one_in(3) ? "" : draw.any(kPieces));
        if (draw.one_in(2)) typing.begin_request("textDocument/hover", typing.at(path, begin));
      }
      const std::string text = typing.text(path);
      const std::vector<std::size_t> places = {draw.below(text.size() + 1), draw.below(text.size() + 1)};
      fresh.open(path, text);
      const json expected = answers(fresh, path, places), found = answers(typing, path, places);
      fresh.close(path);
      ASSERT_EQ(found, expected) << text;
    }
    typing.close(path);
  }
  EXPECT_EQ(typing.end(), 0);
  EXPECT_EQ(fresh.end(), 0);
}

// The time from a keystroke in the translator to its diagnostics: measured, and bounded loosely, because a test machine is
// busy.
TEST_F(LspServer, AnswersWhileOneTypes) {
  LanguageClient client(folder());
  const std::string path = "graphs/translator.pbtxt";
  client.open(path, read(path));
  client.diagnostics(path);
  std::vector<double> times;
  const std::size_t at = client.text(path).find("gather(") + 3;
  for (int k = 0; k < 20; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    client.edit(path, at, at + (k % 2), k % 2 == 0 ? "x" : "");
    client.diagnostics(path);
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  std::cout << "a keystroke in the translator: median " << times[times.size() / 2] << " ms, longest " << times.back()
            << " ms\n";
  EXPECT_LT(times[times.size() / 2], 1000);
}

}  // namespace
}  // namespace graphrun
