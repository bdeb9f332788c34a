// Which memory the steps of a scan's body read and write, and where threads must therefore wait for each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/program/arena.h"
#include "runtime/program/bound.h"

namespace graphrun {

// The name of the memory behind a body's slot at a step, from 0: the next value of a state is the memory that the next step
// starts from. A state alternates between two names, unless it is updated in place.
std::int64_t slot_memory(const BoundScan& scan, std::size_t slot, int step);

// For each instruction of a bound scan's body: whether threads that share the body by columns need a barrier before it.
// `elsewhere`, if given: whether an operand of an instruction is read from a copy, and not from its memory.
using ReadElsewhere = std::function<bool(std::size_t instruction, std::size_t operand)>;
std::vector<char> barriers_before(const BoundScan& scan, const ProgramLayout& layout, const ReadElsewhere& elsewhere = {});

// Whether different rows of a bound scan's body never share memory, if every result consists of `rows` rows along its last
// axis. Threads that own different rows can then be at different steps. This requires that blocks of the body that reuse the
// same bytes have the same size, so that they are divided at the same places, and that what a step computes is read as the same
// rows, and that each kernel reads only the rows that it writes; gather, for example, may read any row.
bool rows_keep_apart(const BoundScan& scan, const ProgramLayout& layout, std::int64_t rows);

}  // namespace graphrun
