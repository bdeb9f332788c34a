// JSON lines: one object a line, a field is the value of a key.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/data/records.h"
#include "tools/data/spec.h"
#include "tools/data/units.h"

namespace graphrun {

// The object in a line. Throws UserError (kBadData, E0652) where it is none or lacks one of the keys.
std::shared_ptr<const nlohmann::json> parse_object(const std::string& line, const std::vector<std::string>& keys,
                                                   const std::string& file, std::int64_t number);
// What plain text stands for where an object is expected: {key: text}, or {key: [its words]}.
std::shared_ptr<const nlohmann::json> object_of_text(const std::string& key, const std::string& text, bool list);

// "a list", "a number", … for messages.
std::string kind_of(const nlohmann::json& value);

// The byte of an object's line, from 1, at which number `element`, from 0, of the strings, numbers and words that the key's
// value holds begins; 0 where the line writes the key in another way than JSON's writers do.
std::int64_t column_of_element(const std::string& line, const std::string& key, std::size_t element);

// The texts in the field's value, of as many lists as its splits begin with. A string stands as it is, a number or a truth
// value as JSON writes it. Throws UserError (kBadData, E0652) where it is of another kind.
Units texts_of(const FieldSpec& field, const Record& record);
std::size_t lists_of(const FieldSpec& field);

}  // namespace graphrun
