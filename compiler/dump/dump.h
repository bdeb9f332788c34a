// A graph for people and for other programs to look at.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace graphrun {

enum class DumpFormat {
  kText,   // compiler/ir/printer.h
  kPbtxt,  // the model language, which loads again
  kDot,    // Graphviz
  kSvg,    // drawn by Graphviz
  kJson,
};

// "text", "pbtxt", "dot", "svg", "json"; nothing for another name.
std::optional<DumpFormat> dump_format(std::string_view name);

std::string dump(const ir::Graph& graph, DumpFormat format);

// One file in the model language: equations as node messages, scans' bodies as local graphs, names with '_' where the language
// has no
// '.'. Loads again and computes the same, up to the stage where differentiation begins: optimizer slots and ops of the
// compiler's own have no form in the language, and a comment says so.
std::string dump_pbtxt(const ir::Graph& graph);

// Every node a box, every scan a cluster, from top to bottom as data flows.
std::string dot(const ir::Graph& graph);

// The same drawn; a graph of more than kMostBoxes nodes is summed up first: nodes whose names begin alike are one box,
// repetitions of a layer too. Throws UserError (kRunFailed, E0510 cannot-draw) where Graphviz fails,
// E0514 no-graphviz where its module does not load.
inline constexpr std::size_t kMostBoxes = 1500;
std::string svg(const ir::Graph& graph);

// Values, nodes, types, locations; regions within their nodes.
std::string json(const ir::Graph& graph);

}  // namespace graphrun
