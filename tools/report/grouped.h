// A mean, sum, deviation or correlation over groups of elements: `mean(encode.forward.i, lengths=lengths) by tags`; and what
// any report is grouped by.
//
// Groups are by
//   FEED               the entries of a feed, or its whole numbers: [batch], or [time, batch], the leading axes of the values
//   position           the index along the first axis, from 1
//   length(FEED, 10)   ranges of a feed of lengths, [batch]: 0 to 9, 10 to 19, …
//
// Reports on generated text (text_measure.h) are by a field instead of a feed: by its only entry, or by ranges of its length.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tools/report/named_measures.h"

namespace graphrun {

struct GroupedBy {
  std::optional<NameUse> of;  // the feed or field; absent: by position
  std::int64_t width = 0;     // of ranges of lengths; 0: by entries
  std::string text;           // "length(lengths, 10)"

  std::string range(std::int64_t number) const;  // "10-19"
};
// Throws UserError (kInvalidGraph, E0414).
GroupedBy parse_grouped_by(const ir::Expression& by);

// Throws UserError (kInvalidGraph, E0414).
std::unique_ptr<NamedMeasure> make_grouped(const ir::Expression& of, const ir::Expression& by);

}  // namespace graphrun
