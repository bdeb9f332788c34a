// A command that several processes of a launcher carry out together: it ends once, with one message and one exit code.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"

namespace graphrun {

inline constexpr double kSilence = 60;  // seconds after which a process counts as gone, unless --silence says so

// Calls `body` with the processes that a launcher started with this one; null: this process is alone. Process 0 alone writes to
// stdout. What a process throws, process 0 prints, under "process 3 on 'b':" where it is another's, and all processes return
// its exit code.
// `command`: whose --help a mistake on the command line refers to.
ExitCode in_processes(const std::string& command, double silence, const std::function<ExitCode(Communicator* together)>& body);

// A number of seconds above 0; nothing where the text is none.
std::optional<double> parse_silence(const std::string& text);
// What --silence says among these words, which are not parsed yet; kSilence where it says nothing sensible.
double silence_of(const std::vector<std::string>& words);

// Starts graphrun with these words in so many processes on this machine, under mpirun, and waits for their end. Signals that
// end a run are passed on as SIGUSR1: mpirun answers others with SIGKILL. Returns the processes' exit code; kRunFailed where
// one was killed. Throws UserError (kUsage, E0530 no-mpi) where there is no mpirun, or no plug-in for it.
ExitCode launch(int processes, const std::vector<std::string>& words);

}  // namespace graphrun
