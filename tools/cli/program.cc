#include "tools/cli/program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>

namespace graphrun {
namespace po = boost::program_options;
namespace {

int report(std::string_view program, const std::string& text, ExitCode code) {
  std::cerr << program << ": " << text << "\n";
  return static_cast<int>(code);
}

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw UserError(ExitCode::kNoRoom, "E0502 cannot-write", "cannot write '" + path + "': " + std::strerror(error));
}

void write_all(const std::string& path, std::string_view text, std::FILE* file) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) cannot_write(path, errno);
}

}  // namespace

int guarded(std::string_view program, const std::function<ExitCode()>& body) {
  try {
    return static_cast<int>(body());
  } catch (const UserError& error) {
    std::cerr << render(error.diagnostics(), color_on_stderr()) << std::flush;
    return static_cast<int>(error.exit_code());
  } catch (const UsageError& error) {
    return report(program, std::string(error.what()) + "\ntry '" + std::string(program) + " --help'", ExitCode::kUsage);
  } catch (const std::bad_alloc&) {
    return report(program, "out of memory", ExitCode::kNoRoom);
  } catch (const InternalError& error) {
    return report(program, std::string("internal error, a bug of graphrun: ") + error.what(), ExitCode::kRunFailed);
  } catch (const std::exception& error) {
    return report(program, error.what(), ExitCode::kRunFailed);
  }
}

po::variables_map parse_options(const std::vector<std::string>& arguments, const po::options_description& options,
                                const po::positional_options_description& positional) {
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
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
}

std::string_view version() { return GRAPHRUN_VERSION; }

bool color_on_stderr() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) && !(no_color && *no_color);
}

std::string read_file(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) throw UserError(ExitCode::kBadData, "E0501 cannot-read", "cannot read '" + path + "': " + std::strerror(errno));
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (in.bad()) throw UserError(ExitCode::kBadData, "E0501 cannot-read", "cannot read '" + path + "'");
  return text;
}

void write_file(const std::string& path, std::string_view text) {
  if (path == "-") return write_all("stdout", text, stdout);
  std::error_code ignored;
  const bool in_place = std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);  // a device
  const std::string temporary = in_place ? path : path + ".tmp" + std::to_string(getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (!file) cannot_write(path, errno);
  const auto give_up = [&](int error) {
    if (!in_place) std::remove(temporary.c_str());
    cannot_write(path, error);
  };
  try {
    write_all(path, text, file);
  } catch (const UserError&) {
    std::fclose(file);
    if (!in_place) std::remove(temporary.c_str());
    throw;
  }
  if (std::fclose(file) != 0) give_up(errno);
  if (!in_place && std::rename(temporary.c_str(), path.c_str()) != 0) give_up(errno);
}

GraphRequest::Binding parse_set(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw UsageError("--set takes NAME=VALUE, found '" + text + "'");
  GraphRequest::Binding binding;
  binding.name = text.substr(0, equals);
  binding.text = text.substr(equals + 1);
  return binding;
}

}  // namespace graphrun
