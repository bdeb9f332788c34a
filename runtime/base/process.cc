#include "runtime/base/process.h"

#include <signal.h>

#include <cerrno>
#include <fstream>

namespace graphrun {
namespace {

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

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
