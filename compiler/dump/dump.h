// Prints a graph for people and other programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace graphrun {

enum class DumpFormat {
  kText,   // compiler/ir/printer.h
  kPbtxt,  // the model language, which can be loaded again
  kDot,    // Graphviz
  kSvg,    // drawn by Graphviz
  kJson,
  kHtml,  // compiler/dump/page.h
};

// "text", "pbtxt", "dot", "svg", "json" or "html"; nullopt for any other name.
std::optional<DumpFormat> dump_format(std::string_view name);

// In any format but kHtml, which shows several stages.
std::string dump(const ir::Graph& graph, DumpFormat format);

// One file in the model language: equations as node messages, scans' bodies as local graphs, names with '_' where the language
// does not allow '.'. It can be loaded again and computes the same, up to the stage where differentiation begins: optimizer
// slots and internal ops cannot be expressed in the language, and a comment says so.
std::string dump_pbtxt(const ir::Graph& graph);

// Every node is a box and every scan a cluster; data flows from top to bottom.
std::string dot(const ir::Graph& graph);

// A drawing: every call and every loop is a frame, and every equation a box. A graph with more than kMostBoxes nodes is
// summarized first: nodes whose names have the same prefix become one box, and so do repetitions of a layer. Throws UserError:
// kRunFailed, E0510 cannot-draw if Graphviz fails; E0514 no-graphviz if it is not there.
inline constexpr std::size_t kMostBoxes = 1500;
std::string svg(const ir::Graph& graph);

// Values, nodes, types, locations; regions within their nodes.
std::string json(const ir::Graph& graph);

}  // namespace graphrun
