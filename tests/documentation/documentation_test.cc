// Checks what the pages say: graphs load, and paths, commands and options exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "compiler/compile.h"
#include "tests/documentation/markdown.h"
#include "tests/folders.h"
#include "tests/runtime/temporary_folder.h"
#include "tools/commands/commands.h"
#include "tools/job/job.h"

namespace graphrun::documentation {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = tests::source_folder();
constexpr const char* kFolders[] = {".github/", "runtime/", "ops/", "graphs/", "compiler/", "tools/", "tests/"};

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << "cannot read " << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Every .md file of the tree, by its path from the root.
const std::map<std::string, Page>& pages() {
  static const std::map<std::string, Page> kPages = [] {
    std::map<std::string, Page> pages;
    const auto add = [&](const fs::path& path) {
      if (path.extension() == ".md") pages.emplace(fs::relative(path, kRoot).generic_string(), read_page(read_text(path)));
    };
    for (const auto& entry : fs::directory_iterator(kRoot)) add(entry.path());
    for (const char* folder : kFolders)
      for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) add(entry.path());
    return pages;
  }();
  return kPages;
}

TEST(Documentation, PagesAreThere) {
  EXPECT_TRUE(pages().count("README.md"));
  for (const char* command : {"tools/quickstart", "tools/check"})
    EXPECT_THAT(read_text(kRoot / "README.md"), testing::HasSubstr(command));
}

// A graph on a page is loaded with what its fence gives: ```pbtxt hidden=4 input=3.
TEST(Documentation, ShowsGraphsThatLoad) {
  int graphs = 0;
  for (const auto& [name, page] : pages())
    for (const Block& block : page.blocks) {
      if (block.language != "pbtxt" && block.language != "proto") continue;
      SCOPED_TRACE(name + ":" + std::to_string(block.line));
      TemporaryFolder folder;
      GraphRequest request;
      request.path = folder / "shown.pbtxt";
      request.graphs_root = (kRoot / "graphs").string();
      std::ofstream file(request.path);
      for (const std::string& line : block.lines) file << line << "\n";
      file.close();
      std::istringstream bindings(block.info);
      for (std::string word; bindings >> word;)
        request.bindings.push_back({word.substr(0, word.find('=')), word.substr(word.find('=') + 1), {}});
      try {
        EXPECT_GT(load_graph(request).parameter_count(), 0);
        ++graphs;
      } catch (const UserError& error) {
        ADD_FAILURE() << error.what();
      }
    }
  EXPECT_GE(graphs, 3);
}

TEST(Documentation, ShowsJobsThatLoad) {
  int jobs = 0;
  for (const auto& [name, page] : pages())
    for (const Block& block : page.blocks) {
      if (block.language != "textproto") continue;
      std::string text;
      for (const std::string& line : block.lines) text += line + "\n";
      try {
        EXPECT_TRUE(parse_job(text, name).warnings.empty()) << name << ":" << block.line;
        ++jobs;
      } catch (const UserError& error) {
        ADD_FAILURE() << name << ":" << block.line << ": " << error.what();
      }
    }
  EXPECT_GE(jobs, 1);
}

// The lines in which several rows of a table were joined, as tools that wrap paragraphs do.
std::vector<int> lines_of_joined_tables(const std::string& text) {
  std::vector<int> found;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find("| |---") != std::string::npos) found.push_back(number);
  }
  return found;
}

TEST(Documentation, TablesHaveALineForEachRow) {
  for (const auto& [name, page] : pages()) {
    for (const int line : lines_of_joined_tables(read_text(kRoot / name))) {
      ADD_FAILURE() << name << ":" << line << ": a table whose rows are on one line";
    }
  }
}

TEST(DocumentationChecks, JoinedTablesAreFound) {
  EXPECT_THAT(lines_of_joined_tables("text\n  | a | b | |---|---| | c\n  | d |"), testing::ElementsAre(2));
  EXPECT_TRUE(lines_of_joined_tables("| a | b |\n|---|---|\n| c | d |\n").empty());
}

// A path in running text or in a command: what it names is there.
void expect_exists(const std::string& page, int line, std::string word) {
  const std::string folder = word.substr(0, word.find('/') + 1);
  if (std::find(std::begin(kFolders), std::end(kFolders), folder) == std::end(kFolders)) return;
  const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-'; };
  if (!std::all_of(word.begin(), word.end(), plain)) return;  // a pattern, `graphs/*.proto`
  while (word.ends_with(".") || word.ends_with("/")) word.pop_back();
  // The page of a project is about that project's folder.
  const fs::path root = page.starts_with("tools/new/") ? kRoot / fs::path(page).parent_path() : kRoot;
  EXPECT_TRUE(fs::exists(root / word)) << page << ":" << line << ": there is no " << word;
}

TEST(Documentation, PathsAndLinksExist) {
  for (const auto& [name, page] : pages()) {
    for (const Span& code : page.code) expect_exists(name, code.line, code.text);
    for (const Span& link : page.links)
      EXPECT_TRUE(fs::exists(kRoot / fs::path(name).parent_path() / link.text))
          << name << ":" << link.line << ": a link to " << link.text;
    for (const Block& block : page.blocks)
      if (block.language == "sh")
        for (std::size_t i = 0; i < block.lines.size(); ++i)
          for (const std::string& word : words(block.lines[i])) expect_exists(name, block.line + 1 + static_cast<int>(i), word);
  }
}

// The text of every source of the tools.
std::string tools_text() {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "tools"))
    if (entry.path().extension() == ".cc") text += read_text(entry.path());
  return text;
}

// The word after `graphrun` is a command, and every `--option` is a literal in the sources of the tools.
TEST(Documentation, CommandsAndOptionsExist) {
  const std::string sources = tools_text();
  const auto is_option = [&](const std::string& name) {
    return sources.find("\"" + name + "\"") != std::string::npos || sources.find("\"" + name + ",") != std::string::npos;
  };
  for (const auto& [name, page] : pages())
    for (const Block& block : page.blocks) {
      if (block.language != "sh") continue;
      for (const std::string& line : block.lines) {
        const std::vector<std::string> command = words(line);
        if (command.empty() || !(command[0].ends_with("graphrun") || command[0].ends_with("graph-dump"))) continue;
        if (command[0].ends_with("graphrun") && command.size() > 1 && !command[1].starts_with("-")) {
          EXPECT_NE(find_command(command[1]), nullptr) << name << ": there is no command graphrun " << command[1];
        }
        for (const std::string& word : command) {
          if (!word.starts_with("--")) continue;
          EXPECT_TRUE(is_option(word.substr(2, word.find('=') - 2))) << name << ": no program has an option " << word;
        }
      }
    }
}

TEST(DocumentationChecks, PagesAreRead) {
  const Page page = read_page(
      "Say `tools/check`, see [this](graphs/README.md#sizes) or [that](https://x.org).\n```sh n=1 m=2\na b\n```\n`x`\n");
  ASSERT_EQ(page.blocks.size(), 1u);
  EXPECT_EQ(page.blocks[0].language, "sh");
  EXPECT_EQ(page.blocks[0].info, " n=1 m=2");
  EXPECT_EQ(page.blocks[0].line, 2);
  EXPECT_THAT(page.blocks[0].lines, testing::ElementsAre("a b"));
  ASSERT_EQ(page.code.size(), 2u);
  EXPECT_EQ(page.code[0].text, "tools/check");
  EXPECT_EQ(page.code[1].line, 5);
  ASSERT_EQ(page.links.size(), 1u);
  EXPECT_EQ(page.links[0].text, "graphs/README.md");
}

TEST(DocumentationChecks, CodeIsWhatMarkdownTakesForIt) {
  const Page page = read_page("- Ends `with\n  two` lines and ``a ` b``; `[no](link)`\n\n  ```pbtxt\n  x\n  ```\n");
  ASSERT_EQ(page.code.size(), 3u);
  EXPECT_EQ(page.code[0].text, "with two");
  EXPECT_EQ(page.code[1].text, "a ` b");
  EXPECT_EQ(page.code[2].text, "[no](link)");
  EXPECT_TRUE(page.links.empty());
  ASSERT_EQ(page.blocks.size(), 1u);
  EXPECT_EQ(page.blocks[0].language, "pbtxt");
  EXPECT_THAT(page.blocks[0].lines, testing::ElementsAre("x"));
}

TEST(DocumentationChecks, CommandsAreRead) {
  EXPECT_THAT(words("graphrun infer model/ < lines.txt > out.txt  # a comment"),
              testing::ElementsAre("graphrun", "infer", "model/", "lines.txt", "out.txt"));
}

}  // namespace
}  // namespace graphrun::documentation
