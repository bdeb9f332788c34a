// What may have been meant where protobuf could not read a text: from its message, and from the text before the mistake.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace graphrun::text_hints {

// "Init has the fields uniform, normal, …".
std::string fields_of(const google::protobuf::Descriptor& message);

// For "Message type "graphrun.Graph" has no field named "lets".": the near ones, and all.
std::vector<std::string> near_fields(const std::string& message);

// What stands between two marks of a message.
std::string between(const std::string& message, std::string_view before, std::string_view after);

// The message that the text is in at its end: `root`, or the one whose braces are open. Null where a name is no message's.
const google::protobuf::Descriptor* open_message(std::string_view text, const google::protobuf::Descriptor* root);

// What the field of that name in the message that the text ends in may be.
std::vector<std::string> enum_values(std::string_view text, const google::protobuf::Descriptor* root, const std::string& field);

// The field whose value the text ends before, "init:", in `message`; null where it ends before none.
const google::protobuf::FieldDescriptor* field_before(std::string_view text, const google::protobuf::Descriptor* message);

// The length of the text without quotes that begins there: a list up to its bracket, else names and numbers with the operators
// between them; 0 where neither begins.
std::size_t bare_length(std::string_view text, std::size_t begin);

// What the value of a field should look like, for a message of protobuf's that has another.
std::string form_of_value(const std::string& message);

}  // namespace graphrun::text_hints
