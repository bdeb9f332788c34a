// Feed expressions: what the graph is fed, computed from an example's fields.
//
//   words                a field
//   ['<s>', english]     joined along the first sequence axis; a word is an entry of the vocabulary of what it is joined with
//   text[1:], text[:-1]  a slice of the first axis, as in Python; text[0] one element
//   length(words)        the number of steps; of a sequence of sequences: that of each inner one
//   [0, prices[:-1]]     a number joins what is FLOAT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/shape.h"
#include "tools/data/spec.h"
#include "tools/text/vocabulary.h"

namespace graphrun {

using Vocabularies = std::map<std::string, Vocabulary>;  // by field

class FeedPlan {
 public:
  struct Feed {
    std::string name;
    int depth = 0;                 // sequence axes: the tensor's rank is one more
    bool numbers = false;          // FLOAT: numbers as they stand in its fields; else INT32
    std::string field;             // whose entries its numbers are; empty: they are lengths, or `numbers`
    std::set<std::string> fields;  // that it reads
    Location at;                   // of its name in the job
    bool sound = true;             // without a mistake
    // What the network that reads it expects; see need().
    bool needed = false;
    std::string shape;                // of the network's input
    std::vector<std::int64_t> sizes;  // of the sequence axes; kAnySize for one that each example decides
  };
  static constexpr std::int64_t kAnySize = -1;

  // Types every feed; adds what does not fit to `problems` (E0412 unknown-name, E0413 bad-feed, E0416 named-twice), each feed's
  // mistakes at their places.
  FeedPlan(const DataSpec& data, std::vector<Diagnostic>& problems);

  const std::vector<Feed>& feeds() const { return feeds_; }
  const Feed* feed(std::string_view name) const;
  bool sound() const;                               // every feed
  const Location& location() const { return at_; }  // of the first, in the job
  // The words that feeds join to a field: its vocabulary must have them.
  std::vector<std::string> words_of(const std::string& field) const;
  // Looks the words up. Throws UserError (kBadData, E0647) where a vocabulary lacks one.
  void bind(const Vocabularies& vocabularies);

  // A network reads this feed into an input of that shape: [time, 2, batch], which in an INT32 or FLOAT feed of depth 2 makes
  // every inner sequence 2 long. Throws InternalError where there is no such feed.
  void need(std::string_view feed, const Shape& shape);
  // Whether there are examples that evaluate() would refuse.
  bool may_not_fit(std::size_t feed) const;

  // A feed that is some steps of one field, in their order: which. Nothing where it is more than that.
  struct Run {
    std::size_t field = 0;
    std::int64_t begin = 0, end = 0;
  };
  std::optional<Run> run_of(std::size_t feed, const std::function<std::int64_t(std::size_t field)>& steps) const;

  // The feed's value for an example; `fields` by the order of the job's. Needs bind(). Throws UserError (kBadData), of no
  // place: E0648 where an index lies outside of the example, E0623 where a sequence has another size than the network's shape
  // says.
  Nested evaluate(std::size_t feed, const std::vector<Nested>& fields) const;

 private:
  struct FeedTerm {
    enum class Kind : std::uint8_t { kField, kWord, kNumber, kJoin, kSlice, kAt, kLength } kind = Kind::kField;
    int depth = 0;
    bool numbers = false;     // FLOAT
    std::size_t field = 0;    // kField
    std::string word;         // kWord
    std::int32_t number = 0;  // kWord, once bound; kNumber: its bits
    std::string vocabulary;   // the field whose entries it has
    std::int64_t begin = 0, end = 0;
    bool open_end = false;
    std::vector<FeedTerm> parts;
  };
  class Typer;

  static bool takes_element(const FeedTerm& term);
  static void check_sizes(const Feed& feed, const Nested& value);
  static void bind(FeedTerm& term, const Vocabularies& vocabularies);
  static void collect_words(const FeedTerm& term, const std::string& field, std::vector<std::string>& words);
  Nested evaluate(const FeedTerm& term, const std::vector<Nested>& fields) const;
  static std::optional<Run> run_of(const FeedTerm& term, const std::function<std::int64_t(std::size_t field)>& steps);

  std::vector<Feed> feeds_;
  std::vector<FeedTerm> terms_;
  bool stream_ = false;
  Location at_;
};

}  // namespace graphrun
