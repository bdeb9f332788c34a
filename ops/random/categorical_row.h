// What the host and devices share for drawing an element of a row. Constexpr, so that device kernels can call it too.
#pragma once

#include <cstdint>

#include "runtime/base/random.h"

namespace graphrun {

// The uniform number in [0, 1) that decides a row's draw.
constexpr double number_of_draw(const std::int32_t* key, std::int32_t step) {
  const std::uint64_t low = static_cast<std::uint32_t>(key[0]), high = static_cast<std::uint32_t>(key[1]);
  const Philox random = philox(high << 32 | low, static_cast<std::uint32_t>(key[2]), static_cast<std::uint32_t>(step), 0, 0);
  return unit_double(random.v[0], random.v[1]);
}

}  // namespace graphrun
