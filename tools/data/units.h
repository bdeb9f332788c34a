// What a field sees of a record: its symbols, by the field's splits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/data/records.h"
#include "tools/data/spec.h"

namespace graphrun {

// The symbols end to end, and at depth 2 how many of them each step of the first axis has.
struct Units {
  std::vector<std::string> symbols;
  std::vector<std::int32_t> lengths;
};

// `subwords`: of a field that is split into such.
// Throws UserError (kBadData) where the record has no such symbols: an empty label (E0643), a value of JSON of another kind
// (E0652).
Units units_of(const DataSpec& data, const FieldSpec& field, const Record& record, const Subwords* subwords = nullptr);

// As many, with the characters that stand in the record where the field normalises entries; subwords are those of the
// normalised text.
std::vector<std::string> units_as_written(const DataSpec& data, const FieldSpec& field, const Record& record,
                                          const Subwords* subwords = nullptr);

// The texts that a field cuts into subwords, normalised: one axis less deep than its pieces.
Units uncut_units(const DataSpec& data, const FieldSpec& field, const Record& record);
// Their pieces: what units_of gives for the record. Of it no more than its place is read. Throws as units_of.
Units cut_units(const DataSpec& data, const FieldSpec& field, const Record& record, const Units& uncut,
                const Subwords& subwords);

// The field's text as it stands in the record, with a space between the parts of a list and the words of a sentence; words
// that are joined by the field's joiner are one.
std::string text_in(const DataSpec& data, const FieldSpec& field, const Record& record);

// The line of the record's file in which symbol number `symbol` of the field stands.
std::int64_t line_of(const DataSpec& data, const Record& record, const Units& units, std::size_t symbol);

}  // namespace graphrun
