// The text of a kernel that runs all steps of a scan as one launch, and what it is launched with. What is part of the text: the
// instructions, their order and types, where blocks meet and what they pass, and of products on matrix units how many tiles a
// warp has at a time; sizes come with the launch.
//
// There are two plans. On a grid, all blocks share the columns of every result, or those of each part of the rows do, each with
// its part of the weights in its own memory, and all meet where one reads what others made; left factors of matrix units pass
// through the device's memory. In clusters, where all weights fit those of one cluster: each has rows of its
// own, its blocks share the columns, pass the products' left factors to each other's memory, and nobody waits for another
// cluster.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/generated/loop_part.h"
#include "ops/matmul/product_part.h"
#include "runtime/device/backend.h"
#include "runtime/scan/launch.h"

namespace graphrun {

class LoopCode {
 public:
  // Every instruction of the body has a part or is a copy.
  LoopCode(const BoundScan& scan, const ProgramLayout& layout, const DeviceLimits& limits);

  // Where the device has no room for what a block needs beside the weights.
  Obstacle obstacle() const { return memory_obstacle(shared(), limits_.shared); }
  bool fits() const { return !obstacle(); }
  const DeviceText& text() const { return text_; }
  std::int64_t blocks() const { return column_parts_ * row_parts_; }
  // Blocks of a cluster; 1: all blocks share the columns.
  int cluster() const { return in_clusters_ ? static_cast<int>(column_parts_) : 1; }
  int threads() const { return threads_; }
  // Whether blocks meet at all, and so must be on the device at once.
  bool meets() const {
    return std::any_of(members_.begin(), members_.end(), [](const Member& m) { return m.meets; });
  }
  // Whether all weights stay in the blocks' memory.
  bool keeps_weights() const {
    return std::all_of(members_.begin(), members_.end(),
                       [](const Member& m) { return m.product == nullptr || m.resident >= 0; });
  }
  std::size_t shared() const { return piece_at_ + piece_bytes_; }

  // What a product's factors are rounded to.
  struct RoundedForm {
    const char* type;  // of runtime/cuda/matrix_units.h
    const char* name;
    int in_word;
  };

  // What a launch brings, and which of it the plan does not know: the operands' places, what blocks wait on and pass.
  const ArgumentLayout& arguments() const { return arguments_; }
  Argument places_argument() const { return places_argument_; }
  Argument counter_argument() const { return counter_argument_; }

  struct Member {
    std::size_t place = 0;  // of its first operand, in LoopRun::places
    std::size_t inputs = 0, outputs = 0;
    std::int64_t rows = 0, columns = 0;
    std::int64_t resident = -1;  // of a product: where its weights are in a block's memory; -1: they stay in the device's
    const ProductPart* product = nullptr;      // of these three one,
    const PointwisePart* pointwise = nullptr;  // or none:
    DType copied = DType::kFloat32;            // a copy
    bool meets = false;
    const RoundedForm* rounded = nullptr;  // of a product on matrix units
    // By left factor: which of passed() it is, or -1, and whether it is the last step's.
    std::vector<int> reads_passed;
    std::vector<char> of_last_step;
    std::vector<int> passes;         // by result: which of passed() it is, or -1
    Argument struct_argument, wide;  // of pointwise work: its code's arguments; whether packs of four are aligned
  };
  // A product's left factor that blocks pass to each other.
  struct Passed {
    std::size_t maker = 0, result = 0;  // whose result it is
    std::size_t reader = 0;             // a product that reads it
    std::int64_t inner = 0;
    std::int64_t begins_at = -1;    // the place of what the first step reads, where a step reads the last one's; else -1
    std::size_t at = 0, bytes = 0;  // where the two of them are in a block's memory, or of a grid's workspace; of one
  };
  const std::vector<Passed>& passed() const { return passed_; }
  const std::vector<Member>& members() const { return members_; }
  std::int64_t steps() const { return steps_; }
  bool reverse() const { return reverse_; }
  // Where the piece of the left factors is in a block's memory: behind the weights.
  std::size_t piece_at() const { return piece_at_; }
  // How many tiles of a product's summed axis that piece holds, or of how many tiles of results all threads' sums, where
  // products run on matrix units.
  std::int64_t deep() const { return deep_; }
  std::int64_t sums() const { return sums_; }
  // On a grid: in how many parts rows are shared out.
  std::int64_t row_parts() const { return in_clusters_ ? 1 : row_parts_; }
  // Bytes of what is passed, of each part of the rows; on a grid they are in the workspace, behind where the blocks meet.
  std::size_t passed_bytes() const { return passed_bytes_; }
  std::size_t workspace() const {
    return LoopKernel::kWorkspace + (in_clusters_ ? 0 : static_cast<std::size_t>(row_parts_) * passed_bytes_);
  }

 private:
  void find_passed(const BoundScan& scan);
  bool take_clusters(const BoundScan& scan, const ProgramLayout& layout);
  void take_grid(const BoundScan& scan, const ProgramLayout& layout);
  bool has_rows_apart(const BoundScan& scan, const ProgramLayout& layout) const;
  std::int64_t widest_columns() const;
  std::int64_t own_columns(const Member& m) const;
  std::int64_t row_tiles_of(const Member& product) const;
  std::int64_t column_tiles_of(const Member& product) const;
  double step_cycles() const;
  void place();
  void place_weights();
  void place_passed();
  // Rows of a member that a block has at most.
  std::int64_t rows_of(const Member& m) const { return (m.rows + row_parts_ - 1) / row_parts_; }
  bool stages(const Member& product) const;
  std::size_t least_piece(const Member& product) const;
  std::size_t weight_bytes(const Member& product) const;
  void deepen_piece();
  std::string parts() const;
  void lay_out_arguments();
  std::string product_functions() const;
  std::string order_of(const Passed& passed) const;
  std::string steps_text() const;
  std::string passing_text() const;
  std::string put_text(std::size_t i, std::size_t passed, std::size_t place, bool of_last_step) const;
  std::string sending_text(std::size_t i) const;
  std::string pointwise_text(std::size_t i) const;

  const DeviceLimits limits_;
  const std::int64_t steps_;
  const bool reverse_;
  std::vector<Member> members_;
  std::size_t places_ = 0;
  std::vector<Passed> passed_;
  bool in_clusters_ = false;
  std::int64_t column_parts_ = 1, row_parts_ = 1;  // blocks that share columns; clusters or parts of a grid, that share rows
  int threads_ = 1;
  std::int64_t deep_ = 0, sums_ = 0;
  std::size_t passed_bytes_ = 0, piece_at_ = 0, piece_bytes_ = 0;
  ArgumentLayout arguments_;
  Argument places_argument_, counter_argument_;
  DeviceText text_;
};

}  // namespace graphrun
