// Reads event files for TensorBoard.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tools/run/event_log.h"
#include "tools/run/events.pb.h"

namespace graphrun::tests {

// The events of the one file in the folder; compares every checksum with its bytes.
inline std::vector<events::Event> read_events(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  EXPECT_EQ(files.size(), 1u);
  std::ifstream in(files.at(0), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  std::vector<events::Event> all;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t length = 0;
    std::uint32_t of_length = 0, of_data = 0;
    std::memcpy(&length, bytes.data() + at, 8);
    std::memcpy(&of_length, bytes.data() + at + 8, 4);
    EXPECT_EQ(of_length, masked_crc32c(std::string_view(bytes).substr(at, 8)));
    const std::string data = bytes.substr(at + 12, length);
    std::memcpy(&of_data, bytes.data() + at + 12 + length, 4);
    EXPECT_EQ(of_data, masked_crc32c(data));
    EXPECT_TRUE(all.emplace_back().ParseFromString(data));
    at += 16 + length;
  }
  return all;
}

}  // namespace graphrun::tests
