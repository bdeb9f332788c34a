// The settings of tools/editor/, in the editors that are installed.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

const char* const kMistake =
    "name: \"cell\"\ninput { name: \"x\" shape: \"[batch, 3]\" }\nlet: \"g = tahn(x)\"\noutput: \"y = g * x\"  # product\n";

class Editors : public ProgramTest {
 protected:
  void SetUp() override {
    make_root();
    write("cell.pbtxt", kMistake);
  }
  static bool is_installed(const std::string& program) {
    const char* const path = std::getenv("PATH");
    std::string folders = path != nullptr ? path : "";
    for (std::size_t begin = 0; begin <= folders.size();) {
      const std::size_t end = std::min(folders.find(':', begin), folders.size());
      if (fs::exists(fs::path(folders.substr(begin, end - begin)) / program)) return true;
      begin = end + 1;
    }
    return false;
  }
  static std::string settings(const std::string& name) { return tests::source_folder() + "/tools/editor/" + name; }
  static std::string program() { return tests::build_folder() + "/graphrun"; }
  // Runs an editor with the folder as its home.
  Ran edit(const std::vector<std::string>& words) const {
    std::vector<std::string> arguments = {"HOME=" + root_.string(), "XDG_RUNTIME_DIR=" + root_.string(), "TERM=dumb", "timeout",
                                          "60"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    return run("/usr/bin/env", arguments);
  }
};

TEST_F(Editors, NeovimShowsMistakesAndFormats) {
  if (!is_installed("nvim")) GTEST_SKIP() << "Neovim is not installed";
  write("test.lua", "vim.g.graphrun_command = '" + program() + "'\n" + "vim.opt.runtimepath:append('" + settings("vim") +
                        "')\n" + "vim.cmd('filetype on')\nvim.cmd('syntax on')\n" + "dofile('" + settings("nvim/graphrun.lua") +
                        "')\n" +
                        R"script(
vim.cmd('edit cell.pbtxt')
vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end, 20)
local out = {}
for _, d in ipairs(vim.diagnostic.get(0)) do
  table.insert(out, string.format('%d:%d %s', d.lnum + 1, d.col + 1, d.message))
end
vim.api.nvim_buf_set_lines(0, 2, 3, true, { 'let:   "g=tanh( x )"' })
vim.wait(20000, function() return #vim.diagnostic.get(0) == 0 end, 20)
table.insert(out, 'then ' .. #vim.diagnostic.get(0))
if vim.lsp.buf.format then vim.lsp.buf.format() else vim.lsp.buf.formatting_sync(nil, 20000) end
table.insert(out, vim.api.nvim_buf_get_lines(0, 2, 3, true)[1])
table.insert(out, vim.fn.synIDattr(vim.fn.synID(3, 12, 1), 'name'))
vim.fn.writefile(vim.split(table.concat(out, '\n'), '\n'), 'out.txt')
vim.cmd('qall!')
)script");
  const Ran ran = edit({"nvim", "--headless", "-n", "-u", "NONE", "-c", "luafile test.lua"});
  ASSERT_TRUE(exists("out.txt")) << ran.out << ran.err;
  EXPECT_THAT(read("out.txt"), AllOf(HasSubstr("3:11 "), HasSubstr("did you mean 'tanh'?"), HasSubstr("then 0\n"),
                                     HasSubstr("let: \"g = tanh(x)\"\n"), HasSubstr("graphrunFunction")));
}

TEST_F(Editors, VimColorsEquations) {
  if (!is_installed("vim")) GTEST_SKIP() << "Vim is not installed";
  write("test.vim", "set nocompatible\nset runtimepath+=" + settings("vim") + "\nfiletype on\n" + R"script(syntax on
edit cell.pbtxt
call writefile([&filetype, synIDattr(synID(3, 11, 1), 'name'), synIDattr(synID(4, 16, 1), 'name'), synIDattr(synID(4, 25, 1), 'name'), synIDattr(synID(1, 2, 1), 'name'), synIDattr(synID(1, 8, 1), 'name')], 'out.txt')
qall!
)script");
  const Ran ran = edit({"vim", "-n", "-e", "-s", "-u", "NONE", "-S", "test.vim"});
  if (!exists("out.txt")) GTEST_SKIP() << "this Vim has no syntax files: " << ran.out << ran.err;
  const std::string out = read("out.txt");
  if (out.find("graphrun\n") != 0 || out.find("graphrunFunction") == std::string::npos) {
    // vim.tiny has neither file types nor syntax.
    if (run("/usr/bin/env", {"vim", "--version"}).out.find("+syntax") == std::string::npos)
      GTEST_SKIP() << "Vim without +syntax";
  }
  EXPECT_EQ(out, "graphrun\ngraphrunFunction\ngraphrunOperator\ngraphrunComment\ngraphrunField\ngraphrunProse\n");
}

TEST_F(Editors, EmacsShowsMistakes) {
  if (!is_installed("emacs")) GTEST_SKIP() << "Emacs is not installed";
  write("test.el", "(package-initialize)\n(unless (require 'eglot nil t) (princ \"no eglot\\n\") (kill-emacs 0))\n(load \"" +
                       settings("emacs/graphrun.el") + "\")\n(setq graphrun-command \"" + program() + "\")\n" + R"script(
(setq eglot-sync-connect 30)
(find-file "cell.pbtxt")
(princ (format "%s\n" major-mode))
(call-interactively #'eglot)
(require 'flymake)
(flymake-mode 1)
(let ((tries 0))
  (while (and (< tries 400) (null (flymake-diagnostics)))
    (setq tries (1+ tries))
    (accept-process-output nil 0.05)
    (when (= 0 (mod tries 20)) (flymake-start))))
(dolist (d (flymake-diagnostics))
  (princ (format "%d %s\n" (line-number-at-pos (flymake-diagnostic-beg d)) (flymake-diagnostic-text d))))
(kill-emacs 0)
)script");
  const Ran ran = edit({"emacs", "-q", "--batch", "-l", "test.el"});
  if (ran.out.find("no eglot") != std::string::npos) GTEST_SKIP() << "Emacs has no eglot";
  EXPECT_THAT(ran.out, AllOf(HasSubstr("graphrun-mode\n"), HasSubstr("3 "), HasSubstr("did you mean 'tanh'?"))) << ran.err;
}

// The extension starts the server through stand-ins for VS Code and its client library, and stops it.
TEST_F(Editors, VisualStudioCodeStartsTheServer) {
  if (!is_installed("node")) GTEST_SKIP() << "Node.js is not installed";
  write("node_modules/vscode/index.js",
        "exports.workspace = { getConfiguration: (section) => ({ get: (key, other) => section "
        "=== 'graphrun' && key === 'command' ? process.env.GRAPHRUN : other }) };\n");
  write("node_modules/vscode-languageclient/node.js", R"script(
const { spawn } = require('child_process');
exports.LanguageClient = class {
  constructor(id, name, server, options) {
    Object.assign(this, { server, options });
  }
  send(message) {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }
  start() {
    this.process = spawn(this.server.command, this.server.args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.send({ id: 1, method: 'initialize', params: { capabilities: {} } });
    return new Promise((done) => this.process.stdout.on('data', (bytes) => {
      console.log(JSON.stringify(this.options), String(bytes).includes('"hoverProvider":true'));
      done();
    }));
  }
  stop() {
    this.process.stdout.removeAllListeners('data');
    this.send({ id: 2, method: 'shutdown' });
    this.send({ method: 'exit' });
    return new Promise((done) => this.process.on('exit', (code) => done(console.log('ended with', code))));
  }
};
)script");
  write("run.js", "const extension = require('" + settings("vscode/extension.js") +
                      "');\nextension.activate({ subscriptions: [] }).then(() => extension.deactivate());\n");
  const Ran ran = edit({"env", "NODE_PATH=" + path("node_modules"), "GRAPHRUN=" + program(), "node", "run.js"});
  EXPECT_EQ(ran.out, "{\"documentSelector\":[{\"language\":\"graphrun\"}]} true\nended with 0\n") << ran.err;
}

// The regular expressions of the grammar, as JavaScript reads them; a value is no field's name.
TEST_F(Editors, VisualStudioCodeHasAGrammar) {
  if (!is_installed("node")) GTEST_SKIP() << "Node.js is not installed";
  write("run.js", "const grammar = require('" + settings("vscode/syntaxes/graphrun.tmLanguage.json") + R"script(');
let rules = 0;
const visit = (of) => {
  if (of === null || typeof of !== 'object') return;
  for (const key of ['match', 'begin', 'end']) {
    if (typeof of[key] === 'string') rules += new RegExp(of[key]) ? 1 : 0;
  }
  Object.values(of).forEach(visit);
};
visit(grammar);
const field = grammar.repository.field.patterns.find((rule) => (rule.captures || {})[1]);
const names = (text) => [...text.matchAll(new RegExp(field.match, 'g'))].map((found) => found[1]).join(' ');
console.log(rules > 10, names('scan { reverse: true } epochs: 3 arg: "a" pair [{ a: -1 }] keep < b: X >'));
)script");
  const Ran ran = edit({"node", "run.js"});
  EXPECT_EQ(ran.out, "true scan reverse epochs arg pair a keep b\n") << ran.err;
}

// Its files are JSON and name each other.
TEST(VisualStudioCode, FilesAreComplete) {
  const std::string folder = tests::source_folder() + "/tools/editor/vscode/";
  const auto json = [&](const std::string& name) {
    std::ifstream file(folder + name);
    EXPECT_TRUE(file.good()) << name;
    return nlohmann::json::parse(file);
  };
  const nlohmann::json manifest = json("package.json");
  EXPECT_TRUE(fs::exists(folder + manifest["main"].get<std::string>()));
  EXPECT_TRUE(manifest["dependencies"].contains("vscode-languageclient"));
  for (const auto& language : manifest["contributes"]["languages"]) json(language["configuration"]);
  for (const auto& grammar : manifest["contributes"]["grammars"]) {
    const nlohmann::json rules = json(grammar["path"]);
    EXPECT_EQ(rules["scopeName"], grammar["scopeName"]);
    // Every rule that is included exists.
    const std::string text = rules.dump();
    for (std::size_t at = text.find("\"#"); at != std::string::npos; at = text.find("\"#", at + 1)) {
      const std::string name = text.substr(at + 2, text.find('"', at + 1) - at - 2);
      if (text.compare(at - 10, 10, "\"include\":") == 0) {
        EXPECT_TRUE(rules["repository"].contains(name)) << name;
      }
    }
  }
}

}  // namespace
}  // namespace graphrun
