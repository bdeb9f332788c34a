// Small networks, trained for an epoch.
#pragma once

#include <string>
#include <vector>

#include "tests/draw.h"
#include "tests/mutants/child.h"
#include "tests/mutants/files.h"

namespace graphrun::mutants {

// Their names: jobs of small_data().
const std::vector<std::string>& trained_names();
// One of them: most often one that is as small as a network can be, since compiling it is most of what a mutant takes.
const std::string& any_trained(tests::Draw& random);
// Trains each into FOLDER/NAME, in a child, since training starts threads; FOLDER gets the data.
void train_all(const std::string& folder, Children& children);
// Resumes the run in `folder` for another epoch.
void resume(const std::string& job, const std::string& folder);

}  // namespace graphrun::mutants
