// Beam search on a device: the search is part of the step's graph (search_graph.h), words and states stay in the device's
// memory from step to step, and the host looks only now and then whether sentences are done.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/generation.h"
#include "runtime/execute/executable.h"
#include "tools/generate/beam_search.h"
#include "tools/generate/row_picker.h"
#include "tools/generate/step_values.h"

namespace graphrun {

// What beam_search gives over a StepRunner, with log-probabilities summed in float32: hypotheses that are alike to a millionth
// may come in another order, and one whose log-probability is -infinity or no number is none.
class GraphSearch {
 public:
  struct Options {
    std::vector<std::string> fetches;  // of the spec that made the cut, the ones kept of every step
    SearchOptions search;              // without max_length; a prefix is not for it
    Target target = {};
    Profiler* profiler = nullptr;  // see RunOptions
  };
  // FLOAT is float32. Throws what compiling throws.
  GraphSearch(const GenerationGraphs& cut, Options options, std::shared_ptr<Variables> variables);

  const Program& prologue() const { return prologue_.program(); }
  const Program& steps() const { return first_.program(); }

  // As many sentences as `max_length`, the feeds' rows. Feeds beyond what the prologue needs are passed over.
  std::vector<std::vector<Hypothesis>> run(const Feeds& feeds, const std::vector<std::int64_t>& max_length);

  // What step t of the last run gave for fetch k, row r of it.
  Fetched fetched(std::size_t k, std::int64_t t, std::int64_t row) const;
  // Of the fetches that no word changes the k-th, for one sentence.
  Fetched whole(std::size_t k, std::int64_t sentence) const;

 private:
  // A step that was done. Its rows came from `origin` of what the step before chose; empty: from the same places.
  struct Done {
    std::vector<std::int64_t> origin;
    Tensor words, parents;  // of what it chose
    std::vector<Tensor> fetches;
  };
  struct Ends {  // of a sentence: places in what steps chose, best first
    std::vector<double> sums;
    std::vector<std::int64_t> steps, places;
  };

  void begin(const Feeds& feeds);
  void step();
  void spread_constants(std::int64_t each);
  std::vector<std::size_t> going_on() const;
  void shrink(const std::vector<std::size_t>& live);
  void take_ends();
  Hypothesis hypothesis(double sum, std::int64_t step, std::int64_t place) const;
  void pick(RowPicker& picker, const std::vector<GenerationGraphs::Carried>& what, const std::map<std::string, Tensor>& from,
            const std::vector<std::int64_t>& rows);
  void forget();

  const GenerationGraphs cut_;  // without the graphs
  const Options options_;
  const std::vector<GenerationGraphs::Carried> of_sentences_;  // what the search keeps of each
  const std::vector<GenerationGraphs::Carried> of_rows_;       // what is chosen: words and states
  std::vector<ir::TensorType> fetch_types_;                    // of a step
  const std::vector<ir::TensorType> whole_types_;
  Executable prologue_, first_;
  std::unique_ptr<Executable> next_;  // null: as the first
  RowPicker pick_constants_, pick_rows_, pick_sentences_;

  std::vector<std::int64_t> max_length_;
  std::vector<std::size_t> sentences_;       // in the batch as it is now
  std::map<std::string, Tensor> constants_;  // a row for each sentence that began
  std::map<std::string, Tensor> now_;        // what the next step is fed
  std::vector<std::int64_t> origin_;         // of its rows
  std::vector<Done> done_;
  std::vector<Tensor> whole_;
  Tensor goes_on_;
  std::map<std::size_t, Ends> ends_;  // by sentence
};

}  // namespace graphrun
