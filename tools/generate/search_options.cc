#include "tools/generate/search_options.h"

#include <cmath>

namespace graphrun {

double LengthNorm::score(double log_probability, std::int64_t length) const {
  const double n = static_cast<double>(std::max<std::int64_t>(length, 1));
  switch (kind) {
    case Kind::kNone: return log_probability;
    case Kind::kLength: return log_probability / n;
    case Kind::kGnmt: return log_probability / std::pow((5 + n) / 6, alpha);
  }
  return log_probability;
}

}  // namespace graphrun
