#include "runtime/base/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/compressed.h"

namespace graphrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A file that is removed when the test ends.
class TemporarySource {
 public:
  explicit TemporarySource(const std::string& text)
      : path_(testing::TempDir() + "graphrun_status_" + std::to_string(getpid()) + ".pbtxt") {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporarySource() { std::filesystem::remove(path_); }
  Location at(int line, int column, int length = 1) const { return {intern_file(path_), line, column, length, nullptr}; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Location, InternsFilesAndPlaces) {
  const std::string* file = intern_file("a.pbtxt");
  EXPECT_EQ(file, intern_file(std::string("a.") + "pbtxt"));
  EXPECT_NE(file, intern_file("b.pbtxt"));
  const Location* place = intern({file, 3, 4, 2, nullptr});
  EXPECT_EQ(place, intern({file, 3, 4, 2, nullptr}));
  EXPECT_NE(place, intern({file, 3, 5, 2, nullptr}));
  EXPECT_EQ(place->str(), "a.pbtxt:3:4");
  EXPECT_EQ(Location{}.str(), "");
}

TEST(Render, ShowsLineCaretAndNotes) {
  const TemporarySource file("first\nlet: \"h = hiden\"\r\nlast");
  const Diagnostic d{
      Severity::kError, "E0203 unknown-name", file.at(2, 11, 5), "unknown name 'hiden'", {"help: did you mean 'hidden'?"}};
  EXPECT_EQ(render(d), file.path() +
                           ":2:11: error[E0203 unknown-name]: unknown name 'hiden'\n"
                           "  2 | let: \"h = hiden\"\n"
                           "    |           ^~~~~\n"
                           "  help: did you mean 'hidden'?");
}

TEST(Render, CountsColumnsOfTabsAndWideCharacters) {
  const TemporarySource file("\t中文é = x\n");
  const Diagnostic d{Severity::kWarning, "E0203", file.at(1, 13), "here", {}};  // 1 tab, 3 + 3 + 2 bytes, " = "
  EXPECT_EQ(render(d), file.path() +
                           ":1:13: warning[E0203]: here\n"
                           "  1 |     中文é = x\n"
                           "    |             ^");
  const Diagnostic wide{Severity::kWarning, "", file.at(1, 2, 6), "here", {}};
  EXPECT_THAT(render(wide), HasSubstr("\n    |     ^~~~"));
}

// The position of the caret under the X of a line that begins with `text`, in columns from the start of the line.
std::size_t caret_after(const std::string& text) {
  const TemporarySource file(text + "X");
  const std::string shown = render(Diagnostic{Severity::kError, "E1", file.at(1, static_cast<int>(text.size()) + 1), "x", {}});
  const std::string margin = "\n    | ";
  return shown.rfind('^') - shown.rfind(margin) - margin.size();
}

TEST(Render, KnowsHowWideCharactersAre) {
  EXPECT_EQ(caret_after("é"), 1u);
  EXPECT_EQ(caret_after("e\u0301"), 1u);  // combining
  EXPECT_EQ(caret_after("\u05B0"), 0u);   // a Hebrew point
  EXPECT_EQ(caret_after("⭐"), 2u);
  EXPECT_EQ(caret_after("䷀"), 1u);  // a hexagram, narrow among Chinese
  EXPECT_EQ(caret_after("\U0001F680"), 2u);
}

TEST(Render, ReplacesWhatATerminalWouldObey) {
  const auto shown = [](const std::string& text) {
    const TemporarySource file(text);
    const std::string all = render(Diagnostic{Severity::kError, "E1", file.at(1, 1), "x", {}});
    const std::size_t begin = all.find("  1 | ") + 6;
    return all.substr(begin, all.find('\n', begin) - begin);
  };
  EXPECT_EQ(shown("a\x1B\x7F\u0085z"), "a\uFFFD\uFFFD\uFFFDz");
  EXPECT_EQ(shown("a\u202E\u2066z"), "a\uFFFD\uFFFDz");
  EXPECT_EQ(shown("a\xE4\xBDz"), "a\uFFFD\uFFFDz");
  EXPECT_EQ(shown("a\xED\xA0\x80\xC0\x80\xFFz"), "a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDz");
}

TEST(Render, SurvivesEveryPlace) {
  const TemporarySource file("a\xFF\x1B[31mb\n");
  EXPECT_THAT(render(Diagnostic{Severity::kError, "E1", file.at(1, 8), "x", {}}), testing::Not(HasSubstr("\x1B")));
  for (const Location& at : {file.at(0, 0), file.at(1, 100, 100), file.at(2, 1), file.at(99, 1), file.at(1, -3, -3)}) {
    EXPECT_THAT(render(Diagnostic{Severity::kError, "E1", at, "x", {}}), HasSubstr("error[E1]: x"));
  }
  const Location nowhere{intern_file("/nonexistent/file"), 1, 1, 1, nullptr};
  EXPECT_EQ(render(Diagnostic{Severity::kError, "E1", nowhere, "x", {}}), "/nonexistent/file:1:1: error[E1]: x");
}

TEST(Render, ShowsAWindowOfALongLine) {
  const TemporarySource file(std::string(5000, 'a') + "X" + std::string(5000, 'b'));
  const std::string text = render(Diagnostic{Severity::kError, "E1", file.at(1, 5001), "x", {}});
  EXPECT_LT(text.size(), 1000u);
  const std::size_t source = text.find("  1 | "), caret = text.find("    | ");
  // "…" is three bytes and one column.
  EXPECT_EQ(text.find('X', source) - source - 2, text.find('^', caret) - caret);  // the path of the file may contain either
}

TEST(Render, ShowsTextThatStandsForAFile) {
  const Location at{intern_text("--test", "first\nsecond=1"), 2, 8, 1, nullptr};
  EXPECT_EQ(render(Diagnostic{Severity::kError, "E1", at, "x", {}}),
            "--test:2:8: error[E1]: x\n  2 | second=1\n    |        ^");
}

TEST(Render, ShowsNoBytesOfACompressedFile) {
  for (const std::string_view magic : kMagics) {
    const TemporarySource file(std::string(magic) + " bytes\nmore");
    EXPECT_THAT(render(Diagnostic{Severity::kError, "E1", file.at(2, 1), "x", {}}), testing::EndsWith("x"));
  }
}

TEST(Render, ListsTheWay) {
  const Location* outer = intern({intern_file("outer.pbtxt"), 7, 1, 1, nullptr});
  const Location at{intern_file("inner.pbtxt"), 2, 3, 1, outer};
  EXPECT_EQ(render(Diagnostic{Severity::kError, "E1", at, "x", {}}), "inner.pbtxt:2:3: error[E1]: x\n  from outer.pbtxt:7:1");
}

TEST(UserError, RendersAll) {
  const UserError one(ExitCode::kNoRoom, "E0503 out-of-memory", "no memory", {"help: buy some"});
  EXPECT_EQ(one.exit_code(), ExitCode::kNoRoom);
  EXPECT_STREQ(one.what(), "error[E0503 out-of-memory]: no memory\n  help: buy some");
  const UserError two(ExitCode::kUsage,
                      {Diagnostic{Severity::kError, "E1", {}, "a", {}}, Diagnostic{Severity::kError, "E2", {}, "b", {}}});
  EXPECT_STREQ(two.what(), "error[E1]: a\nerror[E2]: b");
  EXPECT_THROW(GRAPHRUN_CHECK(false, "broken"), InternalError);
}

TEST(NearNames, FindsTypingMistakes) {
  const std::vector<std::string> names = {"hidden", "input", "hide", "H", "lengths", "vocabulary"};
  EXPECT_THAT(near_names("hiden", names), ElementsAre("hidden", "hide"));
  EXPECT_THAT(near_names("legnths", names), ElementsAre("lengths"));
  EXPECT_THAT(near_names("HIDDEN", names), ElementsAre("hidden", "hide"));
  EXPECT_THAT(near_names("h", names), ElementsAre("H"));
  EXPECT_THAT(near_names("x", names), IsEmpty());
  EXPECT_THAT(near_names("", names), IsEmpty());
  EXPECT_THAT(near_names("aaab", {"aaaa", "aaac", "aaad", "aaae"}, 2), ElementsAre("aaaa", "aaac"));
  EXPECT_EQ(did_you_mean("hiden", names), "did you mean 'hidden' or 'hide'?");
  EXPECT_EQ(did_you_mean("zzzzzz", names), "");
}

TEST(TextAt, IsTheStringAroundAPlaceOrElseTheLine) {
  const TemporarySource file("  let: \"f = sigmoid(p)\"\n  parameter { name: [\"Wi\", \"W\\\"f\"] }\n");
  EXPECT_EQ(text_at(file.at(1, 12)), "f = sigmoid(p)");
  EXPECT_EQ(text_at(file.at(1, 3)), "let: \"f = sigmoid(p)\"");
  EXPECT_EQ(text_at(file.at(2, 28)), "parameter { name: [\"Wi\", \"W\\\"f\"] }") << "between two strings";
  EXPECT_EQ(text_at(file.at(9, 1)), "");
}

}  // namespace
}  // namespace graphrun
