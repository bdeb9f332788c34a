#include "tools/run/signals.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace graphrun {
namespace {

std::chrono::nanoseconds monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

StopPolicy::Action StopPolicy::at_signal(std::chrono::nanoseconds at, bool saving) {
  if (!first_) {
    first_ = at;
    return Action::kStop;
  }
  if (at - *first_ <= kSameRequest) return Action::kNone;
  if (!saving || reported_) return Action::kEnd;
  reported_ = true;
  return Action::kReport;
}

StopSignals::StopSignals() {
  sigemptyset(&handled_);
  sigaddset(&handled_, SIGINT);
  sigaddset(&handled_, SIGTERM);
  sigaddset(&handled_, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &handled_, &before_);
  waiting_ = std::thread([this] { wait_for_signals(); });
}

StopSignals::~StopSignals() {
  ended_ = true;
  pthread_kill(waiting_.native_handle(), SIGTERM);  // wakes the thread
  waiting_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopSignals::wait_for_signals() {
  while (true) {
    const int signal = sigwaitinfo(&handled_, nullptr);
    if (ended_) return;
    if (signal > 0) take(signal == SIGUSR1 ? SIGTERM : signal);
  }
}

void StopSignals::take(int signal) {
  switch (policy_.at_signal(monotonic_now(), saving_)) {
    case StopPolicy::Action::kStop: came_ = signal; break;
    case StopPolicy::Action::kNone: break;
    case StopPolicy::Action::kReport:
      fmt::print(stderr, "signal {} during a save, which will be finished; the next signal ends the run at once\n", signal);
      break;
    case StopPolicy::Action::kEnd: _exit(128 + signal);
  }
}

}  // namespace graphrun
