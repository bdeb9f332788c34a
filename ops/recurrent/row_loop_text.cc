#include "ops/recurrent/row_loop_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ops/generated/reduction_text.h"
#include "ops/matmul/product_part.h"

namespace graphrun {
namespace {

// Addresses of elements of these types, which come with the step.
void add_addresses(ArgumentLayout& to, const std::vector<DType>& types, const char* constant, const char* name) {
  for (std::size_t k = 0; k < types.size(); ++k)
    to.fix_address(to.add_address(fmt::format("{}{}", name, k), std::string(constant) + device_type(types[k])), nullptr);
}

constexpr const char* kOne = "\nGRAPHRUN_DEVICE void one(const Arguments& a, std::int64_t e, const loop::Fault& fault) {\n";

void fix_inputs(ArgumentLayout& to, const DeviceCode& code) {
  for (std::size_t k = 0; k < code.inputs(); ++k) to.fix_address(code.input_argument(k), nullptr);
}

ElementText element_of(const PointwisePart& part) {
  ElementText made{"", part.code->arguments(), part.code};
  fix_inputs(made.arguments, *part.code);
  std::vector<DType> outputs;
  std::string stores;
  for (std::size_t r = 0; r < part.results; ++r) {
    outputs.push_back(part.code->dtype_of_result(r));
    stores += fmt::format("  a.y{0}[e] = r.r{0}.v[0];\n", r);
  }
  add_addresses(made.arguments, outputs, "", "y");
  made.text = part.code->index_type() + made.arguments.text() + "\n" + part.code->functions() +
              "\nGRAPHRUN_DEVICE void one(const Arguments& a, std::int64_t e, const loop::Fault&) {\n"
              "  const Results<1> r = compute<1>(a, static_cast<Index>(e));\n" +
              stores + "}\n";
  return made;
}

ElementText element_of(const ReductionPart& part) {
  ReductionArguments arguments = reduction_arguments(*part.code, part.folds, part.view);
  ElementText made{"", std::move(arguments.layout), part.code};
  fix_inputs(made.arguments, *part.code);
  for (Argument y : arguments.results) made.arguments.fix_address(y, nullptr);
  made.text = reduced_element_text(*part.code, part.folds, made.arguments);
  return made;
}

// An element's sum goes through the terms and their positions in order.
ElementText element_of(const ProductPart& part) {
  const std::vector<Product>& products = part.group.products;
  std::size_t inputs = 0;
  for (std::size_t i = 0; i < products.size(); ++i) inputs = std::max({inputs, part.group.a(i) + 1, part.group.b(i) + 1});
  ElementText made;
  add_addresses(made.arguments, std::vector(inputs, part.dtype), "const ", "x");
  add_addresses(made.arguments, std::vector(part.groups(), part.dtype), "", "y");
  made.arguments.add("columns", products[0].n);
  for (std::size_t i = 0; i < products.size(); ++i) made.arguments.add(fmt::format("inner{}", i), products[i].k);
  const char* const type = device_type(part.dtype);
  made.text = made.arguments.text() +
              "\nGRAPHRUN_DEVICE void one(const Arguments& a, std::int64_t e, const loop::Fault&) {\n"
              "  const std::int64_t row = e / a.columns, column = e % a.columns;\n";
  for (std::size_t g = 0; g < part.groups(); ++g) made.text += fmt::format("  {} sum{} = 0;\n", type, g);
  for (std::size_t i = 0; i < products.size(); ++i) {
    const std::string at = products[i].transpose_b ? fmt::format("column * a.inner{} + k", i) : "k * a.columns + column";
    made.text +=
        fmt::format("  for (std::int64_t k = 0; k < a.inner{0}; ++k) sum{1} += a.x{2}[row * a.inner{0} + k] * a.x{3}[{4}];\n",
                    i, part.group.y(i), part.group.a(i), part.group.b(i), at);
  }
  for (std::size_t g = 0; g < part.groups(); ++g) made.text += fmt::format("  a.y{0}[e] = sum{0};\n", g);
  made.text += "}\n";
  return made;
}

ElementText element_of(const ElementPart& part) {
  ElementText made;
  add_addresses(made.arguments, part.inputs, "const ", "x");
  add_addresses(made.arguments, {part.output}, "", "y");
  for (const auto& [name, number] : part.numbers) made.arguments.add(name, number);
  made.text = made.arguments.text() + kOne + part.element + "}\n";
  return made;
}

ElementText copy_of(DType dtype) {
  ElementPart copy;
  copy.inputs = {dtype}, copy.output = dtype;
  copy.element = "  a.y0[e] = a.x0[e];\n";
  return element_of(copy);
}

ElementText element_text(const RowLoopPlan::Member& member) {
  if (member.part == nullptr) return copy_of(member.operands.at(member.inputs).dtype);
  return in_each_case(*member.part, [](const auto& part) { return element_of(part); });
}

// Where an operand is at a step, such that its elements are found by their numbers in all rows.
std::string address_text(const RowLoopPlan::Member& member, std::size_t operand) {
  const RowLoopPlan::Operand& own = member.operands[operand];
  const char* const type = device_type(own.dtype);
  const char* const constant = operand < member.inputs ? "const " : "";
  if (own.place < 0) return fmt::format("reinterpret_cast<{}{}*>(shared + {} - first * {})", constant, type, own.at, own.row);
  return fmt::format("loop::address<{}{}>(a.places[{}], step)", constant, type, own.place);
}

void lay_out_arguments(const RowLoopPlan& plan, RowLoopText& made) {
  ArgumentLayout& arguments = made.arguments;
  made.places = arguments.add_array<LoopPlace>("places", plan.places.size());
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    RowLoopText::OfMember& own = made.members[i];
    own.part = arguments.add_struct(fmt::format("part{}", i), fmt::format("part{}::Arguments", i), own.element.arguments);
  }
  made.fault = arguments.add_address("fault", "loop::FaultPlace");
  arguments.add("steps", plan.steps);
  arguments.add("rows", plan.rows);
  arguments.add("reverse", std::int32_t{plan.reverse});
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    arguments.add(fmt::format("each{}", i), plan.members[i].each);
    made.members[i].node = arguments.add<std::int32_t>(fmt::format("node{}", i));
  }
}

std::string steps_text(const RowLoopPlan& plan, const RowLoopText& made) {
  std::string text;
  for (std::size_t i = 0; i < plan.members.size(); ++i)
    text += fmt::format("namespace part{0} {{\n\n{1}\n}}  // namespace part{0}\n\n", i, made.members[i].element.text);
  text += made.arguments.text() + "\n";
  text += R"x(GRAPHRUN_ENTRY(graphrun_@, Arguments) {
  const Arguments& a = arguments;
  char* const shared = static_cast<char*>(cuda::shared_memory());
  const std::int64_t first = a.rows * cuda::block_index() / cuda::block_count();
  const std::int64_t rows = a.rows * (cuda::block_index() + 1) / cuda::block_count() - first;
  for (loop::Step step{0, a.steps, a.reverse != 0}; step.number < a.steps; ++step.number) {
)x";
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    const RowLoopPlan::Member& m = plan.members[i];
    const DeviceCode* const code = made.members[i].element.code.get();
    text += fmt::format("    {{\n      part{0}::Arguments own = a.part{0};\n", i);
    // A reduction's lengths may be absent.
    const std::size_t inputs = code != nullptr ? code->inputs() : m.inputs;
    for (std::size_t k = 0; k < inputs; ++k) text += fmt::format("      own.x{} = {};\n", k, address_text(m, k));
    for (std::size_t r = 0; r < m.outputs; ++r) text += fmt::format("      own.y{} = {};\n", r, address_text(m, m.inputs + r));
    for (std::size_t d = 0; code != nullptr && d < code->draws().size(); ++d) {
      text += fmt::format(
          "      own.draw{0}.row = fold_coordinate(own.draw{0}.row, static_cast<std::uint64_t>(step.position()));\n", d);
    }
    const char* const begin = m.of_each ? "0" : "first";
    const char* const count = m.of_each ? "1" : "rows";
    text += fmt::format(
        "      for (std::int64_t e = {1} * a.each{0} + cuda::thread_index(); e < ({1} + {2}) * a.each{0}; e += "
        "cuda::thread_count()) {{\n        part{0}::one(own, e, loop::Fault{{a.fault, a.node{0}}});\n      }}\n    }}\n"
        "    cuda::barrier();\n",
        i, begin, count);
  }
  return text + "  }\n}\n";
}

}  // namespace

RowLoopText row_loop_text(const RowLoopPlan& plan) {
  RowLoopText made;
  for (const RowLoopPlan::Member& member : plan.members) made.members.push_back({element_text(member), {}, {}});
  lay_out_arguments(plan, made);
  static_cast<DeviceText&>(made) = named_text(std::string(kDeviceIncludes) + "#include \"ops/recurrent/row_loop_device.h\"\n",
                                              kTextBegin + steps_text(plan, made) + kTextEnd);
  return made;
}

}  // namespace graphrun
