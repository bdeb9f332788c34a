#include "tools/score/numpy_random.h"

#include <array>
#include <limits>

namespace graphrun {
namespace {

// NumPy's SeedSequence: mixes the seed into a pool of four words and generates words from the pool.
class SeedPool {
 public:
  explicit SeedPool(std::uint64_t seed) {
    const std::array<std::uint32_t, 4> entropy = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), 0,
                                                  0};
    std::uint32_t constant = 0x43B0D7E5u;
    const auto hashed = [&](std::uint32_t value) {
      value ^= constant;
      constant *= 0x931E8875u;
      value *= constant;
      return value ^ value >> 16;
    };
    for (std::size_t i = 0; i < pool_.size(); ++i) pool_[i] = hashed(entropy[i]);
    for (std::size_t from = 0; from < pool_.size(); ++from) {
      for (std::size_t to = 0; to < pool_.size(); ++to) {
        if (from == to) continue;
        const std::uint32_t mixed = 0xCA01F9DDu * pool_[to] - 0x4973F715u * hashed(pool_[from]);
        pool_[to] = mixed ^ mixed >> 16;
      }
    }
  }
  // Combines two words, the low one first.
  std::uint64_t next() {
    const std::uint64_t low = word();
    return static_cast<std::uint64_t>(word()) << 32 | low;
  }

 private:
  std::uint32_t word() {
    std::uint32_t value = pool_[place_++ % pool_.size()] ^ constant_;
    constant_ *= 0x58F38DEDu;
    value *= constant_;
    return value ^ value >> 16;
  }
  std::array<std::uint32_t, 4> pool_{};
  std::uint32_t constant_ = 0x8B51F9DDu;
  std::size_t place_ = 0;
};

}  // namespace

NumpyRandom::Wide NumpyRandom::add(Wide a, Wide b) {
  const std::uint64_t low = a.low + b.low;
  return {a.high + b.high + (low < a.low ? 1 : 0), low};
}

NumpyRandom::Wide NumpyRandom::multiply(Wide a, Wide b) {
  constexpr std::uint64_t kHalf = 0xFFFFFFFFu;
  const std::uint64_t a0 = a.low & kHalf, a1 = a.low >> 32, b0 = b.low & kHalf, b1 = b.low >> 32;
  const std::uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & kHalf);
  const std::uint64_t high = a1 * b1 + (middle >> 32) + (other >> 32);
  return {high + a.high * b.low + a.low * b.high, a.low * b.low};
}

NumpyRandom::NumpyRandom(std::uint64_t seed) {
  SeedPool pool(seed);
  Wide begin, sequence;
  begin.high = pool.next(), begin.low = pool.next();
  sequence.high = pool.next(), sequence.low = pool.next();
  increment_ = {sequence.high << 1 | sequence.low >> 63, sequence.low << 1 | 1};
  advance();
  state_ = add(state_, begin);
  advance();
}

void NumpyRandom::advance() {
  constexpr Wide kMultiplier = {0x2360ED051FC65DA4u, 0x4385DF649FCCF645u};
  state_ = add(multiply(state_, kMultiplier), increment_);
}

std::uint32_t NumpyRandom::next() {
  if (has_kept_) {
    has_kept_ = false;
    return kept_;
  }
  advance();
  const std::uint64_t mixed = state_.high ^ state_.low;
  const int turn = static_cast<int>(state_.high >> 58);
  const std::uint64_t drawn = mixed >> turn | mixed << (-turn & 63);
  kept_ = static_cast<std::uint32_t>(drawn >> 32);
  has_kept_ = true;
  return static_cast<std::uint32_t>(drawn);
}

std::uint32_t NumpyRandom::below(std::uint32_t limit) {
  if (limit <= 1) return 0;
  std::uint64_t product = static_cast<std::uint64_t>(next()) * limit;
  if (static_cast<std::uint32_t>(product) < limit) {
    const std::uint32_t threshold = (std::numeric_limits<std::uint32_t>::max() - (limit - 1)) % limit;
    while (static_cast<std::uint32_t>(product) < threshold) product = static_cast<std::uint64_t>(next()) * limit;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

}  // namespace graphrun
