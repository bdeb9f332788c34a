// How messages offer names that may have been meant.
#pragma once

#include <string>
#include <vector>

namespace graphrun {

// "did you mean 'a', 'b' or 'c'?" of the first `most` names; "" of none.
std::string suggestion(const std::vector<std::string>& names, std::size_t most = 3);

}  // namespace graphrun
