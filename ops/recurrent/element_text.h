// The text of an instruction of a loop that makes each element of its results by itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/generated/loop_part.h"

namespace graphrun {

// What the instruction is in the text of a loop, in a namespace of its own: a struct Arguments, with the addresses of inputs
// and outputs, and one(const Arguments& a, std::int64_t e, const loop::Fault& fault), which makes element e of every result.
struct ElementText {
  std::string text;
  std::vector<std::string> inputs, outputs;          // names of the addresses
  ArgumentLayout arguments;                          // all known before a launch but the draws of `code`
  std::shared_ptr<const DeviceCode> code = nullptr;  // of pointwise work, else null
};

// Appends addresses of elements of these types, x0, x1, … and y0, y1, …, which come with the step.
void add_addresses(ElementText& to, const std::vector<DType>& inputs, const std::vector<DType>& outputs);

ElementText element_text(const ElementPart& part);

}  // namespace graphrun
