// Guesses what a text that protobuf cannot parse was meant to say: from the parser's message, and from the text before the
// mistake.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace graphrun {
// The end of the comment or quoted text that begins at `begin`: its closing quote or line end. Returns `begin` if there is
// none.
std::size_t end_of_aside(std::string_view text, std::size_t begin);
}  // namespace graphrun

namespace graphrun::text_hints {

// "Init has the fields uniform, normal, …".
std::string fields_of(const google::protobuf::Descriptor& message);

// For "Message type "graphrun.Graph" has no field named "lets".": similar field names, and all of them.
std::vector<std::string> near_fields(const std::string& message);

// The text between two markers in a message.
std::string between(const std::string& message, std::string_view before, std::string_view after);

// The messages that are open at the end of the text, the outermost first: `root`, then those whose braces are open. `message`
// is null if a name is not a message's; `brace` is the offset of its {.
struct OpenMessage {
  const google::protobuf::Descriptor* message;
  std::size_t brace = 0;
};
std::vector<OpenMessage> open_messages(std::string_view text, const google::protobuf::Descriptor* root);

// The innermost of them.
const google::protobuf::Descriptor* open_message(std::string_view text, const google::protobuf::Descriptor* root);

// The possible values of the field of that name, in the message that is open at the end of the text.
std::vector<std::string> enum_values(std::string_view text, const google::protobuf::Descriptor* root, const std::string& field);

// The field of `message` whose value would follow the end of the text, "init:"; null if there is none.
const google::protobuf::FieldDescriptor* field_before(std::string_view text, const google::protobuf::Descriptor* message);

// The length of the unquoted text there: a list up to its bracket, else names and numbers with the operators between them; 0 if
// there is neither.
std::size_t bare_length(std::string_view text, std::size_t begin);

// The quote in [begin, end) that opens a string which does not end there; `end` if there is none.
std::size_t open_quote(std::string_view text, std::size_t begin, std::size_t end);

// The expected form of a field's value, for a protobuf message about a value of another form.
std::string form_of_value(const std::string& message);

}  // namespace graphrun::text_hints
