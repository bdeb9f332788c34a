#include "tools/json/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace graphrun {
namespace {

template <class Json>
double read_number(const Json& json) {
  if (json.is_number()) return json.template get<double>();
  const std::string text = json.is_string() ? json.template get<std::string>() : "";
  const double infinity = std::numeric_limits<double>::infinity();
  return text == "inf" ? infinity : text == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::size_t behind_json_string(std::string_view text, std::size_t quote) {
  std::size_t i = quote + 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

std::size_t find_number(std::string_view text, std::string_view what) {
  const std::size_t begin = what.find('\''), end = what.rfind('\'');
  if (begin == end) return std::string_view::npos;
  const std::string_view number = what.substr(begin + 1, end - begin - 1);
  for (std::size_t i = 0; i < text.size(); i = text[i] == '"' ? behind_json_string(text, i) : i + 1)
    if (text.substr(i).starts_with(number)) return i;
  return std::string_view::npos;
}

nlohmann::json parse_json(const std::string& text) { return nlohmann::json::parse(text); }
nlohmann::json parse_json_within(const std::string& text, int deepest) {
  using Event = nlohmann::json::parse_event_t;
  return nlohmann::json::parse(text, [&](int depth, Event event, nlohmann::json&) {  // the outermost has depth 0
    if ((event == Event::array_start || event == Event::object_start) && depth >= deepest)
      throw JsonTooDeep(fmt::format("nested more than {} deep", deepest));
    return true;
  });
}
nlohmann::json parse_json_or_discard(const std::string& text) { return nlohmann::json::parse(text, nullptr, false); }
nlohmann::ordered_json parse_ordered_json_or_discard(const std::string& text) {
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

std::string json_text(const nlohmann::json& value, int indent) { return value.dump(indent); }
std::string json_text(const nlohmann::ordered_json& value, int indent) { return value.dump(indent); }
std::string json_text_of_bytes(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}
std::string json_text_of_bytes(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::ordered_json number_json(double x) {
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  if (std::isnan(x)) return nullptr;
  return x;
}

nlohmann::ordered_json float_json(float x) {
  if (!std::isfinite(x)) return number_json(x);
  // The library prints the digits that distinguish a double: those of the double nearest to the float's shortest text.
  const std::string text = fmt::format("{}", x);
  double nearest = 0;
  std::from_chars(text.data(), text.data() + text.size(), nearest);
  return nearest;
}

double number_of(const nlohmann::json& json) { return read_number(json); }
double number_of(const nlohmann::ordered_json& json) { return read_number(json); }

}  // namespace graphrun
