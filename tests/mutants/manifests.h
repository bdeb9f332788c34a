// Manifests whose hashes are filled in last, so that changes in a folder pass the hash check.
#pragma once

#include "tests/mutants/files.h"

namespace graphrun::mutants {

// For a run's folder: replaces the sizes and hashes in every manifest by markers, and also the hash of the folder's own
// manifest in the states of its checkpoints.
Files with_marks(Files files);
// Replaces the remaining markers by the sizes and hashes of the current files.
Files with_hashes(Files files);

}  // namespace graphrun::mutants
