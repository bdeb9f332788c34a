// Reads and writes JSON. The library's parser and writer are templates that every file would compile again; call these
// functions instead.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace graphrun {

// The position after the string that begins at `quote`, or the end of the text.
std::size_t behind_json_string(std::string_view text, std::size_t quote);
// The position of the number that nlohmann::json quotes in the what() of an out_of_range, "number overflow parsing '1e400'";
// npos if it is not found.
std::size_t find_number(std::string_view text, std::string_view what);

// Parses `text`. Throws nlohmann::json::parse_error if it is not JSON, and nlohmann::json::out_of_range if a number exceeds the
// range of a double.
nlohmann::json parse_json(const std::string& text);
// Thrown by parse_json_within for a text that is nested too deep.
class JsonTooDeep : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
inline constexpr int kDeepestJson = 1000;
// The same as parse_json, for texts from elsewhere: copying and writing a value recurse, so that a text nested a million deep
// would overflow the stack. Also throws JsonTooDeep ("nested more than 1000 deep").
nlohmann::json parse_json_within(const std::string& text, int deepest = kDeepestJson);
// The same as parse_json, but returns a discarded value (is_discarded()) if it is not JSON.
nlohmann::json parse_json_or_discard(const std::string& text);
// The same, with the members of objects in their original order.
nlohmann::ordered_json parse_ordered_json_or_discard(const std::string& text);

// The value as text: on one line or, if `indent` is not negative, with one line per member, indented by that many spaces per
// level. Throws nlohmann::json::type_error if a string is not UTF-8.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);
// The value on one line, with U+FFFD for bytes that are not UTF-8.
std::string json_text_of_bytes(const nlohmann::ordered_json& value);
std::string json_text_of_bytes(const nlohmann::json& value);

// A number, where infinities become "inf" and "-inf", and NaN becomes null.
nlohmann::ordered_json number_json(double x);
// The same for a float32, with as many digits as distinguish it from all others: 0.1, not 0.10000000149011612.
nlohmann::ordered_json float_json(float x);
// The number that number_json or float_json wrote; NaN if `json` is not a number.
double number_of(const nlohmann::json& json);
double number_of(const nlohmann::ordered_json& json);

}  // namespace graphrun
