// Manifests whose hashes are put in last, so that what changes in a folder gets past the check of them.
#pragma once

#include "tests/mutants/files.h"

namespace graphrun::mutants {

// Of a folder that a run has left: marks in the place of the sizes and hashes of every manifest, and in the place of that of
// the folder's own manifest in the states of its checkpoints.
Files with_marks(Files files);
// Sizes and hashes of what is there now in the place of the marks that are left.
Files with_hashes(Files files);

}  // namespace graphrun::mutants
