// The entries of a field and their numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/text/subwords.h"

namespace graphrun {

inline constexpr std::string_view kUnknown = "<unk>";
inline constexpr std::int64_t kMostEntries = std::int64_t{1} << 24;

struct VocabularyRules {
  std::int64_t size = 0;             // at most so many entries, special ones and <unk> counted; 0: no limit
  std::int64_t min_count = 0;        // entries seen less often are left out
  bool closed = false;               // no <unk>: whatever is not in it is an error
  std::vector<std::string> special;  // stand first, whatever the data says
};

// How text is made of entries: with a space between them, or without; or the pieces that they are.
struct TextForm {
  bool spaces = true;
  std::string joiner;                        // an entry that ends so and the next one are one word; empty: none are
  std::shared_ptr<const Subwords> subwords;  // null: the entries are no pieces
};

// The text that these entries are of.
std::string joined(const std::vector<std::string>& entries, const TextForm& form);

// Of entries, which are looked up by views of them.
struct EntryHash : std::hash<std::string_view> {
  using is_transparent = void;
};

class Vocabulary {
 public:
  Vocabulary() = default;
  // Throws UserError (kBadData): two equal entries, an empty one (E0645), too many (E0646), no <unk> in an open one (E0647).
  // `name` is the field's or the file's, for messages.
  Vocabulary(std::vector<std::string> entries, bool closed, std::string name);

  // One entry a line. `exact`: as text() wrote it; else a file of the user's, with CR LF and a byte order mark tolerated, to
  // which the special entries and, if open, <unk> are added in front where they are missing.
  static Vocabulary read(const std::string& path, bool closed, const std::vector<std::string>& special = {},
                         bool exact = false);
  std::string text() const;

  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  bool closed() const { return unknown_ < 0; }
  // The entry's number; that of <unk> where it has none; -1 where it has none and the vocabulary is closed.
  std::int32_t number(std::string_view entry) const;
  std::int32_t unknown() const { return unknown_; }  // the number of <unk>; -1 where the vocabulary is closed
  bool has(std::string_view entry) const { return numbers_.find(entry) != numbers_.end(); }
  const std::string& entry(std::int64_t number) const;  // throws InternalError where there is none
  const std::vector<std::string>& entries() const { return entries_; }

  // The text that these entries are of.
  std::string text_of(std::span<const std::int32_t> numbers) const;
  const TextForm& form() const { return form_; }
  void set_form(TextForm form) { form_ = std::move(form); }

 private:
  std::vector<std::string> entries_;
  std::unordered_map<std::string, std::int32_t, EntryHash, std::equal_to<>> numbers_;
  std::int32_t unknown_ = -1;
  TextForm form_;
};

// The special entries, <unk> unless closed, and the pieces. Throws as Vocabulary's constructor.
Vocabulary vocabulary_of_subwords(std::shared_ptr<const Subwords> subwords, const VocabularyRules& rules,
                                  const std::string& name);

// Counts what the training data holds and makes a vocabulary of it: special entries, <unk>, then by falling count, equal counts
// in the order of their bytes.
class VocabularyCounter {
 public:
  VocabularyCounter() = default;
  // entries_ points into numbers_, which a move keeps and a copy would not.
  VocabularyCounter(VocabularyCounter&&) = default;
  VocabularyCounter& operator=(VocabularyCounter&&) = default;

  // Its number until then: entries are numbered as they come, from 0.
  std::int32_t add(std::string_view entry);
  const std::string& entry(std::int32_t number) const { return entries_[static_cast<std::size_t>(number)]->first; }
  // The number that each entry has in a vocabulary, by the one that add() gave it; -1: it has none there.
  std::vector<std::int32_t> numbers_in(const Vocabulary& vocabulary) const;
  Vocabulary build(const VocabularyRules& rules, const std::string& name) const;

 private:
  using Numbers = std::unordered_map<std::string, std::int32_t, EntryHash, std::equal_to<>>;
  Numbers numbers_;
  std::vector<const Numbers::value_type*> entries_;  // by number
  std::vector<std::int64_t> counts_;                 // by number
};

}  // namespace graphrun
