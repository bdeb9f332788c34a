// Changes to graphs that preserve types, so that most results are still valid graphs: they are differentiated, optimized,
// planned and run.
#pragma once

#include <string>
#include <vector>

#include "tests/draw.h"
#include "tests/mutants/graph_text.h"
#include "tests/mutants/known_types.h"

namespace graphrun::mutants {

struct TypedGraph {
  std::string text;
  KnownTypes types;
};

class SoundChanges {
 public:
  // Adds a graph whose equations may be put into others.
  void add(const TypedGraph& graph);
  // Changes the graph once or a few times.
  void change(TypedGraph& graph, tests::Draw& random) const;

 private:
  // An equation of some graph: its right side, and the types of what it reads and of its results.
  struct Equation {
    Tokens right;
    std::vector<std::pair<std::size_t, ir::TensorType>> reads;  // tokens of `right`
    std::vector<std::pair<std::string, ir::TensorType>> results;
  };
  bool change_once(TypedGraph& graph, tests::Draw& random) const;
  bool put_equation(TypedGraph& graph, tests::Draw& random) const;

  std::vector<Equation> equations_;
  std::vector<std::string> imports_;  // paths of graphs
};

}  // namespace graphrun::mutants
