// Mistakes in what a job names, told at the place where it names it.
#pragma once

#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace graphrun {

// Runs `action`; what it throws of no place in any file is at `at`.
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
