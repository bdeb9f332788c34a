// Shared by the command lines of all programs: options without abbreviations, the kinds of failure and their exit codes, files
// and streams.
#pragma once

#include <boost/program_options.hpp>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "runtime/base/status.h"

namespace graphrun {

// A mistake on the command line: exit code 2. The message refers to the program's --help or, once the command is known, to the
// command's.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& text, std::string command = "")
      : std::runtime_error(text), command_(std::move(command)) {}
  const std::string& command() const { return command_; }

 private:
  std::string command_;
};

// Runs `body` and turns what it throws into a message on stderr and an exit code: a UserError's own, 2 for a UsageError, 5 if
// memory runs out (also while reporting that, or in a destructor), 1 for internal errors. `program` begins the messages and
// must outlive the call. The messages go to `messages`, with colors only if that is std::cerr.
int guarded(std::string_view program, const std::function<ExitCode()>& body, std::ostream& messages = std::cerr);

// Call this before anything opens a file. A closed standard stream stays unusable, so that no file takes its number and is read
// or written by mistake. Exceeding the shell's limit on file sizes (ulimit -f) becomes an error, like a full disk, and does not
// end the program.
void secure_streams();

// Restarts the program so that idle threads spin only briefly, unless the environment says how they wait. OpenMP reads the
// environment before main. On a shared machine, long spins would stall every parallel loop.
void wait_without_long_spins(char** words);

// A hint about an option that does not exist, given its name without dashes; "" for no hint.
using OptionHint = std::function<std::string(const std::string& name)>;

// Parses argv[1..] without abbreviations; `positional` may be empty. For an unknown option, the message contains `hint`,
// otherwise options with similar names. Throws UsageError.
boost::program_options::variables_map parse_options(
    const std::vector<std::string>& arguments, const boost::program_options::options_description& options,
    const boost::program_options::positional_options_description& positional = {}, const OptionHint& hint = nullptr);

// "0.1.0"
std::string_view version();

// Whether messages on stderr may have colors: it is a terminal and NO_COLOR is not set.
bool color_on_stderr();

// Reads the whole file, or stdin for "-". Throws UserError like runtime/base/file.h.
std::string read_input(const std::string& path);
// Writes the file atomically, or stdout for "-". Throws UserError like runtime/base/file.h.
void write_output(const std::string& path, std::string_view text);
// Throws UserError (kUsage, E0429) if `output`, the file that `option` names, is one of the files that are read. "" and "-" do
// not name files.
void refuse_to_overwrite(std::string_view option, const std::string& output, const std::vector<std::string>& read);

// Parses "NAME=VALUE" of --set. Throws UsageError if there is no '='.
GraphRequest::Setting parse_set(const std::string& text);

}  // namespace graphrun
