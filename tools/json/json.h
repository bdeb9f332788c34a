// JSON as the programs read and write it. The library's parser and writer are templates, which each file that calls them
// compiles anew: call these instead.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace graphrun {

// Behind the string that begins at `quote`, or the end of the text.
std::size_t behind_json_string(std::string_view text, std::size_t quote);
// Where the number stands that nlohmann::json quotes in the what() of an out_of_range, "number overflow parsing '1e400'"; npos
// where it is not found.
std::size_t find_number(std::string_view text, std::string_view what);

// What `text` says. Throws nlohmann::json::parse_error where it is no JSON, and nlohmann::json::out_of_range where it has a
// number beyond a double's range.
nlohmann::json parse_json(const std::string& text);
// The same, but a discarded value (is_discarded()) where it is no JSON.
nlohmann::json parse_json_or_discard(const std::string& text);
// The same, with the members of objects in the order in which they stand.
nlohmann::ordered_json parse_ordered_json_or_discard(const std::string& text);

// As text: on one line, or, where `indent` is not negative, a line for each member, indented by so many spaces a level. Throws
// nlohmann::json::type_error where a string is not UTF-8.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);
// On one line, with U+FFFD for what is not UTF-8.
std::string json_text_of_bytes(const nlohmann::ordered_json& value);

// Numbers that JSON cannot write: infinities are "inf" and "-inf", not-a-number is null.
nlohmann::ordered_json number_json(double x);
// The number that number_json wrote; not-a-number where `json` holds no number.
double number_of(const nlohmann::json& json);
double number_of(const nlohmann::ordered_json& json);

}  // namespace graphrun
