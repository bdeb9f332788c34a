// metrics.jsonl: one JSON object per line, with figures that the same job and seed reproduce bit for bit; nothing in it depends
// on a clock.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/run/event_log.h"

namespace graphrun {

class MetricsLog {
 public:
  // Opens the file for appending after its first `keep` bytes; removes what a run wrote after its last checkpoint. Throws
  // UserError: (kNoRoom) E0502 or E0505 if it cannot be written; (kBadData, E0660) if it is shorter than `keep`.
  MetricsLog(std::string path, std::int64_t keep);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  // From now on, also writes to an event file in that folder, which first gets everything that is in the file already: a
  // resumed run appears as one run in TensorBoard. Throws like write().
  void mirror(const std::string& folder);

  // Throws UserError (kNoRoom): E0502; E0505 if the disk is full.
  void write(const nlohmann::ordered_json& line);
  void sync();  // waits until it is on the disk
  std::int64_t bytes() const { return bytes_; }

 private:
  [[noreturn]] void fail(int error) const;

  std::string path_;
  int file_ = -1;
  std::int64_t bytes_ = 0;
  std::unique_ptr<EventLog> events_;
};

}  // namespace graphrun
