// Values of single steps: initial states, and fetched values.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/generation.h"
#include "runtime/execute/feeds.h"
#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

// The types of the fetches that no word changes.
std::vector<ir::TensorType> whole_types(const GenerationGraphs& cut);

// Only the description of what passes from step to step.
GenerationGraphs without_graphs(const GenerationGraphs& cut);

// The feeds that the prologue needs, and the number of sentences if that is one of its inputs.
Feeds prologue_feeds(const GenerationGraphs& cut, const Program& prologue, const Feeds& feeds, std::int64_t sentences);

// The type and the sizes of a state for that many rows and, if it is a history, that many steps. FLOAT is float32.
DType dtype_of_state(const GenerationGraphs::Carried& state);
Sizes sizes_of_state(const GenerationGraphs& cut, const GenerationGraphs::Carried& state, std::int64_t rows,
                     std::int64_t capacity);

// Whether it is one of the sizes `capacity` (GenerationGraphs::capacity).
bool is_capacity(const Dim& size, const std::vector<Symbol>& capacity);
// Whether a state is a history: its first axis is a capacity.
bool is_history(const GenerationGraphs::Carried& state, const std::vector<Symbol>& capacity);

// A fetched value of a step, without the axis of rows, and its sizes.
struct Fetched {
  Sizes sizes;
  std::vector<float> values;
};
// The first `count` positions of one axis, or all if there are fewer.
Fetched first_of_axis(const Fetched& fetched, std::size_t axis, std::int64_t count);
// One row of a value that a step computed for all rows; `type` tells the axis of rows. A value without that axis belongs to
// every row.
Fetched fetched_row(const Tensor& all, const ir::TensorType& type, Symbol rows, std::int64_t row);

}  // namespace graphrun
