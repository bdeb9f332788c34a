// The units of a field in a record: its symbols, split as the job says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/data/records.h"
#include "tools/data/spec.h"

namespace graphrun {

// The symbols, concatenated; at depth 2, also the number of them in each step of the first axis.
struct Units {
  std::vector<std::string> symbols;
  std::vector<std::int32_t> lengths;
};

// `subwords`: for a field that is split into subwords. Throws UserError (kBadData) if the record has no such symbols: an empty
// label (E0643), a JSON value of another kind (E0652).
Units units_of(const DataSpec& data, const FieldSpec& field, const Record& record, const Subwords* subwords = nullptr);

// The same number of units, but with the original characters of the record if the field normalizes entries; subwords are those
// of the normalized text.
std::vector<std::string> units_as_written(const DataSpec& data, const FieldSpec& field, const Record& record,
                                          const Subwords* subwords = nullptr);

// The normalized texts that a field splits into subwords; they have one axis less than the pieces.
Units uncut_units(const DataSpec& data, const FieldSpec& field, const Record& record);
// Their pieces, as units_of returns them for the record, of which only the position is read. Throws like units_of.
Units cut_units(const DataSpec& data, const FieldSpec& field, const Record& record, const Units& uncut,
                const Subwords& subwords);

// The field's text in the record, with a space between the parts of a list and the words of a sentence; words joined by the
// field's joiner become one.
std::string text_in(const DataSpec& data, const FieldSpec& field, const Record& record);

// The line of the record's file that contains symbol number `symbol` of the field.
std::int64_t line_of(const DataSpec& data, const Record& record, const Units& units, std::size_t symbol);

}  // namespace graphrun
