// A graph as its authors wrote it: calls and loops are boxes that contain boxes, down to the operators of each equation.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/base/shape.h"

namespace graphrun {

struct Outline {
  enum class Kind {
    kGroup,     // the graph, a call, a loop, one instance of a repeated graph; the gradient; the updates
    kEquation,  // an equation of several operators, which it contains
    kNode,
    kInput,  // of the graph, or the number of a loop's step
    kVariable,
    kState,  // of a loop, before the step
    kOutput,
    kPort,  // a value that enters a group, or an equation, from outside
  };
  struct Part {
    Kind kind = Kind::kNode;
    std::string name;    // "encode", "layers[2]"; of a node: its first result's
    std::string text;    // the equation; of a group that is a loop: "source_time steps"; of others, what the operator is
    std::string op;      // of a node
    std::string family;  // of a node
    std::string type;    // of the value: "FLOAT[time, batch, 300]"
    int parent = -1;     // -1: the graph itself, which is box 0
    bool gradient = false;
    bool leaves = false;  // its value is read outside the box's parent
    // Where it comes from: a node that a pass merged has several places. Each has the calls that led there in `via`.
    std::vector<Location> places = {};
    std::string loop = {};  // of a group that is a loop: the name of the scan's first result
    // The floating-point operations of a run's matrix products, two for a multiplication with its addition: of a node at all
    // steps of the loops around it, of other boxes the sum over what they contain.
    Dim operations = {};
  };
  struct Line {
    int from = 0, to = 0;    // boxes
    bool feedback = false;   // from one step to the next, or from one run to the next
    std::string label = {};  // the name of the value, if it is only one
  };
  std::vector<Part> boxes;   // parents before their children
  std::vector<Line> arrows;  // between boxes, groups too, that have the same parent
  std::vector<Line> flows;   // between boxes other than groups, ports and the operators of equations, wherever they are
};

Outline outline(const ir::Graph& graph);

}  // namespace graphrun
