#include "runtime/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "runtime/base/status.h"
#include "tests/runtime/temporary_folder.h"

namespace graphrun {
namespace {

using ::testing::HasSubstr;

// The message of the UserError that `call` throws; fails if it throws none or one with another exit code.
template <class Call>
std::string failure(ExitCode code, Call call) {
  try {
    call();
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing thrown";
  return "";
}

TEST(Sha256, GivesThePublishedValues) {  // FIPS 180-2, appendix B
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 pieces;
  for (int i = 0; i < 1000; ++i) pieces.update(std::string(1000, 'a').data(), 1000);
  EXPECT_EQ(pieces.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(ReadFile, ReadsWholeFilesUpToALimit) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "some\0bytes");
  EXPECT_EQ(read_file(folder / "a", 100), "some");
  put_bytes(folder / "empty", "");
  EXPECT_EQ(read_file(folder / "empty", 0), "");
  const std::string text = failure(ExitCode::kBadData, [&] { read_file(folder / "a", 3); });
  EXPECT_THAT(text, HasSubstr("E0504 file-too-large"));
  EXPECT_THAT(text, HasSubstr(folder / "a"));
}

TEST(ReadFile, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(failure(ExitCode::kBadData, [&] { read_file(folder / "none", 9); }), HasSubstr("No such file"));
  EXPECT_THAT(failure(ExitCode::kBadData, [&] { read_file(folder.path(), 9); }), HasSubstr("it is a folder"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(failure(ExitCode::kBadData, [&] { read_file(folder / "pipe", 9); }), HasSubstr("pipe or device"));
  put_bytes(folder / "short", "abc");
  InputFile file(folder / "short");
  char bytes[8];
  EXPECT_THAT(failure(ExitCode::kBadData, [&] { file.read(bytes, 8); }), HasSubstr("ends 5 bytes early"));
}

TEST(WriteFile, ReplacesWholeFiles) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "a longer text than the new one");
  const FileDigest digest = write_file(folder / "a", "abc");
  EXPECT_EQ(get_bytes(folder / "a"), "abc");
  EXPECT_EQ(digest, (FileDigest{3, sha256("abc")}));
  EXPECT_EQ(digest_file(folder / "a"), digest);
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(parent_folder("a"), ".");
}

TEST(WriteFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "before");
  {
    AtomicFile file(folder / "a");
    file.write("half");
    EXPECT_EQ(folder.entries(), 2u);
    EXPECT_EQ(get_bytes(folder / "a"), "before");
  }
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(get_bytes(folder / "a"), "before");
}

TEST(WriteFile, KeepsLinksAndPermissions) {
  const TemporaryFolder folder;
  put_bytes(folder / "target", "before");
  ASSERT_EQ(chmod((folder / "target").c_str(), 0640), 0);
  std::filesystem::create_symlink("target", folder / "link");
  write_file(folder / "link", "after");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(get_bytes(folder / "target"), "after");
  struct stat info {};
  ASSERT_EQ(stat((folder / "target").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0640u);
}

TEST(WriteFile, SaysWhyItFailed) {
  const TemporaryFolder folder;
  EXPECT_THAT(failure(ExitCode::kNoRoom, [&] { write_file(folder / "none/a", "x"); }), HasSubstr("E0502 unwritable-file"));
  EXPECT_THAT(failure(ExitCode::kNoRoom, [&] { write_file(folder.path(), "x"); }), HasSubstr("Is a directory"));
  const std::string full = failure(ExitCode::kNoRoom, [] { write_file("/dev/full", "x"); });
  EXPECT_THAT(full, HasSubstr("E0505 no-room-on-disk"));
  EXPECT_THAT(full, HasSubstr("'/dev/full' (after 0 bytes): No space left"));
}

TEST(Folders, AreMadeAndRemoved) {
  const TemporaryFolder folder;
  make_folders(folder / "a/b/c");
  make_folders(folder / "a/b/c");
  sync_folder(folder / "a/b");
  put_bytes(folder / "kept", "x");
  std::filesystem::create_symlink(folder.path(), folder / "a/b/link");
  remove_folder(folder / "a");
  remove_folder(folder / "a");
  EXPECT_EQ(get_bytes(folder / "kept"), "x");
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_THROW(make_folders(folder / "kept/x"), UserError);
  EXPECT_THROW(make_folders(folder / "kept"), UserError);
}

}  // namespace
}  // namespace graphrun
