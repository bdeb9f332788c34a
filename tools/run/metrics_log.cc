#include "tools/run/metrics_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/base/system_call.h"
#include "tools/json/json.h"

namespace graphrun {

MetricsLog::MetricsLog(std::string path, std::int64_t keep) : path_(std::move(path)) {
  file_ = uninterrupted([this] { return open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666); });
  if (file_ < 0) fail(errno);
  const off_t size = lseek(file_, 0, SEEK_END);
  if (size >= keep && uninterrupted([&] { return ftruncate(file_, keep); }) == 0 && lseek(file_, keep, SEEK_SET) == keep) {
    bytes_ = keep;
    return;
  }
  const int error = errno;
  close(file_);
  if (size >= 0 && size < keep) {
    throw UserError(ExitCode::kBadData, "E0660 cut-metrics",
                    fmt::format("'{}' has {} bytes; it had {} at the checkpoint", path_, size, keep));
  }
  fail(error);
}

MetricsLog::~MetricsLog() {
  if (file_ >= 0) close(file_);
}

void MetricsLog::fail(int error) const { unwritable_file(path_, "write", error, fmt::format(" (after {} bytes)", bytes_)); }

void MetricsLog::mirror(const std::string& folder) {
  events_ = std::make_unique<EventLog>(folder);
  std::istringstream lines(read_file(path_, static_cast<std::uint64_t>(bytes_)));
  for (std::string line; std::getline(lines, line);) {
    const auto json = parse_ordered_json_or_discard(line);
    if (json.is_object()) events_->write(json);
  }
}

void MetricsLog::write(const nlohmann::ordered_json& line) {
  const std::string text = json_text(line) + "\n";
  if (write_some(file_, text.data(), text.size()) < text.size()) fail(errno);
  bytes_ += static_cast<std::int64_t>(text.size());
  if (events_) events_->write(line);
}

void MetricsLog::sync() {
  if (uninterrupted([this] { return fsync(file_); }) != 0 && errno != EINVAL && errno != EROFS) fail(errno);
}

}  // namespace graphrun
