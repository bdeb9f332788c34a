#include "compiler/dump/dump.h"
#include "compiler/dump/layout.h"
#include "compiler/dump/outline.h"
#include "compiler/dump/picture.h"

namespace graphrun {
namespace {

// For a graph too large for one box per node; layout time grows faster than linearly with the number of boxes.
constexpr std::size_t kSummaryBoxes = 250;

}  // namespace

std::string dot(const ir::Graph& graph) { return to_dot(draw(graph)); }

std::string svg(const ir::Graph& graph) {
  return lay_out(to_dot(count_nodes(graph) > kMostBoxes ? sum_up(graph, kSummaryBoxes) : draw(outline(graph))), "svg");
}

}  // namespace graphrun
