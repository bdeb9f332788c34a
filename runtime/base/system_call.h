// System calls that a signal may interrupt.
#pragma once

#include <cerrno>

namespace graphrun {

// What `call` returns once no signal interrupts it (EINTR). Not for close: its descriptor is free even then.
template <class Call>
auto uninterrupted(const Call& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace graphrun
