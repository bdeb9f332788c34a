// The text of a kernel that runs all steps of a scan as one launch where no row of the batch ever reads another, as in a CRF:
// every block has rows of its own, goes through all steps by itself and keeps what a step makes in its own memory. Sizes come
// with the launch, but for those of what lies in that memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/generated/loop_part.h"
#include "ops/matmul/product_part.h"
#include "runtime/device/backend.h"
#include "runtime/scan/launch.h"
#include "runtime/scan/rows.h"

namespace graphrun {

// What an instruction of such a loop is in the text, in a namespace of its own: a struct Arguments, with the addresses x0, x1,
// … and y0, y1, …, and one(const Arguments& a, std::int64_t e, Fault fault), which makes element e of every result.
struct ElementText {
  std::string text;
  ArgumentLayout arguments;                          // all known before a launch but the draws of `code`
  std::shared_ptr<const DeviceCode> code = nullptr;  // of pointwise work, else null
};

class RowLoopCode {
 public:
  // What keeps a loop from being such a kernel: an instruction that is neither a part of one nor a copy, or too much work.
  static Obstacle obstacle_to(const BoundScan& scan, const RowSharing& sharing);

  RowLoopCode(const BoundScan& scan, const RowSharing& sharing, const DeviceLimits& limits);

  struct Member {
    std::size_t inputs = 0, outputs = 0;
    std::int64_t each = 0;  // elements of a result in a row; of all of it, where every block makes it for itself
    bool of_each = false;
    ElementText element;
    Argument struct_argument, node;  // element's arguments; what a fault names the instruction by
  };
  // Where a block has no room for what a step makes of its rows.
  Obstacle obstacle() const { return memory_obstacle(shared_, limits_.shared); }
  const DeviceText& text() const { return text_; }
  const std::vector<Member>& members() const { return members_; }
  // What a launch brings, and which of it is not known before.
  const ArgumentLayout& arguments() const { return arguments_; }
  Argument places_argument() const { return places_argument_; }
  Argument fault_argument() const { return fault_argument_; }
  // Which of LoopRun::places it brings.
  const std::vector<std::size_t>& places() const { return places_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t steps() const { return steps_; }
  bool reverse() const { return reverse_; }
  std::int64_t blocks() const { return blocks_; }
  int threads() const { return threads_; }
  std::size_t shared() const { return shared_; }

 private:
  // Where a block of the body lies in a block's own memory; `row`: bytes of a row, 0 of what each makes for itself.
  struct Own {
    std::int64_t at = 0, row = 0;
  };
  void find_places(const BoundScan& scan, const BoundInstruction& bound, std::size_t first);
  void place_own(const BoundScan& scan, const RowSharing& sharing);
  std::string address(const BoundScan& scan, std::size_t instruction, std::size_t operand) const;
  void lay_out_arguments();
  std::string steps_text(const BoundScan& scan) const;

  const DeviceLimits limits_;
  std::vector<Member> members_;
  std::vector<std::size_t> places_;
  std::map<std::int32_t, std::size_t> place_of_slot_;  // in places_
  std::int64_t rows_, steps_, blocks_ = 1;
  bool reverse_;
  int threads_ = 32;
  std::vector<Own> own_;  // by block of the body
  std::size_t shared_ = 0;
  ArgumentLayout arguments_;
  Argument places_argument_, fault_argument_;
  DeviceText text_;
};

}  // namespace graphrun
