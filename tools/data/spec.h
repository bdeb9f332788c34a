// The data of a job as plain structs: files, format, fields, feeds, batches.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "compiler/ir/expression.h"
#include "runtime/base/status.h"
#include "tools/text/subwords.h"
#include "tools/text/vocabulary.h"

namespace graphrun {

enum class Format : std::uint8_t { kLines, kConll, kSegmented, kStream, kTsv, kParallel, kJsonl };
enum class Split : std::uint8_t { kSpace, kCharacter, kList, kSubwords };
enum class Normalize : std::uint8_t { kNfc, kNfkc, kLower };
enum class Derive : std::uint8_t { kGiven, kBmes };

struct FieldSpec {
  std::string name;
  int column = 0;             // CONLL, TSV: column, from 0; PARALLEL: the file
  std::string key;            // JSONL: key of the object
  bool numbers = false;       // contains FLOAT numbers and has no vocabulary; otherwise entries of one
  std::vector<Split> splits;  // each adds a sequence axis
  Derive derive = Derive::kGiven;
  std::vector<Normalize> normalize;              // applied to entries, or to text before it is split into subwords
  std::int64_t longest = 0;                      // limit for training examples; 0: none
  std::string joiner;                            // a word that ends with it continues in the next one; may be empty
  SubwordKind subword_kind = SubwordKind::kBpe;  // if it is split into subwords
  std::string subword_model;                     // a SentencePiece file; empty: trained on the training data
  double coverage = 0;                           // character coverage of subwords; 0: SentencePiece's default
  VocabularyRules vocabulary;
  std::string vocabulary_file;  // empty: built from the training data
  std::string shares;           // the field whose vocabulary it uses; empty: its own
  Location at;                  // in the job
  Location vocabulary_at;       // of vocabulary_file or subword_model

  const std::string& vocabulary_of() const { return shares.empty() ? name : shares; }
  bool in_subwords() const { return !splits.empty() && splits.back() == Split::kSubwords; }
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
  std::int64_t rows = 1;                        // the most rows of a batch; 0: only `tokens` limits it
  std::int64_t tokens = 0;                      // the most rows times the longest value of bucket_by; 0: no limit
  std::string bucket_by;                        // a field; may be empty
  std::int64_t window = 0;                      // STREAM
  std::int64_t parts = 1;                       // STREAM: batches of a window; each has rows / parts rows and its own states
  std::vector<std::string> train, valid, test;  // paths relative to the current directory
  bool sound = true;                            // files and fields have no mistakes
  // Locations in the job.
  struct {
    Location train, valid, test, feeds, rows;
  } at;

  const FieldSpec* field(std::string_view name) const {
    for (const FieldSpec& f : fields) {
      if (f.name == name) return &f;
    }
    return nullptr;
  }
};

// The depth of a field's value: 0 for a symbol, 1 for a sequence of symbols, 2 for a sequence of sequences.
inline constexpr int kDeepest = 2;
int field_depth(const DataSpec& data, const FieldSpec& field);
// The number of parallel files; 1 for any format but PARALLEL.
std::size_t files_side_by_side(const DataSpec& data);

// FLOAT values are stored by their bits, in the same type as the numbers of entries.
inline std::int32_t bits_of(float number) { return std::bit_cast<std::int32_t>(number); }
inline float float_of(std::int32_t bits) { return std::bit_cast<float>(bits); }

// A value with `depth` sequence axes; for depth 2 flat, with the lengths of the inner sequences.
struct Nested {
  int depth = 0;
  std::vector<std::int32_t> values;   // numbers of entries, lengths, or bits of FLOAT values
  std::vector<std::int32_t> lengths;  // depth 2

  // The number of steps along the first sequence axis.
  std::int64_t steps() const { return depth == 0 ? 1 : static_cast<std::int64_t>(depth == 1 ? values.size() : lengths.size()); }
  // Keeps only the first `steps`; the depth must be above 0.
  void cut(std::int64_t steps) {
    const auto left = [steps](const std::vector<std::int32_t>& of) {
      return std::min(of.size(), static_cast<std::size_t>(steps));
    };
    if (depth == 1) return values.resize(left(values));
    lengths.resize(left(lengths));
    values.resize(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}));
  }
};

}  // namespace graphrun
