#include "tools/report/spans.h"

#include <algorithm>
#include <utility>

namespace graphrun {

std::optional<Tag> parse_tag(std::string_view text) {
  if (text == "O" || text == ".") return Tag{};
  constexpr std::string_view kPlaces = "BIESMLU", kMeant = "BIESIES";
  const std::size_t place = text.empty() ? std::string_view::npos : kPlaces.find(text[0]);
  if (place == std::string_view::npos) return std::nullopt;
  if (text.size() == 1) return Tag{kMeant[place], ""};
  if (text[1] != '-') return std::nullopt;
  return Tag{kMeant[place], std::string(text.substr(2))};
}

namespace {

// conlleval's endOfChunk and startOfChunk: `before` and `tag` are neighbours.
bool ends_between(const Tag& before, const Tag& tag) {
  if (before.place == 'O') return false;
  if (before.place == 'E' || before.place == 'S') return true;
  return tag.place == 'B' || tag.place == 'S' || tag.place == 'O' || before.kind != tag.kind;
}

bool starts_between(const Tag& before, const Tag& tag) {
  if (tag.place == 'O') return false;
  if (tag.place == 'B' || tag.place == 'S') return true;
  return before.place == 'O' || before.place == 'E' || before.place == 'S' || before.kind != tag.kind;
}

}  // namespace

std::vector<Span> spans_of(const std::vector<const Tag*>& tags) {
  static const Tag kOutside;
  std::vector<Span> spans;
  bool open = false;
  const Tag* before = &kOutside;
  for (std::size_t i = 0; i <= tags.size(); ++i) {
    const Tag* tag = i < tags.size() ? tags[i] : &kOutside;
    if (open && ends_between(*before, *tag)) {
      spans.back().end = static_cast<std::int64_t>(i);
      open = false;
    }
    if (starts_between(*before, *tag)) {
      spans.push_back({static_cast<std::int64_t>(i), 0, tag->kind});
      open = true;
    }
    before = tag;
  }
  return spans;
}

std::vector<std::int64_t> word_ends(std::string_view places) {
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const char next = i + 1 < places.size() ? places[i + 1] : 'B';
    if (places[i] == 'E' || places[i] == 'S' || next == 'B' || next == 'S') ends.push_back(static_cast<std::int64_t>(i) + 1);
  }
  return ends;
}

namespace {

struct Word {
  std::int64_t begin = 0;
  std::span<const std::int32_t> characters;
};

std::vector<Word> words_of(const std::vector<std::int64_t>& ends, std::span<const std::int32_t> characters) {
  std::vector<Word> words;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    words.push_back({begin, characters.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))});
    begin = end;
  }
  return words;
}

// A longest common subsequence of two lists of words: which of `gold` are in it.
class CommonWords {
 public:
  CommonWords(std::vector<Word> gold, std::vector<Word> predicted, std::int32_t unknown)
      : gold_(std::move(gold)), predicted_(std::move(predicted)), unknown_(unknown) {}

  std::vector<bool> find() {
    std::vector<bool> common(gold_.size());
    // Equal beginnings and ends need no table.
    const std::size_t most = std::min(gold_.size(), predicted_.size());
    while (begin_ < most && equal(begin_, begin_)) common[begin_++] = true;
    while (end_ < most - begin_ && equal(gold_.size() - 1 - end_, predicted_.size() - 1 - end_))
      common[gold_.size() - 1 - end_++] = true;
    fill_table();
    for (std::size_t i = 0, j = 0; i < rows_ && j < columns_;) {
      if (equal(begin_ + i, begin_ + j))
        common[begin_ + i++] = true, ++j;
      else if (longest(i + 1, j) >= longest(i, j + 1))
        ++i;
      else
        ++j;
    }
    return common;
  }

 private:
  bool equal(std::size_t i, std::size_t j) const {
    const Word &a = gold_[i], &b = predicted_[j];
    if (!std::equal(a.characters.begin(), a.characters.end(), b.characters.begin(), b.characters.end())) return false;
    return a.begin == b.begin || std::find(a.characters.begin(), a.characters.end(), unknown_) == a.characters.end();
  }

  // The longest of what is left of both from here on.
  std::int32_t& longest(std::size_t i, std::size_t j) { return table_[i * (columns_ + 1) + j]; }

  void fill_table() {
    rows_ = gold_.size() - begin_ - end_, columns_ = predicted_.size() - begin_ - end_;
    table_.assign((rows_ + 1) * (columns_ + 1), 0);
    for (std::size_t i = rows_; i-- > 0;)
      for (std::size_t j = columns_; j-- > 0;)
        longest(i, j) =
            equal(begin_ + i, begin_ + j) ? longest(i + 1, j + 1) + 1 : std::max(longest(i + 1, j), longest(i, j + 1));
  }

  std::vector<Word> gold_, predicted_;
  std::int32_t unknown_;
  std::size_t begin_ = 0, end_ = 0, rows_ = 0, columns_ = 0;
  std::vector<std::int32_t> table_;
};

}  // namespace

std::vector<bool> common_words(const std::vector<std::int64_t>& gold, const std::vector<std::int64_t>& predicted,
                               std::span<const std::int32_t> characters, std::int32_t unknown) {
  if (!characters.empty()) return CommonWords(words_of(gold, characters), words_of(predicted, characters), unknown).find();
  std::vector<bool> common(gold.size());
  std::int64_t gold_begin = 0, predicted_begin = 0;
  for (std::size_t i = 0, j = 0; i < gold.size() && j < predicted.size();) {
    if (gold[i] == predicted[j]) {
      common[i] = gold_begin == predicted_begin;
      gold_begin = gold[i++], predicted_begin = predicted[j++];
    } else if (gold[i] < predicted[j]) {
      gold_begin = gold[i++];
    } else {
      predicted_begin = predicted[j++];
    }
  }
  return common;
}

}  // namespace graphrun
