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

// What an instruction of such a loop is in the text: a struct Arguments, whose first members are the addresses x0, x1, …, and
// whose last are y0, y1, …, and one(const Arguments& a, std::int64_t e, Fault fault), which makes element e of every result. In
// a namespace of its own.
struct ElementText {
  std::string text;
  std::vector<DType> inputs, outputs;
  std::size_t draws = 0;  // members draw0, draw1, …, which depend on the step
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
    const LoopPart* part = nullptr;  // null: a copy
  };
  // Where a block has no room for what a step makes of its rows.
  Obstacle obstacle() const { return memory_obstacle(shared_, limits_.shared); }
  const DeviceText& text() const { return text_; }
  const std::vector<Member>& members() const { return members_; }
  // Which of LoopRun::places the launch brings.
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
  std::string steps_text(const BoundScan& scan, const std::vector<ElementText>& elements) const;

  const DeviceLimits limits_;
  std::vector<Member> members_;
  std::vector<std::size_t> places_;
  std::map<std::int32_t, std::size_t> place_of_slot_;  // in places_
  std::int64_t rows_, steps_, blocks_ = 1;
  bool reverse_;
  int threads_ = 32;
  std::vector<Own> own_;  // by block of the body
  std::size_t shared_ = 0;
  DeviceText text_;
};

}  // namespace graphrun
