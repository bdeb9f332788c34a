#include "compiler/dump/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/dump/statements.h"
#include "compiler/ir/op.h"
#include "compiler/ir/pointwise_program.h"
#include "compiler/ir/printer.h"
#include "runtime/base/identifier.h"
#include "runtime/execute/binding.h"
#include "runtime/execute/binding_report.h"
#include "runtime/execute/packed_weights.h"
#include "runtime/scan/launch.h"
#include "runtime/scan/thread_group.h"

namespace graphrun {
namespace {

using ir::PointwiseProgram;

// The text with every line indented by `indent`.
std::string indented(const std::string& text, const std::string& indent) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) out += indent + text.substr(begin, end - begin);
    out += "\n";
    begin = end + 1;
  }
  return out;
}

std::string sizes_of(const TensorView& view) { return fmt::format("[{}]", fmt::join(view.sizes, ", ")); }

// The names of a region's values. No value of an enclosing region has the same name.
struct NamedRegion {
  std::vector<std::string> names;  // by value
  Identifiers taken;

  std::string name(std::int32_t value) const { return value < 0 ? "" : names[static_cast<std::size_t>(value)]; }
};

// The values that the instructions of a region read, and those that they compute.
struct RegionUses {
  explicit RegionUses(const BoundRegion& region) : read(region.source->values.size()), made(read.size()) {
    for (const BoundInstruction& bound : region.instructions) {
      mark(bound.source->inputs, read);
      mark(bound.source->outputs, made);
    }
  }
  static void mark(const std::vector<std::int32_t>& values, std::vector<char>& all) {
    for (std::int32_t v : values) {
      if (v >= 0) all[static_cast<std::size_t>(v)] = 1;
    }
  }
  std::vector<char> read, made;
};

// "read.h" for "read.h.1". The name of a gradient keeps its numbers, which say to which of several values it belongs.
std::string without_number(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  const bool numbered = dot != std::string::npos && name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  return numbered && !name.starts_with("d.") ? without_number(name.substr(0, dot)) : name;
}

// Names the values of a region that have no name yet. A view has no instruction and gets the name of the value that it views.
// Unread values come last, to leave the short names to others.
void name_values(const BoundRegion& region, NamedRegion& scope) {
  const std::vector<ValueSpec>& values = region.source->values;
  const RegionUses uses(region);
  std::vector<std::size_t> shows(values.size());  // by value: the value itself, or the one that it views
  std::map<std::pair<Storage::Kind, std::int32_t>, std::size_t> held;
  const auto place = [&](std::size_t v) { return std::pair(values[v].storage.kind, values[v].storage.index); };
  for (std::size_t v = 0; v < values.size(); ++v) {
    shows[v] = v;
    if (values[v].storage.kind == Storage::Kind::kSlot && uses.made[v] == 0) shows[v] = held.emplace(place(v), v).first->second;
  }
  for (const BoundInstruction& bound : region.instructions) {
    for (std::int32_t input : bound.source->inputs) {
      const auto v = static_cast<std::size_t>(input);
      if (input < 0 || uses.made[v] != 0 || shows[v] != v) continue;
      if (const auto holder = held.find(place(v)); holder != held.end()) shows[v] = holder->second;
    }
    for (std::int32_t output : bound.source->outputs)
      held[place(static_cast<std::size_t>(output))] = static_cast<std::size_t>(output);
  }
  std::vector<char> wanted(values.size());
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (uses.read[v] != 0 || values[v].storage.kind == Storage::Kind::kSlot) wanted[shows[v]] = 1;
  }
  const auto name_those = [&](const auto& chosen) {
    for (std::size_t v = 0; v < values.size(); ++v) {
      if (shows[v] != v || !scope.names[v].empty() || !chosen(v)) continue;
      const std::string name = short_name(values[v].name), plain = short_name(without_number(values[v].name));
      scope.names[v] = scope.taken.take(scope.taken.has(plain) ? name : plain);
    }
  };
  name_those([&](std::size_t v) { return wanted[v] != 0 && without_number(values[v].name) == values[v].name; });
  name_those([&](std::size_t v) { return wanted[v] != 0; });
  name_those([](std::size_t) { return true; });
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (scope.names[v].empty()) scope.names[v] = scope.names[shows[v]];
  }
}

class KernelPrinter {
 public:
  KernelPrinter(const Program& program, const Binding& binding) : program_(program), binding_(binding) {}

  std::string print() {
    NamedRegion root{std::vector<std::string>(binding_.root.source->values.size()), {}};
    name_values(binding_.root, root);
    print(binding_.root, root, "");
    return std::move(text_);
  }

 private:
  void line(const std::string& indent, const std::string& text) { text_ += indent + text + "\n"; }
  // Prints the equation of the next lines, unless it is the last one printed. Parts of one equation have other columns.
  void equation(const Location& at, const std::string& indent) {
    if (!at.known()) return;
    const std::string text = text_at(at);
    const auto printed = std::tuple(at.file, at.line, text, indent);
    if (std::exchange(equation_, printed) == printed) return;
    line(indent, fmt::format("// {}:{}{}{}", *at.file, at.line, text.empty() ? "" : ": ", text));
  }

  void print(const BoundRegion& region, const NamedRegion& scope, const std::string& indent) {
    for (const BoundInstruction& bound : region.instructions) print(bound, scope, indent);
  }

  void print(const BoundInstruction& bound, const NamedRegion& scope, const std::string& indent) {
    const ir::Role role = role_of(bound);
    if (bound.scan) {
      print_loop(bound, scope, indent);
    } else if (bound.kernel.text != nullptr) {
      text_ += "\n" + indented(bound.kernel.text(), indent) + "\n";
      equation_.reset();
    } else if (role == ir::Role::kProgram) {
      print_program(bound, scope, indent);
    } else if (role == ir::Role::kReductionProgram) {
      print_reduction(bound, scope, indent);
    } else {
      print_kernel(bound, scope, indent);
    }
  }

  static const ir::OpSchema* op_of(const BoundInstruction& bound) {
    return bound.source->kind == Instruction::Kind::kKernel ? ir::OpRegistry::instance().find(bound.source->op) : nullptr;
  }
  static ir::Role role_of(const BoundInstruction& bound) {
    const ir::OpSchema* const op = op_of(bound);
    return op == nullptr ? ir::Role::kNone : op->role;
  }

  static std::vector<std::string> operands_of(const BoundInstruction& bound, const NamedRegion& scope) {
    std::vector<std::string> names;
    for (std::int32_t v : bound.source->inputs) names.push_back(scope.name(v));
    const auto rows = bound.source->attributes.all().find("rows");
    if (rows == bound.source->attributes.all().end()) return names;
    const auto* const axes = std::get_if<std::vector<std::int64_t>>(&rows->second);
    // Operands that are read by row number: keys[:, rows].
    for (std::size_t k = 0; axes != nullptr && k < axes->size(); ++k) {
      std::string before;
      for (std::int64_t axis = 0; axis < (*axes)[k]; ++axis) before += ":, ";
      if ((*axes)[k] >= 0) names[k] += fmt::format("[{}{}]", before, names[axes->size()]);
    }
    return names;
  }

  void print_program(const BoundInstruction& bound, const NamedRegion& scope, const std::string& indent) {
    const PointwiseProgram& code = ir::program_of(bound.source->attributes);
    std::vector<std::string> results;
    for (std::int32_t v : bound.source->outputs) results.push_back(scope.name(v));
    line(indent, fmt::format("for each element of {}:", sizes_of(bound.outputs()[0])));
    const Statements statements(code, bound.source->origins, operands_of(bound, scope), scope.taken, results);
    for (const Statement& statement : statements.all()) print(statement, indent + "  ");
  }

  void print(const Statement& statement, const std::string& indent) {
    if (statement.new_line != nullptr) equation(*statement.new_line, indent);
    line(indent, statement.text);
  }

  void print_reduction(const BoundInstruction& bound, const NamedRegion& scope, const std::string& indent) {
    const PointwiseProgram& code = ir::program_of(bound.source->attributes);
    const Statements statements(code, bound.source->origins, operands_of(bound, scope), scope.taken, {});
    if (!statements.all().empty()) line(indent, "for each element that is reduced:");
    for (const Statement& statement : statements.all()) print(statement, indent + "  ");
    const std::vector<Origin>& origins = bound.source->origins;
    const bool has_lengths = bound.source->attributes.boolean("lengths");
    const std::string lengths = has_lengths ? ", lengths=" + operands_of(bound, scope).back() : "";
    for (std::size_t f = 0; f < code.folds.size(); ++f) {
      const std::size_t origin = code.instructions.size() + f;
      if (origin < origins.size()) equation(origins[origin].at, indent);
      line(indent,
           fmt::format("{} = {}({}{}, axis={})  // {}", scope.name(bound.source->outputs[f]), ir::name_of(code.folds[f].kind),
                       statements.result(code.folds[f].result), lengths,
                       ir::write_attribute(bound.source->attributes.all().find("axis")->second), sizes_of(bound.outputs()[f])));
    }
  }

  // Prints a kernel that is not generated, or a copy.
  void print_kernel(const BoundInstruction& bound, const NamedRegion& scope, const std::string& indent) {
    const Instruction& source = *bound.source;
    std::vector<std::string> outputs, sizes;
    for (std::int32_t v : source.outputs) outputs.push_back(scope.name(v));
    for (const TensorView& view : bound.outputs()) sizes.push_back(sizes_of(view));
    if (source.origins.empty()) equation(source.at, indent);
    for (const Origin& origin : source.origins) equation(origin.at, indent);
    line(indent, fmt::format("{} = {}  // {}", fmt::join(outputs, ", "), call(bound, scope), fmt::join(sizes, ", ")));
  }

  // What a kernel computes, in the syntax of equations.
  static std::string call(const BoundInstruction& bound, const NamedRegion& scope) {
    const Instruction& source = *bound.source;
    if (source.kind == Instruction::Kind::kCopy) return scope.name(source.inputs[0]);
    const ir::OpSchema* const op = op_of(bound);
    if (op != nullptr && op->role == ir::Role::kNumber) return ir::write_number(source.attributes.number("value")).text;
    if (op != nullptr && op->role == ir::Role::kSize) return ir::write_size(source.attributes.dim("size")).text;
    std::vector<ir::WrittenExpression> operands;
    std::vector<std::string> all;
    bool gap = false;  // operands after an absent one are passed by name
    for (std::size_t i = 0; i < source.inputs.size(); ++i) {
      if (source.inputs[i] < 0) {
        gap = true;
        continue;
      }
      operands.push_back({scope.name(source.inputs[i])});
      all.push_back((gap && op != nullptr ? op->inputs[i].name + "=" : "") + operands.back().text);
    }
    const std::vector<std::string> attributes =
        op == nullptr ? std::vector<std::string>() : ir::write_attributes(*op, source.attributes);
    all.insert(all.end(), attributes.begin(), attributes.end());
    if (op != nullptr && !op->infix.empty() && attributes.empty() && !gap && operands.size() <= 2)
      return ir::write_infix(op->infix, operands).text;
    return fmt::format("{}({})", source.op, fmt::join(all, ", "));
  }

  void print_loop(const BoundInstruction& bound, const NamedRegion& around, const std::string& indent) {
    text_ += "\n";
    equation_.reset();
    line(indent, "// " + describe_loop(program_, binding_.layout, bound));
    equation(bound.source->at, indent);
    if (const LoopKernel* const launch = bound.scan->plan.launch()) {
      text_ += indented(launch->text(), indent);
    } else {
      print_steps(bound, around, indent);
    }
    equation_.reset();
    text_ += "\n";
  }

  // The values that a step reads but does not compute.
  struct Given {
    std::size_t value, slot;
  };
  static std::vector<Given> given(const BoundRegion& body) {
    const RegionUses uses(body);
    std::vector<Given> all;
    std::set<std::int32_t> seen;  // slots listed so far; a view of one adds nothing
    for (std::size_t v = 0; v < uses.read.size(); ++v) {
      const Storage at = body.source->values[v].storage;
      if (at.kind == Storage::Kind::kSlot && uses.read[v] != 0 && uses.made[v] == 0 && seen.insert(at.index).second)
        all.push_back({v, static_cast<std::size_t>(at.index)});
    }
    return all;
  }

  // Names the value that a step stores in the stack of an output: "h[step]". If several values use the stack's memory, the last
  // one counts.
  static void name_stacked(const BoundInstruction& bound, const NamedRegion& around, const std::string& step,
                           std::vector<std::string>& names) {
    const BoundScan& scan = *bound.scan;
    std::vector<std::int32_t> last(scan.slots.stacks, -1);
    for (const BoundInstruction& inner : scan.body.instructions) {
      for (std::size_t o = 0; o < inner.source->outputs.size(); ++o) {
        const Storage at = scan.body.storage_of(inner, inner.source->inputs.size() + o);
        if (at.kind != Storage::Kind::kSlot) continue;
        const ScanSlots::Slot slot = scan.slots.at(static_cast<std::size_t>(at.index));
        if (slot.role == ScanSlots::Role::kStack) last[slot.index] = inner.source->outputs[o];
      }
    }
    for (std::size_t i = 0; i < last.size(); ++i) {
      const std::string stack = around.name(bound.source->outputs[scan.slots.stack_output(i)]);
      if (last[i] >= 0) names[static_cast<std::size_t>(last[i])] = fmt::format("{}[{}]", stack, step);
    }
  }

  void print_steps(const BoundInstruction& bound, const NamedRegion& around, const std::string& indent) {
    using Role = ScanSlots::Role;
    const BoundScan& scan = *bound.scan;
    const std::vector<Given> inputs = given(scan.body);
    const auto operand = [&](std::size_t slot) { return around.name(bound.source->inputs[slot]); };
    NamedRegion own{std::vector<std::string>(scan.body.source->values.size()), around.taken};
    const std::string step = own.taken.take("step");
    name_stacked(bound, around, step, own.names);
    for (const Given& input : inputs) {
      const Role role = scan.slots.at(input.slot).role;
      if (role == Role::kInvariant) own.names[input.value] = operand(input.slot);  // the same at every step
      if (role == Role::kPosition) own.names[input.value] = step;
    }
    name_values(scan.body, own);
    for (const Given& input : inputs)
      if (scan.slots.at(input.slot).role == Role::kState)
        line(indent, fmt::format("{} = {}", own.names[input.value], operand(input.slot)));
    line(indent, scan.reverse ? fmt::format("for ({0} = {1}; {0} >= 0; --{0}) {{", step, scan.steps - 1)
                              : fmt::format("for ({0} = 0; {0} < {1}; ++{0}) {{", step, scan.steps));
    const std::string inside = indent + "  ";
    for (const Given& input : inputs) {
      if (scan.slots.at(input.slot).role == Role::kSequence)
        line(inside, fmt::format("{} = {}[{}]", own.names[input.value], operand(input.slot), step));
    }
    const ScanPlan::ByColumns* const by_columns = scan.plan.by_columns();
    for (std::size_t i = 0; i < scan.body.instructions.size(); ++i) {
      if (by_columns != nullptr && by_columns->group->barrier_before[i] != 0) line(inside, "wait for all threads");
      print(scan.body.instructions[i], own, inside);
    }
    for (const Given& input : inputs) {
      if (scan.slots.at(input.slot).role != Role::kState) continue;
      const std::int32_t next = next_state(scan, input.slot);
      if (next >= 0) line(inside, fmt::format("{} = {}", own.names[input.value], own.name(next)));
    }
    line(indent, "}");
  }

  // The value of a state after a step; -1 if the step does not change it.
  static std::int32_t next_state(const BoundScan& scan, std::size_t state) {
    const StateSpec& spec = scan.states[state].spec;
    const std::size_t slot = spec.mode == StateSpec::Mode::kStacked ? scan.slots.stack(static_cast<std::size_t>(spec.index))
                                                                    : scan.slots.next_state(state);
    std::int32_t found = -1;
    for (const BoundInstruction& bound : scan.body.instructions) {
      for (std::size_t o = 0; o < bound.source->outputs.size(); ++o) {
        const Storage at = scan.body.storage_of(bound, bound.source->inputs.size() + o);
        const auto index = static_cast<std::size_t>(at.index);
        if (at.kind == Storage::Kind::kSlot && (index == slot || index == state)) found = bound.source->outputs[o];
      }
    }
    return found;
  }

  const Program& program_;
  const Binding& binding_;
  std::string text_;
  std::optional<std::tuple<const std::string*, int, std::string, std::string>>
      equation_;  // the last one printed, and its indentation
};

}  // namespace

std::string describe_kernels(const Program& program, const SymbolValues& sizes, Target target) {
  PackedWeightsStore store(program);
  const std::unique_ptr<Binding> binding = bind(program, sizes, target, store);
  return KernelPrinter(program, *binding).print();
}

}  // namespace graphrun
