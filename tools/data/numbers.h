// The numbers in fields of type FLOAT.
#pragma once

#include <string_view>

#include "tools/data/records.h"
#include "tools/data/spec.h"

namespace graphrun {

// A finite float32 number as people and programs write it: "-0.5", "+3", "1e-3", ".5". Values below the range of float32 become
// 0. If the text is no such number, `wrong` says why: "is not a number".
struct NumberText {
  float value = 0;
  const char* wrong = nullptr;
};
NumberText read_number(std::string_view text);

// A record's field, split as the job says. Throws UserError (kBadData), with the location, for a text that is not a number
// (E0654) or a JSON value of another kind (E0652).
Nested numbers_in(const DataSpec& data, const FieldSpec& field, const Record& record);

}  // namespace graphrun
