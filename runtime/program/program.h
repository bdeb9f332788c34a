// The compiler's output and the runtime's input: plain data. Regions of instructions over values. Sizes are Dims. Storage is
// assigned but offsets are not: they follow from the sizes when a batch is bound.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/attributes.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/base/status.h"

namespace graphrun {

struct VariableSpec {
  enum class Kind : std::uint8_t { kParameter, kSlot, kState } kind = Kind::kParameter;
  enum class Init : std::uint8_t { kConstant, kUniform, kNormal, kOrthogonal, kXavier } init = Init::kConstant;
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;                 // parameters and slots have numbers only
  double init_amount = 0;      // the constant, range or deviation; of kOrthogonal and kXavier the gain
  bool init_declared = false;  // the graph specifies its initial value
  bool trainable = true;
  Location at;
};

struct FeedSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::optional<Dim> below;  // INT32: elements are in [0, below), checked in every run
  std::optional<Symbol> lengths_of;
  bool lasting = false;  // the same tensor in many runs: what kernels derive from it is kept while its version is the same
};

struct FetchSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  // If the fetch is a copy of a feed with some rows replaced, and nothing reads the feed afterwards: that feed. A run that may
  // overwrite its feeds replaces the rows in the feed's memory. -1: none.
  std::int32_t feed = -1;
};

// Where a value of a region is stored.
struct Storage {
  enum class Kind : std::uint8_t {
    kNone,   // nowhere: nothing reads it
    kBlock,  // in a block of its region's part of the arena
    kSlot,   // in memory passed to the region when it runs: its operands, and the destinations of its results
  } kind = Kind::kNone;
  std::int32_t index = -1;  // the index of the block or slot
  friend bool operator==(const Storage&, const Storage&) = default;
};

// A tensor of a region. Several values may share storage: views, and results that reuse an operand's memory.
struct ValueSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  Storage storage;
};

// A piece of a region's part of the arena, and the instructions (first to last, both included) during which it is in use.
struct BlockSpec {
  Dim bytes;
  std::int32_t first = 0, last = 0;
};

// How a scan passes a state from one step to the next.
struct StateSpec {
  enum class Mode : std::uint8_t {
    kAlternate,  // steps alternate between a block of the body and the final state's memory; the last step writes to the latter
    kInPlace,    // every step updates the final state's memory, which starts as a copy of the initial state
    kStacked,    // the state is also an output of the step: each step reads what the previous one wrote to the stack
  } mode = Mode::kAlternate;
  std::int32_t index = -1;  // kAlternate: the body's block; kStacked: the number of the stacked output
};

// A scan instruction; ScanSlots defines the roles of its operands.
struct ScanSpec {
  std::int32_t region = -1;  // the body, in Program::regions
  std::vector<StateSpec> states;
  std::int32_t sequences = 0;
  Dim steps;
  bool reverse = false;
};

// The most scans that run concurrently.
inline constexpr std::size_t kMostConcurrent = 4;

struct Instruction {
  enum class Kind : std::uint8_t { kKernel, kScan, kCopy } kind = Kind::kKernel;
  std::string op;    // kKernel: its name in the kernel registry
  std::string name;  // of its node: the name of its first result
  Attributes attributes;
  std::vector<std::int32_t> inputs;  // values of the region; -1: absent
  std::vector<std::int32_t> outputs;
  ScanSpec scan;            // kScan
  bool concurrent = false;  // kScan of the root: may run concurrently with the previous scan and its group
  Location at;
  // If several nodes were combined into this one: each of them, in the order in which `attributes` holds their code.
  std::vector<Origin> origins = {};

  // The value of operand o, counting inputs, then outputs; -1: absent.
  std::int32_t operand(std::size_t o) const { return o < inputs.size() ? inputs[o] : outputs[o - inputs.size()]; }
};

// The roles of the operands of a scan instruction and of the slots of its body: only this class knows their order.
//  - Inputs of the instruction: initial states, sequences, invariants. Outputs: final states, then stacks.
//  - Slots of the body: states before the step, slices of the sequences, invariants, the step's number (INT32 []), then states
//    after the step and slices of the stacks. An initial state, a sequence or an invariant is the instruction's input of the
//    same number as its slot.
struct ScanSlots {
  enum class Role : std::uint8_t { kState, kSequence, kInvariant, kPosition, kNextState, kStack };
  struct Slot {
    Role role = Role::kState;
    std::size_t index = 0;  // among those of the same role
  };
  std::size_t states = 0, sequences = 0, invariants = 0, stacks = 0;

  std::size_t inputs() const { return states + sequences + invariants; }
  std::size_t sequence(std::size_t i) const { return states + i; }
  std::size_t invariant(std::size_t i) const { return states + sequences + i; }
  std::size_t stack_output(std::size_t i) const { return states + i; }  // its number among the instruction's outputs
  std::size_t position() const { return inputs(); }
  std::size_t next_state(std::size_t i) const { return inputs() + 1 + i; }
  std::size_t stack(std::size_t i) const { return inputs() + 1 + states + i; }
  std::size_t count() const { return inputs() + 1 + states + stacks; }
  Slot at(std::size_t slot) const;
  // Whether a step reads the slot, never writes to it, and it is not a state.
  bool is_given(std::size_t slot) const { return slot >= states && slot <= position(); }
};
ScanSlots slots_of(const Instruction& scan);

// Instructions over values, run in order.
//
// Slots of the root: variables, feeds, fetches, each by position. Slots of a scan's body: see ScanSlots.
struct Region {
  std::vector<ValueSpec> values;
  std::vector<BlockSpec> blocks;
  std::vector<Instruction> instructions;
  std::int32_t slots = 0;
};

struct Program {
  std::vector<VariableSpec> variables;
  std::vector<FeedSpec> feeds;
  std::vector<FetchSpec> fetches;
  std::map<Symbol, Dim> defined_symbols;  // sizes that are computed from others
  std::vector<Region> regions;            // the root first; each body follows the region that contains its scan
  // Whether all steps of a loop may run as one kernel: by threads that stay in it (runtime/scan/thread_group.h) or, on a
  // device, as one launch (runtime/scan/launch.h). Otherwise: step by step, instruction by instruction.
  bool recurrent_kernels = true;
};

// By variable: the number of the root's instructions after which no other one writes it; 0 if none does.
std::vector<std::size_t> last_writes(const Program& program);

}  // namespace graphrun
