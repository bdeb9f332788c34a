#include "tools/format/layout.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>

#include "compiler/frontend/text_hints.h"
#include "graphs/text.pb.h"
#include "tools/format/expression_style.h"

namespace graphrun {
namespace {

namespace pb = google::protobuf;

std::string_view without_end_spaces(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

class LayoutReader {
 public:
  explicit LayoutReader(std::string_view text) : text_(text) {}

  // The fields between two offsets, which are those of the braces.
  LayoutMessage message(const Places& places, const pb::Descriptor& type, std::size_t begin, std::size_t end, bool root) {
    LayoutMessage out;
    for (const Places::Written& written : places.written) {
      LayoutItem item = field(places, written, type);
      item.breaks = gap(begin, written.begin, out, root);
      if (out.items.empty() && item.breaks > 0) out.lines = true;
      out.items.push_back(std::move(item));
      begin = written.end;
    }
    gap(begin, end, out, root);
    const auto needs_lines = [&](const LayoutItem& item) {
      const bool holds_lines = std::any_of(item.values.begin(), item.values.end(),
                                           [](const LayoutValue& v) { return !v.message.empty() && v.message.front().lines; });
      return holds_lines || item.name.empty() || !item.verbatim.empty();
    };
    out.lines |= root || !out.open_comment.empty() || std::any_of(out.items.begin(), out.items.end(), needs_lines) ||
                 (!out.items.empty() && !out.items.back().comment.empty());
    return out;
  }

  std::vector<Diagnostic> problems;

 private:
  // Adds the comments in a part of the text without fields. Returns the line breaks after the last of them.
  int gap(std::size_t begin, std::size_t end, LayoutMessage& out, bool root) const {
    int breaks = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (text_[i] == '\n') ++breaks;
      if (text_[i] != '#') continue;
      const std::size_t stop = end_of_aside(text_, i);
      std::string comment(without_end_spaces(text_.substr(i, stop - i)));
      std::string* behind = nullptr;
      if (breaks == 0 && !out.items.empty()) behind = &out.items.back().comment;
      if (breaks == 0 && out.items.empty() && !root) behind = &out.open_comment;
      if (behind != nullptr && behind->empty()) {
        *behind = std::move(comment);
      } else {
        LayoutItem item;
        item.breaks = breaks;
        item.comment = std::move(comment);
        out.items.push_back(std::move(item));
      }
      breaks = 0;
      i = stop - 1;
    }
    return breaks;
  }

  bool has_comment(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (text_[i] == '#') return true;
      i = std::max(i, end_of_aside(text_, i));
    }
    return false;
  }

  LayoutItem field(const Places& places, const Places::Written& written, const pb::Descriptor& type) {
    LayoutItem item;
    item.name = written.name;
    item.list = written.list;
    const pb::FieldDescriptor* const descriptor = type.FindFieldByName(written.name);
    std::size_t begin = written.begin;
    bool comments = false;
    for (std::size_t k = 0; k < written.count; ++k) {
      const Places::FieldValue& v = places.fields.find(written.name)->second[written.first + k];
      comments |= has_comment(begin, v.begin) || (!v.message && has_comment(v.begin, v.end));
      begin = v.end;
      item.values.push_back(value(v, descriptor));
    }
    comments |= has_comment(begin, written.end);
    const auto has_lines = [](const LayoutValue& v) { return !v.message.empty() && v.message.front().lines; };
    comments |= written.list && std::any_of(item.values.begin(), item.values.end(), has_lines);
    if (comments) item.verbatim = text_.substr(written.begin, written.end - written.begin);
    return item;
  }

  LayoutValue value(const Places::FieldValue& v, const pb::FieldDescriptor* field) {
    LayoutValue out;
    if (v.message) {
      out.message.push_back(message(*v.message, *field->message_type(), v.begin + 1, v.end - 1, false));
    } else if (!v.text.pieces.empty()) {
      out.is_text = true;
      text(v, field->options().GetExtension(syntax), out);
    } else {
      for (const char c : text_.substr(v.begin, v.end - v.begin)) {
        if (std::isspace(static_cast<unsigned char>(c)) == 0) out.plain += c;
      }
    }
    return out;
  }

  void text(const Places::FieldValue& v, TextSyntax kind, LayoutValue& out) {
    bool escapes = false;
    for (std::size_t i = v.begin; i < v.end; ++i) {
      const std::size_t end = end_of_aside(text_, i);
      if (end == i) continue;
      if (text_[i] != '#') out.literals.push_back(literal(text_.substr(i, end + 1 - i)));
      escapes |= text_.substr(i, end - i).find('\\') != std::string_view::npos;
      i = end;
    }
    if (!is_expression(kind)) return;
    // An absent and an empty text mean the same to a field that takes one expression.
    if (v.text.text.empty() && kind != TextSyntax::BINDINGS && kind != TextSyntax::REPORTS && kind != TextSyntax::EQUATION)
      return;
    try {
      parse_text(v.text, kind);
    } catch (const UserError& error) {
      problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
      return;
    }
    if (escapes || v.text.text.find_first_of("\"\n") != std::string::npos) return;
    out.is_expression = true;
    out.literals = {"\"" + spaced(v.text) + "\""};
  }

  // In double quotes if it contains none.
  static std::string literal(std::string_view quoted) {
    if (quoted.front() == '\'' && quoted.find_first_of("\"\\") == std::string_view::npos) {
      return "\"" + std::string(quoted.substr(1, quoted.size() - 2)) + "\"";
    }
    return std::string(quoted);
  }

  std::string_view text_;
};

}  // namespace

LayoutMessage layout_of(std::string_view text, const Places& places, const pb::Descriptor& type) {
  LayoutReader reader(text);
  LayoutMessage out = reader.message(places, type, 0, text.size(), true);
  if (!reader.problems.empty()) {
    limit_syntax_errors(reader.problems);
    throw UserError(ExitCode::kInvalidGraph, std::move(reader.problems));
  }
  return out;
}

}  // namespace graphrun
