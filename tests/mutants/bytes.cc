#include "tests/mutants/bytes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace graphrun::mutants {
namespace {

using Json = nlohmann::json;
using namespace std::string_view_literals;

// NUL, Unicode white space, a byte order mark; invalid UTF-8: a lone byte, a truncated sequence, an overlong one, a surrogate,
// one beyond the last code point; a combining mark, directional marks, digits and letters of several widths, and characters
// that are special in jobs and data formats.
constexpr std::array kSpecial = {"\0"sv,     "\n"sv,     "\r\n"sv,   "\r"sv,       "\t"sv,           " "sv,
                                 "\n\n"sv,   "\xff"sv,   "\xc3"sv,   "\xc0\x80"sv, "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv,
                                 "\u00a0"sv, "\u2028"sv, "\u3000"sv, "\ufeff"sv,   "\u0301"sv,       "\u202e"sv,
                                 "\uff11"sv, "\ufdfa"sv, "<unk>"sv,  "</s>"sv,     "<s>"sv,          "@@"sv,
                                 "\u2581"sv, "{}"sv,     "[]"sv,     "\""sv,       "\\u0000"sv,      "nan"sv,
                                 "1e999"sv,  "|||"sv,    "0-0"sv,    "-1"sv,       "\U0001f600"sv,   "\x1f\x8b"sv};

std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

std::string change_lines(const std::string& text, tests::Draw& random) {
  std::vector<std::string> lines = lines_of_text(text);
  if (lines.empty()) return "\n";
  const auto at = static_cast<std::ptrdiff_t>(random.below(lines.size()));
  switch (random.below(3)) {
    case 0: lines.erase(lines.begin() + at); break;
    case 1: lines.insert(lines.begin() + at, std::string(random.any(lines))); break;
    default: std::swap(lines[random.below(lines.size())], lines[random.below(lines.size())]);
  }
  std::string all;
  for (const std::string& line : lines) all += line;
  return all;
}

std::string changed_once(std::string bytes, tests::Draw& random) {
  const std::size_t at = random.below(bytes.size() + 1), size = 1 + random.below(random.one_in(4) ? bytes.size() + 1 : 8);
  switch (random.below(9)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(random.below(256));
      break;
    case 2: bytes.erase(at, size); break;
    case 3: bytes.insert(at, std::string(bytes.substr(random.below(bytes.size() + 1), size))); break;
    case 4:
      if (random.one_in(6)) bytes.erase(at);
      break;
    case 5:
      if (random.one_in(30)) {
        std::string many;
        const std::string_view unit = random.any(kSpecial);
        const std::size_t count = random.any(std::array<std::size_t, 4>{100, 3000, 70000, 400000});
        for (std::size_t i = 0; i < count; ++i) many += unit;
        bytes.insert(at, many);
        break;
      }
      [[fallthrough]];
    case 6: bytes.insert(at, random.any(kSpecial)); break;
    default: bytes = change_lines(bytes, random);
  }
  return bytes;
}

Json other_value(tests::Draw& random, const Json& old) {
  static const std::array kValues = {Json(nullptr),
                                     Json(0),
                                     Json(1),
                                     Json(-1),
                                     Json(2),
                                     Json(true),
                                     Json(false),
                                     Json(""),
                                     Json("x"),
                                     Json("../x"),
                                     Json("NaN"),
                                     Json("inf"),
                                     Json("-inf"),
                                     Json(1.5),
                                     Json(-0.0),
                                     Json(1e308),
                                     Json(1e-320),
                                     Json::array(),
                                     Json::object(),
                                     Json(std::numeric_limits<std::int64_t>::max()),
                                     Json(std::numeric_limits<std::int64_t>::min()),
                                     Json(std::numeric_limits<std::uint64_t>::max()),
                                     Json(std::int64_t{1} << 31),
                                     Json(std::int64_t{1} << 32),
                                     Json(std::int64_t{1} << 53),
                                     Json(std::int64_t{1} << 40)};
  if (old.is_number_integer() && random.one_in(3)) {
    const auto value = static_cast<std::uint64_t>(
        old.is_number_unsigned() ? old.get<std::uint64_t>() : static_cast<std::uint64_t>(old.get<std::int64_t>()));
    return static_cast<std::int64_t>(random.one_in(2) ? value + 1 : value - 1);
  }
  return random.any(kValues);
}

void collect(Json& value, std::vector<Json*>& all) {
  all.push_back(&value);
  if (value.is_structured())
    for (Json& inner : value) collect(inner, all);
}

void change_json(Json& json, tests::Draw& random) {
  std::vector<Json*> all;
  collect(json, all);
  Json& at = *random.any(all);
  const auto any_key = [&] {
    auto it = at.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random.below(at.size())));
    return it;
  };
  switch (random.below(6)) {
    case 0:
      if (at.is_structured() && !at.empty()) {
        at.erase(any_key());
        return;
      }
      break;
    case 1:
      if (at.is_object() && !at.empty()) {
        const Json value = *any_key();
        at[any_key().key() + "x"] = value;
        return;
      }
      if (at.is_array()) {
        at.push_back(at.empty() ? Json(1) : at[0]);
        return;
      }
      break;
    case 2:
      if (at.is_structured() && at.size() > 1) {
        const Json value = *any_key();
        *any_key() = value;
        return;
      }
      break;
    case 3: {
      Json value = at;
      for (std::size_t depth = random.any(std::array<std::size_t, 3>{1, 2, 5000}); depth > 0; --depth)
        value = Json::array({std::move(value)});
      if (!random.one_in(4)) break;
      at = std::move(value);
      return;
    }
    default: break;
  }
  at = other_value(random, at);
}

}  // namespace

std::string mutated_bytes(const std::string& bytes, tests::Draw& random) {
  std::string changed = bytes;
  do {
    changed = changed_once(std::move(changed), random);
  } while (!random.one_in(2));
  return changed;
}

std::string text_of_json(const Json& json) {
  constexpr std::size_t kDeep = 100;
  const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::size_t depth = 0, deepest = 0;
  for (const char c : line) {
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return (deepest > kDeep ? line : json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string mutated_json(const std::string& text, tests::Draw& random) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || random.one_in(10)) return mutated_bytes(text, random);
  do {
    change_json(json, random);
  } while (!random.one_in(2));
  return text_of_json(json);
}

std::string mutated_tensors(const std::string& bytes, tests::Draw& random) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length || random.one_in(8)) return mutated_bytes(bytes, random);
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - sizeof length) return mutated_bytes(bytes, random);
  std::string header = bytes.substr(sizeof length, length), numbers = bytes.substr(sizeof length + length);
  if (random.one_in(3) && numbers.size() >= 4) {
    constexpr std::array<std::uint32_t, 8> kBits = {0x7fc00000, 0x7f800000, 0xff800000, 0x00000001,
                                                    0x7f7fffff, 0x80000000, 0xffffffff, 0x7fffffff};
    for (std::size_t count = 1 + random.below(4); count > 0; --count) {
      const std::uint32_t bits = random.any(kBits);
      std::memcpy(numbers.data() + random.below(numbers.size() / 4) * 4, &bits, 4);
    }
  } else {
    header = mutated_json(header, random);
    length = header.size();
  }
  std::string all(sizeof length, '\0');
  std::memcpy(all.data(), &length, sizeof length);
  return all + header + numbers;
}

std::string mutated_file(const std::string& name, const std::string& bytes, tests::Draw& random) {
  if (name.ends_with(".json")) return mutated_json(bytes, random);
  if (name.ends_with(".safetensors")) return mutated_tensors(bytes, random);
  return mutated_bytes(bytes, random);
}

}  // namespace graphrun::mutants
