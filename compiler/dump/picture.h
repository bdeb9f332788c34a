// A graph as boxes, arrows and clusters, and their text in Graphviz's language.
#pragma once

#include <string>
#include <vector>

#include "compiler/dump/outline.h"
#include "compiler/ir/graph.h"

namespace graphrun {

struct Picture {
  struct Box {
    std::string label, shape = "box", fill = "#ffffff";
    int cluster = -1;  // the innermost cluster that contains it; -1: none
  };
  struct Arrow {
    int from = 0, to = 0;  // boxes
    std::string label;
    bool feedback = false;  // against the flow: from one step, or one run, to the next
  };
  struct Cluster {
    std::string label;
    int parent = -1;
  };
  std::string title;
  std::vector<Box> boxes;
  std::vector<Arrow> arrows;
  std::vector<Cluster> clusters;  // outer before inner
};

// Draws everything: a box for each node (readers' labels show scalar constants), a cluster for each scan.
Picture draw(const ir::Graph& graph);

// Draws a cluster for each call and loop, and a box for each equation, each operator outside of equations, and each input,
// parameter and output.
Picture draw(const Outline& outline);

// Draws about `most` boxes at most: nodes whose names begin with the same path, ignoring numbers, share a box.
Picture sum_up(const ir::Graph& graph, std::size_t most);

std::string to_dot(const Picture& picture);

// The color of an op's family.
std::string family_color(const std::string& family);

// The number of nodes in a graph and all its regions.
std::size_t count_nodes(const ir::Graph& graph);

}  // namespace graphrun
