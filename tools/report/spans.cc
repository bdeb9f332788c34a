#include "tools/report/spans.h"

#include <algorithm>

namespace graphrun {

std::optional<Tag> parse_tag(std::string_view text) {
  if (text == "O" || text == ".") return Tag{};
  constexpr std::string_view kPlaces = "BIES";
  if (text.empty() || kPlaces.find(text[0]) == std::string_view::npos) return std::nullopt;
  if (text.size() == 1) return Tag{text[0], ""};
  if (text[1] != '-') return std::nullopt;
  return Tag{text[0], std::string(text.substr(2))};
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

using Word = std::span<const std::int32_t>;

std::vector<Word> words_of(const std::vector<std::int64_t>& ends, std::span<const std::int32_t> characters) {
  std::vector<Word> words;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    words.push_back(characters.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    begin = end;
  }
  return words;
}

bool equal(const Word& a, const Word& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

std::int64_t longest_common(std::vector<Word> a, std::vector<Word> b) {
  // Equal beginnings and ends need no table.
  std::size_t begin = 0, end = 0;
  const std::size_t most = std::min(a.size(), b.size());
  while (begin < most && equal(a[begin], b[begin])) ++begin;
  while (end < most - begin && equal(a[a.size() - 1 - end], b[b.size() - 1 - end])) ++end;
  std::vector<std::int64_t> last(b.size() - begin - end + 1), row(last.size());
  for (std::size_t i = begin; i + end < a.size(); ++i) {
    for (std::size_t j = begin; j + end < b.size(); ++j) {
      const std::size_t k = j - begin;
      row[k + 1] = equal(a[i], b[j]) ? last[k] + 1 : std::max(last[k + 1], row[k]);
    }
    std::swap(last, row);
  }
  return static_cast<std::int64_t>(begin + end) + last.back();
}

}  // namespace

std::int64_t common_words(const std::vector<std::int64_t>& gold, const std::vector<std::int64_t>& predicted,
                          std::span<const std::int32_t> characters) {
  if (!characters.empty()) return longest_common(words_of(gold, characters), words_of(predicted, characters));
  std::int64_t common = 0, gold_begin = 0, predicted_begin = 0;
  for (std::size_t i = 0, j = 0; i < gold.size() && j < predicted.size();) {
    if (gold[i] == predicted[j]) {
      common += gold_begin == predicted_begin;
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
