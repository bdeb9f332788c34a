// The plan of a loop that runs as one launch on a device, as plain data: the form of each instruction, the rows and columns of
// each block, what stays in shared memory and what blocks pass to each other. The text of the kernel follows from it:
// ops/recurrent/loop_text.h.
//
// There are two ways to divide the work. On a grid, all blocks (or, if the rows are divided, the blocks of each part) share the
// columns of every result. Each block keeps its part of the weights in shared memory, and all blocks wait at a barrier before
// one reads what others computed; left factors for matrix units pass through the device's memory. In clusters, which require
// that all weights fit into the shared memory of one cluster, each cluster has rows of its own. Its blocks share the columns
// and write the products' left factors to each other's shared memory; no cluster waits for another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/generated/loop_part.h"
#include "ops/matmul/product_part.h"
#include "ops/recurrent/loop_device.h"
#include "runtime/scan/launch.h"
#include "runtime/tensor/backend.h"

namespace graphrun {

struct LoopPlan {
  // An instruction of the body.
  struct LoopMember {
    std::string name;                        // name of its first result
    std::vector<std::string> operand_names;  // inputs, then outputs
    std::vector<Location> equations;         // of the equations that it came from; for pointwise work, `code` has them
    std::size_t place = 0;                   // index of its first operand in LoopRun::places
    std::size_t inputs = 0, outputs = 0;
    std::int64_t rows = 0, columns = 0;
    std::int64_t resident = -1;                // for a product: position of its weights in shared memory; -1: not there
    const ProductPart* product = nullptr;      // one of these three,
    const PointwisePart* pointwise = nullptr;  // or none for a copy
    const ElementPart* element = nullptr;
    DType copied = DType::kFloat32;  // the type of a copy
    bool waits = false;              // it needs what other blocks compute: there is a barrier before it, unless `arrives`
    const UnitForm* form = nullptr;  // of a product on matrix units
    // By left factor: its index in `passed`, or -1, and whether it is the value of the previous step.
    std::vector<int> reads_passed;
    std::vector<char> of_last_step;
    std::vector<int> passes;  // by result: its index in `passed`, or -1
    // For a product whose results only pointwise work of the same step and block reads: their position in shared memory, so
    // that they need not pass through the device's memory; -1: they are in the device's memory.
    std::int64_t local = -1;
    // By input of pointwise work: the product that computes it, and its result, if it can be local.
    std::vector<std::optional<std::pair<std::size_t, std::size_t>>> from_product;
  };
  // A product's left factor that blocks pass to each other.
  struct Passed {
    std::size_t maker = 0, result = 0;  // the instruction and result
    std::size_t reader = 0;             // a product that reads it
    std::int64_t inner = 0;
    std::int64_t begins_at = -1;    // if a step reads the previous one's value: the place that the first step reads; or -1
    std::int32_t begins_in = -1;    // the slot of the body at that place
    std::size_t at = 0, bytes = 0;  // position of its two buffers in shared memory or a grid's workspace; size of one
  };

  std::int64_t steps = 0;
  bool reverse = false;
  std::vector<LoopMember> members;  // in order
  std::size_t places = 0;           // number of operands of all members
  std::vector<Passed> passed;
  bool in_clusters = false;
  // Whether the blocks of a cluster need nothing from each other except the passed factors, and each block sends a part of
  // every factor. Then a block waits until the factors have arrived, and the cluster has no barriers.
  bool arrives = false;
  std::int64_t column_parts = 1, row_parts = 1;    // blocks that share columns; clusters, or parts of a grid's rows
  std::int64_t together = loop::kColumnsTogether;  // a block's columns begin at multiples of this number
  int threads = 1;
  std::size_t passed_bytes = 0;  // size of all passed factors, for each part of the rows
  std::size_t piece_at = 0;      // position of the piece of left factors in shared memory, after the weights
  std::size_t piece_bytes = 0;
  // For products on matrix units: the number of tiles of the summed axis in that piece, and the number of tiles of results
  // whose sums (of all threads) it holds.
  std::int64_t deep = 0, sums = 0;
  std::size_t most_shared = 0;  // the shared memory that a block can have
  double step_cycles = 0;       // an estimate of the cycles of a step, see ops/recurrent/step_cycles.h

  // Present if shared memory is too small for what a block needs besides the weights.
  Obstacle obstacle() const { return memory_obstacle(shared(), most_shared); }
  bool fits() const { return !obstacle(); }
  std::int64_t blocks() const { return column_parts * row_parts; }
  // The number of blocks in a cluster; 1 for a grid.
  int cluster() const { return in_clusters ? static_cast<int>(column_parts) : 1; }
  // The number of parts into which a grid divides the rows.
  std::int64_t grid_row_parts() const { return in_clusters ? 1 : row_parts; }
  // Whether blocks wait for each other, so that all of those that do must be on the device at once.
  bool synchronizes() const {
    return std::any_of(members.begin(), members.end(), [](const LoopMember& m) { return m.waits; });
  }
  // Whether matrix units multiply, and whether they round the factors of a product.
  bool has_units() const {
    return std::any_of(members.begin(), members.end(), [](const LoopMember& m) { return m.form != nullptr; });
  }
  bool rounds() const {
    return std::any_of(members.begin(), members.end(), [](const LoopMember& m) {
      return m.form != nullptr && m.product->precision != ProductPrecision::kFloat32;
    });
  }
  // Whether all weights stay in shared memory.
  bool keeps_weights() const {
    return std::all_of(members.begin(), members.end(),
                       [](const LoopMember& m) { return m.product == nullptr || m.resident >= 0; });
  }
  std::size_t shared() const { return piece_at + piece_bytes; }
  // Shared memory begins with the addresses of all operands. In clusters, two counters for each passed factor follow.
  std::size_t address_bytes() const;
  std::size_t counter_bytes() const;
  // The number of adjacent elements that a thread computes at once, if their addresses are aligned for it: four, or fewer if
  // some threads would have none. The text contains it, so it depends on the rows only through the number of row tiles.
  static constexpr int kMostWidth = 4;
  int width_of(const LoopMember& pointwise) const;
  // Whether the kernel's text contains the sizes that do not depend on the batch, and what follows from the number of row
  // tiles, as constants: then the compiler does most of the arithmetic with indices, but every network gets kernels of its own,
  // one for each number of row tiles. Small loops share kernels instead.
  bool has_constant_sizes() const;
  // On a grid, passed factors are in the workspace, after the memory for barriers.
  std::size_t workspace() const {
    return LoopKernel::kWorkspace + (in_clusters ? 0 : static_cast<std::size_t>(row_parts) * passed_bytes);
  }
  // The largest number of rows and columns of a member in one block.
  std::int64_t rows_of(const LoopMember& m) const { return (m.rows + row_parts - 1) / row_parts; }
  std::int64_t columns_of(const LoopMember& m) const;
  // The largest number of tiles of a product's results in one block, on matrix units.
  std::int64_t row_tiles_of(const LoopMember& product) const;
  std::int64_t column_tiles_of(const LoopMember& product) const;
};

// Requires that every instruction of the body has a part that can be divided by columns, or is a copy.
LoopPlan plan_loop(const BoundScan& scan, const ProgramLayout& layout, const DeviceLimits& limits);

}  // namespace graphrun
