// Graphviz behind a plain function: a separate module (runtime/base/module.h), so that programs that draw nothing do not load
// it.
#pragma once

#include "runtime/base/module.h"

namespace graphrun {

extern "C" {

// Lays out a graph in Graphviz's language, and passes it to `take` in one piece: as a drawing ("svg") or as coordinates
// ("plain"). Texts are NUL-terminated. Returns null, or an error message if nothing was passed. Any thread may call it; layouts
// are serialized.
using GraphvizDraw = const char* (*)(const char* dot, const char* format, TakeBytes take, void* to);

}  // extern "C"

// The name of the module and of its only exported symbol, a GraphvizDraw.
inline constexpr const char* kGraphvizModule = "graphrun_graphviz";

}  // namespace graphrun
