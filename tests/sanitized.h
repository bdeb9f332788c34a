// Whether the running program has AddressSanitizer in it. The tests' own objects are the same with and without it
// (GRAPHRUN_TEST_OBJECTS in tests/CMakeLists.txt), so this is known only when they run.
#pragma once

extern "C" __attribute__((weak)) void __asan_init();

namespace graphrun::tests {

inline bool address_sanitized() { return &__asan_init != nullptr; }

}  // namespace graphrun::tests
