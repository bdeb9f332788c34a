// The states of an instance as a tree of names, and the paths of its leaves.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/meaning.h"

namespace graphrun::frontend {

// The path of one state: "layers", "0", "s", "h".
using Leaf = std::vector<std::string>;
std::string dotted(const Leaf& leaf);
Leaf split_path(const std::string& path);

// The states of an instance: names down to leaves; numbered where a repeat stands, each member by its number.
struct StateTree {
  bool leaf = false, numbered = false;
  bool whole = true;  // false: the states of a call are missing, which could not be had
  std::vector<std::pair<std::string, StateTree>> members;
  const StateTree* member(const std::string& name) const;             // null where there is none
  const StateTree& at(const Leaf& path, std::size_t from = 0) const;  // throws Failure
};
std::vector<Leaf> leaves(const StateTree& tree);
// The tree filled: a leaf's meaning by its path.
Meaning fill(const StateTree& tree, const std::function<Meaning(const Leaf&)>& value, Leaf prefix = {});

}  // namespace graphrun::frontend
