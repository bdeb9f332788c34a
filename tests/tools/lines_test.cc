#include "tools/text/lines.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/runtime/temporary_folder.h"
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

TEST(Lines, CompressedFilesReadLikePlainOnes) {
  Scratch scratch;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "line " + std::to_string(i) + "\n";
  const auto lines = read_lines(scratch.zipped("a.gz", text));
  ASSERT_EQ(lines.size(), 20000u);
  EXPECT_EQ(lines.back(), "line 19999");
}

TEST(Lines, DamagedCompressedFile) {
  Scratch scratch;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  const std::string path = scratch.zipped("a.gz", text);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THAT(message_of([&] { read_lines(path); }), HasSubstr("E0541"));
}

// The lines of a descriptor that gives the bytes of a file.
std::vector<std::string> lines_of_stream(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY);
  LineReader reader(descriptor, "stdin");
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  close(descriptor);
  return lines;
}

TEST(Lines, CompressedStreamsReadLikePlainOnes) {
  Scratch scratch;
  std::string text;
  for (int i = 0; i < 50000; ++i) text += "line " + std::to_string(i) + "\n";
  const std::string zipped = scratch.zipped("a.gz", text);
  const auto lines = lines_of_stream(zipped);
  ASSERT_EQ(lines.size(), 50000u);
  EXPECT_EQ(lines.back(), "line 49999");
  const std::string bytes = get_bytes(zipped);
  EXPECT_EQ(lines_of_stream(scratch.file("twice", bytes + bytes)).size(), 100000u);
  EXPECT_THAT(lines_of_stream(scratch.zipped("empty.gz", "")), ElementsAre());
  EXPECT_THAT(lines_of_stream(scratch.file("plain", "one\ntwo")), ElementsAre("one", "two"));
  EXPECT_THAT(message_of([&] { lines_of_stream(scratch.file("cut", bytes.substr(0, bytes.size() / 2))); }),
              AllOf(HasSubstr("E0541"), HasSubstr("'stdin'"), HasSubstr("unexpected end of file")));
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
  EXPECT_TRUE(is_space(" "));
  EXPECT_TRUE(is_space("\t"));
  EXPECT_TRUE(is_space("\u3000"));
  EXPECT_TRUE(is_space("\u00A0"));
  EXPECT_FALSE(is_space("好"));
}

}  // namespace
}  // namespace graphrun
