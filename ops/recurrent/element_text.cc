#include "ops/recurrent/element_text.h"

#include <fmt/format.h>

namespace graphrun {

void add_addresses(ElementText& to, const std::vector<DType>& inputs, const std::vector<DType>& outputs) {
  const auto add = [&](const std::string& name, const std::string& type) {
    to.arguments.fix_address(to.arguments.add_address(name, type), nullptr);
    return name;
  };
  for (DType type : inputs)
    to.inputs.push_back(add(fmt::format("x{}", to.inputs.size()), std::string("const ") + device_type(type)));
  for (DType type : outputs) to.outputs.push_back(add(fmt::format("y{}", to.outputs.size()), device_type(type)));
}

ElementText element_text(const ElementPart& part) {
  ElementText made;
  add_addresses(made, part.inputs, {part.output});
  if (part.add_members) part.add_members(made.arguments);
  made.text = made.arguments.text() +
              "\nGRAPHRUN_DEVICE void one(const Arguments& a, std::int64_t e, const loop::Fault& fault) {\n" + part.element +
              "}\n";
  return made;
}

}  // namespace graphrun
