#include "tools/data/json_lines.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/json/json.h"
#include "tools/text/text.h"

namespace graphrun {
namespace {

[[noreturn]] void bad_json(const std::string& file, std::int64_t line, std::int64_t column, std::string text,
                           std::vector<std::string> notes = {}) {
  data_error("E0652 bad-json", file, line, column, std::move(text), std::move(notes));
}

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

// Reads one text, or all texts in lists nested `lists` deep.
class TextReader {
 public:
  TextReader(const FieldSpec& field, const Record& record, Units& units) : field_(field), record_(record), units_(units) {}

  void read(const nlohmann::json& value, std::size_t lists) {
    if (lists == 0) return add(value);
    if (!value.is_array()) {
      bad_json(record_.file(), record_.line, 0,
               fmt::format("the value of '{}' has {} where field '{}' expects a list", field_.key, kind_of(value), field_.name),
               {"help: leave LIST out of the field's split if its value is a text"});
    }
    for (const nlohmann::json& element : value) {
      const std::size_t before = units_.symbols.size();
      read(element, lists - 1);
      if (lists == 2) units_.lengths.push_back(static_cast<std::int32_t>(units_.symbols.size() - before));
    }
  }

 private:
  void add(const nlohmann::json& value) {
    if (value.is_string()) return units_.symbols.push_back(value.get<std::string>());
    if (value.is_number() || value.is_boolean()) return units_.symbols.push_back(json_text(value));
    bad_json(record_.file(), record_.line, 0,
             fmt::format("the value of '{}' has {} where field '{}' expects a string or a number", field_.key, kind_of(value),
                         field_.name),
             value.is_array() ? std::vector<std::string>{"help: split: LIST reads a list"} : std::vector<std::string>{});
  }

  const FieldSpec& field_;
  const Record& record_;
  Units& units_;
};

// The position after the colon of a key of the outermost object; npos if there is no such key.
std::size_t value_of_key(const std::string& line, const std::string& key) {
  const std::string written = json_text(nlohmann::json(key));
  int depth = 0;
  for (std::size_t i = 0; i < line.size();) {
    const char c = line[i];
    if (c != '"') {
      depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      ++i;
      continue;
    }
    const std::size_t end = behind_json_string(line, i), colon = line.find_first_not_of(" \t\r", end);
    const bool is_key = depth == 1 && colon != std::string::npos && line[colon] == ':';
    if (is_key && line.compare(i, end - i, written) == 0) return colon + 1;
    i = end;
  }
  return std::string::npos;
}

}  // namespace

std::string kind_of(const nlohmann::json& value) {
  if (value.is_null()) return "null";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  if (value.is_string()) return "a string";
  return value.is_boolean() ? "a truth value" : "a number";
}

std::int64_t column_of_element(const std::string& line, const std::string& key, std::size_t element) {
  constexpr const char* kBetween = " \t\r,:[]{}";
  std::size_t at = value_of_key(line, key);
  if (at != std::string::npos) at = line.find_first_not_of(kBetween, at);
  for (; element > 0 && at != std::string::npos; --element) {
    const std::size_t end = line[at] == '"' ? behind_json_string(line, at) : line.find_first_of(kBetween, at);
    at = end == std::string::npos ? end : line.find_first_not_of(kBetween, end);
  }
  return at == std::string::npos ? 0 : static_cast<std::int64_t>(at) + 1;
}

std::shared_ptr<const nlohmann::json> parse_object(const std::string& line, const std::vector<std::string>& keys,
                                                   const std::string& file, std::int64_t number) {
  nlohmann::json object;
  try {
    object = parse_json(line);
  } catch (const nlohmann::json::parse_error& error) {
    const std::string what = error.what();
    const std::size_t begin = what.rfind(": ", what.find("; last read"));
    bad_json(file, number, static_cast<std::int64_t>(error.byte),
             "the line is not a JSON object: " + (begin == std::string::npos ? what : what.substr(begin + 2)));
  } catch (const nlohmann::json::out_of_range& error) {
    bad_json(file, number, static_cast<std::int64_t>(find_number(line, error.what()) + 1),
             "the line has a number that is too large for a double; expected one below 1.8e308");
  }
  if (!object.is_object()) {
    bad_json(file, number, 0, fmt::format("the line is {}; expected an object, {{\"text\": \"…\"}}", kind_of(object)));
  }
  for (const std::string& key : keys) {
    const auto value = object.find(key);
    if (value != object.end() && !value->is_null()) continue;
    std::vector<std::string> notes;
    if (const std::string near = did_you_mean(key, keys_of(object)); value == object.end() && !near.empty()) {
      notes.push_back("help: " + near);
    }
    bad_json(file, number, 0,
             value == object.end() ? fmt::format("the object has no '{}', which a field reads", key)
                                   : fmt::format("'{}', which a field reads, is null; expected a value", key),
             std::move(notes));
  }
  return std::make_shared<const nlohmann::json>(std::move(object));
}

std::shared_ptr<const nlohmann::json> object_of_text(const std::string& key, const std::string& text, bool list) {
  nlohmann::json object = nlohmann::json::object();
  object[key] = list ? nlohmann::json(words_of(text)) : nlohmann::json(text);
  return std::make_shared<const nlohmann::json>(std::move(object));
}

std::size_t lists_of(const FieldSpec& field) {
  std::size_t lists = 0;
  while (lists < field.splits.size() && field.splits[lists] == Split::kList) ++lists;
  return lists;
}

Units texts_of(const FieldSpec& field, const Record& record) {
  Units units;
  TextReader(field, record, units).read(record.object->at(field.key), lists_of(field));
  return units;
}

}  // namespace graphrun
