// Phrases of early comments and pages that no native reader would write. A text that needs one of them is better rephrased.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun::architecture {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = GRAPHRUN_SOURCE_DIR;

// In lower case. What to write instead: depends on; continued; how many; if … fails; freed; in flight; next to; contiguous.
constexpr std::string_view kBanned[] = {
    "hangs on",           "gone on with",      "how manieth",       "makes again",         "need not each other",
    "whatever fails",     "as often as it is", "is worth a thread", "given back",          "taken or given back",
    "it knows better",    "lies side by side", "what stands there", "laid down",           "nobody asked",
    "nobody sees",        "nobody wrote",      "nobody holds",      "comes no more",       "could not be had",
    "brings what",        "whoever reads",     "whoever calls",     "whoever must",        "a bug of ours",
    "what comes of it",   "met first",         "had all or none",   "exception under way", "as they lie in memory",
    "that generate find",
};

// The phrases of a text, which may break across lines and comment signs.
std::vector<std::string> banned_in(const std::string& text) {
  std::string words;
  for (const char c : text) {
    const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '#' || c == '|';
    if (!is_space) words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (is_space && !words.empty() && words.back() != ' ') words += ' ';
  }
  std::vector<std::string> found;
  for (const std::string_view phrase : kBanned) {
    if (words.find(phrase) != std::string::npos) found.emplace_back(phrase);
  }
  return found;
}

TEST(Prose, HasNoBannedPhrases) {
  static const std::set<std::string> kEndings = {".h", ".cc", ".cu", ".md", ".def", ".proto", ".py", ".cmake", ".pbtxt", ".sh"};
  for (const std::string folder : {".github", "runtime", "ops", "graphs", "compiler", "tools", "tests", "README.md"}) {
    std::vector<fs::path> files;
    if (fs::is_directory(kRoot / folder)) {
      for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) files.push_back(entry.path());
    } else if (fs::exists(kRoot / folder)) {
      files.push_back(kRoot / folder);
    }
    for (const fs::path& file : files) {
      if (kEndings.count(file.extension().string()) == 0 || file.filename() == "prose_test.cc") continue;
      std::ifstream in(file);
      std::stringstream text;
      text << in.rdbuf();
      for (const std::string& phrase : banned_in(text.str())) {
        ADD_FAILURE() << file.lexically_relative(kRoot).generic_string() << " says \"" << phrase << "\": rephrase the sentence";
      }
    }
  }
}

TEST(ProseChecks, BannedPhrasesAreFound) {
  EXPECT_EQ(banned_in("// What it does hangs on\n  // the sizes."), std::vector<std::string>{"hangs on"});
  EXPECT_EQ(banned_in("A run is GONE ON\nWITH."), std::vector<std::string>{"gone on with"});
  EXPECT_TRUE(banned_in("It depends on the sizes.").empty());
}

}  // namespace
}  // namespace graphrun::architecture
