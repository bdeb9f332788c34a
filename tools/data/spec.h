// What a job says about data, as plain structs: files, format, fields, feeds, batches.
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
  int column = 0;             // from 0: CONLL, TSV; PARALLEL: the file
  std::string key;            // JSONL: of the object
  bool numbers = false;       // it holds numbers as they are, FLOAT, and has no vocabulary; else entries of one
  std::vector<Split> splits;  // each adds a sequence axis
  Derive derive = Derive::kGiven;
  std::vector<Normalize> normalize;              // of entries, of the text that is cut into subwords
  std::int64_t longest = 0;                      // of training examples; 0: no limit
  std::string joiner;                            // a word that ends with it continues in the next one; empty: none does
  SubwordKind subword_kind = SubwordKind::kBpe;  // where it is split into subwords
  std::string subword_model;                     // a file of SentencePiece's; empty: made of the training data
  double coverage = 0;                           // of characters, by subwords; 0: SentencePiece's own
  VocabularyRules vocabulary;
  std::string vocabulary_file;  // empty: built from the training data
  std::string shares;           // the field whose vocabulary it has; empty: its own
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
  std::int64_t rows = 1;                        // of a batch at most; 0: `tokens` alone says
  std::int64_t tokens = 0;                      // rows times the longest value of bucket_by, at most; 0: no limit
  std::string bucket_by;                        // a field; empty: none
  std::int64_t window = 0;                      // STREAM
  std::vector<std::string> train, valid, test;  // paths that open from where the program runs
  bool sound = true;                            // files and fields are without mistakes
  // Where the job says so.
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

// How often a field's value is a sequence: 0 a symbol, 1 a sequence of symbols, 2 a sequence of sequences.
inline constexpr int kDeepest = 2;
int field_depth(const DataSpec& data, const FieldSpec& field);
// PARALLEL: how many files stand side by side; 1 under any other format.
std::size_t files_side_by_side(const DataSpec& data);

// How the elements of a field of numbers are kept among those that are numbers of entries: by their bits.
inline std::int32_t bits_of(float number) { return std::bit_cast<std::int32_t>(number); }
inline float float_of(std::int32_t bits) { return std::bit_cast<float>(bits); }

// A value of that many sequence axes; of depth 2 flat, with the lengths of the inner sequences.
struct Nested {
  int depth = 0;
  std::vector<std::int32_t> values;   // numbers of entries, lengths, or the bits of numbers
  std::vector<std::int32_t> lengths;  // depth 2

  // Steps along the first sequence axis.
  std::int64_t steps() const { return depth == 0 ? 1 : static_cast<std::int64_t>(depth == 1 ? values.size() : lengths.size()); }
  // The first so many of them, of a depth above 0.
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
