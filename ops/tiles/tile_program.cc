#include "ops/tiles/tile_program.h"

#include <algorithm>
#include <cstring>

#include "ops/round_up.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostSlots = 320, kMostInputs = 24, kMostDraws = 8;
static_assert(kDrawSlack <= kRunSlack);
// Rows shorter than this are first laid out contiguously: starting a tile of a few elements costs more than computing it.
constexpr std::int64_t kShortRow = 64, kShortRowOfCode = 24;
// Elements of a tile: enough to amortize the calls of its steps, few enough that everything it accesses fits the first-level
// cache.
constexpr std::int64_t kLeastTile = 128, kMostTile = 1024;
constexpr std::size_t kTileBytes = 32 * 1024;
// Elements of a piece: the longer it is, the more is reduced at once; a little of it may spill into the second-level cache.
constexpr std::int64_t kMostPiece = 4096;
constexpr std::size_t kPieceBytes = 40 * 1024;
// Of temporaries and gathered operands; they are on the stack.
constexpr std::size_t kMostBufferBytes = 96 * 1024;
constexpr int kStreamCost = 4, kDrawCost = 8;

template <class T>
void put(std::array<char, 8>& to, T value) {
  std::memcpy(to.data(), &value, sizeof value);
}

std::array<char, 8> element_bytes(double number, DType dtype) {
  std::array<char, 8> bytes{};
  switch (dtype) {
    case DType::kFloat32: put(bytes, static_cast<float>(number)); break;
    case DType::kFloat64: put(bytes, number); break;
    case DType::kInt32: put(bytes, static_cast<std::int32_t>(number)); break;
    case DType::kBool: put(bytes, static_cast<std::uint8_t>(number != 0)); break;
  }
  return bytes;
}

}  // namespace

// The addresses that the steps of a tile read and write: inputs, results, buffers, numbers, in this order.
struct TileProgram::Frame {
  const MachineCode* code;
  std::int64_t origin = 0;  // the element at the start of the results' memory
  std::array<const void*, kMostSlots> at;
  std::array<bool, kMostSlots> scalar;
  std::array<const char*, kMostInputs> input;  // their first elements
  const std::int32_t* numbers = nullptr;       // of rows, if there is a list
  std::array<char*, kMostSlots> result;
  struct LaidOut {
    std::int64_t phase = -1, n = 0;  // the offset within its period, and the number of elements
  };
  std::array<LaidOut, kMostInputs> laid_out;
  std::array<DrawRow, kMostDraws> draw;
  alignas(kAlignment) char buffers[kMostBufferBytes];
};

TileProgram::TileProgram(const Sizes& result, std::span<const TensorView> inputs, TileSteps steps, Results results,
                         RowReads rows)
    : result_(result),
      inputs_(inputs.begin(), inputs.end()),
      rows_(std::move(rows)),
      steps_(std::move(steps.steps)),
      draws_(std::move(steps.draws)),
      count_(element_count(result)),
      axes_(result, inputs, false, {}, rows_),
      column_axes_(result, inputs, true, {}, rows_),
      in_pieces_(results == Results::kPieces) {
  GRAPHRUN_CHECK(inputs.size() <= kMostInputs && draws_.size() <= kMostDraws, "TileProgram: too many inputs");
  for (const TileStep& s : steps_) {
    GRAPHRUN_CHECK(s.tile != nullptr, "TileProgram: a step without a tile");
    results_ = std::max(results_, static_cast<std::size_t>(s.result + 1));
    cost_ += s.cost;
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    whole_.push_back(inputs[k].count() == count_ && !rows_.reads(k));
    scalar_.push_back(inputs[k].count() == 1);
  }
  if ((steps_.size() > 1 || in_pieces_) && count_ > 0) code_ = code_for(&axes_), column_code_ = code_for(&column_axes_);
  const std::int64_t shortest = code_ ? kShortRowOfCode : kShortRow;
  gathers_ = (in_pieces_ && !code_) || (axes_.sizes.size() > 1 && axes_.inner() < shortest);
  if (gathers_ && code_) code_ = code_for(nullptr);
  for (std::size_t k = 0; gathers_ && k < inputs.size(); ++k) {
    // An operand that is read by row number does not use its plan: lay_out_listed lays it out.
    const TensorView seen = {nullptr, inputs[k].dtype, rows_.selected_sizes(k, inputs[k].sizes)};
    plans_.emplace_back(result, std::span(&seen, 1));
  }
  allocate_slots();
  choose_tile();
  if (code_) cost_ = cost_ / 2 + 1;
  cost_ += kDrawCost * static_cast<int>(draws_.size());
  // Streaming a whole tensor costs about as much as four additions.
  for (bool whole : whole_) cost_ += whole ? kStreamCost : 0;
  if (!in_pieces_) cost_ += kStreamCost * static_cast<int>(results_);
  grain_ = count_ * cost_ < kLeastShared ? std::max<std::int64_t>(count_, 1) : round_up(kLeastShare / cost_ + 1, 64);
}

// Each temporary gets a buffer from its step to its last reader. A step may overwrite what it is the last to read, if the
// elements have the same size.
void TileProgram::allocate_slots() {
  constexpr std::size_t kNever = static_cast<std::size_t>(-1);
  std::vector<std::size_t> last_read(steps_.size(), kNever), slot_of(steps_.size()), free;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    for (int k = 0; k < steps_[s].arity; ++k) {
      const TileOperand& o = steps_[s].operands[static_cast<std::size_t>(k)];
      if (o.kind == TileOperand::Kind::kInstruction) last_read[o.index] = s;
    }
  }
  const std::size_t first_buffer = sources() + results_;
  const auto release = [&](std::size_t s, bool same_size) {
    for (int k = 0; k < steps_[s].arity; ++k) {
      const TileOperand& o = steps_[s].operands[static_cast<std::size_t>(k)];
      if (o.kind != TileOperand::Kind::kInstruction || steps_[o.index].result >= 0 || last_read[o.index] != s) continue;
      if (same_size && size_of(steps_[o.index].dtype) != size_of(steps_[s].dtype)) continue;
      free.push_back(slot_of[o.index]);
      last_read[o.index] = kNever;
    }
  };
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    release(s, true);
    if (steps_[s].result >= 0) {
      slot_of[s] = sources() + static_cast<std::size_t>(steps_[s].result);
    } else if (free.empty()) {
      slot_of[s] = first_buffer + buffers_++;
    } else {
      slot_of[s] = free.back();
      free.pop_back();
    }
    release(s, false);
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    Slots slots{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(steps_[s].arity); ++k) {
      const TileOperand& o = steps_[s].operands[k];
      std::size_t slot = o.index;
      if (o.kind == TileOperand::Kind::kInstruction) slot = slot_of[o.index];
      if (o.kind == TileOperand::Kind::kNumber) {
        slot = first_buffer + buffers_ + numbers_.size();
        numbers_.push_back(element_bytes(o.number, steps_[s].operand_dtype(k)));
      }
      slots.in[k] = static_cast<std::uint16_t>(slot);
    }
    slots.out = static_cast<std::uint16_t>(slot_of[s]);
    slots_.push_back(slots);
  }
  GRAPHRUN_CHECK(first_buffer + buffers_ + numbers_.size() <= kMostSlots, "TileProgram: too many steps");
}

void TileProgram::choose_tile() {
  for (const TileStep& s : steps_) width_ = std::max(width_, size_of(s.dtype));
  for (const TensorView& v : inputs_) width_ = std::max(width_, size_of(v.dtype));
  std::size_t own = buffers_ + own_results() + draws_.size();  // pieces of memory that the frame owns
  for (std::size_t k = 0; k < inputs_.size(); ++k) own += gathers_ && !whole_[k] && !scalar_[k];
  const std::size_t touched = buffers_ + sources() + results_, most = kMostBufferBytes - own * kRunSlack;
  tile_ = static_cast<std::int64_t>(
              std::min((in_pieces_ ? kPieceBytes : kTileBytes) / touched, most / std::max<std::size_t>(own, 1)) / width_) /
          64 * 64;
  tile_ = std::clamp(tile_, kLeastTile, in_pieces_ ? kMostPiece : kMostTile);
  GRAPHRUN_CHECK(own * laid_out_bytes() <= kMostBufferBytes, "TileProgram: too many temporaries");
}

TileAxes TileProgram::axes_of(const AxisView& view) const {
  std::size_t inner = result_.size();
  for (std::int64_t size = 1; inner > 0 && size < view.inner;) size *= result_[--inner];
  std::size_t along = inner;
  for (std::int64_t size = 1; along > 0 && size < view.n;) size *= result_[--along];
  return TileAxes(result_, inputs_, false, std::array{along, inner}, rows_);
}

std::int64_t TileProgram::period() const {
  std::int64_t longest = rows_.any() && !gathers_ ? axes_.inner() : 1;
  for (std::size_t k = 0; k < plans_.size() && count_ > 0; ++k) {
    if (!whole_[k] && !scalar_[k] && !rows_.reads(k) && plans_[k].period() < count_)
      longest = std::max(longest, plans_[k].period());
  }
  return longest;
}

std::shared_ptr<const MachineCode> TileProgram::code_for(const TileAxes* axes) const {
  std::vector<MachineCode::Input> inputs;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    inputs.push_back({inputs_[k].dtype, axes ? axes->strides.back()[k] == 0 : bool{scalar_[k]}});
  }
  inputs.insert(inputs.end(), draws_.size(), {DType::kBool, false});
  return MachineCode::of(steps_, inputs);
}

// Sets what is the same in every tile. A null `axes` means that operands are gathered.
void TileProgram::begin_frame(Frame& f, const KernelContext& c, const TileAxes* axes) const {
  std::size_t slot = 0;
  f.code = axes == &column_axes_ ? column_code_.get() : code_.get();
  f.numbers = rows_.numbers(c);
  for (std::size_t k = 0; k < inputs_.size(); ++k, ++slot) {
    f.input[k] = static_cast<const char*>(c.inputs[k].data);
    f.scalar[slot] = axes ? axes->strides.back()[k] == 0 : bool{scalar_[k]};
  }
  for (std::size_t r = 0; r < results_; ++r) {
    f.result[r] = in_pieces_ ? f.buffers + (buffers_ + r) * buffer_bytes() : static_cast<char*>(c.outputs[r].data);
  }
  for (std::size_t d = 0; d < draws_.size(); ++d, ++slot) {
    f.draw[d] = DrawRow(draws_[d], c.random);
    f.scalar[slot] = false;
    f.at[slot] = f.buffers + begin_of_laid_out(d);
  }
  const std::size_t rest = sources() + results_ + buffers_ + numbers_.size();
  std::fill(f.scalar.begin() + static_cast<std::ptrdiff_t>(slot), f.scalar.begin() + static_cast<std::ptrdiff_t>(rest), false);
  slot += results_;
  for (std::size_t b = 0; b < buffers_; ++b) f.at[slot++] = f.buffers + b * buffer_bytes();
  for (const auto& number : numbers_) f.scalar[slot] = true, f.at[slot++] = number.data();
}

// The inputs' addresses are set; the results start at `position`.
void TileProgram::run_tile(Frame& f, std::int64_t position, std::size_t n) const {
  for (std::size_t d = 0; d < draws_.size(); ++d) {
    draw_elements(f.draw[d], result_, position, static_cast<std::int64_t>(n),
                  reinterpret_cast<std::uint8_t*>(f.buffers + begin_of_laid_out(d)));
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const int r = steps_[s].result;
    if (r < 0) continue;
    f.at[slots_[s].out] =
        f.result[static_cast<std::size_t>(r)] + static_cast<std::size_t>(position - f.origin) * size_of(steps_[s].dtype);
  }
  if (f.code != nullptr) {
    std::array<void*, kMostSlots> results;
    for (std::size_t r = 0; r < results_; ++r) results[r] = const_cast<void*>(f.at[sources() + r]);
    f.code->run(f.at.data(), results.data(), n);
    return;
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const auto& in = slots_[s].in;
    const void* const at[] = {f.at[in[0]], f.at[in[1]], f.at[in[2]]};
    const bool scalar[] = {f.scalar[in[0]], f.scalar[in[1]], f.scalar[in[2]]};
    steps_[s].tile(at, scalar, const_cast<void*>(f.at[slots_[s].out]), n);
  }
}

// Columns [begin, end) of rows [first_row, end_row).
void TileProgram::run_rows(Frame& f, const TileAxes& axes, std::int64_t first_row, std::int64_t end_row, std::int64_t begin,
                           std::int64_t end) const {
  if (begin >= end) return;
  if (f.code != nullptr && draws_.empty()) return run_rows_by_code(f, axes, first_row, end_row, begin, end);
  const std::size_t last = axes.sizes.size() - 1;
  std::array<std::int64_t, 16> at{};
  GRAPHRUN_CHECK(last < at.size(), "TileProgram: too many axes");
  std::array<std::int64_t, kMostInputs> offset{};
  for (std::int64_t axis = static_cast<std::int64_t>(last), rest = first_row; axis-- > 0;) {
    const auto a = static_cast<std::size_t>(axis);
    at[a] = rest % axes.sizes[a];
    rest /= axes.sizes[a];
    for (std::size_t k = 0; k < inputs_.size(); ++k) offset[k] += at[a] * axes.strides[a][k];
  }
  // Use pieces of equal size: a short one at the end would cost as much as a long one.
  const std::int64_t pieces = (end - begin - 1) / tile_ + 1,
                     piece = std::min(round_up((end - begin - 1) / pieces + 1, 64), tile_);
  for (std::int64_t row = first_row; row < end_row; ++row) {
    if (rows_.any()) {
      for (std::size_t k = 0; k < inputs_.size(); ++k) offset[k] = axes.row_offset(k, row, f.numbers);
    }
    for (std::int64_t column = begin; column < end; column += piece) {
      for (std::size_t k = 0; k < inputs_.size(); ++k) {
        f.at[k] = f.input[k] + static_cast<std::size_t>(offset[k] + column * axes.strides[last][k]) * size_of(inputs_[k].dtype);
      }
      run_tile(f, row * axes.inner() + column, static_cast<std::size_t>(std::min(piece, end - column)));
    }
    for (std::size_t axis = rows_.any() ? 0 : last; axis-- > 0;) {
      for (std::size_t k = 0; k < inputs_.size(); ++k) offset[k] += axes.strides[axis][k];
      if (++at[axis] < axes.sizes[axis]) break;
      for (std::size_t k = 0; k < inputs_.size(); ++k) offset[k] -= at[axis] * axes.strides[axis][k];
      at[axis] = 0;
    }
  }
}

// Like run_rows; the generated code itself loops over consecutive rows along one axis.
void TileProgram::run_rows_by_code(Frame& f, const TileAxes& axes, std::int64_t first_row, std::int64_t end_row,
                                   std::int64_t begin, std::int64_t end) const {
  const std::size_t last = axes.sizes.size() - 1, inputs = inputs_.size();
  std::array<std::int64_t, kMostInputs + kMostSlots> strides;
  std::array<void*, kMostSlots> results;
  for (std::size_t k = 0; k < inputs; ++k) {
    strides[k] = last == 0 ? 0 : axes.strides[last - 1][k] * static_cast<std::int64_t>(size_of(inputs_[k].dtype));
  }
  for (const TileStep& s : steps_) {
    const auto r = static_cast<std::size_t>(s.result);
    if (s.result >= 0) strides[inputs + r] = axes.inner() * static_cast<std::int64_t>(size_of(s.dtype));
  }
  const std::int64_t along = last == 0 ? 1 : axes.sizes[last - 1];
  for (std::int64_t row = first_row; row < end_row;) {
    std::int64_t rows = std::min(end_row - row, along - row % along);
    if (last > 0 && std::find(axes.listed.begin(), axes.listed.end(), last - 1) != axes.listed.end()) {
      // The code takes rows whose numbers form an arithmetic sequence: hypotheses of a sentence repeat its number.
      const std::int32_t* const numbers = f.numbers + row % along;
      const std::int64_t difference = rows > 1 ? numbers[1] - numbers[0] : 0;
      std::int64_t run = 1;
      while (run < rows && numbers[run] - numbers[run - 1] == difference) ++run;
      rows = run;
      for (std::size_t k = 0; k < inputs; ++k) {
        if (axes.listed[k] != last - 1) continue;
        strides[k] = difference * axes.strides[last - 1][k] * static_cast<std::int64_t>(size_of(inputs_[k].dtype));
      }
    }
    for (std::size_t k = 0; k < inputs; ++k) {
      const std::int64_t offset = begin * axes.strides[last][k] + axes.row_offset(k, row, f.numbers);
      f.at[k] = f.input[k] + static_cast<std::size_t>(offset) * size_of(inputs_[k].dtype);
    }
    const std::int64_t position = row * axes.inner() + begin - f.origin;
    for (const TileStep& s : steps_) {
      const auto r = static_cast<std::size_t>(s.result);
      if (s.result >= 0) results[r] = f.result[r] + static_cast<std::size_t>(position) * size_of(s.dtype);
    }
    f.code->run_rows(f.at.data(), results.data(), static_cast<std::size_t>(end - begin), static_cast<std::size_t>(rows),
                     strides.data());
    row += rows;
  }
}

// Finds operands at [position, position + n) of the result, in place or laid out contiguously. A repeated operand is laid out
// once if all pieces start at the same offset of its period.
void TileProgram::lay_out_inputs(Frame& f, std::int64_t position, std::int64_t n) const {
  char* buffer = f.buffers + begin_of_laid_out(draws_.size());
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    if (scalar_[k]) {
      f.at[k] = f.input[k];
    } else if (whole_[k]) {
      f.at[k] = f.input[k] + static_cast<std::size_t>(position) * size_of(inputs_[k].dtype);
    } else if (rows_.reads(k)) {
      lay_out_listed(f, k, buffer, position, n);
      f.at[k] = buffer;
      buffer += laid_out_bytes();
    } else {
      const std::int64_t phase = position % plans_[k].period();
      if (const void* there = plans_[k].in_place(f.input[k], position, n)) {
        f.at[k] = there;
      } else {
        if (f.laid_out[k].phase != phase || f.laid_out[k].n < n) plans_[k].gather(0, f.input[k], buffer, position, n);
        f.laid_out[k] = {phase, std::max(n, f.laid_out[k].phase == phase ? f.laid_out[k].n : 0)};
        f.at[k] = buffer;
      }
      buffer += laid_out_bytes();
    }
  }
}

// Copies elements [position, position + n) of an operand that is read by row number, row by row. Within a row, elements are
// adjacent, or there is one for all.
void TileProgram::lay_out_listed(const Frame& f, std::size_t k, char* buffer, std::int64_t position, std::int64_t n) const {
  const std::size_t bytes = size_of(inputs_[k].dtype), last = axes_.sizes.size() - 1;
  const std::int64_t inner = axes_.inner(), stride = axes_.strides[last][k];
  for (const std::int64_t end = position + n; position < end;) {
    const std::int64_t column = position % inner, some = std::min(inner - column, end - position);
    const std::int64_t offset = axes_.row_offset(k, position / inner, f.numbers) + column * stride;
    const char* const from = f.input[k] + static_cast<std::size_t>(offset) * bytes;
    if (stride == 1) {
      std::memcpy(buffer, from, static_cast<std::size_t>(some) * bytes);
    } else {
      for (std::int64_t i = 0; i < some; ++i) std::memcpy(buffer + static_cast<std::size_t>(i) * bytes, from, bytes);
    }
    buffer += static_cast<std::size_t>(some) * bytes;
    position += some;
  }
}

void TileProgram::run_gathered(Frame& f, std::int64_t begin, std::int64_t end) const {
  for (std::int64_t position = begin; position < end; position += tile_) {
    const std::int64_t n = std::min(tile_, end - position);
    lay_out_inputs(f, position, n);
    run_tile(f, position, static_cast<std::size_t>(n));
  }
}

void TileProgram::run_pieces(const KernelContext& c, std::int64_t begin, std::int64_t end, std::int64_t piece,
                             PieceReader& reader) const {
  if (begin >= end) return;
  GRAPHRUN_CHECK(in_pieces_ && piece <= tile_, "TileProgram: no piece may be longer than a tile");
  Frame f;
  begin_frame(f, c, gathers_ ? nullptr : &axes_);
  std::array<const void*, kMostSlots> results;
  for (std::size_t r = 0; r < results_; ++r) results[r] = f.result[r];
  for (std::int64_t position = begin; position < end; position += piece) {
    const std::int64_t n = std::min(piece, end - position);
    f.origin = position;
    if (gathers_) {
      lay_out_inputs(f, position, n);
      run_tile(f, position, static_cast<std::size_t>(n));
    } else {
      run_elements(f, position, position + n);
    }
    reader.read({results.data(), results_}, position, n);
  }
}

void TileProgram::run(const KernelContext& c, std::int64_t begin, std::int64_t end) const {
  if (begin >= end) return;
  Frame f;
  begin_frame(f, c, gathers_ ? nullptr : &axes_);
  gathers_ ? run_gathered(f, begin, end) : run_elements(f, begin, end);
}

// Runs elements [begin, end), at least one, row by row.
void TileProgram::run_elements(Frame& f, std::int64_t begin, std::int64_t end) const {
  const std::int64_t inner = axes_.inner(), first = begin / inner, last = (end - 1) / inner;
  if (first == last) return run_rows(f, axes_, first, first + 1, begin - first * inner, end - first * inner);
  const std::int64_t whole_begin = first + (begin % inner != 0), whole_end = last + (end % inner == 0);
  if (first < whole_begin) run_rows(f, axes_, first, first + 1, begin - first * inner, inner);
  run_rows(f, axes_, whole_begin, whole_end, 0, inner);
  if (whole_end <= last) run_rows(f, axes_, last, last + 1, 0, end - last * inner);
}

void TileProgram::run_columns(const KernelContext& c, std::int64_t begin, std::int64_t end) const {
  if (begin >= end || count_ == 0) return;
  Frame f;
  begin_frame(f, c, &column_axes_);
  run_rows(f, column_axes_, 0, column_axes_.rows(), begin, end);
}

std::shared_ptr<const ColumnKernel> TileProgram::by_columns(std::shared_ptr<const TileProgram> program) {
  const Sizes& result = program->result_;
  if (result.empty() || program->rows_.any()) return nullptr;
  auto kernel = std::make_shared<ColumnKernel>();
  kernel->columns = result.back();
  for (const TensorView& v : program->inputs_) {
    // An operand that is repeated along the columns is read whole by every range.
    kernel->reads_other_columns.push_back(v.sizes.empty() || v.sizes.back() != result.back());
  }
  kernel->run = [program = std::move(program)](const KernelContext& c, std::int64_t begin, std::int64_t end) {
    program->run_columns(c, begin, end);
  };
  return kernel;
}

std::shared_ptr<const RowKernel> TileProgram::by_rows(std::shared_ptr<const TileProgram> program) {
  const Sizes& result = program->result_;
  if (result.empty() || result[0] == 0 || program->rows_.any()) return nullptr;
  auto kernel = std::make_shared<RowKernel>();
  kernel->rows = result[0];
  kernel->operations = static_cast<double>(program->count_ * program->cost_);
  for (const TensorView& v : program->inputs_) {
    kernel->reads_other_rows.push_back(v.sizes.size() != result.size() || v.sizes[0] != result[0]);
  }
  const std::int64_t row = program->count_ / result[0];
  kernel->run = [program = std::move(program), row](const KernelContext& c, std::int64_t begin, std::int64_t end) {
    program->run(c, begin * row, end * row);
  };
  return kernel;
}

Kernel tile_kernel(std::shared_ptr<const TileProgram> program) {
  const auto run = [program](const KernelContext& c) {
    program->row_reads().check(c);
    parallel_ranges(program->count(), program->grain(),
                    [&](std::int64_t begin, std::int64_t end) { program->run(c, begin, end); });
  };
  return {run, 0, TileProgram::by_columns(program), TileProgram::by_rows(program)};
}

}  // namespace graphrun
