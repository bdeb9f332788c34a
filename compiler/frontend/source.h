// Protobuf text files with the location of every field and character. protobuf does the parsing; the locations come from
// walking the same tokens again.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/expression.h"
#include "runtime/base/status.h"

namespace google::protobuf {
class Message;
}

namespace graphrun {

// The locations of one message's fields: a tree parallel to the message.
struct Places {
  struct FieldValue {
    Location at;                      // of the value
    ir::SourceText text;              // for a string: its characters with their locations
    std::unique_ptr<Places> message;  // for a message
    std::size_t begin = 0, end = 0;   // its offsets in the file, with its quotes or braces
  };
  // A field as it is written in the file.
  struct Written {
    std::string name;
    std::size_t begin = 0, end = 0;    // from the field's name to the end of its last value
    std::size_t first = 0, count = 0;  // which values of `fields` it has
    bool list = false;                 // [value, …]
  };
  Location at;  // of the message: its field's name, or the start of the file
  std::map<std::string, std::vector<FieldValue>, std::less<>> fields;  // by field name, in the order of the values
  std::map<std::string, std::vector<Location>, std::less<>> names;     // the locations of the field names
  std::vector<Written> written;                                        // in the order of the file

  bool has(std::string_view field) const { return fields.find(field) != fields.end(); }
  // The text of a string field with locations; an empty text at the message's location if the field is absent.
  ir::SourceText text(std::string_view field, std::size_t index = 0) const;
  // The locations in a message field.
  const Places& message(std::string_view field, std::size_t index = 0) const;
  Location location(std::string_view field, std::size_t index = 0) const;  // of a value; of the message if the field is absent
};

inline constexpr std::size_t kLargestSource = 16u << 20;  // bytes of one .pbtxt
inline constexpr std::size_t kMostSyntaxErrors = 100;     // limit for reporting

// Keeps only the first syntax errors (E01…) and notes that there are more; keeps all other diagnostics.
void limit_syntax_errors(std::vector<Diagnostic>& diagnostics);
bool is_syntax_error(const Diagnostic& diagnostic);

// Fills `message` from text. Throws UserError (kInvalidGraph, E0110 …) with every syntax error found; with `mistakes`, values
// that only lack quotes are read as strings and reported there, so that later checks find other mistakes too.
Places parse_source(std::string_view text, const std::string* file, google::protobuf::Message* message,
                    std::vector<Diagnostic>* mistakes = nullptr);

// Reads a file of at most kLargestSource bytes. Throws UserError with the path and the system's reason: (kInvalidGraph) E0501;
// (kNoRoom) E0503.
std::string read_source(const std::string& path);

// Replaces what read_source reads, until the next call: the texts by the files' paths with links resolved. For an editor's
// unsaved changes. Not while another thread reads sources.
void set_unsaved_sources(std::map<std::string, std::string> texts);

// Whether there is a file with that path, or an unsaved text. Throws like is_file_there.
bool is_source_there(const std::string& path);

// Records the paths that read_source and is_source_there are asked for during its lifetime, whether the files exist or not. For
// a server that keeps what it has computed from files. Only one at a time, and not while another thread reads sources.
class AskedSources {
 public:
  AskedSources();
  ~AskedSources();
  AskedSources(const AskedSources&) = delete;
  AskedSources& operator=(const AskedSources&) = delete;
  const std::set<std::string>& paths() const { return paths_; }

 private:
  std::set<std::string> paths_;
};

// The message type that a file declares in a "# proto-message: graphrun.Job" line: "graphrun.Job"; else "".
std::string declared_message(std::string_view text);

}  // namespace graphrun
