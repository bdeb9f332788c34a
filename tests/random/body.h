// The equations of one graph while they are made up: what they may read, its type, and the text so far. Types come from the
// ops' own shape rules: whatever a rule refuses is not written, so that a new op is covered without an edit here.
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

// What something is made of: ops by their place in op_choices(), and whether a state was read before or after its step.
using Traits = std::bitset<128>;
inline constexpr std::size_t kReadsBefore = 126, kReadsAfter = 127;

// What an equation may read.
struct Operand {
  std::string text;  // a name, a path, "next(h)" or a whole expression in parentheses
  ir::ValueId value = ir::kNone;
  std::int64_t below = 0;    // INT32: its elements are in [0, below); 0: nobody knows
  bool lengths = false;      // how many steps are real
  std::set<std::string> of;  // the names that it reads
  Traits traits;             // of all that it is made of
};

class Body {
 public:
  Body(tests::Draw& draw, std::string prefix);

  const ir::TensorType& type(const Operand& o) const { return graph_->type(o.value); }
  const std::vector<Operand>& pool() const { return pool_; }
  const std::set<std::string>& read() const { return read_; }
  tests::Draw& draw() { return *draw_; }

  // A name that no other thing of this file has.
  std::string fresh(const std::string& stem);
  // Something to read that is declared elsewhere: an input, a state, a call's output.
  Operand add(const std::string& text, const ir::TensorType& type, std::int64_t below = 0, bool lengths = false,
              const Traits& traits = {});
  void forget_all() { pool_.clear(); }
  Operand parameter(const Shape& shape);
  // A line of the file; what stands in it counts as read.
  void line(const std::string& text) { lines_.push_back(text); }
  std::string use(const Operand& o);

  // One more equation over any op, or over this one: false where nothing fitted.
  bool grow();
  bool apply(const ir::OpSchema& op);
  // Something of this type, made of what there is, with values in about [-1, 1] if FLOAT; none where there is no way.
  std::optional<Operand> of_type(const ir::TensorType& wanted);
  // An equation of one's own over what there is, by names that stand nowhere else; none where the rules refuse it.
  std::optional<Operand> equation(const std::string& text, const std::vector<std::pair<std::string, Operand>>& names);

  // A late value that `fits`.
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
  std::vector<std::pair<std::string, std::string>> parameters_;  // names and lines
  std::vector<std::string> lines_;
  std::set<std::string> read_;
  int names_ = 0;
};

// What expressions choose from: every registered op that equations can name.
const std::vector<const ir::OpSchema*>& op_choices();
std::size_t number_of(const ir::OpSchema& op);  // its place among them
// The types that a file can say: sizes that are a number or one symbol each.
bool can_be_declared(const ir::TensorType& type);
std::string text_of(const Attribute& value);
// `type: INT32` where it is not FLOAT.
std::string text_of(Type type);

}  // namespace graphrun::random_graphs
