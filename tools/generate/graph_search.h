// Searches for words with a cut network. The search is part of the step's graph (search_graph.h), on every device; the host
// decides which rows a step has. On a device, words and states stay in its memory from step to step, and the host only checks
// occasionally which sentences are done. There, the addresses of a step's feeds recur, so that most steps are replayed from
// recordings.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/generation.h"
#include "runtime/execute/executable.h"
#include "tools/generate/kept_steps.h"
#include "tools/generate/row_picker.h"
#include "tools/generate/search_options.h"
#include "tools/generate/step_values.h"

namespace graphrun {

struct GraphSearchOptions {
  std::vector<std::string> fetches;  // values to keep for every step, among the fetches of the spec that made the cut
  SearchOptions search;
  Target target = {};
  Profiler* profiler = nullptr;  // see RunOptions
  // On the CPU, histories that begin as zeros have room for this many steps at first. When it is used up, they grow by as many,
  // or by an eighth if that is more, because attention is computed over all of the room; each size is a shape to which the step
  // is bound. A device records its work for each shape, so on a device histories have room for the longest sentence from the
  // start.
  std::int64_t room = 4;
};

class GraphSearch {
 public:
  // FLOAT is float32. Throws what compiling throws.
  GraphSearch(const GenerationGraphs& cut, GraphSearchOptions options, std::shared_ptr<Variables> variables);

  // Another search with the same network, for concurrent runs on another thread: see Executable::share.
  std::unique_ptr<GraphSearch> share() const;
  bool can_share() const { return prologue_.can_share() && step_.can_share(); }

  const Program& prologue() const { return prologue_.program(); }
  const Program& steps() const { return step_.program(); }
  // How many steps the last run had; how many of the steps of all runs a device replayed (Executable::runs_played).
  std::size_t steps_done() const { return layouts_.size(); }
  std::size_t steps_played() const { return step_.runs_played(); }

  // Returns the n best hypotheses of each sentence, best first (fewer if fewer end), or its samples in the order of their
  // draws. The sentences are the rows of the feeds, as many as max_length has; feeds that the prologue does not need are
  // ignored. If the cut has a shortlist, its inputs are fed too: at least min(most_candidates, vocabulary) words, among them
  // the end symbol and the words of prefixes. Results of a sentence do not depend on other sentences. Log-probabilities are
  // compared as float32 sums, so hypotheses that differ by less than a millionth may come in either order.
  std::vector<std::vector<Hypothesis>> run(const Feeds& feeds, const Sentences& given);

  // Frees the memory of histories, which is otherwise kept for the next run.
  void free_histories() { spare_.clear(); }

  // The value of fetch k in row `row` of step t of the last run.
  Fetched fetched(std::size_t k, std::int64_t t, std::int64_t row) const;
  // The k-th of the fetches that no word changes, for one sentence.
  Fetched whole(std::size_t k, std::int64_t sentence) const;

 private:
  // The places that have a row in a step.
  struct Layout {
    std::vector<std::int64_t>
        places;  // by row: s·B + place. A place may occur twice, so that there are few different numbers of rows
    std::vector<bool> has_row;  // by place
    bool in_order = false;      // row i is place i, for every place
    bool covers(const std::vector<bool>& needed) const;
  };
  // The executables made from the cut's graphs.
  struct SearchParts {
    Executable prologue, step;
    std::vector<ir::TensorType> fetch_types, whole_types;
  };
  GraphSearch(const GenerationGraphs& cut, GraphSearchOptions options, std::int64_t samples, SearchParts made);

  std::int64_t beam() const { return options_.search.beam; }
  std::int64_t sentences() const { return static_cast<std::int64_t>(given_.max_length.size()); }  // sentences that are searched
  bool shares_constants() const { return by_row_.size() < cut_.constants.size(); }
  bool on_host() const { return options_.target.device->is_cpu(); }
  bool looks_before(std::int64_t step) const;
  std::int64_t last_before_look(std::int64_t step) const;

  void take(const Sentences& given);
  void begin(const Feeds& feeds);
  void begin_search(std::span<const std::int32_t> list);
  std::vector<bool> places_needed(bool look) const;
  void lay_out(std::vector<bool> needed);
  void keep_rows();
  void feed(const Layout& layout);
  bool continue_rows();
  void begin_rows();
  void make_room_in_histories();
  void follow_parents(bool moved);
  void step();
  std::vector<std::vector<Hypothesis>> found() const;
  Hypothesis hypothesis(std::int64_t step, std::int64_t place) const;
  void forget();

  const GenerationGraphs cut_;                              // without its graphs
  const std::int64_t samples_;                              // samples per sentence; each is searched as a sentence of its own
  const GraphSearchOptions options_;                        // beam and n_best of each searched sentence
  const std::vector<GenerationGraphs::Carried> followers_;  // values that follow their parents: states and the word
  const std::vector<GenerationGraphs::Carried> begun_;      // states that the prologue computes
  const std::vector<GenerationGraphs::Carried> by_row_;     // constants that each row has for itself
  const std::vector<ir::TensorType> fetch_types_;           // fetches of a step
  const std::vector<ir::TensorType> whole_types_;
  Executable prologue_, step_;
  RowPicker pick_constants_, pick_begun_, follow_;

  Sentences given_;                            // of the searched sentences
  std::int64_t longest_ = 0;                   // the most words of any sentence
  std::vector<Tensor> constants_;              // those in by_row_, with a row for each sentence
  std::map<std::string, Tensor> now_;          // feeds of the next step
  std::vector<std::int64_t> sentence_of_row_;  // by row of the constants in `now_` that are in by_row_
  std::shared_ptr<const Layout> layout_;       // of the next step
  std::int64_t capacity_ = 0;                  // the steps that histories have room for
  // On the CPU, by state: the histories that began as zeros in the last search. The next one begins in their memory.
  std::map<std::string, Tensor> spare_;
  KeptSteps done_;
  std::vector<std::shared_ptr<const Layout>> layouts_;  // of the steps done
  std::vector<Tensor> whole_;
  Tensor words_, parents_, continues_;  // results of the last step
};

}  // namespace graphrun
