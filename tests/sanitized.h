// Whether the running program has AddressSanitizer in it. The tests' own objects are the same with and without it
// (GRAPHRUN_TEST_OBJECTS in tests/CMakeLists.txt), so this is known only when they run.
#pragma once

#include <cstddef>
#include <vector>

extern "C" __attribute__((weak)) void __asan_init();

namespace graphrun::tests {

inline bool address_sanitized() { return &__asan_init != nullptr; }

// Under AddressSanitizer, only the first `few`; else all. For lists whose later entries check other numbers but touch the same
// memory.
template <class T>
std::vector<T> few_if_sanitized(std::vector<T> all, std::size_t few) {
  if (address_sanitized() && few < all.size()) all.resize(few);
  return all;
}

// Under AddressSanitizer, every `stride`-th entry from `first` on; else all. For tests that share a list and start at different
// entries.
template <class T>
std::vector<T> some_if_sanitized(const std::vector<T>& all, std::size_t first, std::size_t stride) {
  if (!address_sanitized()) return all;
  std::vector<T> some;
  for (std::size_t i = first % stride; i < all.size(); i += stride) some.push_back(all[i]);
  return some;
}

}  // namespace graphrun::tests
