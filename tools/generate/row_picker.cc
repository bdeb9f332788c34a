#include "tools/generate/row_picker.h"

#include <algorithm>
#include <optional>
#include <string>

#include "compiler/ir/builder.h"
#include "tools/generate/history_memory.h"
#include "tools/generate/host_rows.h"
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
  std::optional<RowMoves> moves;  // of as many rows as there were
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!has_rows(k)) continue;
    const bool is_word = follow_ && what_[k].name == kWordInput;
    const std::vector<std::int64_t>& from = is_word ? own : sources;
    const auto axis = static_cast<std::size_t>(what_[k].row_axis);
    Tensor& value = values[k];
    Sizes sizes = value.sizes();
    const auto count = static_cast<std::int64_t>(from.size());
    const bool history = is_history(what_[k], capacity_);
    const std::int64_t leading = history ? steps : sizes[0];
    const bool keeps_size = sizes[axis] == count;
    if (keeps_size && (is_word ? is_range(own, count) : sources_stay)) continue;
    if (keeps_size && !is_word && value.has_room_for(value.dtype(), value.sizes())) {
      if (!moves) moves.emplace(sources);
      moves->apply(value, axis, leading);
      continue;
    }
    if (history) {
      value = history_with_rows(std::move(value), axis, from, steps);
      continue;
    }
    sizes[axis] = count;
    Tensor next = memory_.take(k, value.dtype(), sizes);
    copy_rows(value, next, axis, from, leading);
    value = std::move(next);
  }
  return values;
}

}  // namespace graphrun
