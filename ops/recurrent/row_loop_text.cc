#include "ops/recurrent/row_loop_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/generated/reduction_text.h"
#include "ops/matmul/product_part.h"

namespace graphrun {
namespace {

// The text for pointwise code, whose inputs keep their names.
ElementText of_code(std::shared_ptr<const DeviceCode> code, ArgumentLayout arguments, std::vector<std::string> outputs) {
  ElementText made;
  made.arguments = std::move(arguments), made.outputs = std::move(outputs);
  for (std::size_t k = 0; k < code->inputs(); ++k) {
    made.inputs.push_back(code->input_name(k));
    made.arguments.fix_address(code->input_argument(k), nullptr);
  }
  made.code = std::move(code);
  return made;
}

using RowLoopMember = RowLoopPlan::RowLoopMember;

ElementText element_of(const RowLoopMember&, const PointwisePart& part, Comments comments) {
  const DeviceCode& code = *part.code;
  ArgumentLayout arguments = code.arguments();
  std::vector<std::string> outputs;
  std::string stores;
  for (std::size_t r = 0; r < part.results; ++r) {
    outputs.push_back(code.target_name(r));
    arguments.fix_address(arguments.add_address(outputs.back(), code.type_of_result(r)), nullptr);
    stores += fmt::format("  arguments.{}[e] = results.{}.v[0];\n", outputs.back(), code.result_name(r));
  }
  ElementText made = of_code(part.code, std::move(arguments), std::move(outputs));
  made.text = code.index_type() + made.arguments.text() + "\n" + code.functions(comments) +
              "\nGRAPHRUN_DEVICE void one(const Arguments& arguments, std::int64_t e, const loop::Fault&) {\n"
              "  const Results<1> results = compute<1>(arguments, static_cast<Index>(e));\n" +
              stores + "}\n";
  return made;
}

ElementText element_of(const RowLoopMember& member, const ReductionPart& part, Comments comments) {
  const ReductionArguments arguments = reduction_arguments(*part.code, part.folds, part.view);
  ElementText made = of_code(part.code, arguments.layout, arguments.targets);
  for (Argument y : arguments.results) made.arguments.fix_address(y, nullptr);
  const LaneColumns columns{member.lanes, member.fixed ? std::optional(part.view) : std::nullopt};
  made.text = reduced_element_text(*part.code, part.folds, arguments, columns, comments);
  return made;
}

// The sum of an element runs over the terms and their positions in order, in each lane.
ElementText element_of(const RowLoopMember& member, const ProductPart& part, Comments) {
  const std::vector<MatrixProduct>& products = part.group.products;
  std::size_t inputs = 0;
  for (std::size_t i = 0; i < products.size(); ++i) inputs = std::max({inputs, part.group.a(i) + 1, part.group.b(i) + 1});
  ElementText made;
  add_addresses(made, std::vector(inputs, part.dtype), std::vector(part.group.groups(), part.dtype));
  made.arguments.add("columns", products[0].n);
  std::int64_t most = 0;  // elements of an operand
  for (std::size_t i = 0; i < products.size(); ++i) {
    const MatrixProduct& p = products[i];
    made.arguments.add(fmt::format("inner{}", i), p.k);
    most = std::max({most, p.m * p.k, p.k * p.n, p.m * p.n});
  }
  const char* const type = device_type(part.dtype);
  made.text =
      fmt::format("typedef std::{} Index;  // of elements\n\n", most < std::int64_t{1} << 31 ? "uint32_t" : "uint64_t") +
      made.arguments.text() +
      "\nGRAPHRUN_DEVICE void one(const Arguments& a, std::int64_t e, int lane, bool writes) {\n"
      "  const Index columns = static_cast<Index>(a.columns);\n"
      "  const Index row = static_cast<Index>(e) / columns, column = static_cast<Index>(e) % columns;\n";
  for (std::size_t g = 0; g < part.group.groups(); ++g) made.text += fmt::format("  {} sum{} = 0;\n", type, g);
  for (std::size_t i = 0; i < products.size(); ++i) {
    const MatrixProduct& p = products[i];
    const std::string inner = fmt::format("static_cast<Index>(a.inner{})", i);
    const std::string at = p.transpose_b ? "column * inner + k" : "k * columns + column";
    made.text += fmt::format(
        "  {{\n    const Index inner = {0};\n  {1}    for (Index turn = 0; turn < (inner + {2}) / {3}; ++turn) {{\n"
        "      const Index k = turn * {3} + static_cast<Index>(lane);\n      if (k >= inner) break;\n"
        "      sum{4} += a.x{5}[row * inner + k] * a.x{6}[{7}];\n    }}\n  }}\n",
        inner, unrolled(member.fixed ? (p.k + member.lanes - 1) / member.lanes : 0), member.lanes - 1, member.lanes,
        part.group.y(i), part.group.a(i), part.group.b(i), at);
  }
  for (std::size_t g = 0; g < part.group.groups(); ++g)
    made.text += fmt::format("  sum{0} = loop::summed<{1}>(sum{0});\n", g, member.lanes);
  made.text += "  if (!writes) return;\n";
  for (std::size_t g = 0; g < part.group.groups(); ++g) made.text += fmt::format("  a.y{0}[e] = sum{0};\n", g);
  made.text += "}\n";
  return made;
}

ElementText element_of(const RowLoopMember&, const ElementPart& part, Comments) { return element_text(part); }

ElementText copy_of(DType dtype) {
  ElementPart copy;
  copy.inputs = {dtype}, copy.output = dtype;
  copy.element = "  a.y0[e] = a.x0[e];\n";
  return element_text(copy);
}

ElementText element_of(const RowLoopMember& member, Comments comments) {
  if (member.part == nullptr) return copy_of(member.operands.at(member.inputs).dtype);
  return in_each_case(*member.part, [&](const auto& part) { return element_of(member, part, comments); });
}

// Statements that set the sizes in Arguments `own` to their values, as constants, so that the compiler divides by constants and
// unrolls loops. The numbers of rows and steps stay arguments: one text serves all batches.
std::string constants_of(const RowLoopMember& member) {
  if (member.part == nullptr || !member.fixed) return "";
  const auto set = [](const std::string& name, std::int64_t n) { return fmt::format("      own.{} = {};\n", name, n); };
  return in_each_case(
      *member.part, [](const PointwisePart& part) { return part.code->constants(); },
      [&](const ReductionPart& part) {
        return part.code->constants() + set("view.n", part.view.n) + set("view.inner", part.view.inner);
      },
      [](const ElementPart&) { return std::string(); },
      [&](const ProductPart& part) {
        std::string text = set("columns", part.group.products[0].n);
        for (std::size_t i = 0; i < part.group.products.size(); ++i)
          text += set(fmt::format("inner{}", i), part.group.products[i].k);
        return text;
      });
}

// Whether one() computes an element in several threads of a warp: with a lane, and whether it writes.
bool has_lanes(const RowLoopMember& member) {
  if (member.part == nullptr) return false;
  return in_each_case(
      *member.part, [](const PointwisePart&) { return false; }, [](const ReductionPart&) { return true; },
      [](const ElementPart&) { return false; }, [](const ProductPart&) { return true; });
}

// The address of an operand in a step, offset so that elements are indexed by their position among all rows.
std::string address_text(const RowLoopPlan& plan, const RowLoopMember& member, std::size_t operand) {
  const RowLoopPlan::RowLoopOperand& own = member.operands[operand];
  const char* const type = device_type(own.dtype);
  const char* const constant = operand < member.inputs ? "const " : "";
  if (own.kept >= 0) return fmt::format("reinterpret_cast<{}{}*>(shared + arguments.kept{})", constant, type, own.kept);
  if (own.place < 0) {
    const std::string row =
        plan.own[static_cast<std::size_t>(own.own)].row == 0 ? "" : fmt::format(" - first * arguments.row{}", own.own);
    return fmt::format("reinterpret_cast<{}{}*>(shared + arguments.own{}{})", constant, type, own.own, row);
  }
  return fmt::format("at{}.as<{}{}>()", own.place, constant, type);
}

// Prints the text that is compiled, or the same with comments.
class RowLoopPrinter {
 public:
  RowLoopPrinter(const RowLoopPlan& plan, Comments comments) : plan_(plan), comments_(comments) {
    Identifiers names;
    for (const RowLoopPlan::RowLoopMember& member : plan.members) {
      names_.push_back(names.of(member.name));
      made_.members.push_back({element_of(member, comments), {}, {}});
    }
    lay_out_arguments();
  }

  std::string body() const { return kTextBegin + works_text() + made_.arguments.text() + "\n" + steps_text() + kTextEnd; }
  RowLoopText take() { return std::move(made_); }

 private:
  void lay_out_arguments();
  std::string works_text() const;
  std::string steps_text() const;

  const RowLoopPlan& plan_;
  const Comments comments_;
  std::vector<std::string> names_;  // by member: name of its first result
  RowLoopText made_;
};

void RowLoopPrinter::lay_out_arguments() {
  ArgumentLayout& arguments = made_.arguments;
  made_.places = arguments.add_array<LoopPlace>("places", plan_.places.size());
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    RowLoopText::RowMemberText& own = made_.members[i];
    own.part = arguments.add_struct("of_" + names_[i], names_[i] + "_work::Arguments", own.element.arguments);
  }
  made_.fault = arguments.add_address("fault", "loop::FaultPlace");
  arguments.add("steps", plan_.steps);
  arguments.add("rows", plan_.rows);
  arguments.add("reverse", std::int32_t{plan_.reverse});
  for (const RowLoopPlan::FetchedAhead& next : plan_.ahead) arguments.add(fmt::format("ahead{}", next.place), next.bytes);
  for (std::size_t k = 0; k < plan_.own.size(); ++k) {
    arguments.add(fmt::format("own{}", k), plan_.own[k].at);
    if (plan_.own[k].row != 0) arguments.add(fmt::format("row{}", k), plan_.own[k].row);
  }
  for (std::size_t k = 0; k < plan_.kept.size(); ++k) arguments.add(fmt::format("kept{}", k), plan_.kept[k].at);
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    arguments.add("each_" + names_[i], plan_.members[i].each);
    made_.members[i].node = arguments.add<std::int32_t>("node_" + names_[i]);
  }
}

std::string RowLoopPrinter::works_text() const {
  std::string text;
  for (std::size_t i = 0; i < plan_.members.size(); ++i)
    text +=
        fmt::format("namespace {0}_work {{\n\n{1}\n}}  // namespace {0}_work\n\n", names_[i], made_.members[i].element.text);
  return text;
}

std::string RowLoopPrinter::steps_text() const {
  std::string text = R"x(GRAPHRUN_ENTRY(graphrun_@, Arguments) {
  char* const shared = static_cast<char*>(cuda::shared_memory());
  const std::int64_t first = arguments.rows * cuda::block_index() / cuda::block_count();
  const std::int64_t rows = arguments.rows * (cuda::block_index() + 1) / cuda::block_count() - first;
  loop::Step step{0, arguments.steps, arguments.reverse != 0};
)x";
  for (std::size_t k = 0; k < plan_.places.size(); ++k)
    text += fmt::format("  loop::MovingPlace at{0}(arguments.places[{0}], step);\n", k);
  for (std::size_t k = 0; k < plan_.kept.size(); ++k) {
    const RowLoopPlan::KeptOperand& kept = plan_.kept[k];
    const char* const type = device_type(kept.dtype);
    text += fmt::format("  loop::keep(reinterpret_cast<{0}*>(shared + arguments.kept{1}), at{2}.as<const {0}>(), {3});\n", type,
                        k, kept.place, kept.elements);
  }
  if (!plan_.kept.empty()) text += "  cuda::barrier();\n";
  text += "  for (; step.number < arguments.steps; ++step.number) {\n";
  if (!plan_.ahead.empty()) text += "    if (step.number + 1 < arguments.steps) {\n";
  for (const RowLoopPlan::FetchedAhead& next : plan_.ahead) {
    const std::string from = next.by_rows ? fmt::format(" + first * arguments.ahead{}", next.place) : "";
    text += fmt::format("      loop::fetch_ahead(at{0}.next{1}, {2}arguments.ahead{0});\n", next.place, from,
                        next.by_rows ? "rows * " : "");
  }
  if (!plan_.ahead.empty()) text += "    }\n";
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const RowLoopPlan::RowLoopMember& m = plan_.members[i];
    const ElementText& element = made_.members[i].element;
    const std::string& name = names_[i];
    if (element.code == nullptr) {
      for (const Location& at : m.equations) text += equation_comment(at, "    ", comments_);
    }
    text += fmt::format("    {{\n      {0}_work::Arguments own = arguments.of_{0};\n", name) + constants_of(m);
    // A reduction's lengths may be absent.
    for (std::size_t k = 0; k < element.inputs.size(); ++k)
      text += fmt::format("      own.{} = {};\n", element.inputs[k], address_text(plan_, m, k));
    for (std::size_t r = 0; r < m.outputs; ++r)
      text += fmt::format("      own.{} = {};\n", element.outputs[r], address_text(plan_, m, m.inputs + r));
    for (std::size_t d = 0; element.code != nullptr && d < element.code->draws().size(); ++d) {
      text += fmt::format("      own.{0}.row = fold_coordinate(own.{0}.row, static_cast<std::uint64_t>(step.position()));\n",
                          DeviceCode::draw_name(d));
    }
    const std::string each = m.fixed ? fmt::format("{}", m.each) : fmt::format("arguments.each_{}", name);
    text += fmt::format("      const std::int64_t begin = {}, count = {}{};\n", m.of_each ? "0" : "first * " + each,
                        m.of_each ? "" : "rows * ", each);
    if (has_lanes(m)) {
      text += fmt::format(
          "      loop::for_columns<{1}>(begin, count, [&](std::int64_t e, int lane, bool writes) {{\n"
          "        {0}_work::one(own, e, lane, writes);\n      }});\n",
          name, m.lanes);
    } else {
      text += fmt::format(
          "      for (std::int64_t i = cuda::thread_index(); i < count; i += cuda::thread_count())\n"
          "        {0}_work::one(own, begin + i, loop::Fault{{arguments.fault, arguments.node_{0}}});\n",
          name);
    }
    text += "    }\n    cuda::barrier();\n";
  }
  for (std::size_t k = 0; k < plan_.places.size(); ++k) {
    if (plan_.stays[k] == 0) text += fmt::format("    at{}.advance();\n", k);
  }
  return text + "  }\n}\n";
}

const std::string kRowLoopIncludes = std::string(kDeviceIncludes) + "#include \"ops/recurrent/row_loop_device.h\"\n";

}  // namespace

RowLoopText row_loop_text(const RowLoopPlan& plan) {
  RowLoopPrinter printer(plan, Comments::kNone);
  const DeviceText text = named_text(kRowLoopIncludes, printer.body());
  RowLoopText made = printer.take();
  static_cast<DeviceText&>(made) = text;
  return made;
}

std::string commented_row_loop_text(const RowLoopPlan& plan) {
  return commented_text(kRowLoopIncludes, RowLoopPrinter(plan, Comments::kNone).body(),
                        RowLoopPrinter(plan, Comments::kEquations).body());
}

}  // namespace graphrun
