// Feed expressions: the inputs of the graph, computed from an example's fields.
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
    int depth = 0;                 // number of sequence axes; the tensor's rank is one more
    bool numbers = false;          // FLOAT numbers of its fields; otherwise INT32
    std::string field;             // the field whose entries its numbers are; empty for lengths and `numbers`
    std::set<std::string> fields;  // fields that it reads
    Location at;                   // location of its name in the job
    bool sound = true;             // has no mistakes
    // What the network expects of it; see need().
    bool needed = false;
    std::string shape;                // shape of the network's input
    std::vector<std::int64_t> sizes;  // sizes of the sequence axes; kAnySize if each example decides
  };
  static constexpr std::int64_t kAnySize = -1;

  // Types every feed; adds mistakes, with their locations, to `problems` (E0412 unknown-name, E0413 bad-feed, E0416
  // named-twice).
  FeedPlan(const DataSpec& data, std::vector<Diagnostic>& problems);

  const std::vector<Feed>& feeds() const { return feeds_; }
  const Feed* feed(std::string_view name) const;
  bool sound() const;                               // every feed
  const Location& location() const { return at_; }  // location of the first feed in the job
  // The words that feeds join to a field; its vocabulary must contain them.
  std::vector<std::string> words_of(const std::string& field) const;
  // Looks up the words. Throws UserError (kBadData, E0647) if a vocabulary lacks one.
  void bind(const Vocabularies& vocabularies);

  // Records that a network reads this feed into an input of that shape. For example, [time, 2, batch] requires every inner
  // sequence of a feed of depth 2 to have length 2. Throws InternalError if there is no such feed.
  void need(std::string_view feed, const Shape& shape);
  // Whether evaluate() may refuse some examples.
  bool may_not_fit(std::size_t feed) const;

  // If a feed is a range of steps of one field, returns that range; otherwise nullopt.
  struct Run {
    std::size_t field = 0;
    std::int64_t begin = 0, end = 0;
  };
  std::optional<Run> run_of(std::size_t feed, const std::function<std::int64_t(std::size_t field)>& steps) const;

  // The feed's value for an example; `fields` in the order of the job. Requires bind(). Throws UserError (kBadData) without a
  // location: E0648 if an index is outside the example, E0623 if a sequence has a different size from the network's shape.
  Nested evaluate(std::size_t feed, const std::vector<Nested>& fields) const;

 private:
  struct FeedTerm {
    enum class Kind : std::uint8_t { kField, kWord, kNumber, kJoin, kSlice, kAt, kLength } kind = Kind::kField;
    int depth = 0;
    bool numbers = false;     // FLOAT
    std::size_t field = 0;    // kField
    std::string word;         // kWord
    std::int32_t number = 0;  // kWord: after bind(); kNumber: its bits
    std::string vocabulary;   // the field whose entries it contains
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
