// The states of an instance as a tree of names, and the paths of its leaves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/frontend/meaning.h"

namespace graphrun::frontend {

// The path of one state: "layers", "0", "s", "h".
using Leaf = std::vector<std::string>;
std::string dotted(const Leaf& leaf);
Leaf split_path(const std::string& path);

struct NamedStateTree;

// The states of an instance: names down to leaves; for a repeat, the members are numbered.
struct StateTree {
  bool leaf = false, numbered = false;
  bool whole = true;  // false: the states of a call are missing, because they could not be determined
  std::vector<NamedStateTree> members;
  const StateTree* member(const std::string& name) const;             // null if there is none
  const StateTree& at(const Leaf& path, std::size_t from = 0) const;  // throws Failure
};
struct NamedStateTree {
  std::string name;
  StateTree tree;
};
std::vector<Leaf> leaves(const StateTree& tree);
// The tree with a meaning for each leaf, computed from its path.
Meaning fill(const StateTree& tree, const std::function<Meaning(const Leaf&)>& value, Leaf prefix = {});

}  // namespace graphrun::frontend
