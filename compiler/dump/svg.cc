#include <graphviz/gvc.h>

#include <memory>
#include <mutex>

#include "compiler/dump/dump.h"
#include "compiler/dump/picture.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

// Of a graph too large for one box a node; the layout takes time that grows faster than the boxes.
constexpr std::size_t kSummaryBoxes = 250;

[[noreturn]] void cannot_draw(const char* what) {
  throw UserError(ExitCode::kRunFailed, "E0510 cannot-draw", std::string("Graphviz cannot draw this graph: ") + what,
                  {"help: --format=dot gives the text that it draws from"});
}

struct CloseGraph {
  void operator()(Agraph_t* g) const { agclose(g); }
};

std::string render(const std::string& text) {
  static std::mutex one_at_a_time;  // Graphviz keeps its state in globals
  const std::lock_guard lock(one_at_a_time);
  // One for the whole process, never freed: the text plug-in keeps pointers into the fonts of the first.
  static GVC_t* const context = gvContext();
  if (!context) cannot_draw("it does not start");
  const std::unique_ptr<Agraph_t, CloseGraph> graph(agmemread(text.c_str()));
  if (!graph) cannot_draw("its text is not read");
  if (gvLayout(context, graph.get(), "dot") != 0) cannot_draw("the layout fails");
  char* drawn = nullptr;
  unsigned size = 0;
  const int failed = gvRenderData(context, graph.get(), "svg", &drawn, &size);
  std::string out = failed || !drawn ? std::string() : std::string(drawn, size);
  if (drawn) gvFreeRenderData(drawn);
  gvFreeLayout(context, graph.get());
  if (out.empty()) cannot_draw("there is no SVG renderer");
  return out;
}

}  // namespace

std::string dot(const ir::Graph& graph) { return to_dot(draw(graph)); }

std::string svg(const ir::Graph& graph) {
  return render(to_dot(count_nodes(graph) > kMostBoxes ? sum_up(graph, kSummaryBoxes) : draw(graph)));
}

}  // namespace graphrun
