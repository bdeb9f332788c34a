// Counter-based random numbers (Philox4x32-10; Salmon et al. 2011): a number is a pure function of a key and a counter,
// identical on every device and for any number of threads. Header-only and constexpr, so that CUDA sources can call it on the
// device too.
#pragma once

#include <cstdint>

namespace graphrun {

struct Philox {
  std::uint32_t v[4];
};

constexpr Philox philox(std::uint64_t key, std::uint32_t c0, std::uint32_t c1, std::uint32_t c2, std::uint32_t c3) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * c0, b = std::uint64_t{0xCD9E8D57u} * c2;
    const std::uint32_t n0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0, n2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(b), c3 = static_cast<std::uint32_t>(a), c0 = n0, c2 = n2;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Uniform in [0, 1), with 24 bits.
constexpr float unit_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * (1.0f / 16777216.0f); }
// Uniform in [0, 1), with 53 bits.
constexpr double unit_double(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>((std::uint64_t{high} << 21) ^ (low >> 11)) * (1.0 / 9007199254740992.0);
}

// Folds one more coordinate of an element into the hash of the previous ones (splitmix64's finisher). The element [t, b, w] of
// a tensor inside a scan at step s folds s, t, b; so replacing the loop by another axis leaves every draw unchanged.
constexpr std::uint64_t fold_coordinate(std::uint64_t hash, std::uint64_t coordinate) {
  std::uint64_t z = hash + 0x9E3779B97F4A7C15ull * (coordinate + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// FNV-1a, for the names in keys.
constexpr std::uint64_t hash_name(const char* data, std::uint64_t size) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (std::uint64_t i = 0; i < size; ++i) h = (h ^ static_cast<unsigned char>(data[i])) * 0x100000001B3ull;
  return h;
}

}  // namespace graphrun
