// A graph as boxes, arrows and clusters, and that as Graphviz's language.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

struct Picture {
  struct Box {
    std::string label, shape = "box", fill = "#ffffff";
    int cluster = -1;  // the innermost it lies in; -1: none
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

// Everything: a box a node (scalar constants stand in the labels of their readers), a cluster a scan.
Picture draw(const ir::Graph& graph);

// At most about `most` boxes: nodes whose names begin with the same path, numbers in it aside, are one box.
Picture sum_up(const ir::Graph& graph, std::size_t most);

std::string to_dot(const Picture& picture);

// The colour of an op's family.
std::string family_color(const std::string& family);

// Nodes of a graph and of all its regions.
std::size_t count_nodes(const ir::Graph& graph);

}  // namespace graphrun
