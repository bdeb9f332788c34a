// The interface of an optimizer, whether it is an entry of ops/optimizer/table.def or an op of its own. Its op, NAME_update,
// takes the parameter, its gradient, the optimizer's slots, the learning rate, the number of the update if the rule counts, and
// an optional factor of the gradient. It returns the next values of the parameter and the slots:
//
//   UpdateOp("adafactor", Counted::kYes).OptionalSlot("r", "…").SlotShape(rule).Setting("clip", 1, ir::Range::kPositive, "…")
//
// There is no list of optimizers. Training finds them by name and reads the slots of a parameter and their shapes from the
// schema (compiler/training.h). A job's checks and defaults also read the settings and their ranges from the schema.
#pragma once

#include <string>

#include "ops/optimizer/rules.h"
#include "ops/schema.h"

namespace graphrun {

class UpdateOp {
 public:
  UpdateOp(std::string name, Counted counted) : name_(std::move(name)), counted_(counted) {}

  // The op's documentation: the source, then the equations for slots and parameter, in terms of g'.
  UpdateOp& Doc(const std::string& source, const std::string& equations);
  // Slots, in the order of the op's operands and results. An optional slot is absent if the rule below says so.
  UpdateOp& Slot(std::string name, std::string doc) { return AddSlot(std::move(name), std::move(doc), false); }
  UpdateOp& OptionalSlot(std::string name, std::string doc) { return AddSlot(std::move(name), std::move(doc), true); }
  // The shapes of slots. Required if one differs from the parameter's, or if the update is not elementwise.
  UpdateOp& SlotShape(ir::SlotShapeRule rule);
  UpdateOp& Setting(std::string name, double value, ir::Range range, std::string doc);
  UpdateOp& Flag(std::string name, bool value, std::string doc);

  operator OpRegistration() const;  // NOLINT: `const OpRegistration op = UpdateOp(…)…;` registers it

 private:
  struct SlotInput {
    std::string name, doc;
    bool optional;
  };
  struct SettingSpec {
    std::string name, doc;
    Attribute value;
    ir::Range range;
  };
  UpdateOp& AddSlot(std::string name, std::string doc, bool optional);

  std::string name_, doc_;
  Counted counted_;
  std::vector<SlotInput> slots_;
  std::vector<SettingSpec> settings_;
  ir::SlotShapeRule slot_shape_;
};

// Check that an operand is a FLOAT scalar or absent, and that operands [first, last) are FLOAT and of one shape. Throw
// ir::OpError.
void require_scalar(const ir::InferContext& c, std::size_t input);
void require_one_shape(const ir::InferContext& c, std::size_t first, std::size_t last);

inline constexpr std::int64_t kUpdateGrain = 16384;  // elements

// A scalar operand; 1 if it is absent.
template <class T>
double scalar_or_one(const KernelContext& c, std::size_t i) {
  return i < c.inputs.size() && c.inputs[i].present() ? static_cast<double>(*c.inputs[i].as<const T>()) : 1.0;
}

}  // namespace graphrun
