#include "tools/text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/status.h"
#include "tools/text/lines.h"
#include "tools/text/utf8.h"

namespace graphrun {

// A vocabulary is stored as lines of text.
const char* wrong_with_entry(std::string_view entry) {
  if (entry.empty()) return "is empty";
  if (entry.find('\n') != std::string_view::npos) return "has a line end";
  if (entry.size() > kLongestLine) return "is longer than a line may be, 1 MiB";
  if (const auto bad = first_bad_byte(entry)) return entry[*bad] == '\0' ? "has a NUL byte" : "is not UTF-8";
  return nullptr;
}

Vocabulary::Vocabulary(std::vector<std::string> entries, bool closed, std::string name) : entries_(std::move(entries)) {
  if (size() > kMostEntries)
    throw UserError(ExitCode::kBadData, "E0646 vocabulary-too-large",
                    fmt::format("the vocabulary of {} has {} entries; at most {} are possible", name, size(), kMostEntries));
  numbers_.reserve(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::string& entry = entries_[i];
    if (const char* const wrong = wrong_with_entry(entry))
      throw UserError(ExitCode::kBadData, "E0645 bad-vocabulary-entry",
                      fmt::format("entry {} of the vocabulary of {} {}", i + 1, name, wrong));
    const auto [known, added] = numbers_.emplace(entry, static_cast<std::int32_t>(i));
    if (!added)
      throw UserError(
          ExitCode::kBadData, "E0645 bad-vocabulary-entry",
          fmt::format("the vocabulary of {} has '{}' twice: entries {} and {}", name, entry, known->second + 1, i + 1));
  }
  if (closed) return;
  const auto unknown = numbers_.find(kUnknown);
  if (unknown == numbers_.end())
    throw UserError(ExitCode::kBadData, "E0647 no-unknown-entry",
                    fmt::format("the vocabulary of {} is open but has no entry '{}'", name, kUnknown));
  unknown_ = unknown->second;
}

std::int32_t Vocabulary::number(std::string_view entry) const {
  const auto known = numbers_.find(entry);
  return known == numbers_.end() ? unknown_ : known->second;
}

const std::string& Vocabulary::entry(std::int64_t number) const {
  GRAPHRUN_CHECK(number >= 0 && number < size(), fmt::format("no vocabulary entry {} of {}", number, size()));
  return entries_[static_cast<std::size_t>(number)];
}

std::string Vocabulary::text_of(std::span<const std::int32_t> numbers) const {
  std::vector<std::string> entries;
  for (const std::int32_t number : numbers) entries.push_back(entry(number));
  return joined(entries, form_);
}

std::string TextForm::part(const std::string& entry, bool& continues) const {
  std::string part = spaces && !continues ? " " : "";
  continues = !joiner.empty() && entry.size() > joiner.size() && entry.ends_with(joiner);
  return part.append(entry, 0, continues ? entry.size() - joiner.size() : entry.size());
}

std::string joined(const std::vector<std::string>& entries, const TextForm& form) {
  if (form.subwords) return form.subwords->text_of(entries);
  std::string text;
  bool continues = true;
  for (const std::string& entry : entries) text += form.part(entry, continues);
  return text;
}

std::string Vocabulary::text() const {
  std::string text;
  for (const std::string& entry : entries_) text.append(entry).push_back('\n');
  return text;
}

namespace {

// Reports mistakes in a user's file, with their lines.
void check_lines(const std::string& path, const std::vector<std::string>& entries) {
  std::unordered_map<std::string_view, std::size_t> lines;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto line = static_cast<std::int64_t>(i) + 1;
    if (entries[i].empty()) data_error("E0645 bad-vocabulary-entry", path, line, 0, "an empty line; expected an entry");
    const auto [known, added] = lines.emplace(entries[i], i + 1);
    if (!added)
      data_error("E0645 bad-vocabulary-entry", path, line, 0,
                 fmt::format("'{}' is also in line {}", entries[i], known->second));
  }
}

}  // namespace

Vocabulary Vocabulary::read(const std::string& path, bool closed, const std::vector<std::string>& special, bool exact) {
  std::vector<std::string> entries = read_lines(path, exact ? LineReader::Mode::kExact : LineReader::Mode::kText);
  if (!exact) {
    check_lines(path, entries);
    std::vector<std::string> first = special;
    if (!closed) first.emplace_back(kUnknown);
    std::erase_if(first, [&](const std::string& s) { return std::find(entries.begin(), entries.end(), s) != entries.end(); });
    entries.insert(entries.begin(), first.begin(), first.end());
  }
  return Vocabulary(std::move(entries), closed, "'" + path + "'");
}

namespace {

// The special entries and, if open, <unk>.
std::vector<std::string> first_entries(const VocabularyRules& rules) {
  std::vector<std::string> entries;
  const auto add = [&](std::string_view entry) {
    if (std::find(entries.begin(), entries.end(), entry) == entries.end()) entries.emplace_back(entry);
  };
  for (const std::string& entry : rules.special) add(entry);
  if (!rules.closed) add(kUnknown);
  return entries;
}

}  // namespace

Vocabulary vocabulary_of_subwords(std::shared_ptr<const Subwords> subwords, const VocabularyRules& rules,
                                  const std::string& name) {
  std::vector<std::string> entries = first_entries(rules);
  const std::size_t special = entries.size();
  // A model may have a special entry as a piece too.
  for (std::string& piece : subwords->entries())
    if (std::find(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(special), piece) ==
        entries.begin() + static_cast<std::ptrdiff_t>(special))
      entries.push_back(std::move(piece));
  Vocabulary vocabulary(std::move(entries), rules.closed, "field '" + name + "'");
  vocabulary.set_form({true, "", std::move(subwords)});
  return vocabulary;
}

std::int32_t VocabularyCounter::add(std::string_view entry) {
  auto known = numbers_.find(entry);
  if (known == numbers_.end()) {
    known = numbers_.emplace(entry, static_cast<std::int32_t>(entries_.size())).first;
    entries_.push_back(&*known);
    counts_.push_back(0);
  }
  ++counts_[static_cast<std::size_t>(known->second)];
  return known->second;
}

std::vector<std::int32_t> VocabularyCounter::numbers_in(const Vocabulary& vocabulary) const {
  std::vector<std::int32_t> numbers;
  numbers.reserve(entries_.size());
  for (const auto* entry : entries_) numbers.push_back(vocabulary.number(entry->first));
  return numbers;
}

Vocabulary VocabularyCounter::build(const VocabularyRules& rules, const std::string& name) const {
  std::vector<std::string> entries = first_entries(rules);

  std::vector<std::pair<std::string_view, std::int64_t>> counted;
  for (const auto& [entry, number] : numbers_) {
    const std::int64_t count = counts_[static_cast<std::size_t>(number)];
    if (count >= rules.min_count && std::find(entries.begin(), entries.end(), entry) == entries.end())
      counted.emplace_back(entry, count);
  }
  std::sort(counted.begin(), counted.end(),
            [](const auto& a, const auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
  for (const auto& [entry, count] : counted) {
    if (rules.size > 0 && static_cast<std::int64_t>(entries.size()) >= rules.size) break;
    entries.emplace_back(entry);
  }
  return Vocabulary(std::move(entries), rules.closed, "field '" + name + "'");
}

}  // namespace graphrun
