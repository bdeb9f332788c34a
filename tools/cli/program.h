// What every program's command line shares: options without guessing, the kinds of failure and their exit codes, files and
// streams.
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

// A mistake on the command line: exit code 2, its text, and where to read more, which is the program's --help or, once it is
// known, the command's.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& text, std::string command = "")
      : std::runtime_error(text), command_(std::move(command)) {}
  const std::string& command() const { return command_; }

 private:
  std::string command_;
};

// Runs `body` and turns what it throws into a message on stderr and an exit code: a UserError's own, 2 for a UsageError, 5
// where memory is out (of what says so too, and of destructors), 1 for our own bugs. `program` begins the messages and outlives
// the call. The messages go to `messages`, with colours only where that is stderr.
int guarded(std::string_view program, const std::function<ExitCode()>& body, std::ostream& messages = std::cerr);

// Before anything opens a file: a standard stream that is closed stays closed, so that no file takes its number and is written
// to or read by mistake. And a file as large as the shell allows (ulimit -f) is an error like a full disk, not the end.
void secure_streams();

// Starts the program anew with threads that spin only briefly while they wait for one another, unless the environment says how
// they wait: OpenMP reads that before main, and on a machine that others use too long spins stall every parallel loop.
void wait_without_long_spins(char** words);

// What may be meant by an option that does not exist, given its name without dashes; "" of none.
using OptionHint = std::function<std::string(const std::string& name)>;

// Parses argv[1..] with abbreviations refused; `positional` may be empty. Of an unknown option `hint` is asked first, then what
// is spelled alike is offered. Throws UsageError.
boost::program_options::variables_map parse_options(
    const std::vector<std::string>& arguments, const boost::program_options::options_description& options,
    const boost::program_options::positional_options_description& positional = {}, const OptionHint& hint = nullptr);

// "0.1.0"
std::string_view version();

// Whether messages on stderr may be coloured: a terminal, and NO_COLOR is not set.
bool color_on_stderr();

// The whole file, or stdin for "-". Throws UserError as runtime/base/file.h.
std::string read_input(const std::string& path);
// Writes it atomically, or to stdout for "-". Throws UserError as runtime/base/file.h.
void write_output(const std::string& path, std::string_view text);

// "NAME=VALUE" as --set gives it. Throws UsageError where there is no '='.
GraphRequest::Setting parse_set(const std::string& text);

}  // namespace graphrun
