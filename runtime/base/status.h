// Errors. A user's error (UserError: bad graph, bad data, out of memory, …) is distinct from an internal one (InternalError: a
// bug in graphrun): they have different types and different exit codes.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// The exit code of this project's programs; 128 + N if signal N ended the program.
enum class ExitCode : int {
  kDone = 0,
  kRunFailed = 1,     // also internal errors
  kUsage = 2,         // the command line
  kInvalidGraph = 3,  // a graph or a job
  kBadData = 4,       // data, vocabulary, checkpoint or model folder
  kNoRoom = 5,        // out of memory or disk
  kDiverged = 6,      // a loss or gradient that is not finite
};

// A place in a file and, through `via`, the chain of imports, calls and scans that led there (innermost first). Locations are
// interned and live as long as the program: copy them freely.
struct Location {
  const std::string* file = nullptr;  // null: no location (made by the compiler without a source)
  int line = 0;                       // from 1
  int column = 0;                     // from 1, in bytes
  int length = 1;                     // bytes to underline
  const Location* via = nullptr;

  bool known() const { return file != nullptr; }
  std::string str() const;  // "file:line:column"; "" if unknown
};

// The part of a graph that generated code came from: the name of a value, and where it is computed in the user's files.
struct Origin {
  std::string name;
  Location at;
};

// The line of a place in its file, without its end; empty where the place is unknown or the file cannot be read.
std::string line_at(const Location& at);

// The quoted text that contains a place in a file, such as an equation: `f = sigmoid(p - q)`. If the place is not in quotes,
// its line without leading and trailing spaces; empty if the place is unknown or the file cannot be read.
std::string text_at(const Location& at);

const std::string* intern_file(std::string_view path);
// Text that takes the place of a file in messages, under a name that is not a path: for example, command-line text ("--set").
// Interning another text under the same name replaces the earlier one.
const std::string* intern_text(std::string_view name, std::string text);
const Location* intern(const Location& location);  // for `via`

enum class Severity { kError, kWarning };

// One message: `file:line:column: error[E0123 shape-mismatch]: text`, the source line, a caret, then the remedy.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string code;  // "E0203 unknown-name": number and slug; see tests/errors/
  Location at;
  std::string text;                // what was found and what was expected
  std::vector<std::string> notes;  // "help: …", "note: …": each on a line of its own
};

// One or more mistakes of a user, reported together. `what()` is all of them, rendered.
class UserError : public std::runtime_error {
 public:
  UserError(ExitCode exit_code, std::vector<Diagnostic> diagnostics);
  // Without a location: `error[E0601 …]: text`.
  UserError(ExitCode exit_code, std::string code, std::string text, std::vector<std::string> notes = {});

  ExitCode exit_code() const { return exit_code_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  ExitCode exit_code_;
  std::vector<Diagnostic> diagnostics_;
};

// A bug in graphrun: an invariant is violated.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws InternalError unless `holds`.
#define GRAPHRUN_CHECK(holds, message)                                                       \
  do {                                                                                       \
    if (!(holds)) throw ::graphrun::InternalError(std::string(__FILE__) + ": " + (message)); \
  } while (false)

// Renders the diagnostic, with the source line and a caret if the file can be read. `color`: ANSI colors.
std::string render(const Diagnostic& diagnostic, bool color = false);
std::string render(const std::vector<Diagnostic>& diagnostics, bool color = false);

// The names nearest to `name` by edit distance, best first, at most `most` of them; for "did you mean".
std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& candidates, std::size_t most = 3);
// "did you mean 'a' or 'b'?", or "" if no candidate is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);
// The same; if no candidate is similar and there are few, all of them: "there are f1, loss".
std::string near_or_all(std::string_view name, const std::vector<std::string>& candidates);
// "1 row", "2 rows", "2 batches" with the plural "es".
std::string counted(std::int64_t n, std::string_view what, std::string_view plural = "s");

}  // namespace graphrun
