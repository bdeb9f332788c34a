// JSON lines: one object per line; a field is the value of a key.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/data/records.h"
#include "tools/data/spec.h"
#include "tools/data/units.h"

namespace graphrun {

// The object in a line. Throws UserError (kBadData, E0652) if it is not an object or lacks one of the keys.
std::shared_ptr<const nlohmann::json> parse_object(const std::string& line, const std::vector<std::string>& keys,
                                                   const std::string& file, std::int64_t number);
// The object that plain text stands for: {key: text}, or {key: [its words]}.
std::shared_ptr<const nlohmann::json> object_of_text(const std::string& key, const std::string& text, bool list);

// "a list", "a number", … for messages.
std::string kind_of(const nlohmann::json& value);

// The column in bytes, from 1, of element number `element` (from 0) among the strings, numbers and words in the key's value; 0
// if the line writes the key in an unusual way.
std::int64_t column_of_element(const std::string& line, const std::string& key, std::size_t element);

// The texts in the field's value, from as many nested lists as its splits begin with. A string is used unchanged, a number or
// boolean as JSON writes it. Throws UserError (kBadData, E0652) if the value is of another kind.
Units texts_of(const FieldSpec& field, const Record& record);
std::size_t lists_of(const FieldSpec& field);

}  // namespace graphrun
