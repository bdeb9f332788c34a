// The strings of a file with the syntax that the schema gives them.
#pragma once

#include <google/protobuf/descriptor.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/source.h"
#include "compiler/ir/expression.h"
#include "graphs/text.pb.h"

namespace graphrun::lsp {

struct StringField {
  std::string message;  // the name of the message's type: "Scan"
  std::string name;     // of the field
  TextSyntax syntax = TextSyntax::PLAIN;
  const Places::FieldValue* value = nullptr;
  const Places* places = nullptr;  // of the message
  int depth_of_graphs = 0;         // how many local graphs it is in
};

// Visits every string of a message and of the messages in it.
void for_each_string(const Places& places, const google::protobuf::Descriptor& type,
                     const std::function<void(const StringField&)>& visit);

// The string that an offset is in, between its quotes or at their inside ends.
std::optional<StringField> string_at(const Places& places, const google::protobuf::Descriptor& type, std::size_t offset);

// The offset in a string's text of a line and column of the file; nullopt if that position is in none of the string's literals.
std::optional<std::size_t> offset_in_text(const ir::SourceText& text, int line, int column);

// Empty if the text has mistakes. Bindings may have groups, like those of reports.
std::vector<ir::Binding> parsed_bindings(const ir::SourceText& text);
std::vector<ir::Expression> parsed_expression(const ir::SourceText& text);  // one, or none

}  // namespace graphrun::lsp
