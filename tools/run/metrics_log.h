// metrics.jsonl: one JSON object a line, figures that the same job and seed give again, bit for bit; nothing that a clock made.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/run/event_log.h"

namespace graphrun {

class MetricsLog {
 public:
  // Opens the file for appending after its first `keep` bytes; what a run wrote after its last checkpoint is cut off. Throws
  // UserError: (kNoRoom) E0502 or E0505 where it can't be written, (kBadData, E0660) where it is shorter than `keep`.
  MetricsLog(std::string path, std::int64_t keep);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  // From here on what is written goes to an event file in that folder too, with all that the file has already: a run that is
  // taken up again shows in TensorBoard as one. Throws as write().
  void mirror(const std::string& folder);

  // Throws UserError (kNoRoom): E0502, E0505 where the disk is full.
  void write(const nlohmann::ordered_json& line);
  void sync();  // until it is on the disk
  std::int64_t bytes() const { return bytes_; }

 private:
  [[noreturn]] void fail(int error) const;

  std::string path_;
  int file_ = -1;
  std::int64_t bytes_ = 0;
  std::unique_ptr<EventLog> events_;
};

}  // namespace graphrun
