#include "tools/generate/row_picker.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "compiler/with_rows.h"
#include "runtime/threads/threads.h"
#include "tools/generate/settings.h"

namespace graphrun {
namespace {

using ir::ValueId;
using Carried = GenerationGraphs::Carried;

constexpr const char* kPicked = "rows";
constexpr const char* kSources = "parents";

// An input for each of `what` that has rows, by its number, and an output of that name.
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
    graph.outputs.push_back(
        {std::to_string(k), with_rows(b, value, static_cast<std::size_t>(what[k].row_axis), is_word ? rows : sources)});
  }
  return graph;
}

// Row rows[r] of `from` along an axis becomes row r of `to`. Of axis 0, where it is not the rows' own, the first `leading`
// positions alone are copied.
void copy_rows(const Tensor& from, Tensor& to, std::size_t axis, const std::vector<std::int64_t>& rows, std::int64_t leading) {
  const Sizes& sizes = from.sizes();
  std::int64_t before = 1, unit = static_cast<std::int64_t>(size_of(from.dtype()));
  for (std::size_t k = 0; k < axis; ++k) before *= k == 0 ? std::min(leading, sizes[0]) : sizes[k];
  for (std::size_t k = axis + 1; k < sizes.size(); ++k) unit *= sizes[k];
  const auto count = static_cast<std::int64_t>(rows.size()), stride = sizes[axis];
  const auto* source = static_cast<const char*>(from.raw());
  auto* target = static_cast<char*>(to.raw());
  constexpr std::int64_t kLeastBytes = 65536;
  parallel_ranges(before * count, std::max<std::int64_t>(1, kLeastBytes / std::max<std::int64_t>(unit, 1)),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) {
                      const std::int64_t row = rows[static_cast<std::size_t>(i % count)];
                      std::memcpy(target + i * unit, source + (i / count * stride + row) * unit,
                                  static_cast<std::size_t>(unit));
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

std::vector<Tensor> RowPicker::pick(const std::vector<Tensor>& values, const Tensor& rows, const Tensor& parents,
                                    std::int64_t steps) {
  if (!on_device_) return pick_on_host(values, rows, parents, steps);
  std::vector<Tensor> all = values;
  if (!executable_) return all;
  Feeds feeds = {{kPicked, rows}};
  if (follow_) feeds[kSources] = parents;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (has_rows(k)) feeds[std::to_string(k)] = values[k];
  }
  const std::vector<Tensor> picked = executable_->run(feeds, left_on_device());
  for (std::size_t k = 0, next = 0; k < all.size(); ++k) {
    if (has_rows(k)) all[k] = picked.at(next++);
  }
  return all;
}

bool RowPicker::is_history(const Carried& value) const {
  const std::optional<Symbol> first = value.type.shape.empty() ? std::nullopt : value.type.shape[0].as_symbol();
  return first && std::find(capacity_.begin(), capacity_.end(), *first) != capacity_.end();
}

std::vector<Tensor> RowPicker::pick_on_host(const std::vector<Tensor>& values, const Tensor& rows, const Tensor& parents,
                                            std::int64_t steps) const {
  const auto listed = rows.span<std::int32_t>();
  const std::vector<std::int64_t> own(listed.begin(), listed.end());
  std::vector<std::int64_t> sources = own;
  if (follow_) {
    for (std::int64_t& row : sources) row = parents.data<std::int32_t>()[row];
  }
  const bool sources_stay = is_range(sources, static_cast<std::int64_t>(sources.size()));
  std::vector<Tensor> all = values;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (!has_rows(k)) continue;
    const bool is_word = follow_ && what_[k].name == kWordInput;
    const std::vector<std::int64_t>& from = is_word ? own : sources;
    const auto axis = static_cast<std::size_t>(what_[k].row_axis);
    Sizes sizes = values[k].sizes();
    const auto count = static_cast<std::int64_t>(from.size());
    if (sizes[axis] == count && (is_word ? is_range(own, count) : sources_stay)) continue;
    sizes[axis] = count;
    Tensor next = is_history(what_[k]) ? Tensor(values[k].dtype(), sizes) : Tensor::uninitialized(values[k].dtype(), sizes);
    copy_rows(values[k], next, axis, from, is_history(what_[k]) ? steps : sizes[0]);
    all[k] = std::move(next);
  }
  return all;
}

}  // namespace graphrun
