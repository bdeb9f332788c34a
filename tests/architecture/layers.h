// Which file may include which, judging by their folders.
#pragma once

#include <string>
#include <vector>

#include "tests/architecture/tree.h"

namespace graphrun::architecture {

// Why `source` may not include `include`, judging by their folders; "" if it may.
std::string layering_fault(const std::string& source, const Include& include);

// Whether a file may not ask an object for its class (dynamic_cast). What a kernel, an operator or a node is has a fixed set of
// alternatives, and whoever tells them apart visits a variant: then a new alternative does not compile until it is handled.
bool may_not_cast(const std::string& path);

// The folders of a tree but for its tests, as a tree: each includes the folders that its files include.
Tree folders_of(const Tree& tree);

// One cycle of quoted includes as paths, the first repeated at the end; empty if there is none.
std::vector<std::string> find_cycle(const Tree& tree);

}  // namespace graphrun::architecture
