// Minimizes a find: delta debugging (Zeller and Hildebrandt 2002) over files, lines and tokens or bytes.
#pragma once

#include <functional>

#include "tests/mutants/files.h"

namespace graphrun::mutants {

// The smallest files found within `seconds` for which `still` holds, as it does for `files`.
Files minimized(Files files, const std::function<bool(const Files&)>& still, double seconds);

}  // namespace graphrun::mutants
