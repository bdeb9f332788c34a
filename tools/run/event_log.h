// An event file as TensorBoard reads it: records of a length and an Event, each with a masked CRC-32C.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace graphrun {

// CRC-32C (Castagnoli), and as TFRecord masks it.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

class EventLog {
 public:
  // A new event file in the folder, which is made; older ones of it are removed: the log holds the whole run. Throws UserError
  // (kNoRoom, E0502).
  explicit EventLog(const std::string& folder);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // A line of metrics.jsonl: its numbers at its step, those of a data set as "valid/f1". One without a step is passed over.
  void write(const nlohmann::ordered_json& line);

 private:
  void write_record(const std::string& event);

  std::string path_;
  int file_ = -1;
};

}  // namespace graphrun
