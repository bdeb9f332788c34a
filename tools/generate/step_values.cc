#include "tools/generate/step_values.h"

#include <algorithm>
#include <optional>

namespace graphrun {

GenerationGraphs without_graphs(const GenerationGraphs& cut) {
  return {{}, {}, cut.constants, cut.states, cut.rows, cut.capacity, {}, cut.rows_input, cut.shortlist};
}

Feeds prologue_feeds(const GenerationGraphs& cut, const Program& prologue, const Feeds& feeds, std::int64_t sentences) {
  Feeds needed;
  for (const FeedSpec& f : prologue.feeds) {
    needed[f.name] = f.name == cut.rows_input ? Tensor(DType::kInt32, {sentences}) : feeds.at(f.name);
  }
  return needed;
}

std::vector<ir::TensorType> whole_types(const GenerationGraphs& cut) {
  std::vector<ir::TensorType> types;
  for (const std::string& name : cut.whole) types.push_back(cut.prologue.type(cut.prologue.output(kWholePrefix + name)->value));
  return types;
}

DType dtype_of_state(const GenerationGraphs::Carried& state) { return concrete(state.type.type, Precision::kFloat32); }

Sizes sizes_of_state(const GenerationGraphs& cut, const GenerationGraphs::Carried& state, std::int64_t rows,
                     std::int64_t capacity) {
  SymbolValues values{{cut.rows, rows}};
  for (Symbol s : cut.capacity) values[s] = capacity;
  return evaluate(state.type.shape, values);
}

bool is_capacity(const Dim& size, const std::vector<Symbol>& capacity) {
  const std::optional<Symbol> symbol = size.as_symbol();
  return symbol && std::find(capacity.begin(), capacity.end(), *symbol) != capacity.end();
}

bool is_history(const GenerationGraphs::Carried& state, const std::vector<Symbol>& capacity) {
  return !state.type.shape.empty() && is_capacity(state.type.shape[0], capacity);
}

Fetched fetched_row(const Tensor& all, const ir::TensorType& type, Symbol rows, std::int64_t row) {
  std::size_t axis = 0;
  while (axis < type.shape.size() && type.shape[axis] != Dim(rows)) ++axis;
  if (axis == type.shape.size()) {
    Fetched whole{all.sizes(), {}};
    for (std::int64_t i = 0; i < all.count(); ++i) whole.values.push_back(static_cast<float>(all.at(i)));
    return whole;
  }
  std::int64_t before = 1, after = 1;
  for (std::size_t a = 0; a < axis; ++a) before *= all.sizes()[a];
  for (std::size_t a = axis + 1; a < all.sizes().size(); ++a) after *= all.sizes()[a];
  Fetched out{all.sizes(), {}};
  out.sizes.erase(out.sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  for (std::int64_t i = 0; i < before; ++i) {
    for (std::int64_t j = 0; j < after; ++j) {
      out.values.push_back(static_cast<float>(all.at((i * all.sizes()[axis] + row) * after + j)));
    }
  }
  return out;
}

Fetched first_of_axis(const Fetched& fetched, std::size_t axis, std::int64_t count) {
  Fetched first;
  first.sizes = fetched.sizes;
  const std::int64_t all = fetched.sizes[axis], kept = first.sizes[axis] = std::clamp<std::int64_t>(count, 0, all);
  std::int64_t inner = 1;
  for (std::size_t a = axis + 1; a < fetched.sizes.size(); ++a) inner *= fetched.sizes[a];
  if (all * inner == 0) return first;
  for (auto block = fetched.values.begin(); block != fetched.values.end(); block += all * inner) {
    first.values.insert(first.values.end(), block, block + kept * inner);
  }
  return first;
}

}  // namespace graphrun
