// The text of an instruction in a loop that computes each element of its results independently.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/generated/loop_part.h"

namespace graphrun {

// The instruction in the text of a loop, in a namespace of its own: a struct Arguments, with the addresses of inputs and
// outputs, and one(const Arguments& a, std::int64_t e, const loop::Fault& fault), which computes element e of every result.
struct ElementText {
  std::string text;
  std::vector<std::string> inputs, outputs;          // names of the addresses
  ArgumentLayout arguments;                          // all have values before a launch, except the draws of `code`
  std::shared_ptr<const DeviceCode> code = nullptr;  // for pointwise work; otherwise null
};

// Appends addresses x0, x1, … and y0, y1, … of elements of these types; each step sets them.
void add_addresses(ElementText& to, const std::vector<DType>& inputs, const std::vector<DType>& outputs);

ElementText element_text(const ElementPart& part);

}  // namespace graphrun
