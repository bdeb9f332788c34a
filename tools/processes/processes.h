// Runs a command in all processes of a launcher, with one error message and one exit code.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"

namespace graphrun {

inline constexpr double kSilence = 60;  // default of --silence: seconds without an answer after which a process is lost

// Calls `body` with the communicator of the processes that a launcher started; with null if there is only this process. Only
// process 0 writes to stdout. If `body` throws in any process, process 0 prints the error, under "process 3 on 'b':" if it is
// another's, and all processes return its exit code. `command`: a mistake on the command line refers to this command's --help.
ExitCode in_processes(const std::string& command, double silence, const std::function<ExitCode(Communicator* together)>& body);

// Parses a number of seconds above 0; nullopt if the text is not one.
std::optional<double> parse_silence(const std::string& text);
// The value of --silence in a command line that is not parsed yet; kSilence if there is no valid value.
double silence_of(const std::vector<std::string>& words);

// Runs graphrun with the command line `words` in `processes` processes on this machine, with mpirun, and waits for its end.
// Forwards signals that stop a run, as SIGUSR1, because mpirun answers others with SIGKILL. Returns the exit code of the
// processes; kRunFailed if one was killed. Throws UserError: (kUsage) E0530 no-mpi if there is no mpirun or no plug-in for it,
// (kNoRoom) E0503 if the system refuses another process.
ExitCode launch(int processes, const std::vector<std::string>& words);

}  // namespace graphrun
