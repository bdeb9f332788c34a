// Diagnostics and the changes that they suggest.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "runtime/base/suggestion.h"
#include "tools/lsp/features.h"

namespace graphrun::lsp {
namespace {

bool is_of_file(const Location& at, const std::string& path) {
  if (!at.known()) return false;
  if (*at.file == path) return true;
  std::error_code error;
  return std::filesystem::weakly_canonical(*at.file, error).string() == path && !error;
}

// The place in the file that a location is about, through the calls that lead there.
const Location* place_in(const Location& at, const std::string& path) {
  for (const Location* place = &at; place != nullptr; place = place->via) {
    if (is_of_file(*place, path)) return place;
  }
  return nullptr;
}

// The offsets of what a diagnostic underlines.
std::pair<std::size_t, std::size_t> span_of(std::string_view text, const TextPositions& positions, const Location& at) {
  const std::size_t begin = positions.offset_of_byte(at.line, at.column);
  std::size_t end = std::min(begin + static_cast<std::size_t>(std::max(at.length, 1)), text.size());
  const std::size_t line = text.find('\n', begin);
  return {begin, std::max(begin, std::min(end, line))};
}

// The words that a message quotes before it suggests others, the last first.
std::vector<std::string> quoted_words(std::string_view message) {
  message = message.substr(0, message.find("did you mean"));
  std::vector<std::string> words;
  for (std::size_t i = 0; (i = message.find('\'', i)) != std::string_view::npos; ++i) {
    if (i > 0 && part_of_name(message[i - 1])) continue;  // the graph's
    const std::size_t end = message.find('\'', i + 1);
    if (end == std::string_view::npos) break;
    if (end > i + 1) words.emplace(words.begin(), message.substr(i + 1, end - i - 1));
    i = end;
  }
  return words;
}

// The first place in [begin, end) where a word stands, not only a part of a longer one; npos if there is none.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t begin, std::size_t end) {
  for (std::size_t at = begin; (at = text.find(word, at)) != std::string_view::npos && at + word.size() <= end; ++at) {
    const std::size_t behind = at + word.size();
    if ((at == 0 || !part_of_name(text[at - 1])) && (behind == text.size() || !part_of_name(text[behind]))) return at;
  }
  return std::string_view::npos;
}

// The offsets of the word that a name is suggested for. A message may also quote the graph or the call that the word belongs
// to, and what it underlines, [from, to), may be more than the word, or only its first character. nullopt if the word is not
// there: then a change would destroy something else.
std::optional<std::pair<std::size_t, std::size_t>> misspelled_word(std::string_view text, const Diagnostic& d, std::size_t from,
                                                                   std::size_t to, const std::string& suggested) {
  // It suggests what the job does feed, which is the misspelled word itself; another warning is about that.
  if (d.code == "E0421 not-fed") return std::nullopt;
  const std::vector<std::string> words = quoted_words(d.text);
  const auto find = [&](std::size_t end, const auto& may_be) -> std::optional<std::pair<std::size_t, std::size_t>> {
    for (const std::string& word : words) {
      const std::size_t at = may_be(word) ? find_word(text, word, from, end) : std::string_view::npos;
      if (at != std::string_view::npos) return std::pair(at, at + word.size());
    }
    return std::nullopt;
  };
  if (const auto found = find(to, [](const std::string&) { return true; })) return found;
  const std::size_t line_end = std::min(text.find('\n', from), text.size());
  const auto resembles = [&](const std::string& word) { return !near_names(word, {suggested}).empty(); };
  if (const auto found = find(line_end, resembles)) return found;
  const std::string_view span = text.substr(from, to - from);
  if (words.empty() && !span.empty() && std::all_of(span.begin(), span.end(), part_of_name)) return std::pair(from, to);
  return std::nullopt;
}

}  // namespace

Json range_json(std::string_view text, std::size_t begin, std::size_t end, Encoding encoding) {
  const TextPositions positions(text);
  const auto json = [&](std::size_t offset) {
    const Position p = positions.position(offset, encoding);
    return Json{{"line", p.line}, {"character", p.character}};
  };
  return {{"start", json(begin)}, {"end", json(end)}};
}

Json range_json(std::string_view text, const Location& at, Encoding encoding) {
  const auto [begin, end] = span_of(text, TextPositions(text), at);
  return range_json(text, begin, end, encoding);
}

Json diagnostics_json(const Documents& documents, const std::string& path, const std::vector<Diagnostic>& diagnostics,
                      Encoding encoding) {
  const std::string text = documents.text_of(path);
  Json out = Json::array();
  // Where nothing leads to the other file but its name.
  const auto named = [&](const Location& at) {
    const std::string name = at.known() ? std::filesystem::path(*at.file).filename().string() : "";
    const std::size_t begin = name.empty() ? std::string::npos : text.find(name);
    return begin == std::string::npos ? range_json(text, 0, 0, encoding)
                                      : range_json(text, begin, begin + name.size(), encoding);
  };
  for (const Diagnostic& d : diagnostics) {
    const Location* const place = place_in(d.at, path);
    std::string message = d.text;
    if (d.at.known() && place != &d.at) message = fmt::format("{}: {}", d.at.str(), message);
    for (const std::string& note : d.notes) message += "\n" + note;
    Json json = {{"range", place != nullptr ? range_json(text, *place, encoding) : named(d.at)},
                 {"severity", d.severity == Severity::kError ? 1 : 2},
                 {"source", "graphrun"},
                 {"message", message}};
    if (!d.code.empty()) json["code"] = d.code.substr(0, d.code.find(' '));
    if (d.at.known() && place != &d.at) {
      std::error_code error;
      const std::string other = std::filesystem::weakly_canonical(*d.at.file, error).string();
      json["relatedInformation"] = Json::array(
          {{{"location", {{"uri", documents.uri_of(other)}, {"range", range_json(documents.text_of(other), d.at, encoding)}}},
            {"message", d.text}}});
    }
    out.push_back(std::move(json));
  }
  return out;
}

Json code_actions(Workspace& workspace, const std::string& path, std::size_t begin, std::size_t end) {
  const Analysis& a = workspace.analysis(path, Depth::kMeanings);
  const TextPositions positions(a.text);
  Json out = Json::array();
  const auto add = [&](const Diagnostic& d, const std::string& title, std::size_t from, std::size_t to, const std::string& text,
                       bool preferred) {
    const Json edit = {{"range", range_json(a.text, from, to, workspace.encoding())}, {"newText", text}};
    out.push_back({{"title", title},
                   {"kind", "quickfix"},
                   {"isPreferred", preferred},
                   {"diagnostics", diagnostics_json(workspace.documents(), path, {d}, workspace.encoding())},
                   {"edit", {{"changes", {{workspace.documents().uri_of(path), Json::array({edit})}}}}}});
  };
  for (const Diagnostic& d : a.diagnostics) {
    if (!is_of_file(d.at, path)) continue;
    const auto [from, to] = span_of(a.text, positions, d.at);
    if (to < begin || from > end) continue;
    bool first = true;
    std::vector<std::string> notes = d.notes;
    notes.push_back(d.text);
    for (const std::string& note : notes) {
      for (const std::string& name : suggested_names(note)) {
        const auto word = misspelled_word(a.text, d, from, to, name);
        if (!word) continue;
        add(d, fmt::format("Replace with '{}'", name), word->first, word->second, name, first);
        first = false;
      }
    }
    for (const std::string& note : d.notes) {
      constexpr std::string_view kQuotes = "help: put it in quotes: ";
      if (note.starts_with(kQuotes)) add(d, "Put it in quotes", from, to, note.substr(kQuotes.size()), true);
    }
  }
  return out;
}

}  // namespace graphrun::lsp
