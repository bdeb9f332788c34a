// The equations of a graph during generation: what they may read, the types, and the text so far. Types come from the ops' own
// shape rules, and what a rule rejects is not written, so a new op is covered without a change here.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"
#include "tests/draw.h"

namespace graphrun::random_graphs {

// What a value depends on: ops, by their index in op_choices(), and whether a state was read before or after its step.
using Traits = std::bitset<128>;
inline constexpr std::size_t kReadsBefore = 126, kReadsAfter = 127;

// A value that an equation may read.
struct Operand {
  std::string text;  // a name, a path, "next(h)" or a whole expression in parentheses
  ir::ValueId value = ir::kNone;
  std::int64_t below = 0;    // INT32: its elements are in [0, below); 0: unknown
  bool lengths = false;      // the number of real steps
  std::set<std::string> of;  // the names that it reads
  Traits traits;             // of everything that it depends on
};

class Body {
 public:
  Body(tests::Draw& draw, std::string prefix);

  const ir::TensorType& type(const Operand& o) const { return graph_->type(o.value); }
  const std::vector<Operand>& pool() const { return pool_; }
  const std::set<std::string>& read() const { return read_; }
  tests::Draw& draw() { return *draw_; }

  // A name that is not used in this file yet.
  std::string fresh(const std::string& stem);
  // Adds something to read that is declared elsewhere: an input, a state, a call's output.
  Operand add(const std::string& text, const ir::TensorType& type, std::int64_t below = 0, bool lengths = false,
              const Traits& traits = {});
  void forget_all() { pool_.clear(); }
  Operand parameter(const Shape& shape);
  // Adds a line to the file; its contents count as read.
  void line(const std::string& text) { lines_.push_back(text); }
  std::string use(const Operand& o);

  // Adds an equation over any op, or over this one; false if nothing fitted.
  bool grow();
  bool apply(const ir::OpSchema& op);
  // A value of this type, computed from existing ones, with elements in about [-1, 1] if FLOAT; nothing if that is not
  // possible.
  std::optional<Operand> of_type(const ir::TensorType& wanted);
  // Adds a given equation over existing values, under names that occur nowhere else; nothing if the shape rules reject it.
  std::optional<Operand> equation(const std::string& text, const std::vector<std::pair<std::string, Operand>>& names);

  // A recent value for which `fits` is true.
  template <class Fits>
  std::optional<Operand> any(Fits&& fits) {
    std::vector<Operand> fitting;
    for (const Operand& o : pool_)
      if (fits(o)) fitting.push_back(o);
    if (fitting.empty()) return std::nullopt;
    return draw_->late(fitting);
  }

  // Parameters and equations, in any order.
  std::vector<std::string> lines() const;

 private:
  std::optional<std::vector<Operand>> operands_of(const ir::OpSchema& op);
  Operand operand_like(const Operand& first, const ir::OpSchema& op, std::size_t position);
  std::optional<Attribute> attribute(const ir::AttributeSpec& spec, const std::vector<Operand>& operands);
  Operand guarded(const std::string& op, std::size_t position, const Operand& o);
  void keep(const std::string& text, std::vector<Operand> results);

  tests::Draw* draw_;
  std::string prefix_;
  std::unique_ptr<ir::Graph> graph_ = std::make_unique<ir::Graph>();
  ir::Builder builder_;
  std::vector<Operand> pool_;
  std::vector<std::pair<std::string, std::string>> parameters_;  // names, and their lines
  std::vector<std::string> lines_;
  std::set<std::string> read_;
  int names_ = 0;
};

// The ops that expressions choose from: every registered op that equations can name.
const std::vector<const ir::OpSchema*>& op_choices();
std::size_t number_of(const ir::OpSchema& op);  // its index among them
// Whether a file can declare the type: each size is a number or one symbol.
bool can_be_declared(const ir::TensorType& type);
std::string text_of(const Attribute& value);
// `type: INT32`, unless it is FLOAT.
std::string text_of(Type type);

}  // namespace graphrun::random_graphs
