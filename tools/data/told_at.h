// Gives errors about files and other things that a job names the location at which the job names them.
#pragma once

#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace graphrun {

// Runs `action`; errors without a location get `at`.
template <class Action>
auto told_at(const Location& at, const Action& action) {
  try {
    return action();
  } catch (const UserError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& diagnostic : diagnostics) {
      if (!diagnostic.at.known()) diagnostic.at = at;
    }
    throw UserError(error.exit_code(), std::move(diagnostics));
  }
}

}  // namespace graphrun
