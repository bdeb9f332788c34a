// Whether the running program has AddressSanitizer in it. The tests' own objects are the same with and without it
// (GRAPHRUN_TEST_OBJECTS in tests/CMakeLists.txt), so this is known only when they run.
#pragma once

#include <cstddef>
#include <vector>

extern "C" __attribute__((weak)) void __asan_init();

namespace graphrun::tests {

inline bool address_sanitized() { return &__asan_init != nullptr; }

// All of them, or under AddressSanitizer the first `few`: where numbers are what the others are about, and the memory that is
// touched is that of the first.
template <class T>
std::vector<T> few_if_sanitized(std::vector<T> all, std::size_t few) {
  if (address_sanitized() && few < all.size()) all.resize(few);
  return all;
}

// All of them, or under AddressSanitizer every `stride`-th from the one at `first` on: enough where many tests go through the
// same list and each begins at another.
template <class T>
std::vector<T> some_if_sanitized(const std::vector<T>& all, std::size_t first, std::size_t stride) {
  if (!address_sanitized()) return all;
  std::vector<T> some;
  for (std::size_t i = first % stride; i < all.size(); i += stride) some.push_back(all[i]);
  return some;
}

}  // namespace graphrun::tests
