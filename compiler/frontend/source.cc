#include "compiler/frontend/source.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>

#include "compiler/frontend/text_hints.h"
#include "runtime/base/file.h"
#include "runtime/base/system_call.h"

namespace graphrun {
namespace {

namespace pb = google::protobuf;
using pb::io::Tokenizer;

constexpr int kDeepestMessage = 60;
constexpr std::size_t kMostReread = 64u << 20;  // bytes of text that may be parsed again, once for each unquoted value

// protobuf counts columns from 0 and advances a tab to the next multiple of 8; graphrun counts bytes from 1. Most locations are
// requested from left to right, so each line is walked only once, however long it is.
class Columns {
 public:
  explicit Columns(std::string_view text) : text_(text) {
    starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }
  int byte_column(int line, int column) const {
    if (line < 0 || static_cast<std::size_t>(line) >= starts_.size()) return 1;
    return static_cast<int>(offset(line, column) - starts_[static_cast<std::size_t>(line)]) + 1;
  }
  std::size_t offset(int line, int column) const {
    if (line < 0 || static_cast<std::size_t>(line) >= starts_.size()) return text_.size();
    if (line != line_ || column < seen_) {
      line_ = line, seen_ = 0;
      at_ = starts_[static_cast<std::size_t>(line)];
    }
    while (at_ < text_.size() && text_[at_] != '\n' && seen_ < column) {
      seen_ += text_[at_] == '\t' ? 8 - seen_ % 8 : 1;
      ++at_;
    }
    return at_;
  }
  std::string_view text() const { return text_; }
  // Moves `at` to the last occurrence of a word at or before an offset, and returns its offset; if none, changes nothing.
  std::size_t place_before(std::size_t offset, std::string_view word, Location& at) const {
    const std::size_t found = text_.rfind(word, offset);
    if (found == std::string_view::npos) return offset;
    const auto line = std::upper_bound(starts_.begin(), starts_.end(), found) - starts_.begin();
    at.line = static_cast<int>(line);
    at.column = static_cast<int>(found - starts_[static_cast<std::size_t>(line) - 1]) + 1;
    at.length = static_cast<int>(word.size());
    return found;
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
  // The end of the last walk.
  mutable int line_ = -1, seen_ = 0;
  mutable std::size_t at_ = 0;
};

class Collector : public pb::io::ErrorCollector {
 public:
  Collector(const std::string* file, const Columns& columns, const pb::Descriptor* root)
      : file_(file), columns_(columns), root_(root) {}
  void AddError(int line, int column, const std::string& message) override {
    if (diagnostics.size() > kMostSyntaxErrors) return;  // one more than is reported
    if (out_of_step_) return;
    Diagnostic d;
    d.code = message.find("has no field named") != std::string::npos ? "E0111 unknown-field" : "E0110 bad-text";
    d.text = message;
    d.notes = text_hints::near_fields(message);
    if (message.ends_with("got: ")) {
      d.text += "the end of the file";
      at_end_ = true;
    }
    d.at.file = file_;
    d.at.line = std::max(line, 0) + 1;
    d.at.column = columns_.byte_column(std::max(line, 0), std::max(column, 0));
    // protobuf reports an unknown field or enum value only after reading the next token.
    if (const std::string field = text_hints::between(message, "has no field named \"", "\""); !field.empty()) {
      const std::size_t at = columns_.place_before(columns_.offset(std::max(line, 0), std::max(column, 0)), field, d.at);
      if (!unknown_) unknown_ = {at, field};
      const std::string type = text_hints::between(message, "Message type \"", "\"");
      d.text = type.substr(type.rfind('.') + 1) + " has no field '" + field + "'";
      // A graph was given for a job, or vice versa.
      const std::string other = root_->name() == "Job" ? "Graph" : "Job";
      const pb::Descriptor* const kind = root_->file()->pool()->FindMessageTypeByName("graphrun." + other);
      if (type == root_->full_name() && kind != nullptr && kind->FindFieldByName(field) != nullptr)
        d.notes.push_back("help: it is a field of a " + other + "; a " + root_->name() + " is expected here");
      std::string says = text_hints::between(std::string(columns_.text().substr(0, 400)), "# proto-message: graphrun.", "\n");
      while (!says.empty() && (says.back() == '\r' || says.back() == ' ')) says.pop_back();
      if (!says.empty() && !root_->full_name().ends_with("." + says))
        d.notes.push_back("help: the file declares itself a " + says + "; expected a " + root_->name());
    }
    if (const std::string word = text_hints::between(message, "Unknown enumeration value of \"", "\""); !word.empty()) {
      const std::string field = text_hints::between(message, "for field \"", "\"");
      const std::size_t before = columns_.place_before(columns_.offset(std::max(line, 0), std::max(column, 0)), word, d.at);
      const std::vector<std::string> known = text_hints::enum_values(columns_.text().substr(0, before), root_, field);
      const std::string near = did_you_mean(word, known);
      std::string all;
      for (const std::string& k : known) all += (all.empty() ? "" : ", ") + k;
      d.text = "'" + word + "' is not a value of " + field;
      d.notes = {"help: " + near + (near.empty() ? "" : " ") + field + " is one of " + all};
    }
    if (message.starts_with("Expected string, got: ") && d.text == message)
      bare = columns_.offset(std::max(line, 0), std::max(column, 0));
    if (message.starts_with("String literals cannot cross")) {
      const std::size_t begin = columns_.offset(std::max(line, 0), 0), end = columns_.offset(std::max(line, 0), column);
      d.at.column = static_cast<int>(text_hints::open_quote(columns_.text(), begin, end) - begin) + 1;
    }
    if (message.starts_with("Expected \"{\", found")) expected_message(d, line, column);
    if (message.starts_with("Expected identifier, got: \"")) expected_name(d, line, column);
    if (message.starts_with("Need space between number and identifier")) number_with_unit(d, line, column);
    if (const std::string help = text_hints::form_of_value(message); !help.empty()) d.notes.push_back("help: " + help);
    diagnostics.push_back(std::move(d));
  }
  // Unknown fields are skipped with a warning, so that other mistakes are found too.
  void AddWarning(int line, int column, const std::string& message) override {
    if (message.find("has no field named") != std::string::npos) AddError(line, column, message);
  }
  // If the text ended within a message, replaces the diagnostics after its { by one that says so. The message is the innermost
  // one at the first field that only an enclosing message has or, if there is no such field, the innermost one at the end of
  // the text.
  void blame_open_brace() {
    if (!at_end_) return;
    std::vector<text_hints::OpenMessage> open = text_hints::open_messages(columns_.text(), root_);
    if (open.size() == 1) return;
    if (unknown_) {
      std::vector<text_hints::OpenMessage> there = text_hints::open_messages(columns_.text().substr(0, unknown_->first), root_);
      const bool of_outer = std::any_of(there.begin(), there.end(), [&](const text_hints::OpenMessage& o) {
        return o.message != nullptr && o.message->FindFieldByName(unknown_->second) != nullptr;
      });
      if (of_outer && there.size() > 1) open = std::move(there);
    }
    Diagnostic d{Severity::kError, "E0110 bad-text", {}, "this { is never closed", {}};
    d.at.file = file_;
    columns_.place_before(open.back().brace, "{", d.at);
    std::erase_if(diagnostics, [&](const Diagnostic& other) {
      return std::pair(other.at.line, other.at.column) > std::pair(d.at.line, d.at.column);
    });
    diagnostics.push_back(std::move(d));
  }

  std::vector<Diagnostic> diagnostics;
  std::optional<std::size_t> bare;  // where an unquoted text stopped the parser

 private:
  std::string_view text_before(int line, int column) const {
    return columns_.text().substr(0, columns_.offset(std::max(line, 0), std::max(column, 0)));
  }

  // A message with braces is expected, but there is another value.
  void expected_message(Diagnostic& d, int line, int column) const {
    const std::string_view before = text_before(line, column);
    const pb::FieldDescriptor* const field = text_hints::field_before(before, text_hints::open_message(before, root_));
    const std::string name = field != nullptr ? field->name() : "NAME";
    if (root_->name() == "Graph" && (name == "graph" || name == "arg"))
      d.notes.push_back("help: this is a graph; only in a job are graph and arg texts");
    d.notes.push_back("help: the field is a message: " + name + " { … }");
    if (field != nullptr && field->message_type() != nullptr && name != "graph")
      d.notes.back() += "; " + text_hints::fields_of(*field->message_type());
  }

  // There is a text where an enum value or, within a message, a field name is expected.
  void expected_name(Diagnostic& d, int line, int column) const {
    const std::string_view before = text_before(line, column);
    const pb::Descriptor* const message = text_hints::open_message(before, root_);
    if (message == nullptr || text_hints::field_before(before, message) != nullptr) {
      d.notes.push_back("help: names of choices, true and false are written without quotes");
    } else {
      d.notes.push_back("help: a field's name is expected, then its value; " + text_hints::fields_of(*message));
    }
  }

  // 8h: protobuf continues after the number, and its further messages are meaningless.
  void number_with_unit(Diagnostic& d, int line, int column) {
    const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    const std::string_view text = columns_.text();
    const std::size_t unit = text_before(line, column).size();
    std::size_t begin = unit, end = unit;
    const auto sign = [&](std::size_t i) { return text[i] == '-' || text[i] == '+'; };
    const auto exponent = [&](std::size_t i) { return i > 0 && (text[i - 1] == 'e' || text[i - 1] == 'E'); };
    while (begin > 0 && (part(text[begin - 1]) || (sign(begin - 1) && exponent(begin - 1)))) --begin;
    if (begin > 0 && sign(begin - 1)) --begin;
    while (end < text.size() && part(text[end])) ++end;
    d.text = "'" + std::string(text.substr(begin, end - begin)) + "' is not a number";
    d.notes = {"help: a number is written without a unit: " + std::string(text.substr(begin, unit - begin))};
    d.at.column -= static_cast<int>(unit - begin);
    d.at.length = static_cast<int>(end - begin);
    out_of_step_ = true;
  }

  bool out_of_step_ = false;
  bool at_end_ = false;                                         // a mistake is that the text ends
  std::optional<std::pair<std::size_t, std::string>> unknown_;  // the first unknown field, and its offset
  const std::string* file_;
  const Columns& columns_;
  const pb::Descriptor* root_;
};

class Silent : public pb::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

// The texts that lack quotes, as offset and length.
using BareTexts = std::map<std::size_t, std::size_t>;

// Walks the tokens of a text that protobuf's parser has accepted.
class Walker {
 public:
  Walker(std::string_view text, const std::string* file, const Columns& columns, const BareTexts& bare)
      : stream_(text.data(), static_cast<int>(text.size())),
        tokens_(&stream_, &silent_),
        file_(file),
        columns_(columns),
        bare_(bare) {
    tokens_.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
    tokens_.set_allow_f_after_float(true);
    tokens_.set_require_space_after_number(false);
    tokens_.Next();
  }

  Places message(const Location& at) {
    Places places;
    places.at = at;
    while (!done() && !is("}") && !is(">")) {
      if (is(";") || is(",")) {
        advance();
        continue;
      }
      field(places);
    }
    return places;
  }

 private:
  bool done() { return tokens_.current().type == Tokenizer::TYPE_END; }
  bool is(const char* text) { return tokens_.current().text == text && tokens_.current().type == Tokenizer::TYPE_SYMBOL; }
  std::size_t begin_of_token() { return columns_.offset(tokens_.current().line, tokens_.current().column); }
  std::size_t offset() { return bare_.empty() ? 0 : begin_of_token(); }
  void advance() {
    end_ = begin_of_token() + tokens_.current().text.size();
    tokens_.Next();
  }
  Location here() {
    Location l;
    const Tokenizer::Token& t = tokens_.current();
    l.file = file_;
    l.line = t.line + 1;
    l.column = columns_.byte_column(t.line, t.column);
    l.length = static_cast<int>(t.text.size());
    return l;
  }

  void field(Places& places) {
    const std::string name = tokens_.current().text;
    const Location at = here();
    Places::Written written;
    written.name = name;
    written.begin = begin_of_token();
    const auto values = places.fields.find(name);
    written.first = values == places.fields.end() ? 0 : values->second.size();
    places.names[name].push_back(at);
    advance();
    if (is(":")) advance();
    written.list = is("[");
    if (written.list) {
      advance();
      while (!done() && !is("]")) {
        if (is(",")) {
          advance();
        } else {
          value(places, name, at);
        }
      }
      advance();
    } else {
      value(places, name, at);
    }
    written.end = end_;
    const auto found = places.fields.find(name);
    written.count = (found == places.fields.end() ? 0 : found->second.size()) - written.first;
    places.written.push_back(std::move(written));
  }

  void value(Places& places, const std::string& name, const Location& field_at) {
    Places::FieldValue v;
    v.at = here();
    v.begin = begin_of_token();
    if (is("{") || is("<")) {
      advance();
      v.message = std::make_unique<Places>(message(field_at));
      advance();
    } else if (is_text()) {
      // Adjacent string literals are concatenated.
      v.text.file = file_;
      while (is_text()) {
        if (tokens_.current().type == Tokenizer::TYPE_STRING) {
          literal(v.text);
          advance();
        } else {
          without_quotes(v.text);
        }
      }
    } else {
      if (is("-")) advance();
      advance();
    }
    v.end = end_;
    places.fields[name].push_back(std::move(v));
  }

  bool is_text() { return tokens_.current().type == Tokenizer::TYPE_STRING || bare_.count(offset()) != 0; }

  void without_quotes(ir::SourceText& out) {
    const Location at = here();
    const std::size_t begin = offset(), length = bare_.at(begin);
    out.pieces.push_back({out.text.size(), at.line, at.column});
    out.text += columns_.text().substr(begin, length);
    while (!done() && offset() < begin + length) advance();
  }

  // Decodes one literal; every escape starts a new piece.
  void literal(ir::SourceText& out) {
    const Location at = here();
    const std::string& raw = tokens_.current().text;
    int column = at.column + 1;
    bool fresh = true;
    std::size_t i = 1;
    while (i + 1 < raw.size()) {
      if (raw[i] != '\\') {
        if (fresh) out.pieces.push_back({out.text.size(), at.line, column});
        fresh = false;
        out.text += raw[i];
        ++i, ++column;
        continue;
      }
      const std::size_t n = std::min(escape_length(raw, i), raw.size() - 1 - i);
      out.pieces.push_back({out.text.size(), at.line, column});
      Tokenizer::ParseStringAppend("\"" + raw.substr(i, n) + "\"", &out.text);
      i += n, column += static_cast<int>(n);
      fresh = true;
    }
    if (fresh) out.pieces.push_back({out.text.size(), at.line, column});
  }

  static std::size_t escape_length(const std::string& raw, std::size_t i) {
    const char c = i + 1 < raw.size() ? raw[i + 1] : '\\';
    const auto run = [&](std::size_t from, std::size_t most, auto digit) {
      std::size_t n = 0;
      while (n < most && from + n < raw.size() && digit(static_cast<unsigned char>(raw[from + n]))) ++n;
      return n;
    };
    if (c >= '0' && c <= '7') return 1 + run(i + 1, 3, [](unsigned char d) { return d >= '0' && d <= '7'; });
    if (c == 'x' || c == 'X') return 2 + run(i + 2, 2, [](unsigned char d) { return std::isxdigit(d) != 0; });
    if (c == 'u') return 6;
    if (c == 'U') return 10;
    return 2;
  }

  pb::io::ArrayInputStream stream_;
  Silent silent_;
  Tokenizer tokens_;
  const std::string* file_;
  const Columns& columns_;
  const BareTexts& bare_;
  std::size_t end_ = 0;  // the offset of the end of the last token
};

}  // namespace

ir::SourceText Places::text(std::string_view field, std::size_t index) const {
  if (auto it = fields.find(field); it != fields.end() && index < it->second.size()) return it->second[index].text;
  ir::SourceText none;
  none.file = at.file;
  none.pieces.push_back({0, at.line, at.column});
  return none;
}

const Places& Places::message(std::string_view field, std::size_t index) const {
  auto it = fields.find(field);
  GRAPHRUN_CHECK(it != fields.end() && index < it->second.size() && it->second[index].message,
                 "Places: no message '" + std::string(field) + "'");
  return *it->second[index].message;
}

Location Places::location(std::string_view field, std::size_t index) const {
  if (auto it = fields.find(field); it != fields.end() && index < it->second.size()) return it->second[index].at;
  return at;
}

bool is_syntax_error(const Diagnostic& diagnostic) { return diagnostic.code.starts_with("E01"); }

void limit_syntax_errors(std::vector<Diagnostic>& diagnostics) {
  std::size_t count = 0;
  Diagnostic* last = nullptr;
  const auto end = std::remove_if(diagnostics.begin(), diagnostics.end(),
                                  [&](const Diagnostic& d) { return is_syntax_error(d) && ++count > kMostSyntaxErrors; });
  diagnostics.erase(end, diagnostics.end());
  if (count <= kMostSyntaxErrors) return;
  for (Diagnostic& d : diagnostics) {
    if (is_syntax_error(d)) last = &d;
  }
  last->notes.push_back("note: there are more like these; only the first " + std::to_string(kMostSyntaxErrors) + " are shown");
}

namespace {

// The text with the missing quotes added, so that protobuf can parse on.
class Quoted {
 public:
  explicit Quoted(std::string_view text) : text_(text) {}

  const std::string& text() const { return text_; }
  const BareTexts& bare() const { return bare_; }
  bool all_known() const { return all_known_; }

  // Puts quotes around the text at this offset. Returns false if there is none.
  bool quote(std::size_t offset, const Location& at) {
    const std::size_t length = text_hints::bare_length(text_, offset);
    if (length == 0) return false;
    bare_[offset - 2 * places_.size()] = length;
    all_known_ = all_known_ && text_[offset] != '[';
    std::string inner = text_.substr(offset, length);
    std::replace(inner.begin(), inner.end(), '"', '\'');
    text_.replace(offset, length, "\"" + inner + "\"");
    places_.push_back(at);
    return true;
  }
  // Converts a location in this text to the location in the file.
  void move_back(Location& at) const {
    int shift = 0;
    for (const Location& place : places_) {
      if (place.line == at.line && at.column > place.column + shift) shift += 2;
    }
    at.column -= shift;
  }

 private:
  std::string text_;
  BareTexts bare_;
  std::vector<Location> places_;  // in the file, in their order
  bool all_known_ = true;
};

}  // namespace

Places parse_source(std::string_view text, const std::string* file, pb::Message* message, std::vector<Diagnostic>* mistakes) {
  if (text.size() > kLargestSource) {
    throw UserError(
        ExitCode::kInvalidGraph, "E0112 too-large",
        *file + ": " + std::to_string(text.size()) + " bytes; a model file has at most " + std::to_string(kLargestSource));
  }
  Location begin;
  begin.file = file;
  begin.line = begin.column = 1;
  std::vector<Diagnostic> bare, others;
  Quoted quoted(text);
  while (true) {
    const Columns columns(quoted.text());
    Collector collector(file, columns, message->GetDescriptor());
    pb::TextFormat::Parser parser;
    parser.RecordErrorsTo(&collector);
    parser.SetRecursionLimit(kDeepestMessage);
    parser.AllowUnknownField(true);
    pb::io::ArrayInputStream stream(quoted.text().data(), static_cast<int>(quoted.text().size()));
    const bool read = parser.Parse(&stream, message);
    collector.blame_open_brace();
    for (Diagnostic& d : collector.diagnostics) quoted.move_back(d.at);
    if (collector.bare && bare.size() < kMostSyntaxErrors && bare.size() * text.size() < kMostReread) {
      Diagnostic& last = collector.diagnostics.back();
      const std::size_t length = text_hints::bare_length(quoted.text(), *collector.bare);
      last.at.length = static_cast<int>(std::max<std::size_t>(length, 1));
      const std::string found = quoted.text().substr(*collector.bare, length);
      if (length > 0 && quoted.quote(*collector.bare, last.at)) {
        last.text = "expected a text in quotes, found " + found;
        last.notes = {"help: put it in quotes: \"" + found + "\""};
        bare.push_back(std::move(last));
        continue;
      }
    }
    others = std::move(collector.diagnostics);
    if (!read && others.empty()) others.push_back({Severity::kError, "E0110 bad-text", begin, "no protobuf text", {}});
    break;
  }
  if (!others.empty() || (!bare.empty() && (mistakes == nullptr || !quoted.all_known()))) {
    bare.insert(bare.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
    std::stable_sort(bare.begin(), bare.end(), [](const Diagnostic& a, const Diagnostic& b) {
      return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
    });
    limit_syntax_errors(bare);
    throw UserError(ExitCode::kInvalidGraph, std::move(bare));
  }
  if (mistakes != nullptr) mistakes->insert(mistakes->end(), bare.begin(), bare.end());
  const Columns columns(text);
  return Walker(text, file, columns, quoted.bare()).message(begin);
}

namespace {

std::map<std::string, std::string>& unsaved_sources() {
  static std::map<std::string, std::string> texts;
  return texts;
}

std::set<std::string>*& asked_sources() {
  static std::set<std::string>* asked = nullptr;
  return asked;
}

// The unsaved text of that path; null if there is none.
const std::string* unsaved_source(const std::string& path) {
  if (unsaved_sources().empty()) return nullptr;
  std::error_code error;
  const auto found = unsaved_sources().find(std::filesystem::weakly_canonical(path, error).string());
  return error || found == unsaved_sources().end() ? nullptr : &found->second;
}

}  // namespace

void set_unsaved_sources(std::map<std::string, std::string> texts) { unsaved_sources() = std::move(texts); }

AskedSources::AskedSources() { asked_sources() = &paths_; }

AskedSources::~AskedSources() { asked_sources() = nullptr; }

bool is_source_there(const std::string& path) {
  if (asked_sources() != nullptr) asked_sources()->insert(path);
  return unsaved_source(path) != nullptr || is_file_there(path);
}

std::string read_source(const std::string& path) {
  if (asked_sources() != nullptr) asked_sources()->insert(path);
  if (const std::string* text = unsaved_source(path)) return *text;
  const auto fail = [&](const std::string& why) {
    std::vector<std::string> notes;
    if (is_there(path + ".pbtxt")) notes.push_back("help: did you mean '" + path + ".pbtxt'?");
    throw UserError(ExitCode::kInvalidGraph, "E0501 unreadable-file", path + ": " + why, std::move(notes));
  };
  const auto unreadable = [&](int error) {
    if (error == ENOMEM) unreadable_file(path, error);
    fail(std::strerror(error));
  };
  // Not an InputFile: a graph may come from a pipe.
  const int opened = uninterrupted([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (opened < 0) unreadable(errno);
  const std::unique_ptr<const int, void (*)(const int*)> file(&opened, [](const int* descriptor) { close(*descriptor); });
  std::string text;
  char block[65536];
  while (true) {
    const ssize_t got = uninterrupted([&] { return read(opened, block, sizeof block); });
    if (got < 0) unreadable(errno);
    if (got == 0) break;
    text.append(block, static_cast<std::size_t>(got));
    if (text.size() > kLargestSource) fail("larger than " + std::to_string(kLargestSource) + " bytes: no model file");
  }
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  return text;
}

std::string declared_message(std::string_view text) {
  constexpr std::string_view kMark = "# proto-message:";
  const std::size_t at = text.substr(0, 4096).find(kMark);
  if (at == std::string_view::npos) return "";
  std::size_t begin = at + kMark.size(), end = text.find('\n', begin);
  if (end == std::string_view::npos) end = text.size();
  while (begin < end && std::isspace(static_cast<unsigned char>(text[begin]))) ++begin;
  while (end > begin && std::isspace(static_cast<unsigned char>(text[end - 1]))) --end;
  return std::string(text.substr(begin, end - begin));
}

}  // namespace graphrun
