#include "tools/cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <set>
#include <system_error>
#include <typeinfo>

#include "runtime/base/file.h"
#include "runtime/base/suggestion.h"
#include "runtime/base/system_call.h"

namespace graphrun {
namespace po = boost::program_options;
namespace {

int report(std::ostream& messages, std::string_view program, const std::string& text, ExitCode code) {
  messages << program << ": " << text << "\n";
  return static_cast<int>(code);
}

constexpr unsigned kMostPositions = 10;                          // positional arguments of a command
constexpr std::uint64_t kLargestInput = std::uint64_t{1} << 30;  // bytes

// "did you mean '--threads'?"; positional arguments have names too, but these are not options.
std::string near_option(const std::string& name, const po::options_description& options,
                        const po::positional_options_description& positional) {
  std::set<std::string> positions;
  for (unsigned i = 0; i < std::min(positional.max_total_count(), kMostPositions); ++i)
    positions.insert(positional.name_for_position(i));
  std::vector<std::string> known;
  for (const auto& option : options.options())
    if (positions.count(option->long_name()) == 0) known.push_back(option->long_name());
  std::vector<std::string> near = near_names(name, known);
  for (std::string& option : near) option.insert(0, "--");
  return suggestion(near);
}

}  // namespace

void secure_streams() {
  // A stream that is open only for writing fails on reading just like a closed stream, and vice versa.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;  // open() returns this number
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

void wait_without_long_spins(char** words) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  setenv("GOMP_SPINCOUNT", "2000", 0);
  execv("/proc/self/exe", words);  // returns only on failure; the program then runs as it is
}

namespace {

int guarded_but_for_memory(std::string_view program, const std::function<ExitCode()>& body, std::ostream& messages) {
  try {
    const ExitCode code = body();
    // Output may still be buffered, so a full disk is detected only here.
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) unwritable_file("stdout", "write", errno != 0 ? errno : EIO);
    return static_cast<int>(code);
  } catch (const UserError& error) {
    messages << render(error.diagnostics(), &messages == &std::cerr && color_on_stderr()) << std::endl;
    return static_cast<int>(error.exit_code());
  } catch (const UsageError& error) {
    const std::string command = error.command().empty() ? "" : " " + error.command();
    return report(messages, program, std::string(error.what()) + "\ntry '" + std::string(program) + command + " --help'",
                  ExitCode::kUsage);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error& error) {
    // EAGAIN: the system has no resources for another thread.
    if (error.code() == std::errc::resource_unavailable_try_again) {
      const UserError refused(ExitCode::kNoRoom, "E0515 no-thread",
                              std::string("the system refuses another thread: ") + error.what(),
                              {"`ulimit -u`, or the limit of a container's or a service's tasks, must allow more"});
      messages << render(refused.diagnostics(), &messages == &std::cerr && color_on_stderr()) << std::endl;
      return static_cast<int>(refused.exit_code());
    }
    return report(messages, program, error.what(),
                  error.code() == std::errc::not_enough_memory ? ExitCode::kNoRoom : ExitCode::kRunFailed);
  } catch (const InternalError& error) {
    return report(messages, program, std::string("internal error, a bug in graphrun: ") + error.what(), ExitCode::kRunFailed);
  } catch (const std::exception& error) {
    return report(messages, program, error.what(), ExitCode::kRunFailed);
  }
}

constexpr std::string_view kOutOfMemory = ": out of memory\n";
std::string_view guarded_program;
std::terminate_handler end_otherwise = nullptr;

// An exception that leaves a destructor reaches no handler: nlohmann's values allocate while they are destroyed. Nothing may
// allocate here.
[[noreturn]] void end_without_memory() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    for (const std::string_view text : {guarded_program, kOutOfMemory})
      if (write(STDERR_FILENO, text.data(), text.size()) < 0) break;
    _exit(static_cast<int>(ExitCode::kNoRoom));
  } catch (...) {
  }
  if (end_otherwise != nullptr) end_otherwise();
  std::abort();
}

}  // namespace

int guarded(std::string_view program, const std::function<ExitCode()>& body, std::ostream& messages) {
  guarded_program = program;
  if (const std::terminate_handler before = std::set_terminate(end_without_memory); before != end_without_memory)
    end_otherwise = before;
  try {
    return guarded_but_for_memory(program, body, messages);
  } catch (const std::bad_alloc&) {  // from the body, or while its error was reported
    messages << program << kOutOfMemory;
    return static_cast<int>(ExitCode::kNoRoom);
  }
}

// "--beam takes a whole number, found 'two'", if the option holds one.
static std::string wrong_value(const po::invalid_option_value& error, const po::options_description& options) {
  const po::option_description* const option = options.find_nothrow(error.get_option_name().substr(2), false);
  const auto* const typed = option == nullptr ? nullptr : dynamic_cast<const po::typed_value_base*>(option->semantic().get());
  const std::string text = error.what();  // "the argument ('two') for option '--beam' is invalid"
  const std::size_t begin = text.find("('"), end = text.find("')");
  if (typed == nullptr || begin == std::string::npos || end == std::string::npos) return text;
  const bool real = typed->value_type() == typeid(double);
  return error.get_option_name() + " takes a " + (real ? "" : "whole ") + "number, found '" +
         text.substr(begin + 2, end - begin - 2) + "'";
}

po::variables_map parse_options(const std::vector<std::string>& arguments, const po::options_description& options,
                                const po::positional_options_description& positional, const OptionHint& hint) {
  namespace style = po::command_line_style;
  try {
    po::variables_map map;
    po::store(po::command_line_parser(arguments)
                  .options(options)
                  .positional(positional)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              map);
    po::notify(map);
    return map;
  } catch (const po::unknown_option& error) {
    std::string name = error.get_option_name();
    name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
    name.erase(std::min(name.find('='), name.size()));
    std::string near = hint ? hint(name) : "";
    if (near.empty()) near = near_option(name, options, positional);
    throw UsageError(std::string(error.what()) + (near.empty() ? near : "; " + near));
  } catch (const po::invalid_option_value& error) {
    throw UsageError(wrong_value(error, options));
  } catch (const po::too_many_positional_options_error&) {
    const auto most = positional.max_total_count();
    throw UsageError("the command takes " + std::to_string(most) + (most == 1 ? " name" : " names") +
                     " besides its options, no more");
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
}

std::string_view version() { return GRAPHRUN_VERSION; }

bool color_on_stderr() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) && !(no_color && *no_color);
}

std::string read_input(const std::string& path) {
  if (path != "-") return read_file(path, kLargestInput);
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t n = uninterrupted([&] { return read(STDIN_FILENO, buffer, sizeof buffer); });
    if (n < 0) unreadable_file("stdin", errno);
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > kLargestInput) {
      throw UserError(ExitCode::kBadData, "E0504 file-too-large",
                      "stdin has more than " + std::to_string(kLargestInput) + " bytes");
    }
  }
}

void write_output(const std::string& path, std::string_view text) {
  if (path != "-") {
    write_file(path, text);
    return;
  }
  // Earlier output must come first. This does not use a buffered stream, which would lose output when a signal interrupts it.
  if (std::fflush(stdout) != 0 || write_some(STDOUT_FILENO, text.data(), text.size()) < text.size())
    unwritable_file("stdout", "write", errno);
}

void refuse_to_overwrite(std::string_view option, const std::string& output, const std::vector<std::string>& read) {
  const auto is_file = [](const std::string& path) { return !path.empty() && path != "-"; };
  for (const std::string& file : read) {
    std::error_code none;  // if one of them does not exist, they differ
    if (is_file(output) && is_file(file) && std::filesystem::equivalent(output, file, none)) {
      throw UserError(ExitCode::kUsage, "E0429 bad-options",
                      fmt::format("{} would overwrite '{}', which is read", option, file), {"help: name another file"});
    }
  }
}

GraphRequest::Setting parse_set(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw UsageError("--set takes NAME=VALUE, found '" + text + "'");
  GraphRequest::Setting binding;
  binding.name = text.substr(0, equals);
  binding.text = text.substr(equals + 1);
  return binding;
}

}  // namespace graphrun
