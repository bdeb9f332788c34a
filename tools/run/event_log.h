// Writes an event file for TensorBoard: records of a length and an Event, each with a masked CRC-32C.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace graphrun {

// CRC-32C (Castagnoli), and the same masked as in TFRecord.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

class EventLog {
 public:
  // Creates the folder if needed and a new event file in it; removes older ones, since the log has the whole run. Throws
  // UserError (kNoRoom, E0502).
  explicit EventLog(const std::string& folder);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Writes the numbers of a line of metrics.jsonl at its step; those of a data set are named "valid/f1". Ignores lines without
  // a step.
  void write(const nlohmann::ordered_json& line);

 private:
  void write_record(const std::string& event);

  std::string path_;
  int file_ = -1;
};

}  // namespace graphrun
