#include "compiler/ir/pointwise_program.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "compiler/ir/printer.h"

namespace graphrun::ir {
namespace {

using Instruction = PointwiseProgram::Instruction;

bool is_cast(const OpSchema& op) { return op.role == Role::kCast; }

std::string text_of(const PointwiseProgram::Operand& o) {
  switch (o.kind) {
    case PointwiseProgram::Operand::Kind::kInput: return "x" + std::to_string(o.index);
    case PointwiseProgram::Operand::Kind::kInstruction: return "t" + std::to_string(o.index);
    case PointwiseProgram::Operand::Kind::kNumber: break;
  }
  if (o.type == Type::kBool) return o.number != 0 ? "true" : "false";
  if (o.type == Type::kInt32) return std::to_string(static_cast<std::int32_t>(o.number));
  return print(o.number);
}

class ProgramReader {
 public:
  explicit ProgramReader(std::string_view text) : text_(text) {}

  PointwiseProgram program() {
    for (;;) {
      const std::string_view name = word();
      if (name == "return") break;
      if (name != "t" + std::to_string(program_.instructions.size())) {
        fail("expected t" + std::to_string(program_.instructions.size()) + " or return", name);
      }
      expect('=');
      instruction(word());
      expect(';');
    }
    do returned(word());
    while (accept(','));
    if (at_ != text_.size()) fail("expected the end", rest());
    return std::move(program_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::string_view found) const {
    throw InternalError("fused: " + what + ", found '" + std::string(found) + "' in: " + std::string(text_));
  }
  void check(bool fits, const std::string& what, std::string_view found) const {
    if (!fits) fail(what, found);
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string_view rest() const { return text_.substr(at_); }
  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_spaces();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'", rest());
  }
  // A name or a number: everything up to the next separator.
  std::string_view word() {
    skip_spaces();
    const std::size_t end = std::min(text_.find_first_of(" ,;=()", at_), text_.size());
    const std::string_view found = text_.substr(at_, end - at_);
    check(!found.empty(), "expected a name or a number", rest());
    at_ = end;
    return found;
  }

  std::string quoted() {
    skip_spaces();
    const std::size_t end = at_ < text_.size() && text_[at_] == '"' ? text_.find('"', at_ + 1) : std::string_view::npos;
    check(end != std::string_view::npos, "expected a name in quotes", rest());
    const std::string_view found = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(found);
  }

  void instruction(std::string_view name) {
    check(program_.instructions.size() < PointwiseProgram::kMostInstructions, "too many instructions", name);
    Instruction made;
    made.op = OpRegistry::instance().find(name);
    check(made.op && is_program_op(*made.op), "expected a pointwise op", name);
    expect('(');
    for (std::size_t i = 0; i < made.op->inputs.size(); ++i) {
      if (i > 0) expect(',');
      made.operands.push_back(operand(word()));
    }
    if (is_cast(*made.op)) {
      expect(',');
      made.to = type(word());
    }
    if (is_draw(*made.op)) {
      expect(',');
      const std::string_view rate = word();
      check(number(rate, made.rate), "expected a rate", rate);
      expect(',');
      made.key = quoted();
      check(++draws_ <= PointwiseProgram::kMostDraws, "too many draws", name);
    }
    expect(')');
    program_.instructions.push_back(std::move(made));
  }

  Type type(std::string_view name) const {
    for (Type t : {Type::kFloat, Type::kInt32, Type::kBool}) {
      if (name == name_of(t)) return t;
    }
    fail("expected FLOAT, INT32 or BOOL", name);
  }

  template <class T>
  bool number(std::string_view text, T& value) const {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }

  PointwiseProgram::Operand operand(std::string_view name) const {
    std::size_t index = 0;
    if (name[0] == 'x' && number(name.substr(1), index)) {
      check(index < PointwiseProgram::kMostInputs, "too many inputs", name);
      return PointwiseProgram::Operand::input(index);
    }
    if (name[0] == 't' && number(name.substr(1), index)) {
      check(index < program_.instructions.size(), "expected an instruction above", name);
      return PointwiseProgram::Operand::instruction(index);
    }
    if (name == "true" || name == "false") return PointwiseProgram::Operand::constant(name == "true", Type::kBool);
    std::int32_t whole = 0;
    if (number(name, whole)) return PointwiseProgram::Operand::constant(whole, Type::kInt32);
    double x = 0;
    if (number(name, x)) return PointwiseProgram::Operand::constant(x, Type::kFloat);
    fail("expected an input, an instruction or a number", name);
  }

  // A returned value: an instruction or a reduction of one. All returned values must be of one kind.
  void returned(std::string_view name) {
    const std::optional<FoldKind> fold = fold_named(name);
    if (!fold) {
      check(program_.folds.empty(), "expected a reduction", name);
      check(result(name), "expected each once", name);
      return;
    }
    check(!program_.folds.empty() || program_.results.empty(), "expected an instruction", name);
    expect('(');
    const std::string_view reduced = word();
    result(reduced);
    expect(')');
    const std::size_t index = instruction_of(reduced);
    const auto at = std::find(program_.results.begin(), program_.results.end(), index);
    program_.folds.push_back({*fold, static_cast<std::size_t>(at - program_.results.begin())});
  }

  std::size_t instruction_of(std::string_view name) const {
    std::size_t index = 0;
    check(name[0] == 't' && number(name.substr(1), index) && index < program_.instructions.size(), "expected an instruction",
          name);
    return index;
  }

  // Makes the instruction a result. Returns false if it is one already.
  bool result(std::string_view name) {
    const std::size_t index = instruction_of(name);
    if (std::find(program_.results.begin(), program_.results.end(), index) != program_.results.end()) return false;
    check(program_.results.size() < PointwiseProgram::kMostResults, "too many results", name);
    program_.results.push_back(index);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0, draws_ = 0;
  PointwiseProgram program_;
};

}  // namespace

std::size_t PointwiseProgram::inputs() const {
  std::size_t count = 0;
  for (const Instruction& i : instructions) {
    for (const PointwiseProgram::Operand& o : i.operands) {
      if (o.kind == PointwiseProgram::Operand::Kind::kInput) count = std::max(count, o.index + 1);
    }
  }
  return count;
}

bool is_draw(const OpSchema& op) { return op.role == Role::kDraw; }
bool is_program_op(const OpSchema& op) { return op.pointwise || is_cast(op) || is_draw(op); }

std::string print(const PointwiseProgram& program) {
  std::string text;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& made = program.instructions[i];
    text += "t" + std::to_string(i) + " = " + made.op->name + "(";
    for (std::size_t k = 0; k < made.operands.size(); ++k) text += (k ? ", " : "") + text_of(made.operands[k]);
    if (is_cast(*made.op)) text += ", " + std::string(name_of(made.to));
    if (is_draw(*made.op)) text += ", " + print(made.rate) + ", \"" + made.key + "\"";
    text += "); ";
  }
  text += "return ";
  const auto result = [&](std::size_t r) { return "t" + std::to_string(program.results[r]); };
  if (program.folds.empty()) {
    for (std::size_t r = 0; r < program.results.size(); ++r) text += (r ? ", " : "") + result(r);
  }
  for (std::size_t f = 0; f < program.folds.size(); ++f) {
    const Fold& fold = program.folds[f];
    text += (f ? ", " : "") + std::string(name_of(fold.kind)) + "(" + result(fold.result) + ")";
  }
  return text;
}

PointwiseProgram parse_program(std::string_view text) { return ProgramReader(text).program(); }

std::vector<TensorType> infer(const PointwiseProgram& program, const std::vector<TensorType>& inputs) {
  GRAPHRUN_CHECK(program.inputs() <= inputs.size(), "fused: the program reads more inputs than there are");
  std::vector<TensorType> types;
  types.reserve(program.instructions.size());
  for (const Instruction& made : program.instructions) {
    std::vector<TensorType> numbers(made.operands.size());
    Attributes attributes;
    if (is_cast(*made.op)) attributes.set("type", std::string(name_of(made.to)));
    if (is_draw(*made.op)) attributes.set("rate", made.rate);
    InferContext c;
    c.op = made.op;
    c.attributes = &attributes;
    for (std::size_t k = 0; k < made.operands.size(); ++k) {
      const PointwiseProgram::Operand& o = made.operands[k];
      numbers[k].type = o.type;
      c.inputs.push_back(o.kind == PointwiseProgram::Operand::Kind::kInput         ? &inputs[o.index]
                         : o.kind == PointwiseProgram::Operand::Kind::kInstruction ? &types[o.index]
                                                                                   : &numbers[k]);
    }
    made.op->infer(c);
    types.push_back(std::move(c.outputs.at(0)));
  }
  return types;
}

std::vector<std::pair<int, int>> in_place_pairs(const PointwiseProgram& program) {
  std::vector<std::size_t> last_read(program.inputs(), 0);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    for (const PointwiseProgram::Operand& o : program.instructions[i].operands) {
      if (o.kind == PointwiseProgram::Operand::Kind::kInput) last_read[o.index] = i;
    }
  }
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t r = 0; r < program.results.size(); ++r) {
    for (std::size_t i = 0; i < last_read.size(); ++i) {
      if (last_read[i] <= program.results[r]) pairs.emplace_back(static_cast<int>(r), static_cast<int>(i));
    }
  }
  return pairs;
}

}  // namespace graphrun::ir
