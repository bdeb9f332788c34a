#include "runtime/base/process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "runtime/base/file.h"
#include "runtime/base/system_call.h"

namespace graphrun {
namespace {

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// A file in memory. Unlike a pipe, it holds all that one process writes before another reads any of it.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text = {}) : descriptor_(memfd_create("stream", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || write_some(descriptor_, text.data(), text.size()) < text.size()) error_ = errno;
    lseek(descriptor_, 0, SEEK_SET);
  }
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  int error() const { return error_; }  // why there is no such file; 0 if there is
  std::string text() const { return read_file("/proc/self/fd/" + std::to_string(descriptor_), std::uint64_t{1} << 32); }

 private:
  int descriptor_, error_ = 0;
};

}  // namespace

EndedProgram run_program(const std::vector<std::string>& words, std::string_view input) {
  // Each descriptor is at least as large as the stream that it becomes, so none is replaced before it is used.
  const MemoryFile files[] = {MemoryFile(input), MemoryFile(), MemoryFile()};
  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  EndedProgram ended;
  for (int i = 0; i < 3; ++i) {
    if (ended.error == 0) ended.error = files[i].error();
    posix_spawn_file_actions_adddup2(&streams, files[i].descriptor(), i);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (ended.error == 0) ended.error = posix_spawnp(&child, arguments[0], &streams, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&streams);
  if (ended.error != 0) return ended;
  int status = 0;
  if (uninterrupted([&] { return waitpid(child, &status, 0); }) < 0) {
    ended.error = errno;  // where the process ignores SIGCHLD, nothing tells how a child ended
    return ended;
  }
  ended.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  ended.output = files[1].text();
  ended.errors = files[2].text();
  return ended;
}

ProcessState state_of_process(long number) {
  if (kill(static_cast<pid_t>(number), 0) != 0 && errno == ESRCH) return {};
  const std::string status = first_line("/proc/" + std::to_string(number) + "/stat");
  // The second field, the program's name in parentheses, may contain any character. The third is the state, the 22nd the start.
  std::size_t at = status.rfind(')');
  if (at == std::string::npos) return {true, ""};
  ++at;
  if (status.compare(at, 2, " Z") == 0 || status.compare(at, 2, " X") == 0) return {};
  for (int field = 3; field < 22 && at != std::string::npos; ++field) at = status.find(' ', at + 1);
  if (at == std::string::npos) return {true, ""};
  const std::string ticks = status.substr(at + 1, status.find(' ', at + 1) - at - 1);
  return {true, "started " + ticks + " after boot " + first_line("/proc/sys/kernel/random/boot_id")};
}

}  // namespace graphrun
