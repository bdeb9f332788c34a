#include "tools/run/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/base/system_call.h"
#include "tools/json/json.h"
#include "tools/run/events.pb.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

const std::string kPrefix = "events.out.tfevents.";

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82F63B78u : 0u);
    table[byte] = rest;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// Little-endian.
void append(std::string& bytes, std::uint64_t number, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
}

void add_value(events::Summary& summary, const std::string& tag, const nlohmann::ordered_json& value) {
  if (!value.is_number()) return;
  events::Summary::Value& added = *summary.add_value();
  added.set_tag(tag);
  added.set_simple_value(value.get<float>());
}

// The histogram of a watched value; see tools/train/watcher.h.
void add_histogram(events::Summary& summary, const std::string& tag, const nlohmann::ordered_json& of) {
  if (!of.contains("counts")) return;
  events::Summary::Value& added = *summary.add_value();
  added.set_tag(tag);
  events::Histogram& histogram = *added.mutable_histo();
  const double from = number_of(of["from"]), to = number_of(of["to"]), mean = number_of(of["mean"]),
               deviation = number_of(of["deviation"]);
  const auto counts = of["counts"].get<std::vector<double>>();
  double all = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double limit = from + (to - from) * static_cast<double>(i + 1) / static_cast<double>(counts.size());
    histogram.add_bucket_limit(limit);
    histogram.add_bucket(counts[i]);
    all += counts[i];
  }
  histogram.set_min(from);
  histogram.set_max(to);
  histogram.set_num(all);
  histogram.set_sum(all * mean);
  histogram.set_sum_squares(all * (deviation * deviation + mean * mean));
}

// What `train { watch { … } }` recorded at a step.
void add_watched(events::Summary& summary, const nlohmann::ordered_json& watched) {
  for (const auto& [kind, values] : watched.items()) {
    for (const auto& [name, of] : values.items()) {
      for (const auto& [figure, value] : of.items()) {
        if (figure != "from" && figure != "to" && figure != "mean" && figure != "deviation") {
          add_value(summary, "watch/" + figure + "/" + name, value);
        }
      }
      add_histogram(summary, "watch/" + kind + "/" + name, of);
    }
  }
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t rest = 0xFFFFFFFFu;
  for (const char c : bytes) rest = kTable[(rest ^ static_cast<unsigned char>(c)) & 0xFF] ^ (rest >> 8);
  return ~rest;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

EventLog::EventLog(const std::string& folder) {
  make_folders(folder);
  std::error_code ignored;
  for (const std::string& name : names_in(folder)) {
    if (name.starts_with(kPrefix)) fs::remove(fs::path(folder) / name, ignored);
  }
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  path_ = fmt::format("{}/{}{:.0f}.{}.{}", folder, kPrefix, now(), host[0] != '\0' ? host.data() : "localhost", getpid());
  file_ = uninterrupted([this] { return open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); });
  if (file_ < 0) unwritable_file(path_, "write", errno);
  events::Event first;
  first.set_wall_time(now());
  first.set_file_version("brain.Event:2");
  write_record(first.SerializeAsString());
}

EventLog::~EventLog() {
  if (file_ >= 0) close(file_);
}

void EventLog::write(const nlohmann::ordered_json& line) {
  if (!line.contains("step")) return;
  events::Event event;
  event.set_wall_time(now());
  event.set_step(line["step"].get<std::int64_t>());
  const bool epoch = !line.contains("gradient_norm");  // a line about a whole epoch
  for (const auto& [key, value] : line.items()) {
    if (key == "step" || key == "epoch") continue;
    if (key == "watch") {
      add_watched(*event.mutable_summary(), value);
    } else if (value.is_object()) {
      for (const auto& [name, figure] : value.items()) add_value(*event.mutable_summary(), key + "/" + name, figure);
    } else if (!epoch || key == "loss") {
      add_value(*event.mutable_summary(), epoch ? "epoch/loss" : "train/" + key, value);
    }
  }
  write_record(event.SerializeAsString());
}

void EventLog::write_record(const std::string& event) {
  std::string record;
  append(record, event.size(), 8);
  append(record, masked_crc32c(record), 4);
  record += event;
  append(record, masked_crc32c(event), 4);
  if (write_some(file_, record.data(), record.size()) < record.size()) unwritable_file(path_, "write", errno);
}

}  // namespace graphrun
