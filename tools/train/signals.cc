#include "tools/train/signals.h"

#include <unistd.h>

#include <ctime>

namespace graphrun {

StopSignals::StopSignals() {
  sigemptyset(&handled_);
  sigaddset(&handled_, SIGINT);
  sigaddset(&handled_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &handled_, &before_);
  waiting_ = std::thread([this] { wait_for_signals(); });
}

StopSignals::~StopSignals() {
  ended_ = true;
  waiting_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopSignals::wait_for_signals() {
  constexpr timespec kMoment{0, 50'000'000};  // after which it looks whether it is still wanted
  while (!ended_) {
    const int signal = sigtimedwait(&handled_, nullptr, &kMoment);
    if (signal <= 0) continue;
    int none = 0;
    if (!came_.compare_exchange_strong(none, signal)) _exit(128 + signal);
  }
}

}  // namespace graphrun
