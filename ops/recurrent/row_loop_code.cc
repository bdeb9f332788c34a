#include "ops/recurrent/row_loop_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/generated/reduction_text.h"
#include "ops/round_up.h"
#include "runtime/cuda/matrix_units.h"

namespace graphrun {
namespace {

constexpr int kMostThreads = 256;

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

ElementText element_text(const BoundInstruction& bound) {
  if (bound.kernel.part == nullptr) return copy_of(bound.outputs()[0].dtype);
  return in_each_case(*bound.kernel.part, [](const auto& part) { return element_of(part); });
}

// How many elements one thread goes through for one of a part's results.
std::int64_t depth_of(const LoopPart& part) {
  return in_each_case(
      part, [](const PointwisePart&) { return std::int64_t{0}; }, [](const ElementPart&) { return std::int64_t{0}; },
      [](const ReductionPart& reduction) { return reduction.view.n; },
      [](const ProductPart& product) {
        std::int64_t deepest = 0;
        for (const Product& p : product.group.products) deepest = std::max(deepest, p.k);
        return deepest;
      });
}

// Whether a part may have inputs that are absent: a reduction's lengths may.
bool may_lack_inputs(const LoopPart& part) {
  return in_each_case(
      part, [](const ReductionPart&) { return true; }, [](const PointwisePart&) { return false; },
      [](const ElementPart&) { return false; }, [](const ProductPart&) { return false; });
}

// What keeps an instruction from being part of such a kernel.
Obstacle obstacle_of(const BoundInstruction& bound) {
  using Kind = Obstacle::Kind;
  constexpr std::int64_t kDeepest = 1024;  // more of one element is worth more than one thread
  const Instruction& source = *bound.source;
  if (source.kind == Instruction::Kind::kCopy) return {};
  if (bound.scan) return {Kind::kLoopInside, &source};
  const auto any_absent = [](const std::vector<std::int32_t>& values) {
    return std::any_of(values.begin(), values.end(), [](std::int32_t v) { return v < 0; });
  };
  const LoopPart* const part = bound.kernel.part.get();
  if (part == nullptr || any_absent(source.outputs)) return {Kind::kNoPart, &source};
  if (!may_lack_inputs(*part) && any_absent(source.inputs)) return {Kind::kNoPart, &source};
  return Obstacle::beyond(Kind::kDeep, static_cast<double>(depth_of(*part)), double{kDeepest}, &source);
}

}  // namespace

Obstacle RowLoopCode::obstacle_to(const BoundScan& scan, const RowSharing& sharing) {
  constexpr double kMostOfRow = 1 << 16;  // more work for a row is worth more than one block
  const double of_row = sharing.operations / static_cast<double>(sharing.rows);
  if (const Obstacle much = Obstacle::beyond(Obstacle::Kind::kMuchOfRow, of_row, kMostOfRow)) return much;
  for (const BoundInstruction& bound : scan.body.instructions) {
    if (const Obstacle obstacle = obstacle_of(bound)) return obstacle;
  }
  return {};
}

RowLoopCode::RowLoopCode(const BoundScan& scan, const RowSharing& sharing, const DeviceLimits& limits)
    : limits_(limits), rows_(sharing.rows), steps_(scan.steps), reverse_(scan.reverse) {
  std::int64_t widest = 1;
  std::size_t operands = 0;  // of all instructions so far
  for (std::size_t i = 0; i < scan.body.instructions.size(); ++i) {
    const BoundInstruction& bound = scan.body.instructions[i];
    Member member;
    member.inputs = bound.inputs().size(), member.outputs = bound.outputs().size();
    find_places(scan, bound, operands);
    operands += bound.operands.size();
    member.of_each = sharing.shared[i] == 0;
    const std::int64_t all = bound.outputs()[0].count();
    member.each = member.of_each ? all : all / rows_;
    member.element = element_text(bound);
    widest = std::max(widest, member.each);
    members_.push_back(std::move(member));
  }
  blocks_ = std::min<std::int64_t>(rows_, limits.multiprocessors);
  const std::int64_t together = widest * ((rows_ + blocks_ - 1) / blocks_);
  // At least a warp, but never more than a block may have; the emulated device may allow fewer than a warp.
  threads_ = static_cast<int>(
      std::min<std::int64_t>(std::max<std::int64_t>(round_up(together, cuda::kWarpThreads), cuda::kWarpThreads),
                             std::min(kMostThreads, limits.threads)));
  place_own(scan, sharing);
  lay_out_arguments();
  text_ = named_text(std::string(kDeviceIncludes) + "#include \"ops/recurrent/row_loop_device.h\"\n",
                     kTextBegin + steps_text(scan) + kTextEnd);
}

// One for each slot that is used, whoever uses it: a launch brings only so many bytes.
void RowLoopCode::find_places(const BoundScan& scan, const BoundInstruction& bound, std::size_t first) {
  for (std::size_t o = 0; o < bound.operands.size(); ++o) {
    const Storage at = scan.body.storage_of(bound, o);
    if (at.kind == Storage::Kind::kSlot && place_of_slot_.emplace(at.index, places_.size()).second)
      places_.push_back(first + o);
  }
}

// All that a step makes: blocks never meet, and what takes turns in the same bytes of the arena is not cut at the same places.
void RowLoopCode::place_own(const BoundScan& scan, const RowSharing& sharing) {
  std::vector<std::int64_t> bytes(sharing.of_each.size());
  for (const BoundInstruction& bound : scan.body.instructions) {
    for (std::size_t o = bound.source->inputs.size(); o < bound.operands.size(); ++o) {
      const Storage at = scan.body.storage_of(bound, o);
      if (at.kind != Storage::Kind::kBlock) continue;
      auto& most = bytes[static_cast<std::size_t>(at.index)];
      most = std::max(most, static_cast<std::int64_t>(bound.operands[o].bytes()));
    }
  }
  own_.assign(bytes.size(), {});
  const std::int64_t rows = (rows_ + blocks_ - 1) / blocks_;
  std::int64_t end = 0;
  for (std::size_t b = 0; b < bytes.size(); ++b) {
    const bool of_each = sharing.of_each[b] != 0;
    if (bytes[b] == 0) continue;
    GRAPHRUN_CHECK(of_each || bytes[b] % rows_ == 0, "a result by rows that is no whole rows");
    const std::int64_t row = of_each ? 0 : bytes[b] / rows_;
    own_[b] = {end, row};
    end += round_up(of_each ? bytes[b] : row * rows, 16);
  }
  shared_ = static_cast<std::size_t>(end);
}

// Where an operand is at a step, such that its elements are found by their numbers in all rows.
std::string RowLoopCode::address(const BoundScan& scan, std::size_t instruction, std::size_t operand) const {
  const BoundInstruction& bound = scan.body.instructions[instruction];
  const char* const type = device_type(bound.operands[operand].dtype);
  const char* const constant = operand < bound.source->inputs.size() ? "const " : "";
  const Storage at = scan.body.storage_of(bound, operand);
  if (at.kind == Storage::Kind::kBlock) {
    const Own& own = own_[static_cast<std::size_t>(at.index)];
    return fmt::format("reinterpret_cast<{}{}*>(shared + {} - first * {})", constant, type, own.at, own.row);
  }
  return fmt::format("loop::address<{}{}>(a.places[{}], step)", constant, type, place_of_slot_.at(at.index));
}

void RowLoopCode::lay_out_arguments() {
  places_argument_ = arguments_.add_array<LoopPlace>("places", places_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].struct_argument =
        arguments_.add_struct(fmt::format("part{}", i), fmt::format("part{}::Arguments", i), members_[i].element.arguments);
  }
  fault_argument_ = arguments_.add_address("fault", "loop::FaultPlace");
  arguments_.add("steps", steps_);
  arguments_.add("rows", rows_);
  arguments_.add("reverse", std::int32_t{reverse_});
  for (std::size_t i = 0; i < members_.size(); ++i) {
    arguments_.add(fmt::format("each{}", i), members_[i].each);
    members_[i].node = arguments_.add<std::int32_t>(fmt::format("node{}", i));
  }
}

std::string RowLoopCode::steps_text(const BoundScan& scan) const {
  std::string text;
  for (std::size_t i = 0; i < members_.size(); ++i)
    text += fmt::format("namespace part{0} {{\n\n{1}\n}}  // namespace part{0}\n\n", i, members_[i].element.text);
  text += arguments_.text() + "\n";
  text += R"x(GRAPHRUN_ENTRY(graphrun_@, Arguments) {
  const Arguments& a = arguments;
  char* const shared = static_cast<char*>(cuda::shared_memory());
  const std::int64_t first = a.rows * cuda::block_index() / cuda::block_count();
  const std::int64_t rows = a.rows * (cuda::block_index() + 1) / cuda::block_count() - first;
  for (loop::Step step{0, a.steps, a.reverse != 0}; step.number < a.steps; ++step.number) {
)x";
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& m = members_[i];
    text += fmt::format("    {{\n      part{0}::Arguments own = a.part{0};\n", i);
    // A reduction's lengths may be absent.
    const std::size_t inputs = m.element.code != nullptr ? m.element.code->inputs() : m.inputs;
    for (std::size_t k = 0; k < inputs; ++k) text += fmt::format("      own.x{} = {};\n", k, address(scan, i, k));
    for (std::size_t r = 0; r < m.outputs; ++r) text += fmt::format("      own.y{} = {};\n", r, address(scan, i, m.inputs + r));
    for (std::size_t d = 0; m.element.code != nullptr && d < m.element.code->draws().size(); ++d) {
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

}  // namespace graphrun
