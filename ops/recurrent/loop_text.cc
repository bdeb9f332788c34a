#include "ops/recurrent/loop_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ops/recurrent/loop_passed.h"
#include "runtime/base/identifier.h"

namespace graphrun {
namespace {

class LoopPrinter {
 public:
  explicit LoopPrinter(const LoopPlan& plan) : plan_(plan), constant_(plan.has_constant_sizes()) {
    made_.members.resize(plan.members.size());
    find_names();
    lay_out_arguments();
  }

  LoopText print() {
    static_cast<DeviceText&>(made_) = named_text(includes(), body(Comments::kNone));
    return std::move(made_);
  }
  std::string print_commented() const { return commented_text(includes(), body(Comments::kNone), body(Comments::kEquations)); }

 private:
  std::string includes() const {
    const bool rounds =
        std::any_of(plan_.members.begin(), plan_.members.end(), [](const auto& m) { return m.form != nullptr; });
    const char* const products = !plan_.passed.empty() ? "loop_passed.h" : rounds ? "loop_rounded.h" : "loop_device.h";
    return kDeviceIncludes + fmt::format("#include \"ops/recurrent/{}\"\n", products);
  }
  std::string body(Comments comments) const {
    return kTextBegin + places_text() + works_text(comments) + made_.arguments.text() + "\n" + product_functions(comments) +
           steps_text(comments) + kTextEnd;
  }
  void find_names();
  void lay_out_arguments();
  std::string places_text() const;
  std::string works_text(Comments comments) const;
  std::string product_functions(Comments comments) const;
  std::string order_of(const LoopPlan::Passed& passed) const;
  std::string steps_text(Comments comments) const;
  std::string first_step_text() const;
  std::string awaiting_text(std::size_t i) const;
  bool is_first_to_await(std::size_t i, std::pair<int, char> read) const;
  std::string last_arrivals_text() const;
  std::string put_text(std::size_t i, std::size_t passed, std::size_t place, bool of_last_step) const;
  std::string sending_text(std::size_t i) const;
  std::string copy_text(std::size_t i) const;
  std::string multiply_text(std::size_t i) const;
  std::string work_text(std::size_t i) const;
  std::string element_step_text(std::size_t i) const;
  // The address of an operand in a step.
  std::string address(std::size_t place, const std::string& type) const {
    return fmt::format("addresses.of<{}>({}, step)", type, place_names_[place]);
  }
  // Where the results of a product are in shared memory.
  std::string local_result(std::size_t product, std::size_t group, const std::string& type) const {
    return fmt::format("loop::local_result<{}>(shared + arguments.local_{}, {}, {})", type, names_[product], group,
                       own_elements(product));
  }
  // Whether an input of pointwise work is there.
  bool is_local(const LoopPlan::LoopMember& pointwise, std::size_t input) const {
    const auto& from = pointwise.from_product[input];
    return from && plan_.members[from->first].local >= 0;
  }
  // The address of a passed factor: the value of this step, or of the previous one.
  std::string place_of_passed(std::size_t passed, bool of_last_step) const {
    return fmt::format("passing + arguments.passed_{0} + (step.number{1}) % 2 * arguments.bytes_{0}", passed_names_[passed],
                       of_last_step ? " + 1" : "");
  }
  // The block's columns of member i.
  std::string own_elements(std::size_t i) const { return fmt::format("part, arguments.rows_{}, {}", names_[i], columns(i)); }
  std::string comment(std::size_t i, const std::string& indent, Comments comments) const;
  // A size as a constant, or as an argument that is added where arguments are laid out.
  std::string size(const std::string& name, std::int64_t value) const {
    return constant_ ? std::to_string(value) : "arguments." + name;
  }
  std::string columns(std::size_t i) const { return size("columns_" + names_[i], plan_.members[i].columns); }
  std::string row_tiles(std::size_t product) const {
    return size("row_tiles_" + names_[product], plan_.row_tiles_of(plan_.members[product]));
  }

  const LoopPlan& plan_;
  const bool constant_;  // whether sizes are constants in the text
  LoopText made_;
  // By member, by passed factor, and by operand of all members.
  std::vector<std::string> names_, passed_names_, place_names_;
};

// Names a member after its first result, and an operand after its member and its role there.
void LoopPrinter::find_names() {
  Identifiers members, all;
  for (const LoopPlan::LoopMember& m : plan_.members) {
    names_.push_back(members.of(m.name));
    for (std::size_t o = 0; o < m.operand_names.size(); ++o) {
      const char* const what = o < m.inputs ? "reads" : "makes";
      place_names_.push_back(all.take(fmt::format("{}_{}_{}", names_.back(), what, identifier(m.operand_names[o]))));
    }
  }
  Identifiers passed;
  for (const LoopPlan::Passed& p : plan_.passed) {
    const LoopPlan::LoopMember& m = plan_.members[p.maker];
    passed_names_.push_back(passed.of(m.operand_names[m.inputs + p.result]));
  }
}

void LoopPrinter::lay_out_arguments() {
  ArgumentLayout& arguments = made_.arguments;
  const auto number = [&arguments](const std::string& name, std::int64_t value) {
    arguments.add(name, static_cast<std::int32_t>(value));
  };
  const auto size = [&](const std::string& name, std::int64_t value) {
    if (!constant_) number(name, value);
  };
  made_.places = arguments.add_array<LoopPlace>("places", plan_.places);
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const LoopPlan::LoopMember& m = plan_.members[i];
    if (m.element != nullptr) {
      ElementText element = element_text(*m.element);
      arguments.add_struct("of_" + names_[i], names_[i] + "_work::Arguments", element.arguments);
      made_.members[i].element = std::move(element);
      made_.records_faults = true;
    }
    if (m.pointwise == nullptr) continue;
    const DeviceCode& code = *m.pointwise->code;
    const Argument part = arguments.add_struct("of_" + names_[i], names_[i] + "_work::Arguments", code.arguments());
    for (std::size_t k = 0; k < code.inputs(); ++k)  // each step sets the addresses
      arguments.fix_address(ArgumentLayout::of_struct(part, code.input_argument(k)), nullptr);
    made_.members[i].part = part;
  }
  made_.counter = arguments.add_address("counter", "unsigned");
  if (made_.records_faults) made_.fault = arguments.add_address("fault", "loop::FaultPlace");
  arguments.add("steps", plan_.steps);
  number("reverse", plan_.reverse);
  number("piece", static_cast<std::int64_t>(plan_.piece_at)), number("passing", static_cast<std::int64_t>(plan_.passed_bytes));
  size("deep", plan_.deep), size("sums", plan_.sums);
  size("column_parts", plan_.column_parts), size("row_parts", plan_.grid_row_parts()), size("together", plan_.together);
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const LoopPlan::LoopMember& m = plan_.members[i];
    number("rows_" + names_[i], m.rows), size("columns_" + names_[i], m.columns);
    if (m.pointwise != nullptr) made_.members[i].wide = arguments.add<std::int32_t>("wide_" + names_[i]);
    if (m.element != nullptr) made_.members[i].node = arguments.add<std::int32_t>("node_" + names_[i]);
    if (m.product == nullptr) continue;
    number("resident_" + names_[i], m.resident);
    if (m.local >= 0) number("local_" + names_[i], m.local);
    size("row_tiles_" + names_[i], plan_.row_tiles_of(m));
    for (std::size_t t = 0; t < m.product->group.terms(); ++t)
      size(fmt::format("inner{}_{}", t, names_[i]), m.product->group.products[t].k);
  }
  if (plan_.arrives) number("counters", static_cast<std::int64_t>(plan_.address_bytes()));
  for (std::size_t p = 0; p < plan_.passed.size(); ++p) {
    number("passed_" + passed_names_[p], static_cast<std::int64_t>(plan_.passed[p].at));
    number("bytes_" + passed_names_[p], static_cast<std::int64_t>(plan_.passed[p].bytes));
  }
}

std::string LoopPrinter::comment(std::size_t i, const std::string& indent, Comments comments) const {
  std::string text;
  for (const Location& at : plan_.members[i].equations) text += equation_comment(at, indent, comments);
  return text;
}

std::string LoopPrinter::order_of(const LoopPlan::Passed& p) const {
  const LoopPlan::LoopMember& reader = plan_.members[p.reader];
  return reader.form != nullptr ? fmt::format("loop::TileOrder<{}>", reader.form->type)
                                : fmt::format("loop::PlainOrder<{}>", device_type(reader.product->dtype));
}

std::string LoopPrinter::places_text() const {
  std::string text = "// Operands, in the order of Arguments::places.\nenum Operand : int {\n";
  for (const std::string& name : place_names_) text += "  " + name + ",\n";
  return text + "};\n\n";
}

std::string LoopPrinter::works_text(Comments comments) const {
  std::string text;
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    if (const std::optional<ElementText>& element = made_.members[i].element) {
      text += fmt::format("namespace {0}_work {{\n\n{1}\n}}  // namespace {0}_work\n\n", names_[i], element->text);
    }
    const PointwisePart* const part = plan_.members[i].pointwise;
    if (part == nullptr) continue;
    const DeviceCode& code = *part->code;
    text += fmt::format("namespace {}_work {{\n\n", names_[i]) + code.index_type() + code.arguments().text() + "\n" +
            code.functions(comments);
    std::string results, orders, stores;
    for (std::size_t r = 0; r < part->results; ++r) {
      const std::string& name = code.result_name(r);
      results += fmt::format(", {}* {}", code.type_of_result(r), code.target_name(r));
      stores += fmt::format("    element::store({} + first, results.{});\n", code.target_name(r), name);
      if (plan_.members[i].passes[r] < 0) continue;
      results += fmt::format(", char* passed_{}", name);
      orders += fmt::format("  const {} order_{}(part.rows(rows), columns);\n",
                            order_of(plan_.passed[static_cast<std::size_t>(plan_.members[i].passes[r])]), name);
      stores += fmt::format("    loop::put(order_{0}, passed_{0}, row, column, results.{0}.v);\n", name);
    }
    std::string locals;
    for (std::size_t k = 0; k < code.inputs(); ++k) {
      if (!is_local(plan_.members[i], k)) continue;
      locals += fmt::format("    arguments.{0} = loop::as_whole(given.{0}, row, part, rows, columns);\n", code.input_name(k));
    }
    if (!locals.empty()) locals = "    Arguments arguments = given;\n" + locals;
    text += fmt::format(R"x(
// The block's columns of the results, `width` at a time.
template <int width>
GRAPHRUN_DEVICE void run(const Arguments& {}{},
                         const loop::Part& part, int rows, int columns) {{
  const loop::Columns own(columns, part);
{}  const int pieces = own.full / width, first_row = part.first_row(rows);
  for (int piece = cuda::thread_index(); piece < part.rows(rows) * pieces; piece += cuda::thread_count()) {{
    const int row = piece / pieces, column = own.begin + piece % pieces * width;
    if (column >= own.end) continue;
    const Index first = static_cast<Index>(first_row + row) * columns + column;
{}    const Results<width> results = compute<width>(arguments, first);
{}  }}
}}

}}  // namespace {}_work

)x",
                        locals.empty() ? "arguments" : "given", results, orders, locals, stores, names_[i]);
  }
  return text;
}

std::string LoopPrinter::product_functions(Comments comments) const {
  std::string text;
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const LoopPlan::LoopMember& m = plan_.members[i];
    if (m.product == nullptr) continue;
    const ProductGroup& group = m.product->group;
    const std::string type = device_type(m.product->dtype);
    const std::string product =
        fmt::format("loop::Product<{}, {}, {}>", type, m.product->group.terms(), m.product->group.groups());
    text += comment(i, "", comments) + fmt::format(
                                           "GRAPHRUN_DEVICE {0} product_{1}(\n"
                                           "    const Arguments& arguments, const loop::Addresses& addresses, const "
                                           "loop::Step& step, const loop::Part& part,\n"
                                           "    char* shared, char* passing) {{\n"
                                           "  {0} product;\n"
                                           "  const std::int64_t first_row = part.first_row(arguments.rows_{1});\n"
                                           "  product.part = part;\n"
                                           "  product.rows = part.rows(arguments.rows_{1});\n"
                                           "  product.columns = {3};\n"
                                           "  product.row_tiles = {4};\n"
                                           "  product.transpose_b = {2};\n",
                                           product, names_[i], group.products[0].transpose_b ? "true" : "false", columns(i),
                                           row_tiles(i));
    for (std::size_t t = 0; t < m.product->group.terms(); ++t) {
      text += fmt::format(
          "  product.inner[{0}] = {1};\n"
          "  product.a[{0}] = {2} + first_row * product.inner[{0}];\n"
          "  product.passed[{0}] = {3};\n",
          t, size(fmt::format("inner{}_{}", t, names_[i]), group.products[t].k), address(m.place + group.a(t), "const " + type),
          m.reads_passed[t] < 0 ? "nullptr"
                                : place_of_passed(static_cast<std::size_t>(m.reads_passed[t]), m.of_last_step[t] != 0));
    }
    for (std::size_t f = 0; f < group.products.size(); ++f)
      text += fmt::format("  product.b[{}] = {};\n", f, address(m.place + group.b(f), "const " + type));
    text += fmt::format("  product.local = {};\n", m.local >= 0);
    for (std::size_t g = 0; g < m.product->group.groups(); ++g) {
      text += m.local >= 0 ? fmt::format("  product.y[{}] = {};\n", g, local_result(i, g, type))
                           : fmt::format("  product.y[{}] = {} + first_row * product.columns;\n", g,
                                         address(m.place + m.inputs + g, type));
    }
    text += fmt::format(
        "  product.resident = arguments.resident_{0} < 0 ? nullptr : shared + arguments.resident_{0};\n  return "
        "product;\n}}\n\n",
        names_[i]);
  }
  return text;
}

// The text of what a block does before its first step, and of the steps.
std::string LoopPrinter::steps_text(Comments comments) const {
  std::string text =
      "GRAPHRUN_ENTRY(graphrun_@, Arguments) {\n  char* const shared = static_cast<char*>(cuda::shared_memory());\n";
  if (plan_.in_clusters) {
    text += fmt::format("  const loop::Part part = loop::part_of_cluster({}, {});\n  char* const passing = shared;\n",
                        size("column_parts", plan_.column_parts), size("together", plan_.together));
  } else {
    text += fmt::format(
        "  const loop::Part part = loop::part_of_grid({}, {});\n"
        "  char* const passing = reinterpret_cast<char*>(arguments.counter) + {} +\n"
        "                        part.cluster * static_cast<std::int64_t>(arguments.passing);\n",
        size("column_parts", plan_.column_parts), size("row_parts", plan_.grid_row_parts()), LoopKernel::kWorkspace);
  }
  text +=
      "  unsigned round = 0;  // of the grid's barriers\n"
      "  loop::Step step{0, arguments.steps, arguments.reverse != 0};\n"
      "  const loop::Addresses addresses(arguments.places, shared, step);\n";
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    if (plan_.members[i].product == nullptr) continue;
    const UnitForm* const form = plan_.members[i].form;
    text += fmt::format(
        "  if (arguments.resident_{0} >= 0) {{\n"
        "    loop::{2}(product_{0}(arguments, addresses, step, part, shared, passing),\n"
        "              reinterpret_cast<{1}*>(shared + arguments.resident_{0}));\n  }}\n",
        names_[i], form != nullptr ? "unsigned" : device_type(plan_.members[i].product->dtype),
        form != nullptr ? fmt::format("bring_rounded<{}>", form->type) : "bring");
  }
  text += first_step_text() + "\n  for (; step.number < arguments.steps; ++step.number) {\n";
  const char* const barrier =
      plan_.in_clusters ? "    cuda::cluster_barrier();\n" : "    cuda::grid_barrier(arguments.counter, round);\n";
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const LoopPlan::LoopMember& m = plan_.members[i];
    text += m.waits && !plan_.arrives ? barrier : "    cuda::barrier();\n";
    text += awaiting_text(i);
    if (i == 0) text += "    addresses.find(step.next());\n";
    if (m.pointwise != nullptr) {
      text += work_text(i) + sending_text(i);
      continue;
    }
    text += comment(i, "    ", comments) + (m.product != nullptr   ? multiply_text(i)
                                            : m.element != nullptr ? element_step_text(i)
                                                                   : copy_text(i));
    for (std::size_t r = 0; r < m.outputs; ++r) {
      if (m.passes[r] < 0) continue;
      text += "    cuda::barrier();\n    " + put_text(i, static_cast<std::size_t>(m.passes[r]), m.place + m.inputs + r, false);
    }
    text += sending_text(i);
  }
  text += "  }\n";
  if (plan_.arrives) {
    text += last_arrivals_text();
  } else if (plan_.in_clusters) {
    text += "  cuda::cluster_barrier();  // no block ends while another writes to its memory\n";
  }
  return text + "}\n";
}

std::string LoopPrinter::multiply_text(std::size_t i) const {
  const LoopPlan::LoopMember& m = plan_.members[i];
  const std::string product = fmt::format("product_{}(arguments, addresses, step, part, shared, passing)", names_[i]);
  if (m.form == nullptr) {
    return fmt::format("    loop::multiply({}, reinterpret_cast<{}*>(shared + arguments.piece));\n", product,
                       device_type(m.product->dtype));
  }
  return fmt::format(
      "    loop::multiply_rounded<{}, {}, {}, {}, {}, {}>({},\n"
      "                           reinterpret_cast<unsigned*>(shared + arguments.piece), {}, {});\n",
      m.form->type, loop::warp_rows_of(plan_.row_tiles_of(m)), loop::warp_columns_of(plan_.column_tiles_of(m)), m.resident >= 0,
      plan_.in_clusters ? loop::kAheadInBlock : loop::kAheadInMemory, plan_.threads, product, size("deep", plan_.deep),
      size("sums", plan_.sums));
}

std::string LoopPrinter::element_step_text(std::size_t i) const {
  const LoopPlan::LoopMember& m = plan_.members[i];
  const ElementText& element = *made_.members[i].element;
  std::string text = fmt::format("    {{\n      {0}_work::Arguments own = arguments.of_{0};\n", names_[i]);
  for (std::size_t k = 0; k < element.inputs.size(); ++k) {
    text += fmt::format("      own.{} = {};\n", element.inputs[k],
                        address(m.place + k, std::string("const ") + device_type(m.element->inputs[k])));
  }
  text += fmt::format("      own.{} = {};\n", element.outputs[0], address(m.place + m.inputs, device_type(m.element->output)));
  return text + fmt::format(
                    "      const loop::Fault fault{{arguments.fault, arguments.node_{0}}};\n"
                    "      loop::for_own_elements({1}, [=](int, int, std::int64_t e) {{ {0}_work::one(own, e, fault); }});\n"
                    "    }}\n",
                    names_[i], own_elements(i));
}

std::string LoopPrinter::copy_text(std::size_t i) const {
  const LoopPlan::LoopMember& m = plan_.members[i];
  const std::string type = device_type(m.copied);
  return fmt::format("    loop::copy({},\n               {},\n               {});\n", address(m.place, "const " + type),
                     address(m.place + 1, type), own_elements(i));
}

// The text that stores the block's part of a tensor of member i's sizes in the buffer of a passed factor.
std::string LoopPrinter::put_text(std::size_t i, std::size_t passed, std::size_t place, bool of_last_step) const {
  const LoopPlan::Passed& p = plan_.passed[passed];
  const std::string type = device_type(plan_.members[p.reader].product->dtype);
  return fmt::format("loop::put_own<{}>({}, {}, {});\n", order_of(p), address(place, "const " + type), own_elements(i),
                     place_of_passed(passed, of_last_step));
}

// For clusters: the text that sends what a member stored to the other blocks.
std::string LoopPrinter::sending_text(std::size_t i) const {
  std::string text;
  for (int p : plan_.members[i].passes) {
    if (p < 0 || !plan_.in_clusters) continue;
    const auto passed = static_cast<std::size_t>(p);
    if (text.empty()) text += "    cuda::barrier();\n";
    const std::string counter =
        plan_.arrives ? fmt::format("arriving_{}.counter(step.number)", passed_names_[passed]) : "nullptr";
    text += fmt::format("    loop::send_own<{}>({}, {}, {}, {});\n", order_of(plan_.passed[passed]), own_elements(i),
                        row_tiles(plan_.passed[passed].reader), place_of_passed(passed, false), counter);
  }
  return text;
}

// The text that stores what the first step reads as the previous step's value.
std::string LoopPrinter::first_step_text() const {
  std::string text;
  if (!plan_.in_clusters) {  // padding is zero
    for (std::size_t p = 0; p < plan_.passed.size(); ++p) {
      if (plan_.passed[p].begins_at < 0) continue;
      text += "  " + put_text(plan_.passed[p].maker, p, static_cast<std::size_t>(plan_.passed[p].begins_at), true);
    }
    return text.empty() ? text : text + "  cuda::grid_barrier(arguments.counter, round);\n";
  }
  for (const std::string& name : passed_names_)
    text += fmt::format("  loop::clear(shared + arguments.passed_{0}, 2 * arguments.bytes_{0});\n", name);
  text += "  cuda::barrier();\n";
  for (std::size_t p = 0; p < plan_.passed.size(); ++p) {
    const LoopPlan::Passed& passed = plan_.passed[p];
    if (passed.begins_at < 0) continue;
    const std::string type = device_type(plan_.members[passed.reader].product->dtype);
    text += fmt::format("  loop::take_all<{}>({}, {}, {});\n", order_of(passed),
                        address(static_cast<std::size_t>(passed.begins_at), "const " + type), own_elements(passed.maker),
                        place_of_passed(p, true));
  }
  for (std::size_t p = 0; p < plan_.passed.size() && plan_.arrives; ++p) {
    const LoopPlan::Passed& passed = plan_.passed[p];
    const std::string& maker = names_[passed.maker];
    text += fmt::format(
        "  const loop::Arriving arriving_{0} = loop::Arriving::of(\n"
        "      shared + arguments.counters + {1} * loop::Arriving::kBytes, {2}(part.rows(arguments.rows_{3}), {4}), part, {4}, "
        "{5});\n",
        passed_names_[p], p, order_of(passed), maker, columns(passed.maker), row_tiles(passed.reader));
  }
  return text + "  cuda::cluster_barrier();  // all have begun\n";
}

// The text that waits for passed factors which a product reads.
std::string LoopPrinter::awaiting_text(std::size_t i) const {
  const LoopPlan::LoopMember& m = plan_.members[i];
  if (m.product == nullptr || !plan_.arrives) return "";
  std::string text;
  std::vector<std::pair<int, char>> awaited;
  for (std::size_t t = 0; t < m.reads_passed.size(); ++t) {
    const std::pair<int, char> read = {m.reads_passed[t], m.of_last_step[t]};
    if (read.first < 0 || std::find(awaited.begin(), awaited.end(), read) != awaited.end()) continue;
    awaited.push_back(read);
    const std::string await =
        fmt::format("arriving_{}.await(step.number{}, {});\n", passed_names_[static_cast<std::size_t>(read.first)],
                    read.second != 0 ? " - 1" : "", is_first_to_await(i, read));
    text += read.second != 0 ? "    if (step.number > 0) " + await : "    " + await;
  }
  return text;
}

// Whether no other read of the same value of a passed factor comes before this one. Products after its maker read it first, in
// the same step; those before its maker read it in the next step.
bool LoopPrinter::is_first_to_await(std::size_t i, std::pair<int, char> read) const {
  for (std::size_t j = 0; j < plan_.members.size(); ++j) {
    const LoopPlan::LoopMember& m = plan_.members[j];
    for (std::size_t t = 0; t < m.reads_passed.size(); ++t) {
      if (m.reads_passed[t] != read.first) continue;
      if (std::pair(m.of_last_step[t] != 0, j) < std::pair(read.second != 0, i)) return false;
    }
  }
  return true;
}

// The text that waits for what was sent in the last step, which no product reads: no block may end while words are on their way
// to it.
std::string LoopPrinter::last_arrivals_text() const {
  std::string text;
  for (std::size_t p = 0; p < plan_.passed.size(); ++p) {
    if (plan_.passed[p].begins_at < 0) continue;
    text += fmt::format("  if (arguments.steps > 0) arriving_{}.await(arguments.steps - 1, false);\n", passed_names_[p]);
  }
  return text;
}

std::string LoopPrinter::work_text(std::size_t i) const {
  const LoopPlan::LoopMember& m = plan_.members[i];
  const DeviceCode& code = *m.pointwise->code;
  const std::string& name = names_[i];
  std::string text = fmt::format("    {{\n      {0}_work::Arguments own = arguments.of_{0};\n", name);
  for (std::size_t k = 0; k < code.inputs(); ++k) {
    const std::string type = "const " + code.type_of_input(k);
    const std::string at =
        is_local(m, k) ? local_result(m.from_product[k]->first, m.from_product[k]->second, type) : address(m.place + k, type);
    text += fmt::format("      own.{} = {};\n", code.input_name(k), at);
  }
  for (std::size_t d = 0; d < code.draws().size(); ++d) {
    text += fmt::format("      own.{0}.row = fold_coordinate(own.{0}.row, static_cast<std::uint64_t>(step.position()));\n",
                        DeviceCode::draw_name(d));
  }
  std::string results;
  for (std::size_t r = 0; r < m.pointwise->results; ++r) {
    text += fmt::format("      {}* const {} = {};\n", code.type_of_result(r), code.target_name(r),
                        address(m.place + m.inputs + r, code.type_of_result(r)));
    results += ", " + code.target_name(r);
    if (m.passes[r] >= 0) results += ", " + place_of_passed(static_cast<std::size_t>(m.passes[r]), false);
  }
  const int width = plan_.width_of(m);
  const auto run = [&](int at_once) {
    return fmt::format("{}_work::run<{}>(own{}, {});\n", name, at_once, results, own_elements(i));
  };
  if (width == 1) return text + "      " + run(1) + "    }\n";
  return text + fmt::format(
                    "      if (arguments.wide_{}) {{\n"
                    "        {}"
                    "      }} else {{\n"
                    "        {}"
                    "      }}\n    }}\n",
                    name, run(width), run(1));
}

}  // namespace

LoopText loop_text(const LoopPlan& plan) { return LoopPrinter(plan).print(); }
std::string commented_loop_text(const LoopPlan& plan) { return LoopPrinter(plan).print_commented(); }

}  // namespace graphrun
