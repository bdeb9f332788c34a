// A pointwise program as statements, for people: "f = sigmoid(wx - uh)".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/pointwise_program.h"
#include "compiler/ir/printer.h"
#include "runtime/base/identifier.h"
#include "runtime/base/status.h"

namespace graphrun {

struct Statement {
  std::string text;
  const Location* new_line = nullptr;  // location of its equation; null if the previous statement has the same
};

// An instruction gets a name of its own if it is read more than once or by an instruction of another equation; otherwise its
// reader contains it.
class Statements {
 public:
  // `origins`: where each instruction came from, as many as are known; they must outlive the statements. `inputs`: the names of
  // the inputs. `taken`: the names that stand for other values. `results`: the names of the program's results; empty: each
  // result is written inside the reduction that reads it.
  Statements(const ir::PointwiseProgram& code, const std::vector<Origin>& origins, const std::vector<std::string>& inputs,
             Identifiers taken, const std::vector<std::string>& results);

  const std::vector<Statement>& all() const { return statements_; }
  // The name or the expression of a result.
  const std::string& result(std::size_t r) const { return made_[code_.results[r]].text; }

 private:
  void count_reads();
  const Location* origin(std::size_t i) const { return i < origins_.size() ? &origins_[i].at : nullptr; }
  bool same_line(std::size_t a, std::size_t b) const;
  void write(std::size_t i, bool has_name, bool reduces);
  ir::WrittenExpression written(const ir::PointwiseProgram::Instruction& instruction) const;

  const ir::PointwiseProgram& code_;
  const std::vector<Origin>& origins_;  // by instruction
  Identifiers taken_;
  std::vector<ir::WrittenExpression> inputs_, made_;
  // By instruction: how often it is read, and the reader; for a result, the reader is the number of instructions.
  std::vector<std::size_t> reads_, reader_;
  std::vector<Statement> statements_;
  std::optional<std::size_t> last_;  // the instruction of the last statement
};

}  // namespace graphrun
