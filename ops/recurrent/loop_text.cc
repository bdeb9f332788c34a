#include "ops/recurrent/loop_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ops/recurrent/loop_passed.h"

namespace graphrun {
namespace {

// Where a step finds or puts what is passed: that of the step, or of the one before.
std::string place_of_passed(int number, bool of_last_step) {
  return fmt::format("passing + a.passed{0} + (step.number{1}) % 2 * a.bytes{0}", number, of_last_step ? " + 1" : "");
}

class LoopPrinter {
 public:
  explicit LoopPrinter(const LoopPlan& plan) : plan_(plan) { made_.members.resize(plan.members.size()); }

  LoopText print() {
    lay_out_arguments();
    const bool rounds =
        std::any_of(plan_.members.begin(), plan_.members.end(), [](const auto& m) { return m.rounded != nullptr; });
    const std::string body =
        kTextBegin + parts() + made_.arguments.text() + "\n" + product_functions() + steps_text() + kTextEnd;
    const char* const products = !plan_.passed.empty() ? "loop_passed.h" : rounds ? "loop_rounded.h" : "loop_device.h";
    static_cast<DeviceText&>(made_) =
        named_text(kDeviceIncludes + fmt::format("#include \"ops/recurrent/{}\"\n", products), body);
    return std::move(made_);
  }

 private:
  std::string parts() const;
  void lay_out_arguments();
  std::string product_functions() const;
  std::string order_of(const LoopPlan::Passed& passed) const;
  std::string steps_text() const;
  std::string passing_text() const;
  std::string put_text(std::size_t i, std::size_t passed, std::size_t place, bool of_last_step) const;
  std::string sending_text(std::size_t i) const;
  std::string pointwise_text(std::size_t i) const;

  const LoopPlan& plan_;
  LoopText made_;
};

std::string LoopPrinter::order_of(const LoopPlan::Passed& p) const {
  const LoopPlan::Member& reader = plan_.members[p.reader];
  return reader.rounded != nullptr ? fmt::format("loop::TileOrder<{}>", reader.rounded->type)
                                   : fmt::format("loop::PlainOrder<{}>", device_type(reader.product->dtype));
}

std::string LoopPrinter::parts() const {
  std::string text;
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const PointwisePart* const part = plan_.members[i].pointwise;
    if (part == nullptr) continue;
    text += fmt::format("namespace part{} {{\n\n", i) + part->code->index_type() + part->code->arguments().text() + "\n" +
            part->code->functions();
    std::string results, orders, stores;
    for (std::size_t r = 0; r < part->results; ++r) {
      results += fmt::format(", {}* y{}", part->code->type_of_result(r), r);
      stores += fmt::format("    element::store(y{0} + i, r.r{0});\n", r);
      if (plan_.members[i].passes[r] < 0) continue;
      results += fmt::format(", char* passed{}", r);
      orders += fmt::format("  const {} order{}(part.rows(rows), columns);\n",
                            order_of(plan_.passed[static_cast<std::size_t>(plan_.members[i].passes[r])]), r);
      stores += fmt::format("    loop::put(order{0}, passed{0}, row, column, r.r{0}.v);\n", r);
    }
    text += fmt::format(R"x(
template <int n>
GRAPHRUN_DEVICE void run(const Arguments& a{}, const loop::Part& part, int rows, int columns) {{
  const loop::Columns own(columns, part);
{}  const int pieces = own.count() / n, first = part.first_row(rows);
  for (int e = cuda::thread_index(); e < part.rows(rows) * pieces; e += cuda::thread_count()) {{
    const int row = e / pieces, column = own.begin + e % pieces * n;
    const Index i = static_cast<Index>(first + row) * columns + column;
    const Results<n> r = compute<n>(a, i);
{}  }}
}}

}}  // namespace part{}

)x",
                        results, orders, stores, i);
  }
  return text;
}

void LoopPrinter::lay_out_arguments() {
  ArgumentLayout& arguments = made_.arguments;
  const auto number = [&arguments](std::string name, std::int64_t value) {
    arguments.add(std::move(name), static_cast<std::int32_t>(value));
  };
  made_.places = arguments.add_array<LoopPlace>("places", plan_.places);
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const LoopPlan::Member& m = plan_.members[i];
    if (m.pointwise == nullptr) continue;
    const DeviceCode& code = *m.pointwise->code;
    const Argument part = arguments.add_struct(fmt::format("part{}", i), fmt::format("part{}::Arguments", i), code.arguments());
    for (std::size_t k = 0; k < code.inputs(); ++k)  // addresses come with the step
      arguments.fix_address(ArgumentLayout::of_struct(part, code.input_argument(k)), nullptr);
    made_.members[i].part = part;
  }
  made_.counter = arguments.add_address("counter", "unsigned");
  arguments.add("steps", plan_.steps);
  number("reverse", plan_.reverse);
  number("piece", static_cast<std::int64_t>(plan_.piece_at)), number("deep", plan_.deep), number("sums", plan_.sums);
  number("row_parts", plan_.grid_row_parts()), number("passing", static_cast<std::int64_t>(plan_.passed_bytes));
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const LoopPlan::Member& m = plan_.members[i];
    number(fmt::format("rows{}", i), m.rows), number(fmt::format("columns{}", i), m.columns);
    if (m.pointwise != nullptr) made_.members[i].wide = arguments.add<std::int32_t>(fmt::format("wide{}", i));
    if (m.product == nullptr) continue;
    number(fmt::format("resident{}", i), m.resident);
    for (std::size_t t = 0; t < m.product->terms(); ++t)
      number(fmt::format("inner{}_{}", i, t), m.product->group.products[t].k);
  }
  for (std::size_t p = 0; p < plan_.passed.size(); ++p) {
    number(fmt::format("passed{}", p), static_cast<std::int64_t>(plan_.passed[p].at));
    number(fmt::format("bytes{}", p), static_cast<std::int64_t>(plan_.passed[p].bytes));
  }
}

std::string LoopPrinter::product_functions() const {
  std::string text;
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const LoopPlan::Member& m = plan_.members[i];
    if (m.product == nullptr) continue;
    const ProductGroup& group = m.product->group;
    const char* const type = device_type(m.product->dtype);
    const std::string product = fmt::format("loop::Product<{}, {}, {}>", type, m.product->terms(), m.product->groups());
    text += fmt::format(
        "GRAPHRUN_DEVICE {0} product{1}(const Arguments& a, const loop::Step& step, const loop::Part& part, char* shared, "
        "char* passing) {{\n"
        "  {0} p;\n  const std::int64_t first = part.first_row(a.rows{1});\n",
        product, i);
    text += fmt::format("  p.rows = part.rows(a.rows{0}), p.columns = a.columns{0}, p.transpose_b = {1}, p.part = part;\n", i,
                        group.products[0].transpose_b ? "true" : "false");
    for (std::size_t t = 0; t < m.product->terms(); ++t) {
      text += fmt::format(
          "  p.inner[{0}] = a.inner{1}_{0}, p.a[{0}] = loop::address<const {2}>(a.places[{3}], step) + first * "
          "p.inner[{0}];\n",
          t, i, type, m.place + group.a(t));
      text += fmt::format("  p.passed[{}] = {};\n", t,
                          m.reads_passed[t] < 0 ? "nullptr" : place_of_passed(m.reads_passed[t], m.of_last_step[t] != 0));
    }
    for (std::size_t f = 0; f < group.products.size(); ++f) {
      text += fmt::format("  p.b[{}] = loop::address<const {}>(a.places[{}], step);\n", f, type, m.place + group.b(f));
    }
    for (std::size_t g = 0; g < m.product->groups(); ++g) {
      text += fmt::format("  p.y[{}] = loop::address<{}>(a.places[{}], step) + first * p.columns;\n", g, type,
                          m.place + m.inputs + g);
    }
    text += fmt::format("  p.resident = a.resident{0} < 0 ? nullptr : shared + a.resident{0};\n", i);
    text += "  return p;\n}\n\n";
  }
  return text;
}

// What a block does before its first step, and the steps.
std::string LoopPrinter::steps_text() const {
  std::string text = fmt::format(R"x(GRAPHRUN_ENTRY(graphrun_@, Arguments) {{
  const Arguments& a = arguments;
  char* const shared = static_cast<char*>(cuda::shared_memory());
  const loop::Part part = loop::part_of_{};
  char* const passing = {};
  unsigned round = 0;
  loop::Step step{{0, a.steps, a.reverse != 0}};
)x",
                                 plan_.in_clusters ? "cluster()" : "grid(a.row_parts)",
                                 plan_.in_clusters ? "shared"
                                                   : fmt::format("reinterpret_cast<char*>(a.counter) + {} + part.cluster * "
                                                                 "static_cast<std::int64_t>(a.passing)",
                                                                 LoopKernel::kWorkspace));
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    if (plan_.members[i].product == nullptr) continue;
    const LoopPlan::RoundedForm* const form = plan_.members[i].rounded;
    text += fmt::format(
        "  if (a.resident{0} >= 0) loop::{2}(product{0}(a, step, part, shared, passing), reinterpret_cast<{1}*>(shared + "
        "a.resident{0}));\n",
        i, form != nullptr ? "unsigned" : device_type(plan_.members[i].product->dtype),
        form != nullptr ? fmt::format("bring_rounded<{}>", form->type) : "bring");
  }
  text += passing_text();
  text += "  for (; step.number < a.steps; ++step.number) {\n";
  const char* const barrier =
      plan_.in_clusters ? "    cuda::cluster_barrier();\n" : "    cuda::grid_barrier(a.counter, round);\n";
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const LoopPlan::Member& m = plan_.members[i];
    text += m.waits ? barrier : "    cuda::barrier();\n";
    if (m.pointwise != nullptr) {
      text += pointwise_text(i) + sending_text(i);
      continue;
    }
    if (m.rounded != nullptr) {
      text += fmt::format(
          "    loop::multiply_rounded<{}, {}, {}, {}>(product{}(a, step, part, shared, passing), "
          "reinterpret_cast<unsigned*>(shared + a.piece), a.deep, a.sums);\n",
          m.rounded->type, loop::warp_rows_of(plan_.row_tiles_of(m)), loop::warp_columns_of(plan_.column_tiles_of(m)),
          m.resident >= 0, i);
    } else if (m.product != nullptr) {
      text += fmt::format(
          "    loop::multiply(product{0}(a, step, part, shared, passing), reinterpret_cast<{1}*>(shared + a.piece));\n", i,
          device_type(m.product->dtype));
    } else {
      text += fmt::format(
          "    loop::copy(loop::address<const {0}>(a.places[{1}], step), loop::address<{0}>(a.places[{2}], step), part, "
          "a.rows{3}, a.columns{3});\n",
          device_type(m.copied), m.place, m.place + 1, i);
    }
    for (std::size_t r = 0; r < m.outputs; ++r) {
      if (m.passes[r] < 0) continue;
      text += fmt::format("    cuda::barrier();\n    {}",
                          put_text(i, static_cast<std::size_t>(m.passes[r]), m.place + m.inputs + r, false));
    }
    text += sending_text(i);
  }
  text += "  }\n";
  if (plan_.in_clusters) text += "  cuda::cluster_barrier();  // nobody ends while another writes to its memory\n";
  return text + "}\n";
}

// Puts the block's part of a tensor of member i's sizes where it is passed.
std::string LoopPrinter::put_text(std::size_t i, std::size_t passed, std::size_t place, bool of_last_step) const {
  const LoopPlan::Passed& p = plan_.passed[passed];
  return fmt::format("loop::put_own<{}>(loop::address<const {}>(a.places[{}], step), part, a.rows{}, a.columns{}, {});\n",
                     order_of(p), device_type(plan_.members[p.reader].product->dtype), place, i, i,
                     place_of_passed(static_cast<int>(passed), of_last_step));
}

// In clusters: what a member has put, to the other blocks.
std::string LoopPrinter::sending_text(std::size_t i) const {
  std::string text;
  for (int passed : plan_.members[i].passes) {
    if (passed < 0 || !plan_.in_clusters) continue;
    if (text.empty()) text += "    cuda::barrier();\n";
    text += fmt::format("    loop::send_own<{}>(part, a.rows{}, a.columns{}, {});\n",
                        order_of(plan_.passed[static_cast<std::size_t>(passed)]), i, i, place_of_passed(passed, false));
  }
  return text;
}

// What the first step finds as the last one's.
std::string LoopPrinter::passing_text() const {
  if (!plan_.in_clusters) {  // where nothing was put, there are zeros
    std::string text;
    for (std::size_t p = 0; p < plan_.passed.size(); ++p) {
      if (plan_.passed[p].begins_at < 0) continue;
      text += "  " + put_text(plan_.passed[p].maker, p, static_cast<std::size_t>(plan_.passed[p].begins_at), true);
    }
    return text.empty() ? text : text + "  cuda::grid_barrier(a.counter, round);\n";
  }
  std::string text;
  for (std::size_t p = 0; p < plan_.passed.size(); ++p) {
    text += fmt::format("  loop::clear(shared + a.passed{0}, 2 * a.bytes{0});\n", p);
  }
  text += "  cuda::barrier();\n";
  for (std::size_t p = 0; p < plan_.passed.size(); ++p) {
    if (plan_.passed[p].begins_at < 0) continue;
    text += fmt::format("  loop::take_all<{}>(loop::address<const {}>(a.places[{}], step), part, a.rows{}, a.columns{}, {});\n",
                        order_of(plan_.passed[p]), device_type(plan_.members[plan_.passed[p].reader].product->dtype),
                        plan_.passed[p].begins_at, plan_.passed[p].maker, plan_.passed[p].maker,
                        place_of_passed(static_cast<int>(p), true));
  }
  return text + "  cuda::cluster_barrier();  // all have begun\n";
}

std::string LoopPrinter::pointwise_text(std::size_t i) const {
  const LoopPlan::Member& m = plan_.members[i];
  const DeviceCode& code = *m.pointwise->code;
  std::string text = fmt::format("    {{\n      part{0}::Arguments own = a.part{0};\n", i);
  for (std::size_t k = 0; k < code.inputs(); ++k) {
    text +=
        fmt::format("      own.x{0} = loop::address<const {1}>(a.places[{2}], step);\n", k, code.type_of_input(k), m.place + k);
  }
  for (std::size_t d = 0; d < code.draws().size(); ++d) {
    text += fmt::format(
        "      own.draw{0}.row = fold_coordinate(own.draw{0}.row, static_cast<std::uint64_t>(step.position()));\n", d);
  }
  std::string results;
  for (std::size_t r = 0; r < m.pointwise->results; ++r) {
    results += fmt::format(", loop::address<{}>(a.places[{}], step)", code.type_of_result(r), m.place + m.inputs + r);
    if (m.passes[r] >= 0) results += ", " + place_of_passed(m.passes[r], false);
  }
  text += fmt::format(
      "      a.wide{0} ? part{0}::run<4>(own{1}, part, a.rows{0}, a.columns{0}) : part{0}::run<1>(own{1}, part, a.rows{0}, "
      "a.columns{0});\n",
      i, results);
  return text + "    }\n";
}

}  // namespace

LoopText loop_text(const LoopPlan& plan) { return LoopPrinter(plan).print(); }

}  // namespace graphrun
