#include "tools/generate/row_picker.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "compiler/ir/builder.h"
#include "runtime/threads/threads.h"
#include "tools/generate/settings.h"
#include "tools/generate/step_values.h"

namespace graphrun {
namespace {

using ir::ValueId;
using Carried = GenerationGraphs::Carried;

constexpr const char* kPicked = "rows";
constexpr const char* kSources = "parents";

// A graph with an input for each of `what` that has rows, named by its number, and an output of the same name.
ir::Graph picking(const std::vector<Carried>& what, bool follow) {
  ir::Graph graph;
  graph.name = kPicked;
  ir::Builder b(graph);
  const ValueId rows = b.input(kPicked, {Type::kInt32, {Dim(Symbol::named("picked.rows"))}});
  ValueId sources = rows;
  if (follow) sources = b.op("gather", {b.input(kSources, {Type::kInt32, {Dim(Symbol::named("picked.places"))}}), rows});
  for (std::size_t k = 0; k < what.size(); ++k) {
    if (what[k].row_axis < 0) continue;
    const bool is_word = follow && what[k].name == kWordInput;
    ir::TensorType type = what[k].type;
    if (is_word) type.shape = {Dim(Symbol::named("picked.places"))};
    const ValueId value = b.input(std::to_string(k), type);
    b.set_name("picked");
    const std::int64_t axis = what[k].row_axis;
    graph.outputs.push_back({std::to_string(k), b.op("select_rows", {value, is_word ? rows : sources}, {{"axis", axis}})});
  }
  return graph;
}

// A tensor seen along an axis of rows: `blocks` blocks, each with the rows of that axis, of `unit` bytes. If axis 0 is another
// axis, only its first `leading` positions count.
struct RowBlocks {
  RowBlocks(const Tensor& tensor, std::size_t axis, std::int64_t leading)
      : unit(static_cast<std::int64_t>(size_of(tensor.dtype()))) {
    const Sizes& sizes = tensor.sizes();
    for (std::size_t k = 0; k < axis; ++k) blocks *= k == 0 ? std::min(leading, sizes[0]) : sizes[k];
    for (std::size_t k = axis + 1; k < sizes.size(); ++k) unit *= sizes[k];
  }
  // For parallel_ranges: the least number of rows that is worth another thread.
  std::int64_t least_rows() const { return std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(unit, 1)); }
  std::int64_t blocks = 1, unit;
};

// Copies row rows[r] of `from` along an axis to row r of `to`.
void copy_rows(const Tensor& from, Tensor& to, std::size_t axis, const std::vector<std::int64_t>& rows, std::int64_t leading) {
  const RowBlocks all(from, axis, leading);
  const std::int64_t count = static_cast<std::int64_t>(rows.size()), stride = from.sizes()[axis], unit = all.unit;
  const auto* source = static_cast<const char*>(from.raw());
  auto* target = static_cast<char*>(to.raw());
  parallel_ranges(all.blocks * count, all.least_rows(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = rows[static_cast<std::size_t>(i % count)];
      std::memcpy(target + i * unit, source + (i / count * stride + row) * unit, static_cast<std::size_t>(unit));
    }
  });
}

struct Move {
  std::int64_t to, from;  // rows; kAside: a buffer for one row
};
constexpr std::int64_t kAside = -1;

// The moves, in order, after which row r is what row sources[r] was: no row is overwritten before its last read. In a cycle of
// rows, one is saved aside first.
std::vector<Move> moves_of(const std::vector<std::int64_t>& sources) {
  const auto at = [](std::int64_t row) { return static_cast<std::size_t>(row); };
  std::vector<std::int64_t> readers(sources.size()), free;
  const auto moves = [&](std::int64_t row) { return sources[at(row)] != row; };
  const auto count = static_cast<std::int64_t>(sources.size());
  for (std::int64_t row = 0; row < count; ++row) {
    if (moves(row)) ++readers[at(sources[at(row)])];
  }
  std::vector<Move> list;
  std::vector<bool> done(sources.size());
  const auto move = [&](std::int64_t row) {
    list.push_back({row, sources[at(row)]});
    done[at(row)] = true;
    const std::int64_t read = sources[at(row)];
    if (--readers[at(read)] == 0 && moves(read) && !done[at(read)]) free.push_back(read);
  };
  for (std::int64_t row = 0; row < count; ++row) {
    if (moves(row) && readers[at(row)] == 0) free.push_back(row);
  }
  while (!free.empty()) {
    const std::int64_t row = free.back();
    free.pop_back();
    move(row);
  }
  // The others form cycles: each is read once.
  for (std::int64_t row = 0; row < count; ++row) {
    if (!moves(row) || done[at(row)]) continue;
    list.push_back({kAside, row});
    std::int64_t next = row;
    for (; sources[at(next)] != row; next = sources[at(next)]) list.push_back({next, sources[at(next)]}), done[at(next)] = true;
    list.push_back({next, kAside}), done[at(next)] = true;
  }
  return list;
}

// Makes the moves along an axis, in the tensor's memory.
void move_rows(Tensor& tensor, std::size_t axis, const std::vector<Move>& moves, std::int64_t leading) {
  const RowBlocks all(tensor, axis, leading);
  const std::int64_t stride = tensor.sizes()[axis], unit = all.unit;
  const std::int64_t least =
      std::max<std::int64_t>(1, all.least_rows() / std::max<std::int64_t>(1, static_cast<std::int64_t>(moves.size())));
  auto* const first = static_cast<char*>(tensor.raw());
  parallel_ranges(all.blocks, least, [&](std::int64_t begin, std::int64_t end) {
    std::vector<char> aside(static_cast<std::size_t>(unit));
    for (std::int64_t block = begin; block < end; ++block) {
      const auto row = [&](std::int64_t r) { return r == kAside ? aside.data() : first + (block * stride + r) * unit; };
      for (const Move& m : moves) std::memcpy(row(m.to), row(m.from), static_cast<std::size_t>(unit));
    }
  });
}

}  // namespace

bool is_range(const std::vector<std::int64_t>& numbers, std::int64_t count) {
  std::int64_t next = 0;
  return static_cast<std::int64_t>(numbers.size()) == count &&
         std::all_of(numbers.begin(), numbers.end(), [&](std::int64_t n) { return n == next++; });
}

RowPicker::RowPicker(const GenerationGraphs& cut, std::vector<Carried> what, const Device& device, bool follow)
    : what_(std::move(what)), capacity_(cut.capacity), follow_(follow), on_device_(!device.is_cpu()) {
  if (!on_device_ || std::none_of(what_.begin(), what_.end(), [](const Carried& c) { return c.row_axis >= 0; })) return;
  executable_ =
      std::make_unique<Executable>(compile(picking(what_, follow), in_float32()), std::make_shared<Variables>(), device);
}

std::vector<Tensor> RowPicker::pick(std::vector<Tensor> values, const Tensor& rows, const Tensor& parents, std::int64_t steps) {
  if (!on_device_) return pick_on_host(std::move(values), rows, parents, steps);
  if (!executable_) return values;
  Feeds feeds = {{kPicked, rows}};
  if (follow_) feeds[kSources] = parents;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (has_rows(k)) feeds[std::to_string(k)] = values[k];
  }
  const std::vector<Tensor> picked = executable_->run(feeds, left_on_device());
  for (std::size_t k = 0, next = 0; k < values.size(); ++k) {
    if (has_rows(k)) values[k] = picked.at(next++);
  }
  return values;
}

std::vector<Tensor> RowPicker::pick_on_host(std::vector<Tensor> values, const Tensor& rows, const Tensor& parents,
                                            std::int64_t steps) {
  const auto listed = rows.span<std::int32_t>();
  const std::vector<std::int64_t> own(listed.begin(), listed.end());
  std::vector<std::int64_t> sources = own;
  if (follow_) {
    for (std::int64_t& row : sources) row = parents.data<std::int32_t>()[row];
  }
  const bool sources_stay = is_range(sources, static_cast<std::int64_t>(sources.size()));
  std::optional<std::vector<Move>> moves;  // of as many rows as there were
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!has_rows(k)) continue;
    const bool is_word = follow_ && what_[k].name == kWordInput;
    const std::vector<std::int64_t>& from = is_word ? own : sources;
    const auto axis = static_cast<std::size_t>(what_[k].row_axis);
    Tensor& value = values[k];
    Sizes sizes = value.sizes();
    const auto count = static_cast<std::int64_t>(from.size());
    const std::int64_t leading = is_history(what_[k], capacity_) ? steps : sizes[0];
    const bool keeps_size = sizes[axis] == count;
    if (keeps_size && (is_word ? is_range(own, count) : sources_stay)) continue;
    if (keeps_size && !is_word && value.has_room_for(value.dtype(), value.sizes())) {
      value.mark_written();
      if (!moves) moves = moves_of(sources);
      move_rows(value, axis, *moves, leading);
      continue;
    }
    sizes[axis] = count;
    Tensor next = is_history(what_[k], capacity_) ? Tensor(value.dtype(), sizes) : memory_.take(k, value.dtype(), sizes);
    copy_rows(value, next, axis, from, leading);
    value = std::move(next);
  }
  return values;
}

}  // namespace graphrun
