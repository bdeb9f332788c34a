// Several pointwise steps in one pass, because all have the result's shape; operands are broadcast to it. With machine code
// (ops/tiles/machine_code.h) intermediate values stay in registers; otherwise the steps run over one tile after the other, and
// intermediate values stay in the first-level cache.
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
#include "ops/tiles/tile_axes.h"
#include "ops/tiles/tile_step.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// The least work, in additions, that each thread should have, and the least total that justifies waking other threads, which
// takes about 20 microseconds.
inline constexpr std::int64_t kLeastShare = 65536, kLeastShared = 4 * kLeastShare;

// Receives a program's results piece by piece: elements [begin, begin + n) of each, in memory that is valid until the next
// piece.
class PieceReader {
 public:
  virtual void read(std::span<const void* const> results, std::int64_t begin, std::int64_t n) = 0;

 protected:
  ~PieceReader() = default;
};

class TileProgram {
 public:
  // Where the results go: to the kernel's results, or piece by piece to the caller.
  enum class Results : std::uint8_t { kWhole, kPieces };

  // For inputs whose sizes broadcast to `result`, the sizes of every step. Made when a kernel is bound.
  // `rows`: the inputs that are read by row number; their sizes are their own.
  TileProgram(const Sizes& result, std::span<const TensorView> inputs, TileSteps steps, Results results = Results::kWhole,
              RowReads rows = {});

  // Computes elements [begin, end) of all results. A result may alias an input that has the result's sizes and element size, if
  // no step after the result's own reads that input.
  void run(const KernelContext& c, std::int64_t begin, std::int64_t end) const;
  // Computes columns [begin, end) of all rows.
  void run_columns(const KernelContext& c, std::int64_t begin, std::int64_t end) const;
  // For a program made for pieces: computes elements [begin, end) of all results in pieces of `piece`, at most tile(),
  // elements.
  void run_pieces(const KernelContext& c, std::int64_t begin, std::int64_t end, std::int64_t piece, PieceReader& reader) const;

  std::int64_t count() const { return count_; }
  std::int64_t grain() const { return grain_; }  // the fewest elements that a thread should get
  std::int64_t tile() const { return tile_; }
  // The longest period, in elements, of the repeated operands: for pieces that are aligned with it, they are laid out only
  // once. 1: none is repeated. If operands are read by row number, at least a row: pieces of whole rows need fewer calls.
  std::int64_t period() const;
  int cost() const { return cost_; }  // per element, in additions

  const std::vector<TensorView>& inputs() const { return inputs_; }
  const RowReads& row_reads() const { return rows_; }
  std::span<const TileStep> steps() const { return steps_; }
  bool draws() const { return !draws_.empty(); }
  // The axes of the program's shape viewed as [outer, n, inner]: no axis crosses from one of the three to the next.
  TileAxes axes_of(const AxisView& view) const;

  // The program shared by columns; null if its results are scalars or operands are read by row number.
  static std::shared_ptr<const ColumnKernel> by_columns(std::shared_ptr<const TileProgram> program);
  // The same by rows; null in the same cases.
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
  void lay_out_listed(const Frame& f, std::size_t k, char* buffer, std::int64_t position, std::int64_t n) const;
  std::size_t buffer_bytes() const { return width_ * static_cast<std::size_t>(tile_); }
  std::size_t own_results() const { return in_pieces_ ? results_ : 0; }
  // The layout of a frame's memory: temporaries, its own results, then random draws and laid-out operands, with slack.
  std::size_t begin_of_laid_out(std::size_t k) const {
    return (buffers_ + own_results()) * buffer_bytes() + k * laid_out_bytes();
  }
  std::size_t laid_out_bytes() const { return buffer_bytes() + static_cast<std::size_t>(kRunSlack); }
  std::size_t sources() const { return inputs_.size() + draws_.size(); }
  void run_tile(Frame& f, std::int64_t position, std::size_t n) const;

  Sizes result_;
  std::vector<TensorView> inputs_;
  RowReads rows_;
  std::vector<TileStep> steps_;
  std::vector<Draw> draws_;
  std::int64_t count_;
  std::size_t results_ = 0;
  TileAxes axes_, column_axes_;
  std::vector<Slots> slots_;  // for each step
  std::vector<std::array<char, 8>> numbers_;
  std::vector<bool> whole_, scalar_;  // by input
  std::vector<BroadcastPlan> plans_;  // by input, if some are gathered
  // For contiguous elements (in the order of axes_ or gathered), and for columns; null: tiles.
  std::shared_ptr<const MachineCode> code_, column_code_;
  const bool in_pieces_;
  bool gathers_ = false;                 // operands are first laid out contiguously: rows are short, or results go by pieces
  std::size_t buffers_ = 0, width_ = 1;  // number of temporaries' buffers; bytes of the widest element
  std::int64_t tile_ = 0, grain_ = 0;
  int cost_ = 0;
};

// A kernel that runs only the program: shared by ranges of elements, or by columns.
Kernel tile_kernel(std::shared_ptr<const TileProgram> program);

}  // namespace graphrun
