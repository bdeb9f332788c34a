// A mean, sum, deviation or correlation over groups of elements: `mean(encode.forward.i, lengths=lengths) by tags`.
//
// Groups are by
//   FEED               the entries of a feed, or its whole numbers: [batch], or [time, batch], the leading axes of the values
//   position           the index along the first axis, from 1
//   length(FEED, 10)   ranges of a feed of lengths, [batch]: 0 to 9, 10 to 19, …
#pragma once

#include <memory>

#include "tools/report/named_measures.h"

namespace graphrun {

// Throws UserError (kInvalidGraph, E0414).
std::unique_ptr<NamedMeasure> make_grouped(const ir::Expression& of, const ir::Expression& by);

}  // namespace graphrun
