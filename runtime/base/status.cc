#include "runtime/base/status.h"

#include <sys/stat.h>
#include <utf8proc.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "runtime/base/compressed.h"
#include "runtime/base/file.h"
#include "runtime/base/suggestion.h"

namespace graphrun {
namespace {

constexpr int kTabStop = 4;
constexpr int kWidestLine = 160;           // columns of a source line shown in a message
constexpr std::size_t kLongestName = 256;  // longer names are never suggested
constexpr std::size_t kLongestLine = 1 << 20;

struct InternTables {
  std::mutex mutex;
  std::set<std::string, std::less<>> files;
  std::map<std::string, std::string, std::less<>> texts;  // by the name used in place of a path
  // By content; a set never moves its elements.
  struct LocationLess {
    bool operator()(const Location& a, const Location& b) const {
      return std::tie(a.file, a.line, a.column, a.length, a.via) < std::tie(b.file, b.line, b.column, b.length, b.via);
    }
  };
  std::set<Location, LocationLess> locations;
};

InternTables& intern_tables() {
  static InternTables* const tables = new InternTables;  // never destroyed: locations live as long as the program
  return *tables;
}

// The text interned under this name, if the name is not a file's.
std::optional<std::string> interned_text(const std::string& name) {
  InternTables& tables = intern_tables();
  const std::lock_guard lock(tables.mutex);
  const auto found = tables.texts.find(name);
  return found == tables.texts.end() ? std::nullopt : std::optional(found->second);
}

// The text of a file, or the text interned in place of one; null if there is none. Does not read pipes, which could block
// forever.
std::unique_ptr<std::istream> open_text(const std::string& path) {
  if (const std::optional<std::string> text = interned_text(path)) return std::make_unique<std::istringstream>(*text);
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
  return std::make_unique<std::ifstream>(path, std::ios::binary);
}

struct Character {
  std::string shown;      // UTF-8, safe to print to a terminal
  int width = 1;          // columns
  std::size_t begin = 0;  // byte offset in the line
  std::size_t bytes = 1;
};

// The character at text[at]. Invalid UTF-8 becomes U+FFFD, one per byte, and so do control characters and characters that
// change the direction of text: the contents of a file must not reach the terminal as commands.
Character character_at(std::string_view text, std::size_t at, int column) {
  if (text[at] == '\t') {
    const int width = kTabStop - column % kTabStop;
    return {std::string(static_cast<std::size_t>(width), ' '), width, at, 1};
  }
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t read = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                                 static_cast<utf8proc_ssize_t>(text.size() - at), &code);
  const std::size_t size = read > 0 ? static_cast<std::size_t>(read) : 1;
  const bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  if (read <= 0 || turns || utf8proc_category(code) == UTF8PROC_CATEGORY_CC) return {"\uFFFD", 1, at, size};
  return {std::string(text.substr(at, size)), utf8proc_charwidth(code), at, size};
}

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> all;
  int column = 0;
  for (std::size_t at = 0; at < text.size(); at += all.back().bytes) {
    all.push_back(character_at(text, at, column));
    column += all.back().width;
  }
  return all;
}

struct SourceLine {
  std::vector<Character> characters;
  int width = 0;
};

// Lines of text for messages. Consecutive requests for increasing lines of one file read it in a single pass, each line once.
class SourceLines {
 public:
  // Null if there is no such line.
  const SourceLine* line(const std::string& path, int number) {
    if (path != path_ || number < number_) open(path);
    while (text_ && number_ < number) advance();
    if (!text_ || number < 1 || raw_.size() > kLongestLine) return nullptr;
    if (!line_) line_ = source_line(raw_);
    return &*line_;
  }

 private:
  void open(const std::string& path) {
    path_ = path, number_ = 0;
    text_ = open_text(path);
  }

  void advance() {
    line_.reset();
    if (!std::getline(*text_, raw_)) return text_.reset();
    if (number_ == 0 && begins_compressed(raw_)) return text_.reset();
    if (number_ == 0) raw_.erase(0, raw_.size() - without_byte_order_mark(raw_).size());  // no reader counts it as a column
    if (!raw_.empty() && raw_.back() == '\r') raw_.pop_back();
    ++number_;
  }

  static SourceLine source_line(const std::string& text) {
    SourceLine line{characters_of(text), 0};
    for (const Character& c : line.characters) line.width += c.width;
    return line;
  }

  std::string path_;
  std::unique_ptr<std::istream> text_;  // null: no such file, or no such line
  int number_ = 0;                      // of the last line read
  std::string raw_;
  std::optional<SourceLine> line_;
};

// The part [first, last) of the line to show: all of it, or a window that contains the marked character.
std::pair<std::size_t, std::size_t> window(const std::vector<Character>& line, int total, std::size_t marked) {
  if (total <= kWidestLine) return {0, line.size()};
  std::size_t first = std::min(marked, line.size());
  for (int before = 0; first > 0 && before + line[first - 1].width <= kWidestLine / 2; --first) before += line[first - 1].width;
  std::size_t last = first;
  for (int shown = 0; last < line.size() && shown + line[last].width <= kWidestLine; ++last) shown += line[last].width;
  return {first, last};
}

struct Style {
  const char *bold = "", *red = "", *magenta = "", *green = "", *off = "";
};

Style style(bool color) {
  if (!color) return {};
  return {"\033[1m", "\033[1;31m", "\033[1;35m", "\033[1;32m", "\033[0m"};
}

// The line, and below it a caret followed by one tilde for each further column: "  12 | let: …\n     |      ^~~~\n".
constexpr int kMostCalls = 12;  // calls listed as the path to a location

std::string render_source(SourceLines& lines, const Location& at, const Style& s) {
  const SourceLine* const found = lines.line(*at.file, at.line);
  if (!found) return "";
  const std::vector<Character>& line = found->characters;
  const auto begin = static_cast<std::size_t>(std::max(at.column, 1) - 1);
  const std::size_t end = begin + static_cast<std::size_t>(std::max(at.length, 1));
  const auto before = [&](const Character& c) { return c.begin + c.bytes <= begin; };
  const auto marked = static_cast<std::size_t>(std::partition_point(line.begin(), line.end(), before) - line.begin());
  const auto [first, last] = window(line, found->width, marked);

  std::string source, indent, mark;
  if (first > 0) source += "…", indent += ' ';
  for (std::size_t i = first; i < last; ++i) {
    const Character& c = line[i];
    source += c.shown;
    std::string& under = i < marked || c.begin >= end ? indent : mark;
    if (c.begin < end) under.append(static_cast<std::size_t>(c.width), i < marked ? ' ' : '~');
  }
  if (last < line.size()) source += "…";
  if (mark.empty()) mark = "~";  // at the end of the line
  mark[0] = '^';
  const std::string number = std::to_string(at.line);
  return "  " + number + " | " + source + "\n  " + std::string(number.size(), ' ') + " | " + indent + s.green + mark + s.off +
         "\n";
}

std::string rendered(SourceLines& lines, const Diagnostic& diagnostic, bool color) {
  const Style s = style(color);
  const bool error = diagnostic.severity == Severity::kError;
  std::string text;
  if (diagnostic.at.known()) text += s.bold + diagnostic.at.str() + ": " + s.off;
  text += (error ? s.red : s.magenta) + std::string(error ? "error" : "warning");
  if (!diagnostic.code.empty()) text += "[" + diagnostic.code + "]";
  text += ":" + std::string(s.off) + " " + diagnostic.text + "\n";
  if (diagnostic.at.known()) text += render_source(lines, diagnostic.at, s);
  int calls = 0;
  for (const Location* via = diagnostic.at.via; via != nullptr; via = via->via) {
    if (via->known() && ++calls <= kMostCalls) text += "  from " + via->str() + "\n";
  }
  if (calls > kMostCalls) text += "  from " + std::to_string(calls - kMostCalls) + " more\n";
  for (const std::string& note : diagnostic.notes) text += "  " + note + "\n";
  text.pop_back();
  return text;
}

// The number of single-character insertions, deletions, substitutions and transpositions of adjacent characters that turn a
// into b (Damerau's optimal string alignment distance).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

}  // namespace

std::string Location::str() const {
  if (!known()) return "";
  return *file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::string line_at(const Location& at) {
  const std::unique_ptr<std::istream> text = at.known() ? open_text(*at.file) : nullptr;
  if (!text) return "";
  std::string line;
  for (int number = 0; number < at.line; ++number) {
    if (!std::getline(*text, line) || line.size() > kLongestLine) return "";
  }
  return line;
}

std::string text_at(const Location& at) {
  const std::string line = line_at(at);
  const std::size_t mark = std::min(line.size(), static_cast<std::size_t>(std::max(at.column, 1) - 1));
  std::size_t open = std::string::npos;  // the quote that begins the string around the mark, if there is one
  for (std::size_t i = 0; i < mark; ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      open = open == std::string::npos ? i : std::string::npos;
    }
  }
  const std::size_t close = line.find('"', mark);
  const bool quoted = open != std::string::npos && close != std::string::npos;
  std::string found = quoted ? line.substr(open + 1, close - open - 1) : line;
  found.erase(0, found.find_first_not_of(" \t\r"));
  found.erase(found.find_last_not_of(" \t\r") + 1);
  std::string shown;
  for (const Character& c : characters_of(found)) shown += c.shown;
  return shown;
}

const std::string* intern_file(std::string_view path) {
  InternTables& tables = intern_tables();
  const std::lock_guard lock(tables.mutex);
  auto it = tables.files.find(path);
  if (it == tables.files.end()) it = tables.files.emplace(path).first;
  return &*it;
}

const std::string* intern_text(std::string_view name, std::string text) {
  InternTables& tables = intern_tables();
  {
    const std::lock_guard lock(tables.mutex);
    tables.texts[std::string(name)] = std::move(text);
  }
  return intern_file(name);
}

const Location* intern(const Location& location) {
  InternTables& tables = intern_tables();
  const std::lock_guard lock(tables.mutex);
  return &*tables.locations.insert(location).first;
}

UserError::UserError(ExitCode exit_code, std::vector<Diagnostic> diagnostics)
    : std::runtime_error(render(diagnostics)), exit_code_(exit_code), diagnostics_(std::move(diagnostics)) {}

UserError::UserError(ExitCode exit_code, std::string code, std::string text, std::vector<std::string> notes)
    : UserError(exit_code, {Diagnostic{Severity::kError, std::move(code), {}, std::move(text), std::move(notes)}}) {}

std::string render(const Diagnostic& diagnostic, bool color) {
  SourceLines lines;
  return rendered(lines, diagnostic, color);
}

std::string render(const std::vector<Diagnostic>& diagnostics, bool color) {
  SourceLines lines;
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += (text.empty() ? "" : "\n") + rendered(lines, diagnostic, color);
  return text;
}

std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& candidates, std::size_t most) {
  if (name.empty() || name.size() > kLongestName) return {};
  const std::size_t limit = (name.size() + 1) / 3;  // a third of the letters; none for a one-letter name
  const std::string lowered = lower(name);
  std::set<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    if (candidate == name || candidate.size() > name.size() + limit || candidate.size() + limit < name.size()) continue;
    if (edit_distance(lowered, lower(candidate)) <= limit) near.emplace(edit_distance(name, candidate), candidate);
  }
  std::vector<std::string> best;
  for (const auto& [distance, candidate] : near) {
    if (best.size() == most) break;
    best.push_back(candidate);
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  return suggestion(near_names(name, candidates));
}

std::string near_or_all(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kFew = 12;
  std::string text = did_you_mean(name, candidates);
  if (!text.empty()) return text;
  std::vector<std::string> all;
  for (const std::string& candidate : candidates) {
    if (!candidate.empty() && std::find(all.begin(), all.end(), candidate) == all.end()) all.push_back(candidate);
  }
  if (all.empty() || all.size() > kFew) return "";
  for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
  return (all.size() == 1 ? "there is only " : "there are ") + text;
}

std::string counted(std::int64_t n, std::string_view what, std::string_view plural) {
  std::string text = std::to_string(n) + " ";
  text += what;
  if (n != 1) text += plural;
  return text;
}

}  // namespace graphrun
