// Graphviz behind a plain function: a separate module (runtime/base/module.h), so that programs that draw nothing do not load
// it.
#pragma once

#include "runtime/base/module.h"

namespace graphrun {

extern "C" {

// Draws a NUL-terminated graph in Graphviz's language, and passes the SVG to `take` in one piece. Returns null, or an error
// message if nothing was passed. Any thread may call it; drawings are serialized.
using GraphvizDraw = const char* (*)(const char* dot, TakeBytes take, void* to);

}  // extern "C"

// The name of the module and of its only exported symbol, a GraphvizDraw.
inline constexpr const char* kGraphvizModule = "graphrun_graphviz";

}  // namespace graphrun
