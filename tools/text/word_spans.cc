#include "tools/text/word_spans.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "tools/text/text.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

constexpr std::string_view kSpaceOfPieces = "\xe2\x96\x81";  // U+2581, SentencePiece's sign for a space

std::string with_spaces(const std::string& piece) {
  std::string text;
  for (std::size_t i = 0; i < piece.size();) {
    const bool space = piece.compare(i, kSpaceOfPieces.size(), kSpaceOfPieces) == 0;
    text += space ? ' ' : piece[i];
    i += space ? kSpaceOfPieces.size() : 1;
  }
  return text;
}

// The entries as parts of one text, with spaces between words.
std::vector<std::string> parts_of(const std::vector<std::string>& entries, const TextForm& form, EntriesAre from) {
  std::vector<std::string> parts;
  bool continues = true;
  for (const std::string& entry : entries) {
    if (form.subwords) {
      const bool alone = from == EntriesAre::kMade && !form.subwords->is_piece(entry);
      parts.push_back(alone ? " " + entry + " " : with_spaces(entry));
      continue;
    }
    parts.push_back(form.part(entry, continues));
  }
  return parts;
}

}  // namespace

WordSpans word_spans(const std::vector<std::string>& entries, const TextForm& form, EntriesAre from) {
  WordSpans spans;
  bool inside = false;  // inside a word
  for (const std::string& part : parts_of(entries, form, from)) {
    std::optional<std::size_t> first;
    for (const std::string_view point : code_points(part)) {
      if (is_space(point)) {
        inside = false;
        continue;
      }
      if (!inside) spans.words.emplace_back();
      inside = true;
      spans.words.back() += point;
      if (!first) first = spans.words.size() - 1;
    }
    const std::size_t words = spans.words.size();
    spans.of.push_back(first ? WordSpan{*first, words} : WordSpan{words, words + 1});
  }
  for (WordSpan& span : spans.of) {  // white space at the end
    if (span.end > spans.words.size())
      span = {spans.words.size() - std::min<std::size_t>(1, spans.words.size()), spans.words.size()};
  }
  if (from == EntriesAre::kCut) return spans;
  // Some pieces, such as single bytes, are spelled differently from their text.
  std::vector<std::string> words = words_of(joined(entries, form));
  if (words.size() == spans.words.size()) spans.words = std::move(words);
  return spans;
}

}  // namespace graphrun
