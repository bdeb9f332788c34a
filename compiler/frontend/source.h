// Protobuf text files whose every field and character knows its place. Parsing is protobuf's; the places come from walking the
// same tokens once more.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/expression.h"
#include "runtime/base/status.h"

namespace google::protobuf {
class Message;
}

namespace graphrun {

// The places of one message's fields: a tree beside the message.
struct Places {
  struct Value {
    Location at;                      // of the value
    ir::SourceText text;              // of a string, character by character
    std::unique_ptr<Places> message;  // of a message
  };
  Location at;                                                      // of the message: its field's name, or the file's beginning
  std::map<std::string, std::vector<Value>, std::less<>> fields;    // by field name, in the order of the values
  std::map<std::string, std::vector<Location>, std::less<>> names;  // where the fields' names stand

  bool has(std::string_view field) const { return fields.find(field) != fields.end(); }
  // Of a string field's value: its text with places; an empty text at the message's place where it is absent.
  ir::SourceText text(std::string_view field, std::size_t index = 0) const;
  // Of a message field's value.
  const Places& message(std::string_view field, std::size_t index = 0) const;
  Location location(std::string_view field, std::size_t index = 0) const;  // of a value; of the message where absent
};

inline constexpr std::size_t kLargestSource = 16u << 20;  // bytes of one .pbtxt
inline constexpr std::size_t kMostSyntaxErrors = 100;     // that are reported

// Keeps the first of them, E01…, and says that there are more; whatever else was found stays.
void limit_syntax_errors(std::vector<Diagnostic>& diagnostics);
bool is_syntax_error(const Diagnostic& diagnostic);

// Fills `message` from text. Throws UserError (kInvalidGraph, E0110 …) with every syntax error found; with `mistakes`,
// values that only lack their quotes are read as texts and reported there, so that later checks find the other mistakes too.
Places parse_source(std::string_view text, const std::string* file, google::protobuf::Message* message,
                    std::vector<Diagnostic>* mistakes = nullptr);

// Where the comment or quoted text that begins at `begin` ends: at its quote or line end. `begin` where neither begins there.
std::size_t end_of_aside(std::string_view text, std::size_t begin);

// Reads a file of at most kLargestSource bytes. Throws UserError naming the path and the system's reason: (kInvalidGraph)
// E0501; (kNoRoom) E0503.
std::string read_source(const std::string& path);

// What a file says of itself in a "# proto-message: graphrun.Job" line: "graphrun.Job"; else "".
std::string declared_message(std::string_view text);

}  // namespace graphrun
