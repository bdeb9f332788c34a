// What a job says about data, as plain structs: files, format, fields, feeds, batches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/expression.h"
#include "runtime/status.h"
#include "tools/data/vocabulary.h"

namespace graphrun {

enum class Format : std::uint8_t { kLines, kConll, kSegmented, kStream, kTsv };
enum class Split : std::uint8_t { kNone, kSpace, kCharacter };
enum class Derive : std::uint8_t { kGiven, kBmes };

struct FieldSpec {
  std::string name;
  int column = 0;  // CONLL, TSV: from 0
  Split split = Split::kNone;
  Derive derive = Derive::kGiven;
  std::int64_t longest = 0;  // of training examples; 0: no limit
  VocabularyRules vocabulary;
  std::string vocabulary_file;  // empty: built from the training data
  Location at;                  // in the job
};

// A feed of the graph: an expression over fields.
struct FeedExpression {
  std::string name;
  ir::Expression value;
  Location at;
};

struct DataSpec {
  Format format = Format::kLines;
  std::string end_of_line = "<eos>";  // STREAM
  std::vector<FieldSpec> fields;
  std::vector<FeedExpression> feeds;
  std::int64_t rows = 1;
  std::string bucket_by;                        // a field; empty: none
  std::int64_t window = 0;                      // STREAM
  std::vector<std::string> train, valid, test;  // paths that open from where the program runs

  const FieldSpec* field(std::string_view name) const {
    for (const FieldSpec& f : fields)
      if (f.name == name) return &f;
    return nullptr;
  }
};

// How often a field's value is a sequence: 0 a symbol, 1 a sequence of symbols, 2 a sequence of sequences.
int field_depth(const DataSpec& data, const FieldSpec& field);

// A value of that many sequence axes; of depth 2 flat, with the lengths of the inner sequences.
struct Nested {
  int depth = 0;
  std::vector<std::int32_t> values;
  std::vector<std::int32_t> lengths;  // depth 2

  // Steps along the first sequence axis.
  std::int64_t steps() const { return depth == 0 ? 1 : static_cast<std::int64_t>(depth == 1 ? values.size() : lengths.size()); }
};

}  // namespace graphrun
