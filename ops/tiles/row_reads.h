// Operands of pointwise work that are read by row number: a list selects the positions of an axis, and the kernel finds each
// row in the operand's own memory. So hypotheses of one sentence share its keys, and nothing is copied when they change.
//
// A node says so with the attribute `rows`: for each operand of its program, the axis of its rows, or -1; empty if all operands
// are read as they are. The list, INT32 [n], follows the program's operands. An operand [.., m, ..] then stands for [.., n,
// ..], as select_rows would return it. The axis is neither the operand's last nor one that is reduced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/op.h"
#include "runtime/program/kernel.h"

namespace graphrun {

struct RowReads {
  std::vector<std::int64_t> axes = {};  // by operand of the program, as in the attribute
  std::size_t list = 0;                 // which of the kernel's inputs is the list
  std::int64_t count = 0;               // the numbers in it
  std::int64_t bound = 0;               // above every number: the rows of the operand that has fewest

  bool any() const { return !axes.empty(); }
  // Whether operand k, of that rank, is read through the list along the axis that is `from_end` before the last.
  bool at(std::size_t k, std::size_t rank, std::size_t from_end) const {
    return any() && axes[k] >= 0 && static_cast<std::size_t>(axes[k]) + from_end + 1 == rank;
  }
  bool reads(std::size_t k) const { return any() && axes[k] >= 0; }
  // The sizes that operand k stands for.
  Sizes selected_sizes(std::size_t k, Sizes sizes) const {
    if (reads(k)) sizes[static_cast<std::size_t>(axes[k])] = count;
    return sizes;
  }
  // Of a running kernel; null if there is no list.
  const std::int32_t* numbers(const KernelContext& c) const { return any() ? c.inputs[list].as<std::int32_t>() : nullptr; }
  // On the CPU: throws UserError (kBadData) for a number out of range. A device trusts the list.
  void check(const KernelContext& c) const;
};
inline constexpr const char* kRowsDoc =
    "by operand, the axis whose positions a list of row numbers selects, or -1; empty: none";

// The request of a node with a program, divided.
struct ProgramWork {
  KernelRequest request;  // for the program: its operands alone
  RowReads rows;
  std::size_t lengths = 0;  // the index of the input that holds the lengths; the number of inputs if there are none
};
ProgramWork program_work(const KernelRequest& request, bool has_lengths = false);

// For shape rules: the types that the program's operands stand for. Checks the number of inputs and the list.
std::vector<ir::TensorType> operands_of_program(const ir::InferContext& c, std::size_t operands, bool has_lengths = false);

}  // namespace graphrun
