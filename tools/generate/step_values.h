// Values of single steps: what states begin with, and what was fetched.
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

// What goes from step to step, alone.
GenerationGraphs without_graphs(const GenerationGraphs& cut);

// Of the feeds those that the prologue needs, and how many sentences there are where it must be told.
Feeds prologue_feeds(const GenerationGraphs& cut, const Program& prologue, const Feeds& feeds, std::int64_t sentences);

// A state that begins as zeros, FLOAT as float32, for so many rows and, where it is a history, steps.
Tensor zeros_for(const GenerationGraphs& cut, const GenerationGraphs::Carried& state, std::int64_t rows, std::int64_t capacity);

// Whether a state is a history: its first axis is one of the sizes `capacity` (GenerationGraphs::capacity).
bool is_history(const GenerationGraphs::Carried& state, const std::vector<Symbol>& capacity);
// A history with room for more steps, of which the first `steps` are copied and the others zeros.
Tensor with_room_for(const Tensor& history, std::int64_t steps, std::int64_t capacity);

// What a step gave: the values without the rows' axis, and their sizes.
struct Fetched {
  Sizes sizes;
  std::vector<float> values;
};
// The first `count` positions of one axis, all where there are no more.
Fetched first_of_axis(const Fetched& fetched, std::size_t axis, std::int64_t count);
// One row of what a step made for all; `type` says where its rows stand. Without any, all is each row's.
Fetched fetched_row(const Tensor& all, const ir::TensorType& type, Symbol rows, std::int64_t row);

}  // namespace graphrun
