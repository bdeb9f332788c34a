// Text as gzip writes it.
#pragma once

#include <string>
#include <string_view>

namespace graphrun {

// The same bytes for the same text. Throws UserError (kNoRoom, E0503).
std::string gzip(std::string_view text);

}  // namespace graphrun
