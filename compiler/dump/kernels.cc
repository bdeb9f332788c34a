#include "compiler/dump/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

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

// The lines of a text, each as far in as `indent` says.
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

class KernelPrinter {
 public:
  KernelPrinter(const Program& program, const Binding& binding) : program_(program), binding_(binding) {}

  std::string print() {
    Scope scope;
    for (const ValueSpec& value : binding_.root.source->values) scope.names.push_back(scope.taken.of(value.name));
    print(binding_.root, scope, "");
    return std::move(text_);
  }

 private:
  // What a region's values are called, each by a name that no value around it has.
  using Names = std::vector<std::string>;
  struct Scope {
    Names names;  // by value
    Identifiers taken;
  };

  static std::string name_of(const Names& names, std::int32_t value) {
    return value < 0 ? "_" : names[static_cast<std::size_t>(value)];
  }

  void line(const std::string& indent, const std::string& text) { text_ += indent + text + "\n"; }
  void equation(const Location& at, const std::string& indent) {
    if (!at.known()) return;
    const std::string text = text_at(at);
    line(indent, fmt::format("// {}:{}{}{}", *at.file, at.line, text.empty() ? "" : ": ", text));
  }

  void print(const BoundRegion& region, const Scope& scope, const std::string& indent) {
    for (const BoundInstruction& bound : region.instructions) print(region, bound, scope, indent);
  }

  void print(const BoundRegion& region, const BoundInstruction& bound, const Scope& scope, const std::string& indent) {
    const Names& names = scope.names;
    if (bound.scan) {
      print_loop(bound, scope, indent);
    } else if (bound.kernel.text != nullptr) {
      text_ += "\n" + indented(bound.kernel.text(), indent) + "\n";
    } else if (bound.source->kind == Instruction::Kind::kKernel && bound.source->op == "fused") {
      const PointwiseProgram& code = ir::program_of(bound.source->attributes);
      line(indent, fmt::format("for each element of {}:", sizes_of(bound.outputs()[0])));
      print_statements(bound, code, scope, indent + "  ");
    } else if (bound.source->kind == Instruction::Kind::kKernel && bound.source->op == "fused_reduction") {
      print_reduction(bound, scope, indent);
    } else {
      print_kernel(bound, names, indent);
    }
    print_destinations(region, bound, names, indent);
  }

  // The statements of a program, the equations above them; the names of its instructions.
  Names print_statements(const BoundInstruction& bound, const PointwiseProgram& code, const Scope& scope,
                         const std::string& indent) {
    const std::vector<Origin>& origins = bound.source->origins;
    Identifiers taken = scope.taken;
    Names inputs, made(code.instructions.size());
    for (std::int32_t v : bound.source->inputs) inputs.push_back(name_of(scope.names, v));
    if (bound.source->op == "fused") {
      for (std::size_t r = 0; r < code.results.size(); ++r)
        made[code.results[r]] = name_of(scope.names, bound.source->outputs[r]);
    }
    const Location* last = nullptr;
    for (std::size_t i = 0; i < code.instructions.size(); ++i) {
      const bool known = i < origins.size();
      if (known && (last == nullptr || last->file != origins[i].at.file || last->line != origins[i].at.line))
        equation(origins[i].at, indent);
      if (known) last = &origins[i].at;
      if (made[i].empty()) made[i] = known ? taken.of(origins[i].name) : taken.take("t" + std::to_string(i));
      line(indent, made[i] + " = " + expression(code.instructions[i], inputs, made));
    }
    return made;
  }

  static std::string expression(const PointwiseProgram::Instruction& instruction, const Names& inputs, const Names& made) {
    std::vector<std::string> operands;
    for (const PointwiseProgram::Operand& o : instruction.operands) {
      switch (o.kind) {
        case PointwiseProgram::Operand::Kind::kInput: operands.push_back(inputs[o.index]); break;
        case PointwiseProgram::Operand::Kind::kInstruction: operands.push_back(made[o.index]); break;
        case PointwiseProgram::Operand::Kind::kNumber:
          operands.push_back(o.type == Type::kBool ? (o.number != 0 ? "true" : "false") : fmt::format("{}", o.number));
      }
    }
    const std::string& infix = instruction.op->infix;
    if (operands.size() == 2 && !infix.empty()) return operands[0] + " " + infix + " " + operands[1];
    if (operands.size() == 1 && !infix.empty()) return infix + (infix == "not" ? " " : "") + operands[0];
    if (ir::is_draw(*instruction.op)) operands.push_back(fmt::format("{}", instruction.rate));
    if (instruction.op->role == ir::Role::kCast) operands.push_back(std::string(graphrun::name_of(instruction.to)));
    return fmt::format("{}({})", instruction.op->name, fmt::join(operands, ", "));
  }

  void print_reduction(const BoundInstruction& bound, const Scope& scope, const std::string& indent) {
    const PointwiseProgram& code = ir::program_of(bound.source->attributes);
    line(indent, "for each element that is reduced:");
    const Names made = print_statements(bound, code, scope, indent + "  ");
    const std::vector<Origin>& origins = bound.source->origins;
    for (std::size_t f = 0; f < code.folds.size(); ++f) {
      const std::size_t origin = code.instructions.size() + f;
      if (origin < origins.size()) equation(origins[origin].at, indent);
      line(indent, fmt::format("{} = {}({}; axis={})  // {}", name_of(scope.names, bound.source->outputs[f]),
                               ir::name_of(code.folds[f].kind), made[code.results[code.folds[f].result]],
                               ir::print(bound.source->attributes.all().find("axis")->second), sizes_of(bound.outputs()[f])));
    }
  }

  // A kernel that is not generated, or a copy.
  void print_kernel(const BoundInstruction& bound, const Names& names, const std::string& indent) {
    const Instruction& source = *bound.source;
    std::vector<std::string> inputs, outputs, sizes, attributes;
    for (std::int32_t v : source.inputs) inputs.push_back(name_of(names, v));
    for (std::int32_t v : source.outputs) outputs.push_back(name_of(names, v));
    for (const TensorView& view : bound.outputs()) sizes.push_back(sizes_of(view));
    const ir::OpSchema* const op =
        source.kind == Instruction::Kind::kKernel ? ir::OpRegistry::instance().find(source.op) : nullptr;
    for (const auto& [name, value] : source.attributes.all()) {
      const ir::AttributeSpec* const spec = op == nullptr ? nullptr : op->attribute(name);
      if (spec == nullptr || spec->default_value != value) attributes.push_back(name + "=" + ir::print(value));
    }
    if (source.origins.empty()) equation(source.at, indent);
    for (const Origin& origin : source.origins) equation(origin.at, indent);
    const std::string operands =
        fmt::format("{}{}{}", fmt::join(inputs, ", "), attributes.empty() ? "" : "; ", fmt::join(attributes, ", "));
    line(indent, fmt::format("{} = {}({})  // {}", fmt::join(outputs, ", "),
                             source.kind == Instruction::Kind::kCopy ? "copy" : source.op, operands, fmt::join(sizes, ", ")));
  }

  // In a loop's body: which results go into a stack.
  void print_destinations(const BoundRegion& region, const BoundInstruction& bound, const Names& names,
                          const std::string& indent) {
    if (scan_ == nullptr || &region != &scan_->body) return;
    for (std::size_t o = 0; o < bound.source->outputs.size(); ++o) {
      const Storage at = region.storage_of(bound, bound.source->inputs.size() + o);
      if (at.kind != Storage::Kind::kSlot) continue;
      const ScanSlots::Slot slot = scan_->slots.at(static_cast<std::size_t>(at.index));
      if (slot.role == ScanSlots::Role::kStack)
        line(indent, fmt::format("{}[step] = {}", stacks_[slot.index], name_of(names, bound.source->outputs[o])));
    }
  }

  void print_loop(const BoundInstruction& bound, const Scope& around, const std::string& indent) {
    const BoundScan& scan = *bound.scan;
    const BoundScan* const outer = std::exchange(scan_, &scan);
    Names stacks;
    for (std::size_t i = 0; i < scan.slots.stacks; ++i)
      stacks.push_back(name_of(around.names, bound.source->outputs[scan.slots.stack_output(i)]));
    stacks.swap(stacks_);
    text_ += "\n";
    line(indent, "// " + describe_loop(program_, binding_.layout, bound));
    equation(bound.source->at, indent);
    if (scan.loop) {
      text_ += indented(scan.loop->text(), indent);
    } else {
      print_steps(bound, around, indent);
    }
    text_ += "\n";
    stacks_ = std::move(stacks), scan_ = outer;
  }

  // The values of a body that no instruction of it makes: what a step is given. What is the same at every step keeps the name
  // that it has outside.
  struct Given {
    std::size_t value, slot;
  };
  static std::vector<Given> given(const BoundRegion& body) {
    std::vector<char> read(body.source->values.size()), made(read.size());
    for (const BoundInstruction& bound : body.instructions) {
      for (std::int32_t v : bound.source->inputs)
        if (v >= 0) read[static_cast<std::size_t>(v)] = 1;
      for (std::int32_t v : bound.source->outputs)
        if (v >= 0) made[static_cast<std::size_t>(v)] = 1;
    }
    std::vector<Given> all;
    for (std::size_t v = 0; v < read.size(); ++v) {
      const Storage at = body.source->values[v].storage;
      if (at.kind == Storage::Kind::kSlot && read[v] != 0 && made[v] == 0)
        all.push_back({v, static_cast<std::size_t>(at.index)});
    }
    return all;
  }

  void print_steps(const BoundInstruction& bound, const Scope& around, const std::string& indent) {
    using Role = ScanSlots::Role;
    const BoundScan& scan = *bound.scan;
    const std::vector<Given> inputs = given(scan.body);
    const auto operand = [&](std::size_t slot) { return name_of(around.names, bound.source->inputs[slot]); };
    Scope own{Names(scan.body.source->values.size()), around.taken};
    for (const Given& input : inputs)
      if (scan.slots.at(input.slot).role == Role::kInvariant) own.names[input.value] = operand(input.slot);
    for (std::size_t v = 0; v < own.names.size(); ++v)
      if (own.names[v].empty()) own.names[v] = own.taken.of(scan.body.source->values[v].name);
    for (const Given& input : inputs)
      if (scan.slots.at(input.slot).role == Role::kState)
        line(indent, fmt::format("{} = {}", own.names[input.value], operand(input.slot)));
    line(indent, scan.reverse ? fmt::format("for (step = {}; step >= 0; --step) {{", scan.steps - 1)
                              : fmt::format("for (step = 0; step < {}; ++step) {{", scan.steps));
    const std::string inside = indent + "  ";
    for (const Given& input : inputs) {
      const Role role = scan.slots.at(input.slot).role;
      if (role == Role::kSequence) line(inside, fmt::format("{} = {}[step]", own.names[input.value], operand(input.slot)));
      if (role == Role::kPosition) line(inside, own.names[input.value] + " = step");
    }
    const bool by_columns = scan.plan.way == ScanPlan::Way::kColumns && scan.plan.threads > 1;
    for (std::size_t i = 0; i < scan.body.instructions.size(); ++i) {
      if (by_columns && scan.group->barrier_before[i] != 0) line(inside, "wait for all threads");
      print(scan.body, scan.body.instructions[i], own, inside);
    }
    for (const Given& input : inputs) {
      if (scan.slots.at(input.slot).role != Role::kState) continue;
      const std::int32_t next = next_state(scan, input.slot);
      if (next >= 0) line(inside, fmt::format("{} = {}", own.names[input.value], name_of(own.names, next)));
    }
    line(indent, "}");
  }

  // The value that a state has after a step; -1: that it had before.
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
  const BoundScan* scan_ = nullptr;  // the innermost around what is printed
  Names stacks_;                     // of its stacked results, outside
  std::string text_;
};

}  // namespace

std::string describe_kernels(const Program& program, const SymbolValues& sizes, Target target) {
  PackedWeightsStore store(program);
  const std::unique_ptr<Binding> binding = bind(program, sizes, target, store);
  return KernelPrinter(program, *binding).print();
}

}  // namespace graphrun
