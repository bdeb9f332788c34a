// Several pointwise steps as one walk, because all have the result's shape; operands broadcast to it. Where there is machine
// code for them (ops/tiles/machine_code.h) what stands between them stays in registers; else they run over one tile after
// the other, and it stays in the first-level cache.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/axis_view.h"
#include "ops/tiles/broadcast.h"
#include "ops/tiles/machine_code.h"
#include "ops/tiles/runs.h"
#include "ops/tiles/tile_step.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// How each operand's elements follow from the result's: strides over the fewest axes that do, 0 where it is repeated.
struct TileAxes {
  Sizes sizes;
  std::vector<std::vector<std::int64_t>> strides;  // by axis, then operand; in elements

  // `keep_last`: the last axis stays one of its own, for ranges of columns. None merges over a cut,
  // the number of an axis, with those before it.
  TileAxes(const Sizes& result, std::span<const TensorView> inputs, bool keep_last, std::span<const std::size_t> cuts = {});
  std::int64_t rows() const;
  std::int64_t inner() const { return sizes.back(); }
};

// Takes a program's results piece by piece: elements [begin, begin + n) of each, in memory that lasts until the next piece.
class PieceReader {
 public:
  virtual void read(std::span<const void* const> results, std::int64_t begin, std::int64_t n) = 0;

 protected:
  ~PieceReader() = default;
};

class TileProgram {
 public:
  // Where the results go: to the kernel's results, or piece by piece to whoever runs the program.
  enum class Results : std::uint8_t { kWhole, kPieces };

  // Inputs whose sizes broadcast to `result`, the sizes of every step. Made when a kernel is bound.
  TileProgram(const Sizes& result, std::span<const TensorView> inputs, TileSteps steps, Results results = Results::kWhole);

  // Elements [begin, end) of all results. A result may be the memory of an input of the result's sizes and element size that no
  // step after the result's own reads.
  void run(const KernelContext& c, std::int64_t begin, std::int64_t end) const;
  // Columns [begin, end) of all rows.
  void run_columns(const KernelContext& c, std::int64_t begin, std::int64_t end) const;
  // Of a program made for it: elements [begin, end) of all results in pieces of `piece`, at most tile() of them.
  void run_pieces(const KernelContext& c, std::int64_t begin, std::int64_t end, std::int64_t piece, PieceReader& reader) const;

  std::int64_t count() const { return count_; }
  std::int64_t grain() const { return grain_; }  // elements that a thread should have at least
  std::int64_t tile() const { return tile_; }
  // Elements after which the longest of what is repeated over and over begins anew: pieces that begin with it, or end with it,
  // find it in one place. 1: nothing is.
  std::int64_t period() const;
  int cost() const { return cost_; }  // of an element, in additions

  const std::vector<TensorView>& inputs() const { return inputs_; }
  std::span<const TileStep> steps() const { return steps_; }
  bool draws() const { return !draws_.empty(); }
  // The axes of the program's shape where it is [outer, n, inner]: none goes over from one of the three to the next.
  TileAxes axes_of(const AxisView& view) const;

  // The program shared by columns; null where its results are scalars.
  static std::shared_ptr<const ColumnKernel> by_columns(std::shared_ptr<const TileProgram> program);
  // The same by rows.
  static std::shared_ptr<const RowKernel> by_rows(std::shared_ptr<const TileProgram> program);

 private:
  struct Frame;
  struct Slots {
    std::array<std::uint16_t, 3> in;
    std::uint16_t out;
  };

  void allocate_slots();
  void choose_tile();
  std::shared_ptr<const MachineCode> code_for(const TileAxes* axes) const;
  void begin_frame(Frame& f, const KernelContext& c, const TileAxes* axes) const;
  void run_rows(Frame& f, const TileAxes& axes, std::int64_t first_row, std::int64_t end_row, std::int64_t begin,
                std::int64_t end) const;
  void run_rows_by_code(Frame& f, const TileAxes& axes, std::int64_t first_row, std::int64_t end_row, std::int64_t begin,
                        std::int64_t end) const;
  void run_elements(Frame& f, std::int64_t begin, std::int64_t end) const;
  void run_gathered(Frame& f, std::int64_t begin, std::int64_t end) const;
  void lay_out_inputs(Frame& f, std::int64_t position, std::int64_t n) const;
  std::size_t buffer_bytes() const { return width_ * static_cast<std::size_t>(tile_); }
  std::size_t own_results() const { return in_pieces_ ? results_ : 0; }
  // A frame's memory: temporaries, results where they are its own, then what is drawn and what is laid out, with slack.
  std::size_t begin_of_laid_out(std::size_t k) const {
    return (buffers_ + own_results()) * buffer_bytes() + k * laid_out_bytes();
  }
  std::size_t laid_out_bytes() const { return buffer_bytes() + static_cast<std::size_t>(kRunSlack); }
  std::size_t sources() const { return inputs_.size() + draws_.size(); }
  void run_tile(Frame& f, std::int64_t position, std::size_t n) const;

  Sizes result_;
  std::vector<TensorView> inputs_;
  std::vector<TileStep> steps_;
  std::vector<Draw> draws_;
  std::int64_t count_;
  std::size_t results_ = 0;
  TileAxes axes_, column_axes_;
  std::vector<Slots> slots_;  // of each step
  std::vector<std::array<char, 8>> numbers_;
  std::vector<bool> whole_, scalar_;  // by input
  std::vector<BroadcastPlan> plans_;  // by input, where some are gathered
  // For elements that lie side by side, in the order of axes_ or gathered, and for columns; null: tiles.
  std::shared_ptr<const MachineCode> code_, column_code_;
  const bool in_pieces_;
  bool gathers_ = false;                 // operands are laid out side by side first: rows are short, or all is made in pieces
  std::size_t buffers_ = 0, width_ = 1;  // of temporaries; bytes of the widest element
  std::int64_t tile_ = 0, grain_ = 0;
  int cost_ = 0;
};

// A kernel of the program alone: shared by ranges of elements, or by columns.
Kernel tile_kernel(std::shared_ptr<const TileProgram> program);

}  // namespace graphrun
