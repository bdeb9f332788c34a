#include "tools/text/lines.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/runtime/temporary_folder.h"
#include "tests/tools/compressed.h"
#include "tests/tools/scratch.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Lines, EndsOfLinesAndByteOrderMark) {
  Scratch scratch;
  EXPECT_THAT(read_lines(scratch.file("a", "\xEF\xBB\xBFone\r\ntwo\n\nlast")), ElementsAre("one", "two", "", "last"));
  EXPECT_THAT(read_lines(scratch.file("b", "one\n")), ElementsAre("one"));
  EXPECT_THAT(read_lines(scratch.file("c", "")), ElementsAre());
  EXPECT_THAT(read_lines(scratch.file("d", "\xEF\xBB\xBFx\r\n"), LineReader::Mode::kExact), ElementsAre("\xEF\xBB\xBFx\r"));
}

// The lines read from a descriptor that delivers the bytes of a file.
std::vector<std::string> lines_of_stream(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY);
  LineReader reader(descriptor, "stdin");
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  close(descriptor);
  return lines;
}

TEST(Lines, PlainStreamsReadLikeFiles) {
  Scratch scratch;
  EXPECT_THAT(lines_of_stream(scratch.file("plain", "one\ntwo")), ElementsAre("one", "two"));
  for (const std::string begun : {"(", "\x1F"})  // the first bytes of zstd's and gzip's files
    EXPECT_THAT(lines_of_stream(scratch.file("begun", begun)), ElementsAre(begun));
}

struct Compression {
  const char* name;
  std::string (*compress)(std::string_view);
};

class CompressedLines : public testing::TestWithParam<Compression> {
 protected:
  // Lines that compress badly: several pieces of input and of output.
  static std::string text() {
    std::string text;
    for (std::uint32_t i = 0, number = 1; i < 100000; ++i)
      text += std::to_string(number = number * 1664525 + 1013904223) + "\n";
    return text + "last\n";
  }
  std::string compressed(const std::string& text) const { return GetParam().compress(text); }
  std::string failure(const std::string& bytes) const {
    const std::string path = scratch_.file("data/damaged", bytes);
    return message_of([&] { lines_of_stream(path); });
  }
  Scratch scratch_;
};

// The name of a file has no effect.
TEST_P(CompressedLines, ReadLikePlainOnes) {
  const std::string bytes = compressed(text());
  const auto lines = read_lines(scratch_.file("plain.txt", bytes));
  ASSERT_EQ(lines.size(), 100001u);
  EXPECT_EQ(lines.back(), "last");
  EXPECT_EQ(lines_of_stream(scratch_.file("stream", bytes)), lines);
  EXPECT_EQ(read_lines(scratch_.file("twice", bytes + bytes)).size(), 200002u);
  EXPECT_THAT(read_lines(scratch_.file("joined", compressed("one\ntw") + compressed("o\n"))), ElementsAre("one", "two"));
  EXPECT_THAT(read_lines(scratch_.file("empty", compressed(""))), ElementsAre());
}

TEST_P(CompressedLines, ThatShrinkAThousandfoldAreReadToTheEnd) {
  const std::string longest(kLongestLine, 'x');
  EXPECT_THAT(read_lines(scratch_.file("long", compressed(longest + "\n" + longest))), ElementsAre(longest, longest));
}

TEST_P(CompressedLines, ThatAreCutOffAreDamaged) {
  const std::string bytes = compressed(text());
  for (const std::size_t size : {std::size_t{7}, bytes.size() / 2, bytes.size() - 3, bytes.size() - 1}) {
    EXPECT_THAT(failure(bytes.substr(0, size)),
                AllOf(HasSubstr("E0541"), HasSubstr("'stdin' past line"), HasSubstr("unexpected end of file")))
        << size << " of " << bytes.size();
    EXPECT_THAT(failure(bytes + bytes.substr(0, size)), HasSubstr("unexpected end of file")) << "after a whole one: " << size;
  }
}

TEST_P(CompressedLines, ThatWereChangedAreDamaged) {
  std::string bytes = compressed(text());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
  EXPECT_THAT(failure(bytes), HasSubstr("E0541"));
}

TEST_P(CompressedLines, AreAnsweredAsSoonAsTheyAreThere) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LineReader reader(ends[0], "-");
  const std::string bytes = compressed("one\ntwo\n");
  ASSERT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_TRUE(reader.ready(0));
  std::string line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "one");
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "two");
  EXPECT_FALSE(reader.ready(0));
  close(ends[1]);
  EXPECT_FALSE(reader.next(line));
  close(ends[0]);
}

INSTANTIATE_TEST_SUITE_P(Formats, CompressedLines,
                         testing::Values(Compression{"gzip", gzip_of}, Compression{"zstd", zstd_of}, Compression{"xz", xz_of}),
                         [](const auto& info) { return std::string(info.param.name); });

// As the program of each format handles it.
TEST(Lines, WhatFollowsCompressedText) {
  Scratch scratch;
  const auto after = [&](const std::string& bytes) {
    std::size_t lines = 0;
    const std::string said = message_of([&] { lines = lines_of_stream(scratch.file("a", bytes)).size(); });
    return said.empty() ? std::to_string(lines) : said;
  };
  const std::string zeros(512, '\0');
  EXPECT_EQ(after(gzip_of("one\n") + zeros), "1");
  EXPECT_EQ(after(gzip_of("one\n") + "more\n"), "1");
  EXPECT_EQ(after(xz_of("one\n") + zeros + xz_of("two\n") + zeros), "2");
  EXPECT_THAT(after(xz_of("one\n") + "more\n"), HasSubstr("E0541"));
  const std::string skipped("\x50\x2A\x4D\x18\x03\0\0\0abc", 11);  // a frame without text
  EXPECT_EQ(after(zstd_of("one\n") + skipped + zstd_of("two\n")), "2");
  EXPECT_THAT(after(zstd_of("one\n") + "more\n"), HasSubstr("E0541"));
}

TEST(Lines, WhatIsNotTextNamesFileLineAndColumn) {
  Scratch scratch;
  const std::string path = scratch.file("a", "good\nb\xE4\xBD\n");
  const std::string message = message_of([&] { read_lines(path); });
  EXPECT_THAT(message, HasSubstr(path + ":2:2: error[E0641 not-utf8]"));
  EXPECT_THAT(message_of([&] { read_lines(scratch.file("b", std::string("a\0b\n", 4))); }), HasSubstr("NUL byte"));
  EXPECT_THAT(message_of([&] { read_lines(scratch.file("c", "\xED\xA0\x80\n")); }), HasSubstr("E0641"));  // a surrogate
}

TEST(Lines, LongestLine) {
  Scratch scratch;
  const std::string path = scratch.file("a", "12345\n123456\n");
  LineReader reader(path, LineReader::Mode::kText, 5);
  std::string line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_THAT(message_of([&] { reader.next(line); }), HasSubstr(path + ":2:1: error[E0642 line-too-long]"));
  LineReader endless(scratch.file("b", std::string(1 << 18, 'x')), LineReader::Mode::kText, 1000);
  EXPECT_THAT(message_of([&] { endless.next(line); }), HasSubstr("E0642"));
}

TEST(Lines, MissingFileAndFolder) {
  Scratch scratch;
  EXPECT_THAT(message_of([&] { LineReader reader(scratch.path("none")); }), HasSubstr("No such file"));
  EXPECT_THAT(message_of([&] { LineReader reader(scratch.path("")); }), HasSubstr("is a folder"));
}

TEST(Lines, ADescriptorAnswersAsSoonAsALineIsThere) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LineReader reader(ends[0], "-");
  EXPECT_FALSE(reader.ready(0));
  ASSERT_EQ(write(ends[1], "one\ntw", 6), 6);
  EXPECT_TRUE(reader.ready(0));
  std::string line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "one");
  EXPECT_FALSE(reader.ready(0));
  close(ends[1]);
  EXPECT_TRUE(reader.ready(0));
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "tw");
  EXPECT_FALSE(reader.next(line));
  close(ends[0]);
}

TEST(Utf8, CodePointsAndSpaces) {
  EXPECT_THAT(code_points("a好é😀"), ElementsAre("a", "好", "é", "😀"));
  EXPECT_EQ(count_code_points("a好é😀"), 4u);
  EXPECT_EQ(first_code_points("a好é😀", 2), "a好");
  EXPECT_EQ(first_code_points("a好", 9), "a好");
  EXPECT_EQ(within_bytes("a好é", 3), "a");
  EXPECT_EQ(within_bytes("a好é", 4), "a好");
  EXPECT_EQ(within_bytes("a好é", 99), "a好é");
  EXPECT_TRUE(is_space(" "));
  EXPECT_TRUE(is_space("\t"));
  EXPECT_TRUE(is_space("\u3000"));
  EXPECT_TRUE(is_space("\u00A0"));
  EXPECT_FALSE(is_space("好"));
}

}  // namespace
}  // namespace graphrun
