// How a loop runs as one launch on a device, as plain data: what each instruction is, who has which rows and columns, what
// stays in a block's memory and what blocks pass to each other. The text of the kernel follows from it:
// ops/recurrent/loop_text.h.
//
// There are two ways to share the work. On a grid, all blocks share the columns of every result, or those of each part of the
// rows do, each with its part of the weights in its own memory, and all of them wait at a barrier where one reads what others
// made; left factors of matrix units pass through the device's memory. In clusters, where all weights fit those of one cluster:
// each cluster has rows of its own, its blocks share the columns and pass the products' left factors to each other's memory,
// and no cluster waits for another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/generated/loop_part.h"
#include "ops/matmul/product_part.h"
#include "runtime/scan/launch.h"
#include "runtime/tensor/backend.h"

namespace graphrun {

struct LoopPlan {
  // What a product's factors are rounded to.
  struct RoundedForm {
    const char* type;  // of runtime/cuda/matrix_units.h
    const char* name;
    int in_word;
  };

  // An instruction of the body.
  struct LoopMember {
    std::string name;                        // of its first result
    std::vector<std::string> operand_names;  // inputs, then outputs
    std::vector<Location> equations;         // what it came from; of pointwise work its code knows
    std::size_t place = 0;                   // of its first operand, in LoopRun::places
    std::size_t inputs = 0, outputs = 0;
    std::int64_t rows = 0, columns = 0;
    std::int64_t resident = -1;  // of a product: where its weights are in a block's memory; -1: they stay in the device's
    const ProductPart* product = nullptr;      // of these four one,
    const PointwisePart* pointwise = nullptr;  // or none:
    const ElementPart* element = nullptr;
    DType copied = DType::kFloat32;        // a copy
    bool waits = false;                    // whether blocks wait for each other before it
    const RoundedForm* rounded = nullptr;  // of a product on matrix units
    // By left factor: which of `passed` it is, or -1, and whether it is the last step's.
    std::vector<int> reads_passed;
    std::vector<char> of_last_step;
    std::vector<int> passes;  // by result: which of `passed` it is, or -1
  };
  // A product's left factor that blocks pass to each other.
  struct Passed {
    std::size_t maker = 0, result = 0;  // whose result it is
    std::size_t reader = 0;             // a product that reads it
    std::int64_t inner = 0;
    std::int64_t begins_at = -1;    // the place of what the first step reads, where a step reads the last one's; else -1
    std::size_t at = 0, bytes = 0;  // where the two of them are in a block's memory, or of a grid's workspace; of one
  };

  std::int64_t steps = 0;
  bool reverse = false;
  std::vector<LoopMember> members;  // in their order
  std::size_t places = 0;           // operands of all members
  std::vector<Passed> passed;
  bool in_clusters = false;
  std::int64_t column_parts = 1, row_parts = 1;  // blocks that share columns; clusters or parts of a grid, that share rows
  int threads = 1;
  std::size_t passed_bytes = 0;  // of what is passed, of each part of the rows
  std::size_t piece_at = 0;      // where the piece of the left factors is in a block's memory: behind the weights
  std::size_t piece_bytes = 0;
  // How many tiles of a product's summed axis that piece holds, and of how many tiles of results all threads' sums, where
  // products run on matrix units.
  std::int64_t deep = 0, sums = 0;
  std::size_t most_shared = 0;  // that a block can have

  // Where the device has no room for what a block needs besides the weights.
  Obstacle obstacle() const { return memory_obstacle(shared(), most_shared); }
  bool fits() const { return !obstacle(); }
  std::int64_t blocks() const { return column_parts * row_parts; }
  // Blocks of a cluster; 1: all blocks share the columns.
  int cluster() const { return in_clusters ? static_cast<int>(column_parts) : 1; }
  // In how many parts the blocks of a grid share out rows.
  std::int64_t grid_row_parts() const { return in_clusters ? 1 : row_parts; }
  // Whether blocks wait for each other at all, and so must be on the device at once.
  bool synchronizes() const {
    return std::any_of(members.begin(), members.end(), [](const LoopMember& m) { return m.waits; });
  }
  // Whether all weights stay in the blocks' memory.
  bool keeps_weights() const {
    return std::all_of(members.begin(), members.end(),
                       [](const LoopMember& m) { return m.product == nullptr || m.resident >= 0; });
  }
  std::size_t shared() const { return piece_at + piece_bytes; }
  // On a grid, what is passed is there, behind what the blocks synchronize on.
  std::size_t workspace() const {
    return LoopKernel::kWorkspace + (in_clusters ? 0 : static_cast<std::size_t>(row_parts) * passed_bytes);
  }
  // Rows of a member that a block has at most, and columns.
  std::int64_t rows_of(const LoopMember& m) const { return (m.rows + row_parts - 1) / row_parts; }
  std::int64_t columns_of(const LoopMember& m) const;
  // Tiles of a product's results that a block has at most, on matrix units.
  std::int64_t row_tiles_of(const LoopMember& product) const;
  std::int64_t column_tiles_of(const LoopMember& product) const;
};

// Every instruction of the body has a part that can be shared by columns, or is a copy.
LoopPlan plan_loop(const BoundScan& scan, const ProgramLayout& layout, const DeviceLimits& limits);

}  // namespace graphrun
