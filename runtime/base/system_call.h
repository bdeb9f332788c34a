// System calls that a signal may interrupt.
#pragma once

#include <cerrno>

namespace graphrun {

// Repeats `call` while a signal interrupts it (EINTR), and returns its result. Not for close(), which frees the descriptor even
// then.
template <class Call>
auto uninterrupted(const Call& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace graphrun
