// Jobs that read, train and run within moments: those of tests/mutants/networks and tests/errors/shared, and small versions of
// the shipped ones.
#pragma once

#include <string>
#include <vector>

#include "tests/mutants/files.h"

namespace graphrun::mutants {

Files small_data();                       // the files that the jobs read, the jobs that are already small, and their graphs
std::vector<std::string> shipped_jobs();  // their texts, with small sizes and the data of small_data()

}  // namespace graphrun::mutants
