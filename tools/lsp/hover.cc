// Hover: what a name, an operator, a field or a graph is.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/frontend/text_hints.h"
#include "compiler/ir/op.h"
#include "tools/help/op_reference.h"
#include "tools/help/topics.h"
#include "tools/lsp/features.h"
#include "tools/lsp/string_fields.h"

namespace graphrun::lsp {
namespace {

constexpr std::size_t kMostMeanings = 4;

std::string code_block(const std::string& text, const std::string& language = "") {
  return "```" + language + "\n" + text + (text.ends_with("\n") ? "" : "\n") + "```\n";
}

// The meanings that were observed at a place: of the smallest expression around it.
std::vector<std::string> meanings_at(const Analysis& a, int line, int column) {
  int least = 0;
  std::vector<std::string> out;
  for (const Observation& o : a.observed) {
    if (o.at.file != a.file() || o.at.line != line || column < o.at.column ||
        column >= o.at.column + std::max(o.at.length, 1)) {
      continue;
    }
    if (!out.empty() && o.at.length > least) continue;
    if (!out.empty() && o.at.length < least) out.clear();
    least = o.at.length;
    if (std::find(out.begin(), out.end(), o.meaning) == out.end()) out.push_back(o.meaning);
  }
  return out;
}

std::string joined_meanings(std::vector<std::string> meanings) {
  if (meanings.empty()) return "";
  const bool more = meanings.size() > kMostMeanings;
  if (more) meanings.resize(kMostMeanings);
  return fmt::format("{}{}", fmt::join(meanings, ", or "), more ? ", …" : "");
}

// The meaning of a name that is declared or read there: of this place, else of any place that reads it.
std::string meaning_of(const Analysis& a, const Occurrence& here, const std::vector<Occurrence>& all) {
  std::vector<std::string> found = meanings_at(a, here.at.line, here.at.column);
  for (const Occurrence& o : all) {
    if (!found.empty()) break;
    if (o.symbol == here.symbol && !o.declares) found = meanings_at(a, o.at.line, o.at.column);
  }
  return joined_meanings(std::move(found));
}

// The file's text of the field around an offset: the innermost message or text of the graph that is not a local graph.
std::string declaration_text(const Analysis& a, std::size_t offset) {
  const Places* places = &a.places;
  while (true) {
    const Places::Written* inside = nullptr;
    for (const Places::Written& w : places->written) {
      if (offset >= w.begin && offset < w.end) inside = &w;
    }
    if (inside == nullptr) return "";
    const Places::FieldValue& value = places->fields.find(inside->name)->second[inside->first];
    if (inside->name != "graph" || !value.message) return a.readable.substr(inside->begin, inside->end - inside->begin);
    places = value.message.get();
  }
}

std::string about_symbol(Workspace& workspace, const Occurrence& here) {
  static constexpr const char* kKinds[] = {
      "name", "size", "output", "graph", "field of the data", "report", "mode of inference"};
  const Analysis& a = workspace.analysis(file_of(here.symbol), Depth::kNames);
  const SymbolKey& symbol = here.symbol;
  if (symbol.kind == SymbolKey::Kind::kGraph) {
    const frontend::Definition* d = a.definition;
    if (const std::size_t mark = symbol.graph.rfind('#'); mark != std::string::npos && d != nullptr) {
      d = d->local_graph(symbol.graph.substr(mark + 1));
    }
    if (d == nullptr || a.job) return "";
    return code_block("graph " + d->signature()) + d->doc + "\n";
  }
  if (symbol.kind == SymbolKey::Kind::kSize) return fmt::format("size `{}`\n", symbol.name);
  const TextPositions positions(a.readable);
  for (const Occurrence& o : occurrences_of(a)) {
    if (o.symbol != symbol || !o.declares) continue;
    const std::string text = declaration_text(a, positions.offset_of_byte(o.at.line, o.at.column));
    return text.empty() ? "" : code_block(text, "pbtxt");
  }
  return fmt::format("{} `{}`\n", kKinds[static_cast<std::size_t>(symbol.kind)], symbol.name);
}

Json markdown(const Analysis& a, std::size_t begin, std::size_t end, const std::string& text, Encoding encoding) {
  return {{"contents", {{"kind", "markdown"}, {"value", text}}}, {"range", range_json(a.text, begin, end, encoding)}};
}

// The comment about a field whose name is there.
Json hover_field(const Analysis& a, std::size_t offset, Encoding encoding) {
  std::size_t begin = offset, end = offset;
  while (begin > 0 && part_of_name(a.text[begin - 1])) --begin;
  while (end < a.text.size() && part_of_name(a.text[end])) ++end;
  if (begin == end) return nullptr;
  const std::string word = a.text.substr(begin, end - begin);
  const std::string_view before = std::string_view(a.text).substr(0, begin);
  const google::protobuf::Descriptor* const type = text_hints::open_message(before, a.message->GetDescriptor());
  if (type == nullptr) return nullptr;
  std::string full;
  if (const auto* field = type->FindFieldByName(word)) {
    full = field->full_name();
    const std::string comment = schema_comment(full);
    std::string of_type;
    if (field->message_type() != nullptr) of_type = schema_comment(field->message_type()->full_name());
    if (field->enum_type() != nullptr) of_type = schema_comment(field->enum_type()->full_name());
    const std::string text = comment + (comment.empty() || of_type.empty() ? "" : "\n\n") + of_type;
    return markdown(a, begin, end, fmt::format("**{}** of {}\n\n{}\n", word, type->name(), text), encoding);
  }
  const auto* const field = text_hints::field_before(before, type);
  if (field == nullptr || field->enum_type() == nullptr || field->enum_type()->FindValueByName(word) == nullptr) return nullptr;
  return markdown(a, begin, end,
                  fmt::format("**{}**\n\n{}\n", word, schema_comment(field->enum_type()->full_name() + "." + word)), encoding);
}

}  // namespace

Json hover(Workspace& workspace, const Cursor& at) {
  const Analysis& a = workspace.analysis(at.path, Depth::kMeanings);
  const Encoding encoding = workspace.encoding();
  const std::optional<StringField> field = string_at(a.places, *a.message->GetDescriptor(), a.in_readable(at.offset));
  if (!field) return hover_field(a, at.offset, encoding);
  const TextPositions positions(a.text);
  const auto [row, column] = positions.place(at.offset);

  // Names, also of plain texts that name something.
  const std::vector<Occurrence> all = occurrences_of(a);
  std::string text;
  std::size_t begin = at.offset, end = at.offset;
  for (const Occurrence& o : all) {
    if (o.at.line != row || column < o.at.column || column > o.at.column + o.at.length) continue;
    if (o.shortened == Occurrence::Short::kBound && !o.declares) continue;  // what it reads says more
    const std::string meaning = o.symbol.kind == SymbolKey::Kind::kGraph ? "" : meaning_of(a, o, all);
    if (!text.empty() && meaning.empty()) continue;
    begin = positions.offset_of_byte(o.at.line, o.at.column);
    end = begin + static_cast<std::size_t>(o.at.length);
    text = (meaning.empty() ? "" : code_block(o.symbol.name + ": " + meaning)) + about_symbol(workspace, o);
  }
  if (!text.empty()) return markdown(a, begin, end, text, encoding);

  // Operators, numbers, brackets.
  const auto offset = offset_in_text(field->value->text, row, column);
  if (!offset) return nullptr;
  std::vector<ir::Token> tokens;
  try {
    tokens = ir::tokens_of(field->value->text);
  } catch (const UserError&) {
    return nullptr;
  }
  for (const ir::Token& t : tokens) {
    if (*offset < t.offset || *offset >= t.offset + t.length) continue;
    const Location place = field->value->text.at(t.offset, t.length);
    begin = positions.offset_of_byte(place.line, place.column);
    const std::string meaning = joined_meanings(meanings_at(a, place.line, place.column));
    if (!meaning.empty()) text += code_block(meaning);
    const std::string named = field->value->text.text.substr(t.offset, t.length);
    const ir::OpSchema* op = t.kind == ir::Token::Kind::kName ? ir::OpRegistry::instance().find(named) : nullptr;
    for (const ir::OpSchema* other : ir::OpRegistry::instance().all()) {
      if (t.kind == ir::Token::Kind::kSymbol && !other->infix.empty() && other->infix == named) op = other;
    }
    if (op != nullptr && !op->internal) text += code_block(op_reference(*op));
    if (text.empty()) return nullptr;
    return markdown(a, begin, begin + t.length, text, encoding);
  }
  return nullptr;
}

}  // namespace graphrun::lsp
