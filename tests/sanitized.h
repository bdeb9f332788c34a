// How much of a test runs. Whether the program has AddressSanitizer in it: the tests' own objects are the same with and without
// it (GRAPHRUN_TEST_OBJECTS in tests/CMakeLists.txt), so this is known only when they run.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

extern "C" __attribute__((weak)) void __asan_init();

namespace graphrun::tests {

inline bool address_sanitized() { return &__asan_init != nullptr; }

// Whether nothing is left out to save time: in tests/check_all and tests/cuda/prove.
inline bool all_tests() { return std::getenv("GRAPHRUN_ALL_TESTS") != nullptr; }

// Whether to leave out what takes long under AddressSanitizer, where other cases run most of the same code.
inline bool saves_time() { return address_sanitized() && !all_tests(); }

// The first `few`; all of them in all_tests() without AddressSanitizer. For lists whose first entries take the main paths
// of the code.
template <class T>
std::vector<T> few_of(std::vector<T> all, std::size_t few) {
  if ((!all_tests() || address_sanitized()) && few < all.size()) all.resize(few);
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
