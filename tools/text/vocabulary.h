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
  std::int64_t size = 0;             // the most entries, including special ones and <unk>; 0: no limit
  std::int64_t min_count = 0;        // entries seen less often are left out
  bool closed = false;               // no <unk>: any other entry is an error
  std::vector<std::string> special;  // always the first entries
};

// How text is made from entries: with or without spaces between them, or from subword pieces.
struct TextForm {
  bool spaces = true;
  std::string joiner;                        // an entry that ends with it continues in the next one; may be empty
  std::shared_ptr<const Subwords> subwords;  // null if the entries are not pieces

  // An entry's part of the text, if the entries are not pieces: without the joiner, and after a space if a word begins.
  // `continues`: on entry, whether the previous entry continues in this one (true for the first); on return, whether this one
  // continues in the next.
  std::string part(const std::string& entry, bool& continues) const;
};

// The text that these entries make up.
std::string joined(const std::vector<std::string>& entries, const TextForm& form);

// Allows looking up entries by string_view.
struct EntryHash : std::hash<std::string_view> {
  using is_transparent = void;
};

// Why the text can't be an entry, which is a line of UTF-8: "is empty". Null if it can.
const char* wrong_with_entry(std::string_view entry);

class Vocabulary {
 public:
  Vocabulary() = default;
  // Throws UserError (kBadData): E0645 for equal entries and those that can't be one, E0646 for too many, E0647 for an open
  // vocabulary without <unk>. `name`: that of the field or file, for messages.
  Vocabulary(std::vector<std::string> entries, bool closed, std::string name);

  // Reads one entry per line. `exact`: a file written by text(). Otherwise a user's file, which may have CR LF and a byte order
  // mark; missing special entries and, if open, <unk> are added at the front.
  static Vocabulary read(const std::string& path, bool closed, const std::vector<std::string>& special = {},
                         bool exact = false);
  std::string text() const;

  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  bool closed() const { return unknown_ < 0; }
  // The number of the entry. An unknown entry gets the number of <unk>, or -1 if the vocabulary is closed.
  std::int32_t number(std::string_view entry) const;
  std::int32_t unknown() const { return unknown_; }  // the number of <unk>; -1 if the vocabulary is closed
  bool has(std::string_view entry) const { return numbers_.find(entry) != numbers_.end(); }
  const std::string& entry(std::int64_t number) const;  // throws InternalError if there is none
  const std::vector<std::string>& entries() const { return entries_; }

  // The text that these entries make up.
  std::string text_of(std::span<const std::int32_t> numbers) const;
  const TextForm& form() const { return form_; }
  void set_form(TextForm form) { form_ = std::move(form); }

 private:
  std::vector<std::string> entries_;
  std::unordered_map<std::string, std::int32_t, EntryHash, std::equal_to<>> numbers_;
  std::int32_t unknown_ = -1;
  TextForm form_;
};

// The special entries, <unk> unless closed, and the pieces. Throws like Vocabulary's constructor.
Vocabulary vocabulary_of_subwords(std::shared_ptr<const Subwords> subwords, const VocabularyRules& rules,
                                  const std::string& name);

// Counts the entries of the training data and makes a vocabulary: special entries, <unk>, then the others by descending count;
// ties are in byte order.
class VocabularyCounter {
 public:
  VocabularyCounter() = default;
  // entries_ points into numbers_; moving keeps these addresses, copying would not.
  VocabularyCounter(VocabularyCounter&&) = default;
  VocabularyCounter& operator=(VocabularyCounter&&) = default;

  // Returns a temporary number; entries are numbered in order of occurrence, from 0.
  std::int32_t add(std::string_view entry);
  const std::string& entry(std::int32_t number) const { return entries_[static_cast<std::size_t>(number)]->first; }
  // By the number from add(): the entry's number in a vocabulary, or -1 if it is not there.
  std::vector<std::int32_t> numbers_in(const Vocabulary& vocabulary) const;
  Vocabulary build(const VocabularyRules& rules, const std::string& name) const;

 private:
  using Numbers = std::unordered_map<std::string, std::int32_t, EntryHash, std::equal_to<>>;
  Numbers numbers_;
  std::vector<const Numbers::value_type*> entries_;  // by number
  std::vector<std::int64_t> counts_;                 // by number
};

}  // namespace graphrun
