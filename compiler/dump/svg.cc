#include "compiler/dump/dump.h"
#include "compiler/dump/picture.h"
#include "compiler/plugin/graphviz.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

// For a graph too large for one box per node; layout time grows faster than linearly with the number of boxes.
constexpr std::size_t kSummaryBoxes = 250;

std::string render(const std::string& text) {
  static const auto draw = reinterpret_cast<GraphvizDraw>(
      module_function({kGraphvizModule, false, "E0514 no-graphviz", "Graphviz, which draws graphs,",
                       "Debian's package is libgvc6; --format=dot gives the text that it draws from"}));
  std::string drawn;
  const auto take = [](void* to, const char* bytes, std::size_t size) { static_cast<std::string*>(to)->assign(bytes, size); };
  const char* const failure = draw(text.c_str(), take, &drawn);
  if (failure != nullptr)
    throw UserError(ExitCode::kRunFailed, "E0510 cannot-draw", std::string("Graphviz cannot draw this graph: ") + failure,
                    {"help: --format=dot gives the text that it draws from"});
  return drawn;
}

}  // namespace

std::string dot(const ir::Graph& graph) { return to_dot(draw(graph)); }

std::string svg(const ir::Graph& graph) {
  return render(to_dot(count_nodes(graph) > kMostBoxes ? sum_up(graph, kSummaryBoxes) : draw(graph)));
}

}  // namespace graphrun
