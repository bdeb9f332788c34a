// Phrases of early comments and pages that no native reader would write, and spellings that the rest of the tree does not use.
// A text that needs such a phrase is better rephrased.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace graphrun::architecture {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = GRAPHRUN_SOURCE_DIR;

// In lower case, with _ for a space, so that a search of the tree does not find them here; and an example of what to write.
struct Banned {
  std::string phrase, instead;
};
const std::vector<Banned>& banned_phrases() {
  static const std::vector<Banned> kBanned = [] {
    std::vector<Banned> all = {
        {"hangs_on", "depends on"},
        {"gone_on_with", "continued"},
        {"how_manieth", "its number"},
        {"makes_again", "recomputes"},
        {"need_not_each_other", "are independent"},
        {"whatever_fails", "even if it fails"},
        {"as_often_as_it_is", "each time that it is"},
        {"is_worth_a_thread", "is large enough for a thread"},
        {"given_back", "freed, or returned"},
        {"it_knows_better", "it has its own value"},
        {"lies_side_by_side", "is contiguous"},
        {"what_stands_there", "its contents"},
        {"laid_down", "stored"},
        {"nobody_asked", "was not requested"},
        {"nobody_sees", "is not visible"},
        {"nobody_wrote", "was not written"},
        {"nobody_holds", "has no owner"},
        {"comes_no_more", "does not occur again"},
        {"could_not_be_had", "is not available"},
        {"brings_what", "copies what"},
        {"whoever_reads", "a reader"},
        {"whoever_calls", "the caller"},
        {"whoever_must", "the one that must"},
        {"a_bug_of_ours", "a bug in graphrun"},
        {"what_comes_of_it", "its result"},
        {"met_first", "encountered first"},
        {"had_all_or_none", "all or nothing"},
        {"exception_under_way", "exception in flight"},
        {"as_they_lie_in_memory", "in memory order"},
        {"that_generate_find", "in generation, say which"},
        // One spelling, the American one.
        {"behaviour", "behavior"},
        {"colour", "color"},
        {"centred", "centered"},
        {"initialis", "initialize"},
        {"labelled", "labeled"},
        {"licence", "license"},
        {"minimis", "minimize"},
        {"misspelt", "misspelled"},
        {"neighbour", "neighbor"},
        {"normalis", "normalize"},
        {"optimis", "optimize"},
        {"recognis", "recognize"},
        {"vectoris", "vectorize"},
    };
    for (Banned& banned : all) std::replace(banned.phrase.begin(), banned.phrase.end(), '_', ' ');
    return all;
  }();
  return kBanned;
}

// The phrases of a text, which may break across lines and comment signs.
std::vector<Banned> banned_in(const std::string& text) {
  std::string words;
  for (const char c : text) {
    const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '#' || c == '|';
    if (!is_space) words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (is_space && !words.empty() && words.back() != ' ') words += ' ';
  }
  std::vector<Banned> found;
  for (const Banned& banned : banned_phrases()) {
    if (words.find(banned.phrase) != std::string::npos) found.push_back(banned);
  }
  return found;
}

TEST(Prose, HasNoBannedPhrases) {
  static const std::set<std::string> kEndings = {
      ".h",  ".cc",    ".cu",    ".md", ".def", ".proto",
      ".py", ".cmake", ".pbtxt", ".sh", ""};  // no ending: programs such as tools/check
  static const std::set<std::string> kSpelledByUsers = {
      "tests/architecture/prose_test.cc", "tests/errors/jobs/unknown_field.pbtxt",
      "tests/errors/programs/help_of_misspelt_field.sh", "tests/tools/help_test.cc"};
  for (const std::string folder : {".ci", ".github", "runtime", "ops", "graphs", "compiler", "tools", "tests", "README.md"}) {
    std::vector<fs::path> files;
    if (fs::is_directory(kRoot / folder)) {
      for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) files.push_back(entry.path());
    } else if (fs::exists(kRoot / folder)) {
      files.push_back(kRoot / folder);
    }
    for (const fs::path& file : files) {
      const std::string path = file.lexically_relative(kRoot).generic_string();
      if (kEndings.count(file.extension().string()) == 0 || kSpelledByUsers.count(path) != 0) continue;
      std::ifstream in(file);
      std::stringstream text;
      text << in.rdbuf();
      for (const auto& [phrase, instead] : banned_in(text.str())) {
        ADD_FAILURE() << path << " says \"" << phrase << "\": rephrase the sentence, for example with \"" << instead << "\"";
      }
    }
  }
}

// Each phrase, in capitals and broken across comment lines.
TEST(ProseChecks, BannedPhrasesAreFound) {
  for (const Banned& banned : banned_phrases()) {
    std::string text = "// This text ";
    for (const char c : banned.phrase) {
      c == ' ' ? text += "\n  // " : text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    const std::vector<Banned> found = banned_in(text + " is not English.");
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const Banned& b) { return b.phrase == banned.phrase; })) << text;
    EXPECT_TRUE(banned_in(banned.instead).empty()) << banned.instead;
  }
  EXPECT_TRUE(banned_in("It depends on the sizes.").empty());
}

}  // namespace
}  // namespace graphrun::architecture
