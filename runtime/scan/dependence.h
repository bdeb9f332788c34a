// What the steps of a scan's body read and write in memory, and who must therefore wait for whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/program/arena.h"
#include "runtime/program/bound.h"

namespace graphrun {

// Names the memory behind a slot of a bound scan's body at a step, from 0 on: a state's next value is what the next step begins
// with. A state has two names, by turns, unless it stays in one place.
std::int64_t slot_memory(const BoundScan& scan, std::size_t slot, int step);

// By instruction of a bound scan's body: whether threads that share it by columns wait for each other before it.
std::vector<char> barriers_before(const BoundScan& scan, const ProgramLayout& layout);

// Whether rows of a bound scan's body keep apart in memory, `rows` of every result by its last axis: a thread at another step
// with other rows touches nothing of theirs. Blocks of the body that take turns in the same bytes are not cut at the same
// places unless they are of one size; and what a step makes must be read as the same rows.
bool rows_keep_apart(const BoundScan& scan, const ProgramLayout& layout, std::int64_t rows);

}  // namespace graphrun
