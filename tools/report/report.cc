#include "tools/report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/report/formula.h"
#include "tools/report/grouped.h"

namespace graphrun {

Report::Report(const std::vector<ir::Binding>& entries, std::vector<Diagnostic>& problems) {
  const auto problem = [&](std::string code, const Location& at, std::string text) {
    problems.push_back({Severity::kError, std::move(code), at, std::move(text), {}});
  };
  for (const ir::Binding& binding : entries) {
    const auto same = [&](const Entry& e) { return e.name == binding.name; };
    if (!binding.named || binding.name.empty()) {
      problem("E0414 bad-report", binding.at, "a report without a name; expected NAME = FORMULA");
      continue;
    }
    if (std::any_of(entries_.begin(), entries_.end(), same)) {
      problem("E0416 named-twice", binding.at, fmt::format("a second report '{}'", binding.name));
      continue;
    }
    Entry entry{binding.name, binding.at, nullptr, nullptr, nullptr};
    try {
      if (is_text_measure(binding.value)) {
        auto text = make_text_measure(binding.value, binding.by ? &*binding.by : nullptr);
        entry.text = text.get();
        entry.measure = std::move(text);
      } else if (binding.by) {
        auto grouped = make_grouped(binding.value, *binding.by);
        entry.named = grouped.get();
        entry.measure = std::move(grouped);
      } else if (is_named_measure(binding.value)) {
        auto named = make_named_measure(binding.value);
        entry.named = named.get();
        entry.measure = std::move(named);
      } else {
        entry.measure = make_formula(binding.value);
      }
    } catch (const UserError& error) {
      problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
      continue;
    }
    entries_.push_back(std::move(entry));
  }
}

std::vector<NameUse> Report::names() const {
  std::vector<NameUse> names;
  for (const Entry& entry : entries_) {
    const auto& used = entry.measure->names();
    names.insert(names.end(), used.begin(), used.end());
  }
  return names;
}

std::vector<NameUse> Report::labels() const {
  std::vector<NameUse> labels;
  for (const Entry& entry : entries_) {
    if (entry.named == nullptr) continue;
    const std::vector<NameUse> of_entry = entry.named->labels();
    labels.insert(labels.end(), of_entry.begin(), of_entry.end());
  }
  return labels;
}

void Report::check_names(const std::vector<std::string>& available, std::vector<Diagnostic>& problems) const {
  for (const NameUse& use : names()) {
    if (use.name == kRowsName || std::find(available.begin(), available.end(), use.name) != available.end()) continue;
    Diagnostic d{Severity::kError, "E0412 unknown-name", use.at, fmt::format("no output or feed '{}'", use.name), {}};
    if (const std::string near = near_or_all(use.name, available); !near.empty()) d.notes.push_back("help: " + near);
    problems.push_back(std::move(d));
  }
}

void Report::bind(const VocabularyOf& vocabulary) {
  std::vector<Diagnostic> problems;
  for (Entry& entry : entries_) {
    if (!entry.named) continue;
    try {
      entry.named->bind(vocabulary);
    } catch (const UserError& error) {
      problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
}

std::vector<std::pair<std::string, std::vector<Table>>> Report::details() const {
  std::vector<std::pair<std::string, std::vector<Table>>> all;
  for (const Entry& entry : entries_) {
    if (auto tables = entry.measure->details(); !tables.empty()) all.emplace_back(entry.name, std::move(tables));
  }
  return all;
}

void Report::add(const BatchValues& values) {
  for (Entry& entry : entries_) entry.measure->add(values);
}

std::vector<TextMeasure*> Report::texts() const {
  std::vector<TextMeasure*> texts;
  for (const Entry& entry : entries_) {
    if (entry.text) texts.push_back(entry.text);
  }
  return texts;
}

TextMeasure* Report::text(const std::string& name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : found->text;
}

std::vector<std::string> Report::entry_names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

void Report::keep(const std::vector<std::string>& names) {
  std::erase_if(entries_, [&](const Entry& entry) { return std::find(names.begin(), names.end(), entry.name) == names.end(); });
}

std::set<std::string> Report::text_fields() const {
  std::set<std::string> fields;
  for (const TextMeasure* text : texts()) fields.insert(text->field().name);
  return fields;
}

std::vector<std::pair<std::string, double>> Report::results() const {
  std::vector<std::pair<std::string, double>> all;
  for (const Entry& entry : entries_) {
    for (const auto& [suffix, value] : entry.measure->results()) all.emplace_back(entry.name + suffix, value);
  }
  return all;
}

std::vector<std::pair<std::string, double>> Report::results_without_texts() const {
  std::vector<std::pair<std::string, double>> all;
  for (const Entry& entry : entries_) {
    if (entry.text != nullptr) continue;
    for (const auto& [suffix, value] : entry.measure->results()) all.emplace_back(entry.name + suffix, value);
  }
  return all;
}

double Report::result(const std::string& name) const {
  for (const auto& [known, value] : results()) {
    if (known == name) return value;
  }
  throw InternalError("no report '" + name + "'");
}

std::vector<std::string> Report::result_names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : results()) names.push_back(name);
  return names;
}

void Report::clear() {
  for (Entry& entry : entries_) entry.measure->clear();
}

nlohmann::json Report::state() const {
  nlohmann::json all = nlohmann::json::object();
  for (const Entry& entry : entries_) all[entry.name] = entry.measure->state();
  return all;
}

void Report::restore(const nlohmann::json& state) {
  for (Entry& entry : entries_) {
    try {
      entry.measure->restore(state.at(entry.name));
    } catch (const nlohmann::json::exception&) {
      throw UserError(ExitCode::kBadData, "E0651 bad-report-state", fmt::format("no sums of the report '{}'", entry.name));
    }
  }
}

}  // namespace graphrun
