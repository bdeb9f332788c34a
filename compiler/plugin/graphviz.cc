#include "compiler/plugin/graphviz.h"

#include <graphviz/gvc.h>

#include <memory>
#include <mutex>

namespace graphrun {
namespace {

struct CloseGraph {
  void operator()(Agraph_t* g) const { agclose(g); }
};

struct FreeDrawing {
  void operator()(char* drawn) const { gvFreeRenderData(drawn); }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* graphrun_graphviz(const char* dot, const char* format,
                                                                                TakeBytes take, void* to);

const char* graphrun_graphviz(const char* dot, const char* format, TakeBytes take, void* to) {
  static std::mutex one_at_a_time;  // Graphviz stores its state in globals
  const std::lock_guard lock(one_at_a_time);
  // One for the whole process, never freed: the text plug-in stores pointers into the fonts of the first context.
  static GVC_t* const context = gvContext();
  if (context == nullptr) return "it does not start";
  const std::unique_ptr<Agraph_t, CloseGraph> graph(agmemread(dot));
  if (graph == nullptr) return "its text is not read";
  if (gvLayout(context, graph.get(), "dot") != 0) return "the layout fails";
  char* bytes = nullptr;
  unsigned size = 0;
  const int failed = gvRenderData(context, graph.get(), format, &bytes, &size);
  const std::unique_ptr<char, FreeDrawing> drawn(bytes);
  gvFreeLayout(context, graph.get());
  if (failed != 0 || drawn == nullptr || size == 0) return "there is no renderer for this format";
  take(to, drawn.get(), size);
  return nullptr;
}

}  // namespace graphrun
