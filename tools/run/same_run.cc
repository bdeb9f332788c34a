#include "tools/run/same_run.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/frontend/source.h"
#include "runtime/base/file.h"
#include "runtime/tensor/checkpoint.h"
#include "tools/job/data_spec.h"
#include "tools/job/defaults.h"
#include "tools/json/json.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostNotes = 8;
constexpr std::uint64_t kLargestDataRecord = std::uint64_t{1} << 24;  // bytes of data.json

[[noreturn]] void other(const std::string& code, const std::string& text, std::vector<std::string> notes) {
  notes.push_back(
      "help: only train.epochs, train.updates, train.hours, train.checkpoint, train.shard_optimizer, train.validate.samples "
      "and "
      "doc may change; else begin a run in another folder");
  throw UserError(ExitCode::kUsage, code, text, std::move(notes));
}

// The message without what may change, and with absolute paths. A run's folder has the tables of shortlists under other names.
Job comparable(const LoadedJob& job) {
  Job message;
  GRAPHRUN_CHECK(google::protobuf::TextFormat::ParseFromString(dump_job(job, true), &message), "comparable");
  fill_defaults(message);  // folders of older programs lack defaults
  copy_changeable(Job(), message);
  for (Job::Infer& infer : *message.mutable_infer()) {
    if (infer.generate().has_shortlist()) infer.mutable_generate()->mutable_shortlist()->set_table("table");
  }
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

// The number of the first line in which two texts differ, from 1.
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

// The files that a run only reads when it begins, because its folder keeps their contents.
std::vector<std::string> beginnings(const LoadedJob& job) {
  std::vector<std::string> files;
  const auto add = [&](const std::string& path) {
    if (!path.empty() && std::find(files.begin(), files.end(), path) == files.end()) files.push_back(path);
  };
  const auto in_job = [&](const std::string& path) { return path.empty() ? path : path_in(job.folder, path); };
  for (const Job::Field& field : job.message.data().field()) {
    add(in_job(field.vocabulary().file()));
    add(in_job(field.vocabulary().model()));
  }
  for (const Job::Infer& infer : job.message.infer()) add(in_job(infer.generate().shortlist().table()));
  for (const Job::Initialize& rule : job.message.train().initialize()) add(in_job(rule.vectors()));
  for (const Job::Start& start : job.message.train().start()) {
    const ModelLayout layout{in_job(start.model())};
    add(layout.manifest());
    if (const auto best = newest_sound(layout.root, "best").folder) add(*best + "/parameters.safetensors");
  }
  return files;
}

struct Recorded {
  std::string path, sha256;
  std::uint64_t bytes = 0;
};

[[noreturn]] void no_record(const ModelLayout& layout) {
  throw UserError(ExitCode::kBadData, "E0665 damaged-model", fmt::format("'{}' records no files", layout.data()));
}

std::vector<Recorded> recorded_files(const nlohmann::json& list, const ModelLayout& layout) {
  if (!list.is_array()) no_record(layout);
  std::vector<Recorded> files;
  for (const auto& file : list) {
    const auto has = [&](const char* name) { return file.is_object() && file.contains(name); };
    if (!has("path") || !file["path"].is_string() || !has("sha256") || !file["sha256"].is_string() || !has("bytes") ||
        !file["bytes"].is_number_unsigned()) {
      no_record(layout);
    }
    files.push_back({file["path"], file["sha256"], file["bytes"].get<std::uint64_t>()});
  }
  return files;
}

std::string changed(const Recorded& file, const FileDigest& now) {
  return fmt::format("'{}' has changed: {} bytes, then {}", file.path, now.bytes, file.bytes);
}

}  // namespace

void copy_changeable(const Job& from, Job& to) {
  to.set_doc(from.doc());
  if (!to.has_train()) return;
  const Job::Train& train = from.train();
  Job::Train& changed = *to.mutable_train();
  changed.set_epochs(train.epochs());
  changed.set_updates(train.updates());
  changed.set_hours(train.hours());
  *changed.mutable_checkpoint() = train.checkpoint();
  changed.set_shard_optimizer(train.shard_optimizer());  // the results have the same bits
  if (changed.has_validate()) changed.mutable_validate()->set_samples(train.validate().samples());
}

std::string data_digests(const LoadedJob& job) {
  const auto digests = [](const std::vector<std::string>& names) {
    nlohmann::ordered_json files = nlohmann::ordered_json::array();
    for (const std::string& name : names) {
      const FileDigest digest = digest_file(name);
      const std::string path = std::filesystem::absolute(name).lexically_normal().string();
      files.push_back({{"path", path}, {"bytes", digest.bytes}, {"sha256", digest.sha256}});
    }
    return files;
  };
  std::vector<std::string> data;
  for (const auto* part : {&job.data.train, &job.data.valid, &job.data.test}) {
    data.insert(data.end(), part->begin(), part->end());
  }
  return json_text(nlohmann::ordered_json{{"files", digests(data)}, {"beginnings", digests(beginnings(job))}}, 1) + "\n";
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
    if (!is_there(kept)) {
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

void check_same_data(const ModelLayout& layout, std::vector<Diagnostic>& warnings) {
  if (!is_there(layout.data())) return;
  const auto recorded = parse_json_or_discard(read_file(layout.data(), kLargestDataRecord));
  if (!recorded.is_object() || !recorded.contains("files")) no_record(layout);
  std::vector<std::string> notes;
  for (const Recorded& file : recorded_files(recorded["files"], layout)) {
    const FileDigest digest = digest_file(file.path);
    if (file.sha256 != digest.sha256) notes.push_back("note: " + changed(file, digest));
  }
  if (!notes.empty()) {
    other("E0524 other-data", fmt::format("the run in '{}' was begun with other data", layout.root), std::move(notes));
  }
  if (!recorded.contains("beginnings")) return;
  for (const Recorded& file : recorded_files(recorded["beginnings"], layout)) {
    const bool gone = !is_there(file.path);
    const FileDigest digest = gone ? FileDigest() : digest_file(file.path);
    if (!gone && file.sha256 == digest.sha256) continue;
    warnings.push_back({Severity::kWarning,
                        "E0524 other-data",
                        {},
                        gone ? fmt::format("'{}' is gone", file.path) : changed(file, digest),
                        {fmt::format("note: the run in '{}' continues with what it took from it when it began", layout.root)}});
  }
}

}  // namespace graphrun
