#include "tools/processes/processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string_view>

#include "tools/cli/program.h"

namespace graphrun {
namespace {

// Discards the standard output of this process.
void close_output() {
  std::cout.flush();
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  dup2(nowhere, STDOUT_FILENO);
  close(nowhere);
}

// Whether this is process 0 according to the launcher. If processes cannot join, all fail with the same error.
bool is_first() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    if (const char* const rank = std::getenv(name)) return std::string_view(rank) == "0";
  }
  return true;
}

// Null if the processes cannot join and another one reports why.
std::unique_ptr<Communicator> meet(const Launcher& launcher, double silence) {
  try {
    return std::make_unique<Communicator>(launcher, silence);
  } catch (const UserError&) {
    if (is_first()) throw;
    return nullptr;
  }
}

}  // namespace

std::optional<double> parse_silence(const std::string& text) {
  double seconds = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || stop != text.data() + text.size() || !(seconds > 0 && seconds < 1e9)) return std::nullopt;
  return seconds;
}

double silence_of(const std::vector<std::string>& words) {
  constexpr std::string_view kOption = "--silence";
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string text;
    if (words[i] == kOption && i + 1 < words.size()) text = words[i + 1];
    if (words[i].starts_with("--silence=")) text = words[i].substr(kOption.size() + 1);
    if (const std::optional<double> seconds = parse_silence(text)) return *seconds;
  }
  return kSilence;
}

ExitCode in_processes(const std::string& command, double silence, const std::function<ExitCode(Communicator*)>& body) {
  const Launcher launcher = this_launcher();
  if (launcher.name.empty()) return body(nullptr);
  // Blocked, SIGUSR1 stays pending until training takes it (StopSignals), so that a request to stop that comes before is not
  // lost. It ends no other command: if a process was killed, MPICH's launcher sends it to the others, which still have to
  // report that.
  sigset_t later;
  sigemptyset(&later);
  sigaddset(&later, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &later, nullptr);
  const std::unique_ptr<Communicator> met = meet(launcher, silence);
  if (met == nullptr) return ExitCode::kUsage;
  Communicator& together = *met;
  if (together.size() == 1) return body(nullptr);
  const bool speaks = together.rank() == 0;
  if (!speaks) close_output();
  ExitCode code = ExitCode::kRunFailed;
  bool returned = false;
  std::unique_ptr<PeerEnd> peer;
  std::ostringstream unheard;
  const int failed = guarded(
      "graphrun",
      [&] {
        try {
          together.introduce();
          code = body(&together);
          returned = true;
        } catch (const PeerEnd& end) {
          peer = std::make_unique<PeerEnd>(end);
        } catch (const UsageError& error) {
          throw UsageError(error.what(), command);
        }
        return ExitCode::kDone;
      },
      speaks ? std::cerr : unheard);
  if (returned) return code;
  if (peer) {
    if (*peer->what() != '\0') std::cerr << peer->what() << std::endl;
    if (speaks) together.end_all(peer->code());
    return static_cast<ExitCode>(peer->code());
  }
  if (!speaks) return static_cast<ExitCode>(together.report_failure(failed, unheard.str()));
  together.end_all(failed);
  return static_cast<ExitCode>(failed);
}

}  // namespace graphrun
