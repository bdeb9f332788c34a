// Graphviz behind a plain function: a module of its own (runtime/base/module.h), so that who draws nothing loads no Graphviz.
#pragma once

#include "runtime/base/module.h"

namespace graphrun {

extern "C" {

// Draws a graph in Graphviz's language, which a NUL ends, and gives the SVG in one piece. Null; or what went wrong, and nothing
// was given. Any thread may call it; drawings wait for one another.
using GraphvizDraw = const char* (*)(const char* dot, TakeBytes take, void* to);

}  // extern "C"

// The name of the module and of its one symbol, a GraphvizDraw.
inline constexpr const char* kGraphvizModule = "graphrun_graphviz";

}  // namespace graphrun
