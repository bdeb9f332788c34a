// Where the programs under tests/ find the tree that they were built from: its source and build folders, or, where both have
// travelled to another machine, what $GRAPHRUN_TREE and $GRAPHRUN_BUILD name.
#pragma once

#include <string>

namespace graphrun::tests {

std::string source_folder();
std::string build_folder();
std::string reference(const std::string& name);  // a file of tests/reference

}  // namespace graphrun::tests
