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
// One of them: usually one of the smallest networks, since compiling takes most of a mutant's time.
const std::string& any_trained(tests::Draw& random);
// Trains each into FOLDER/NAME, in a child, because training starts threads; the data goes to FOLDER.
void train_all(const std::string& folder, Children& children);
// Resumes the run in `folder` for another epoch.
void resume(const std::string& job, const std::string& folder);

}  // namespace graphrun::mutants
