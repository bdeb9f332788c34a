// The numbers that fields of type FLOAT hold.
#pragma once

#include <string_view>

#include "tools/data/records.h"
#include "tools/data/spec.h"

namespace graphrun {

// A finite number that float32 has, as people and programs write it: "-0.5", "+3", "1e-3", ".5"; what is smaller than float32's
// smallest is 0. Else `wrong` tells what is the matter: "is no number".
struct NumberText {
  float value = 0;
  const char* wrong = nullptr;
};
NumberText read_number(std::string_view text);

// A record's field, by its splits. Throws UserError (kBadData) at the place of what is no number (E0654), or of a value of JSON
// of another kind (E0652).
Nested numbers_in(const DataSpec& data, const FieldSpec& field, const Record& record);

}  // namespace graphrun
