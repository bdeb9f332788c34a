#include "tools/train/signals.h"

#include <unistd.h>

#include <csignal>

namespace graphrun {
namespace {

constexpr int kHandled[] = {SIGINT, SIGTERM};

volatile std::sig_atomic_t came = 0;
struct sigaction before[2];

extern "C" void note_signal(int signal) {
  if (came != 0) _exit(128 + signal);
  came = signal;
}

}  // namespace

StopSignals::StopSignals() {
  came = 0;
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;  // a write that is under way goes on
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 2; ++i) sigaction(kHandled[i], &action, &before[i]);
}

StopSignals::~StopSignals() {
  for (int i = 0; i < 2; ++i) sigaction(kHandled[i], &before[i], nullptr);
}

int StopSignals::pending() const { return came; }

}  // namespace graphrun
