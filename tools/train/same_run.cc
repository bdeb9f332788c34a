#include "tools/train/same_run.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/frontend/source.h"
#include "runtime/file.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostNotes = 8;
constexpr std::uint64_t kLargestRecord = std::uint64_t{1} << 24;  // bytes of data.json

[[noreturn]] void other(const std::string& code, const std::string& text, std::vector<std::string> notes) {
  notes.push_back("help: only train.epochs may change; else begin a run in another folder");
  throw UserError(ExitCode::kUsage, code, text, std::move(notes));
}

// The message without what may change, its files by paths from the root.
Job comparable(const LoadedJob& job) {
  Job message;
  GRAPHRUN_CHECK(google::protobuf::TextFormat::ParseFromString(dump_job(job, true), &message), "comparable");
  if (message.has_train()) message.mutable_train()->clear_epochs();
  return message;
}

// "modified: train.seed: 1 -> 5" as a note.
std::string note_of(const std::string& difference) {
  const std::size_t colon = difference.find(": ");
  const std::string kind = difference.substr(0, colon), rest = colon == std::string::npos ? "" : difference.substr(colon + 2);
  const std::size_t value = rest.find(": ");
  const std::string field = rest.substr(0, value), what = value == std::string::npos ? "" : rest.substr(value + 2);
  if (kind == "added") return fmt::format("note: {} is new: {}", field, what);
  if (kind == "deleted") return fmt::format("note: {} is gone: {}", field, what);
  return fmt::format("note: {}: {}", field, what);
}

// The first line in which two texts differ, from 1.
int first_difference(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  std::string x, y;
  for (int line = 1;; ++line) {
    const bool more = static_cast<bool>(std::getline(left, x)), other_more = static_cast<bool>(std::getline(right, y));
    if (more != other_more || !more || x != y) return line;
  }
}

std::string line_of(const std::string& text, int number) {
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i < number; ++i) {
    if (!std::getline(lines, line)) return "nothing: the file is shorter";
  }
  return "'" + line + "'";
}

}  // namespace

std::string data_digests(const DataSpec& data) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const auto* part : {&data.train, &data.valid, &data.test}) {
    for (const std::string& name : *part) {
      const FileDigest digest = digest_file(name);
      const std::string path = std::filesystem::absolute(name).lexically_normal().string();
      files.push_back({{"path", path}, {"bytes", digest.bytes}, {"sha256", digest.sha256}});
    }
  }
  return nlohmann::ordered_json{{"files", files}}.dump(1) + "\n";
}

void check_same_job(const LoadedJob& job, const LoadedJob& begun, const std::string& folder) {
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_message_field_comparison(google::protobuf::util::MessageDifferencer::EQUIVALENT);
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(comparable(begun), comparable(job))) return;
  std::vector<std::string> notes;
  std::istringstream lines(differences);
  for (std::string line; notes.size() < kMostNotes && std::getline(lines, line);) notes.push_back(note_of(line));
  other("E0523 other-job", fmt::format("the run in '{}' was begun with another job", folder), std::move(notes));
}

void check_same_graphs(LoadedJob job, const Network& begun, const ModelLayout& layout) {
  Network now;
  now.vocabularies = begun.vocabularies;
  now.job = std::move(job);
  GraphSources sources;
  load_graph(now.request(true), nullptr, &sources);
  for (const SourceFile& file : sources.files) {
    const std::string kept = layout.graphs() + "/" + file.path;
    if (!std::filesystem::exists(kept)) {
      other("E0523 other-job", fmt::format("the run in '{}' was begun with other graphs", layout.root),
            {fmt::format("note: {} is new", file.path)});
    }
    const std::string before = read_source(kept);
    if (before == file.text) continue;
    const int line = first_difference(file.text, before);
    other("E0523 other-job",
          fmt::format("the run in '{}' was begun with other graphs: {} has changed at line {}", layout.root, file.path, line),
          {"note: now " + line_of(file.text, line), "note: in the run " + line_of(before, line)});
  }
}

void check_same_data(const ModelLayout& layout) {
  if (!std::filesystem::exists(layout.data())) return;
  const auto recorded = nlohmann::json::parse(read_file(layout.data(), kLargestRecord), nullptr, false);
  const auto damaged = [&] {
    throw UserError(ExitCode::kBadData, "E0665 damaged-model", fmt::format("'{}' records no files", layout.data()));
  };
  if (!recorded.is_object() || !recorded.contains("files") || !recorded["files"].is_array()) damaged();
  std::vector<std::string> notes;
  for (const auto& file : recorded["files"]) {
    if (!file.is_object() || !file.contains("path") || !file["path"].is_string()) damaged();
    const std::string path = file["path"];
    const FileDigest digest = digest_file(path);
    if (!file.contains("bytes") || !file["bytes"].is_number_unsigned() || !file.contains("sha256")) damaged();
    if (file["sha256"] == digest.sha256) continue;
    notes.push_back(
        fmt::format("note: '{}' has changed: {} bytes, then {}", path, digest.bytes, file["bytes"].get<std::uint64_t>()));
  }
  if (!notes.empty()) {
    other("E0524 other-data", fmt::format("the run in '{}' was begun with other data", layout.root), std::move(notes));
  }
}

}  // namespace graphrun
