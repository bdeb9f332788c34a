#include "tools/report/spans.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tools/report/common_subsequence.h"

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

// conlleval's endOfChunk and startOfChunk; `before` and `tag` are adjacent.
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

// The words of both segmentations as numbers; equal words have equal numbers.
class WordNumbers {
 public:
  WordNumbers(std::span<const std::int32_t> characters, std::int32_t unknown) : characters_(characters), unknown_(unknown) {}

  std::vector<std::int32_t> of(const std::vector<std::int64_t>& ends) {
    std::vector<std::int32_t> numbers;
    std::int64_t begin = 0;
    for (const std::int64_t end : ends) {
      const auto word = characters_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
      // A word with an unknown character is different at each position.
      const bool known = std::find(word.begin(), word.end(), unknown_) == word.end();
      const auto next = static_cast<std::int32_t>(numbers_.size());
      numbers.push_back(
          numbers_.emplace(std::pair(known ? -1 : begin, std::vector<std::int32_t>(word.begin(), word.end())), next)
              .first->second);
      begin = end;
    }
    return numbers;
  }

 private:
  const std::span<const std::int32_t> characters_;
  const std::int32_t unknown_;
  std::map<std::pair<std::int64_t, std::vector<std::int32_t>>, std::int32_t> numbers_;
};

}  // namespace

std::vector<bool> common_words(const std::vector<std::int64_t>& gold, const std::vector<std::int64_t>& predicted,
                               std::span<const std::int32_t> characters, std::int32_t unknown) {
  if (!characters.empty()) {
    WordNumbers numbers(characters, unknown);
    const std::vector<std::int32_t> a = numbers.of(gold), b = numbers.of(predicted);
    return common_subsequence(a, b);
  }
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
