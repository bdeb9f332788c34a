#include "compiler/dump/statements.h"

#include <fmt/format.h>

#include <utility>

#include "compiler/ir/op.h"

namespace graphrun {
namespace {

constexpr std::size_t kLongest = 72;  // a longer expression gets a name

}  // namespace

using ir::PointwiseProgram;

Statements::Statements(const PointwiseProgram& code, const std::vector<Origin>& origins, const std::vector<std::string>& inputs,
                       Identifiers taken, const std::vector<std::string>& results)
    : code_(code), origins_(origins), taken_(std::move(taken)), made_(code.instructions.size()) {
  for (const std::string& input : inputs) inputs_.push_back({input});
  count_reads();
  std::vector<char> has_name(code.instructions.size());
  for (std::size_t r = 0; r < results.size(); ++r) made_[code.results[r]] = {results[r]}, has_name[code.results[r]] = 1;
  for (std::size_t i = 0; i < code.instructions.size(); ++i) write(i, has_name[i] != 0, results.empty());
}

void Statements::count_reads() {
  reads_.resize(code_.instructions.size());
  reader_.resize(reads_.size());
  for (std::size_t i = 0; i < code_.instructions.size(); ++i) {
    for (const PointwiseProgram::Operand& o : code_.instructions[i].operands) {
      if (o.kind == PointwiseProgram::Operand::Kind::kInstruction) ++reads_[o.index], reader_[o.index] = i;
    }
  }
  for (std::size_t result : code_.results) ++reads_[result], reader_[result] = code_.instructions.size();
}

bool Statements::same_line(std::size_t a, std::size_t b) const {
  const Location *x = origin(a), *y = origin(b);
  return x != nullptr && y != nullptr && x->file == y->file && x->line == y->line;
}

void Statements::write(std::size_t i, bool has_name, bool reduces) {
  ir::WrittenExpression expression = written(code_.instructions[i]);
  const bool is_reduced = reader_[i] == code_.instructions.size();
  const bool into_reader = reads_[i] == 1 && (is_reduced ? reduces : same_line(i, reader_[i]));
  if (!has_name && into_reader && expression.text.size() <= kLongest) {
    made_[i] = std::move(expression);
    return;
  }
  if (!has_name) {
    const std::string name = i < origins_.size() ? short_name(origins_[i].name) : "t" + std::to_string(i);
    made_[i] = {taken_.take(name)};
  }
  const bool is_new = origin(i) != nullptr && (!last_ || !same_line(i, *last_));
  statements_.push_back({made_[i].text + " = " + expression.text, is_new ? origin(i) : nullptr});
  last_ = i;
}

ir::WrittenExpression Statements::written(const PointwiseProgram::Instruction& instruction) const {
  std::vector<ir::WrittenExpression> operands;
  for (const PointwiseProgram::Operand& o : instruction.operands) {
    switch (o.kind) {
      case PointwiseProgram::Operand::Kind::kInput: operands.push_back(inputs_[o.index]); break;
      case PointwiseProgram::Operand::Kind::kInstruction: operands.push_back(made_[o.index]); break;
      case PointwiseProgram::Operand::Kind::kNumber: operands.push_back(ir::write_number(o.number, o.type));
    }
  }
  if (!instruction.op->infix.empty()) return ir::write_infix(instruction.op->infix, operands);
  std::vector<std::string> all;
  for (ir::WrittenExpression& operand : operands) all.push_back(std::move(operand.text));
  if (ir::is_draw(*instruction.op))
    all.push_back(fmt::format("rate={}, key={}", instruction.rate, ir::write_attribute(instruction.key)));
  if (instruction.op->role == ir::Role::kCast) all.push_back(fmt::format("type='{}'", name_of(instruction.to)));
  return {fmt::format("{}({})", instruction.op->name, fmt::join(all, ", "))};
}

}  // namespace graphrun
