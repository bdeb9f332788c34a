// A file's fields with the comments and line breaks between them: what the formatter prints.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontend/source.h"

namespace google::protobuf {
class Descriptor;
}

namespace graphrun {

struct LayoutMessage;

// A value in its final spelling.
struct LayoutValue {
  // A text in quotes: its literals, with their quotes. An expression has one, to be split where it is too long.
  std::vector<std::string> literals;
  bool is_text = false, is_expression = false;
  std::string plain;                   // any other single value
  std::vector<LayoutMessage> message;  // one, for a message
};

struct LayoutItem {
  int breaks = 0;  // line breaks before it
  std::string name;
  bool list = false;  // [value, …]
  std::vector<LayoutValue> values;
  std::string verbatim;  // instead, for a field with comments inside: its text
  std::string comment;   // "# …": alone if there is no name, else after the field
};

struct LayoutMessage {
  std::string open_comment;  // after its {
  std::vector<LayoutItem> items;
  bool lines = false;  // its fields begin on a line of their own
};

// The layout of a text that parse_source has read into `places`. Throws UserError with every expression that cannot be parsed.
LayoutMessage layout_of(std::string_view text, const Places& places, const google::protobuf::Descriptor& type);

}  // namespace graphrun
