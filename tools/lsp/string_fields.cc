#include "tools/lsp/string_fields.h"

namespace graphrun::lsp {
namespace {

namespace pb = google::protobuf;

void visit_strings(const Places& places, const pb::Descriptor& type, int graphs,
                   const std::function<void(const StringField&)>& visit) {
  for (const auto& [name, values] : places.fields) {
    const pb::FieldDescriptor* const field = type.FindFieldByName(name);
    if (field == nullptr) continue;
    for (const Places::FieldValue& value : values) {
      if (value.message && field->message_type() != nullptr) {
        visit_strings(*value.message, *field->message_type(), graphs + (field->message_type() == &type ? 1 : 0), visit);
      } else if (!value.text.pieces.empty() && field->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING) {
        visit({type.name(), name, field->options().GetExtension(syntax), &value, &places, graphs});
      }
    }
  }
}

}  // namespace

void for_each_string(const Places& places, const pb::Descriptor& type, const std::function<void(const StringField&)>& visit) {
  visit_strings(places, type, 0, visit);
}

std::optional<StringField> string_at(const Places& places, const pb::Descriptor& type, std::size_t offset) {
  std::optional<StringField> found;
  for_each_string(places, type, [&](const StringField& field) {
    if (offset > field.value->begin && offset < field.value->end) found = field;
  });
  return found;
}

std::optional<std::size_t> offset_in_text(const ir::SourceText& text, int line, int column) {
  for (std::size_t k = 0; k < text.pieces.size(); ++k) {
    const ir::SourceText::Piece& piece = text.pieces[k];
    const std::size_t end = k + 1 < text.pieces.size() ? text.pieces[k + 1].offset : text.text.size();
    if (piece.line != line || column < piece.column) continue;
    const std::size_t offset = piece.offset + static_cast<std::size_t>(column - piece.column);
    if (offset <= end) return offset;
  }
  return std::nullopt;
}

std::vector<ir::Binding> parsed_bindings(const ir::SourceText& text) {
  try {
    return ir::parse_grouped_bindings(text);
  } catch (const UserError&) {
    return {};
  }
}

std::vector<ir::Expression> parsed_expression(const ir::SourceText& text) {
  try {
    return {ir::parse_expression(text)};
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace graphrun::lsp
