#include "runtime/tensor/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "runtime/base/status.h"
#include "tests/runtime/temporary_folder.h"

namespace graphrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The bytes of a file with this header and data; the length is the header's unless given.
std::string file_of(const std::string& header, const std::string& data, std::uint64_t length = ~std::uint64_t{0}) {
  if (length == ~std::uint64_t{0}) length = header.size();
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((length >> (8 * i)) & 0xFF);
  return bytes + header + data;
}

std::string failure_of(const std::string& bytes) {
  const TemporaryFolder folder;
  put_bytes(folder / "x.safetensors", bytes);
  try {
    read_safetensors(folder / "x.safetensors");
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadData);
    EXPECT_THAT(error.what(), HasSubstr("x.safetensors"));
    return error.what();
  }
  ADD_FAILURE() << "read without an error: " << bytes;
  return "";
}

NamedTensors every_dtype() {
  return {{"encode.W", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
          {"b", Tensor::of<double>({2}, {0.1, -1e300})},
          {"count", Tensor::of<std::int32_t>({}, {-7})},
          {"mask", Tensor::of<bool>({3}, {true, false, true})},
          {"none", Tensor(DType::kFloat32, {0, 4})}};
}

TEST(Safetensors, WritesTheFormatsBytes) {
  const TemporaryFolder folder;
  write_safetensors(folder / "x", {{"a", Tensor::of<float>({2}, {1, -2})}, {"m", Tensor::of<bool>({1}, {true})}});
  const std::string header =
      R"({"a":{"data_offsets":[0,8],"dtype":"F32","shape":[2]},"m":{"data_offsets":[8,9],"dtype":"BOOL","shape":[1]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(get_bytes(folder / "x"), file_of(header + padding, std::string("\0\0\x80\x3F\0\0\0\xC0\x01", 9)));
}

TEST(Safetensors, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  const NamedTensors tensors = every_dtype();
  const FileDigest written = write_safetensors(folder / "x", tensors);
  EXPECT_EQ(written, digest_file(folder / "x"));
  const NamedTensors read = read_safetensors(folder / "x");
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& back = read.at(name);
    EXPECT_EQ(back.dtype(), tensor.dtype());
    EXPECT_EQ(back.sizes(), tensor.sizes());
    EXPECT_EQ(std::memcmp(back.raw(), tensor.raw(), tensor.bytes()), 0) << name;
  }
  write_safetensors(folder / "empty", {});
  EXPECT_TRUE(read_safetensors(folder / "empty").empty());
}

TEST(Safetensors, KeepsWhatIsNoNumber) {
  const TemporaryFolder folder;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  write_safetensors(folder / "x", {{"a", Tensor::of<float>({3}, {std::nanf(""), kInfinity, -kInfinity})}});
  const Tensor a = read_safetensors(folder / "x").at("a");
  EXPECT_TRUE(std::isnan(a.at(0)));
  EXPECT_EQ(a.at(1), kInfinity);
  EXPECT_EQ(a.at(2), -kInfinity);
}

TEST(Safetensors, ReadsOthersFiles) {
  const TemporaryFolder folder;
  // Metadata, spaces, any order, BOOL bytes other than 0 and 1.
  put_bytes(folder / "x", file_of(R"({ "b": {"shape":[2],"dtype":"BOOL","data_offsets":[4,6]}, "__metadata__": {"format":"pt"},
                                       "a": {"dtype":"I32","shape":[1,1],"data_offsets":[0,4]} }   )",
                                  std::string("\x05\0\0\0\x02\0", 6)));
  const NamedTensors read = read_safetensors(folder / "x");
  EXPECT_EQ(read.size(), 2u);
  EXPECT_EQ(read.at("a").at(0), 5);
  EXPECT_THAT(read.at("b").span<std::uint8_t>(), ElementsAre(1, 0));
}

TEST(Safetensors, RefusesMalformedFiles) {
  const std::string four(4, '\0');
  const auto tensor = [](const std::string& fields) { return R"({"a":{)" + fields + "}}"; };
  const struct {
    std::string bytes, message;
  } cases[] = {
      {"", "it has 0 bytes"},
      {"\x08\0\0", "bytes"},
      {file_of("{}", "", 3), "its header has 3 bytes"},
      {file_of("{}", "", std::numeric_limits<std::uint64_t>::max() - 3), "its header has"},
      {file_of("{}", "", std::uint64_t{1} << 33), "its header has"},
      {file_of("", ""), "not JSON"},
      {file_of("[1]", ""), "not a JSON object"},
      {file_of(R"({"a)", ""), "not JSON"},
      {file_of("{\"a\xFF\":1}", ""), "not JSON"},
      {file_of(R"({"a":[[[[[]]]]]})", ""), "nested too deep"},
      {file_of(std::string(1 << 16, '['), ""), "nested too deep"},
      {file_of(R"({"a":1})", ""), "no description"},
      {file_of(tensor(R"("shape":[1],"data_offsets":[0,4])"), four), "has no dtype"},
      {file_of(tensor(R"("dtype":7,"shape":[1],"data_offsets":[0,4])"), four), "has no dtype"},
      {file_of(tensor(R"("dtype":"F16","shape":[2],"data_offsets":[0,4])"), four), "has dtype \"F16\"; expected F32"},
      {file_of(tensor(R"("dtype":"F32","shape":1,"data_offsets":[0,4])"), four), "has no shape"},
      {file_of(tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), four), "no whole number"},
      {file_of(tensor(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])"), four), "no whole number"},
      {file_of(tensor(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])"), four), "63 bits"},
      {file_of(tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])"), ""), "has 0 bytes"},
      {file_of(tensor(R"("dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4])"), four), "has 4 bytes"},
      {file_of(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), four), "has 4 bytes"},
      {file_of(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), four), "no two data_offsets"},
      {file_of(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), four), "lies at bytes 4 to 0"},
      {file_of(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), "abc"), "lies at bytes 0 to 4 of 3"},
      {file_of(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[-4,0])"), four), "no whole number"},
      {file_of(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), four + "x"), "its data has 5 bytes"},
      {file_of(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), four + four), "begins at byte 4"},
      {file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})",
               four),
       "begins at byte 0 of the data; expected 4"},
      {file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
               four),
       "names \"a\" twice"},
  };
  for (const auto& c : cases) EXPECT_THAT(failure_of(c.bytes), HasSubstr(c.message));
}

TEST(Safetensors, SurvivesEveryTruncationAndManyMutations) {
  const TemporaryFolder folder;
  write_safetensors(folder / "sound", every_dtype());
  const std::string sound = get_bytes(folder / "sound");
  const auto reads = [&](const std::string& bytes) {
    put_bytes(folder / "x", bytes);
    try {
      read_safetensors(folder / "x");
      return true;
    } catch (const UserError&) {
      return false;
    }
  };
  for (std::size_t size = 0; size < sound.size(); ++size) EXPECT_FALSE(reads(sound.substr(0, size))) << size;
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = sound;
    for (unsigned n = random() % 3 + 1; n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random());
    refused += !reads(bytes);
  }
  EXPECT_GT(refused, 500);
}

TEST(Safetensors, RefusesNamesThatCannotBeWritten) {
  const TemporaryFolder folder;
  const Tensor one = Tensor::of<float>({1}, {1});
  EXPECT_THROW(write_safetensors(folder / "x", {{"a\xFF", one}}), UserError);
  EXPECT_THROW(write_safetensors(folder / "x", {{"__metadata__", one}}), UserError);
  EXPECT_EQ(folder.entries(), 0u);
  const std::string odd = "a\"\\\n\u4E2D";
  write_safetensors(folder / "x", {{odd, one}});
  EXPECT_EQ(read_safetensors(folder / "x").count(odd), 1u);
}

}  // namespace
}  // namespace graphrun
