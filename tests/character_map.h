// The map of characters of a SentencePiece model, which tools/text/piece_model.cc describes. Each place has a block of units,
// so that the unit of a byte is easy to find.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun::tests {

struct CharacterMap {
  static constexpr std::uint32_t kBlock = 256, kEndsKey = 1u << 8, kIsValue = 1u << 31;

  // An unused unit is a value, because the label of any other would continue a key.
  std::vector<std::uint32_t> units = std::vector<std::uint32_t>(2 * kBlock, kIsValue);
  std::string replacements;

  CharacterMap() { lead(0, kBlock, 0); }

  void lead(std::uint32_t unit, std::uint32_t place, std::uint32_t label) { units[unit] = label | (unit ^ place) << 10; }

  // Returns the last unit of the key.
  std::uint32_t add(std::string_view key, const std::string& replacement) {
    std::uint32_t unit = 0, place = kBlock;
    for (const char c : key) {
      const auto label = static_cast<unsigned char>(c);
      unit = place + label;
      if (units[unit] == kIsValue) {
        place = static_cast<std::uint32_t>(units.size());
        units.resize(place + kBlock, kIsValue);
        lead(unit, place, label);
      } else {
        place = unit ^ units[unit] >> 10;
      }
    }
    units[unit] |= kEndsKey;
    units[place] = kIsValue | static_cast<std::uint32_t>(replacements.size());
    replacements += replacement + '\0';
    return unit;
  }

  std::string bytes() const {
    const auto size = static_cast<std::uint32_t>(units.size() * sizeof(std::uint32_t));
    std::string bytes(sizeof size + size, '\0');
    std::memcpy(bytes.data(), &size, sizeof size);
    std::memcpy(bytes.data() + sizeof size, units.data(), size);
    return bytes + replacements;
  }
};

}  // namespace graphrun::tests
