// The search for words over a cut network: it is part of the step's graph (search_graph.h), on every device. The host decides
// which rows a step has. On a device words and states stay in its memory from step to step, and the host looks only now and
// then at what is done.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/generation.h"
#include "runtime/execute/executable.h"
#include "tools/generate/row_picker.h"
#include "tools/generate/search_options.h"
#include "tools/generate/step_values.h"

namespace graphrun {

struct GraphSearchOptions {
  std::vector<std::string> fetches;  // of the spec that made the cut, the ones kept of every step
  SearchOptions search;
  Target target = {};
  Profiler* profiler = nullptr;  // see RunOptions
};

class GraphSearch {
 public:
  // FLOAT is float32. Throws what compiling throws.
  GraphSearch(const GenerationGraphs& cut, GraphSearchOptions options, std::shared_ptr<Variables> variables);

  // Another search of the same network, for runs on another thread at the same time: see Executable::share.
  std::unique_ptr<GraphSearch> share() const;
  bool can_share() const { return prologue_.can_share() && step_.can_share(); }

  const Program& prologue() const { return prologue_.program(); }
  const Program& steps() const { return step_.program(); }

  // The n best of each sentence, best first, fewer where fewer end; or its samples, in the order of their draws. As many
  // sentences as max_length has, the rows of the feeds; feeds beyond what the prologue needs are passed over. If the cut has a
  // shortlist, its inputs are fed too: min(most_candidates, vocabulary) words or more, the end and those of prefixes among
  // them. What a sentence gives does not depend on the others. Log-probabilities are compared as float32 sums: hypotheses that
  // are alike to a millionth may come in either order.
  std::vector<std::vector<Hypothesis>> run(const Feeds& feeds, const Sentences& given);

  // What step t of the last run gave for fetch k, row r of it.
  Fetched fetched(std::size_t k, std::int64_t t, std::int64_t row) const;
  // Of the fetches that no word changes the k-th, for one sentence.
  Fetched whole(std::size_t k, std::int64_t sentence) const;

 private:
  // Which places have a row in a step.
  struct Layout {
    std::vector<std::int64_t> places;  // by row: s·B + place. One may stand twice, so that few numbers of rows occur
    std::vector<bool> has_row;         // by place
    bool in_order = false;             // every place has one row, its own number
    Tensor place_of, row_of;           // where the step runs: see search_names
    bool covers(const std::vector<bool>& needed) const;
  };
  // A step that was done.
  struct Done {
    std::shared_ptr<const Layout> layout;
    Tensor words, parents, gains;  // of what it chose, by place
    std::vector<Tensor> fetches;
  };

  // What is made of the cut's graphs.
  struct SearchParts {
    Executable prologue, step;
    std::vector<ir::TensorType> fetch_types, whole_types;
  };
  GraphSearch(const GenerationGraphs& cut, GraphSearchOptions options, std::int64_t samples, SearchParts made);

  std::int64_t beam() const { return options_.search.beam; }
  std::int64_t sentences() const { return static_cast<std::int64_t>(given_.max_length.size()); }  // that are searched
  bool on_host() const { return options_.target.device->is_cpu(); }
  bool looks_before(std::int64_t step) const;
  std::int64_t last_before_look(std::int64_t step) const;

  void take(const Sentences& given);
  void begin(const Feeds& feeds);
  void begin_search(std::span<const std::int32_t> list);
  std::vector<bool> places_needed(bool look) const;
  void lay_out(std::vector<bool> needed);
  bool continue_rows();
  void begin_rows();
  void follow_parents(bool moved);
  void step();
  std::vector<std::vector<Hypothesis>> found() const;
  Hypothesis hypothesis(std::int64_t step, std::int64_t place) const;
  void forget();

  const GenerationGraphs cut_;                              // without the graphs
  const std::int64_t samples_;                              // of each sentence; each is searched as a sentence of its own
  const GraphSearchOptions options_;                        // beam and n_best of what is searched
  const std::vector<GenerationGraphs::Carried> followers_;  // what follows its parents: states and the word
  const std::vector<GenerationGraphs::Carried> begun_;      // states that the prologue makes
  const std::vector<ir::TensorType> fetch_types_;           // of a step
  const std::vector<ir::TensorType> whole_types_;
  Executable prologue_, step_;
  RowPicker pick_constants_, pick_begun_, follow_;

  Sentences given_;                            // of what is searched
  std::int64_t longest_ = 0;                   // the most words of any
  std::vector<Tensor> constants_;              // a row for each sentence
  std::map<std::string, Tensor> now_;          // what the next step is fed
  std::vector<std::int64_t> sentence_of_row_;  // of the constants in `now_`
  std::shared_ptr<const Layout> layout_;       // of the next step
  std::vector<Done> done_;
  std::vector<Tensor> whole_;
  Tensor goes_on_;
};

}  // namespace graphrun
