#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/base/process.h"
#include "runtime/base/system_call.h"
#include "runtime/communicator/mpi_library.h"
#include "tools/processes/processes.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

// A launcher, with the options for processes that share the cores of this machine.
struct Mpirun {
  std::string path, plugin;
  std::vector<std::string> options;
};

std::string found_in_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

Mpirun find_mpirun() {
  std::string seen;
  for (const char* name : {"mpirun", "mpirun.openmpi", "mpirun.mpich"}) {
    const std::string path = found_in_path(name);
    if (path.empty()) continue;
    seen = path;
    const bool open_mpi = run_program({path, "--version"}).output.find("Open MPI") != std::string::npos;
    const std::string plugin = open_mpi ? "openmpi" : "mpich";
    if (!has_mpi_plugin(plugin)) continue;
    // By default, Open MPI binds each process to one core and refuses more processes than cores. If one process ends, MPICH
    // kills all others, which may still have to report why.
    if (open_mpi) return {path, plugin, {"-q", "--oversubscribe", "--bind-to", "none"}};
    return {path, plugin, {"-disable-auto-cleanup"}};
  }
  throw UserError(ExitCode::kUsage, "E0530 no-mpi",
                  seen.empty() ? "--processes needs MPI, and there is no mpirun"
                               : fmt::format("--processes needs MPI, and this graphrun was built without that of '{}'", seen),
                  {"help: tools/setup --mpi installs Open MPI and MPICH; tools/build then builds graphrun with them"});
}

// During its lifetime, signals are blocked, and next() returns them one by one.
class TakenSignals {
 public:
  TakenSignals() {
    sigemptyset(&taken_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}) sigaddset(&taken_, signal);
    pthread_sigmask(SIG_BLOCK, &taken_, &before_);
  }
  ~TakenSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  TakenSignals(const TakenSignals&) = delete;
  TakenSignals& operator=(const TakenSignals&) = delete;

  int next() const {
    return uninterrupted([this] { return sigwaitinfo(&taken_, nullptr); });
  }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t taken_{}, before_{};
};

}  // namespace

ExitCode launch(int processes, const std::vector<std::string>& words) {
  const Mpirun mpirun = find_mpirun();
  std::vector<std::string> all = {mpirun.path};
  all.insert(all.end(), mpirun.options.begin(), mpirun.options.end());
  std::error_code error;
  all.insert(all.end(), {"-np", std::to_string(processes), fs::read_symlink("/proc/self/exe", error).string()});
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (geteuid() == 0) {  // many containers have no other user
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }

  const TakenSignals signals;
  const pid_t child = fork();
  if (child < 0)
    throw UserError(ExitCode::kNoRoom, "E0503 out-of-memory", "mpirun cannot be started: no further process is possible");
  if (child == 0) {
    // In its own process group, mpirun does not receive Ctrl-C from the terminal: this process forwards it. Such a group must
    // not read from the terminal.
    setpgid(0, 0);
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    pthread_sigmask(SIG_SETMASK, &signals.before(), nullptr);
    execv(mpirun.path.c_str(), arguments.data());
    _exit(127);
  }
  int came = 0, status = 0;
  while (uninterrupted([&] { return waitpid(child, &status, WNOHANG); }) == 0) {
    const int signal = signals.next();
    if (signal <= 0 || signal == SIGCHLD) continue;
    came = signal == SIGUSR1 ? SIGTERM : signal;
    kill(child, SIGUSR1);
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  // SIGUSR1 kills mpirun, or one of the processes, if it arrives before they have blocked or handled it.
  if (came != 0 && (code == 128 + SIGTERM || code == 128 + SIGUSR1)) return static_cast<ExitCode>(128 + came);
  const bool own = code <= static_cast<int>(ExitCode::kDiverged) || code == 128 + SIGINT || code == 128 + SIGTERM;
  return own ? static_cast<ExitCode>(code) : ExitCode::kRunFailed;
}

}  // namespace graphrun
