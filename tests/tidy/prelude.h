// Included before every file that clang-tidy reads. clang 14 instantiates constexpr members of std::vector where a class that
// has a vector of itself is still incomplete; here they are no constexpr ones. What libstdc++ has declared of vector<bool> by
// then keeps its name.
#pragma once

#include <string>
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#define __fill_a1 __fill_bits
#include <vector>
#undef __fill_a1
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
