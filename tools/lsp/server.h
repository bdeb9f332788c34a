// The language server: reads requests, answers them one after the other, and publishes diagnostics when none is waiting.
#pragma once

#include "runtime/base/status.h"

namespace graphrun::lsp {

// Serves the protocol on two file descriptors until the client ends it. Returns kDone after the requests shutdown and exit,
// otherwise kRunFailed.
ExitCode serve(int in, int out);

}  // namespace graphrun::lsp
