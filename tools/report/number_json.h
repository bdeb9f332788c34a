// Numbers that JSON has no way to write: infinities stand as "inf" and "-inf", what is not a number as null.
#pragma once

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace graphrun {

inline nlohmann::ordered_json number_json(double x) {
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  if (std::isnan(x)) return nullptr;
  return x;
}

// The number that number_json wrote; not a number where it is none.
template <class Json>
double number_of(const Json& json) {
  if (json.is_number()) return json.template get<double>();
  const std::string text = json.is_string() ? json.template get<std::string>() : "";
  const double infinity = std::numeric_limits<double>::infinity();
  return text == "inf" ? infinity : text == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace graphrun
