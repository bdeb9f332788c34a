// A trained network that generates words: an infer block's `generate`, ready to run on batches.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "tools/data/batch.h"
#include "tools/generate/graph_search.h"
#include "tools/infer/generated.h"
#include "tools/model/model_folder.h"
#include "tools/model/row_shortlists.h"

namespace graphrun {

// Reports what in `mode` does not fit the graph (in inference) or the vocabulary of the generated words, with locations.
void check_generate(const ir::Graph& graph, const Network& network, const InferSpec& mode, std::vector<Diagnostic>& problems);

// What the rows of a batch have in addition to their feeds.
struct RowsGiven {
  std::vector<std::vector<std::int32_t>> prefix;  // by row, or empty; see Sentences::prefix
  // By row, or empty if nothing is sampled. The key and the seed determine the random numbers, so rows with equal keys have
  // equal samples.
  std::vector<std::uint64_t> keys;
};

struct GeneratorOptions {
  std::vector<std::string> fetches;  // values of every step to return
  bool prefix = false;               // whether rows may have prefixes
  const Device* device = &cpu_device();
};

class Generator {
 public:
  // Throws UserError (kInvalidGraph) if check_generate reports anything. It needs parameters before it can run.
  Generator(const ir::Graph& graph, const Network& network, const InferSpec& mode, GeneratorOptions options);
  // The same with a model's parameters; also throws set_parameters' errors.
  Generator(const ir::Graph& graph, const Network& network, const InferSpec& mode, const Parameters& parameters,
            GeneratorOptions options);

  // Another generator with the same network and parameters, for concurrent runs on another thread: see Executable::share.
  std::unique_ptr<Generator> share() const;
  bool can_share() const { return search_->can_share(); }

  // `parameters` has every parameter of the graph. Generators that share parameters see the change too; none may be running.
  void take(const Variables& parameters);

  // The job's feeds that it reads.
  const std::vector<std::string>& feeds() const { return feeds_; }
  // Whether it reads none, like a language model. Rows then differ only in the words that they begin with, and
  // RowsGiven::prefix is allowed whatever the options say.
  bool takes_prompts() const { return feeds_.empty(); }
  // The best hypotheses of each row, or its samples. They do not depend on the other rows.
  std::vector<std::vector<Hypothesis>> run(const Batch& batch, const RowsGiven& given = {});
  // Frees memory that is otherwise kept for the next run: see GraphSearch::free_histories.
  void free_histories();
  // If the mode aligns: the weights of the first `units` input positions, for a hypothesis of the last run that belongs to row
  // `row` of the batch.
  std::optional<Alignment> alignment(const Hypothesis& hypothesis, std::size_t units, std::int64_t row) const;
  // For such a hypothesis: the values fetched in each of its steps. Axes over the input's positions have the row's own length.
  std::map<std::string, std::vector<Fetched>> fetched(const Hypothesis& hypothesis, std::int64_t row) const;
  // The row's part of the fetched values that no word changes, such as those of an encoder.
  std::map<std::string, Fetched> whole(std::int64_t row) const;

 private:
  Generator(const Generator& other);
  Feeds feeds_of(const Batch& batch, const RowsGiven& given) const;
  const GenerateSpec& spec() const { return *mode_.generate; }
  std::vector<std::int64_t> most_words(const Batch& batch) const;
  std::array<const Program*, 2> programs() const;
  void read_too(const std::string& feed);
  void find_positions(const GenerationGraphs& cut);
  Fetched own_part(const std::string& name, Fetched all, std::int64_t row) const;

  const InferSpec mode_;
  const GeneratorOptions options_;
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  std::unique_ptr<GraphSearch> search_;
  std::shared_ptr<const RowShortlists> shortlists_;  // null: the search is among all words
  std::vector<std::string> of_steps_, whole_;        // fetches of each step; fetches that no word changes
  std::vector<std::string> feeds_;
  std::vector<std::pair<Symbol, std::string>> lengths_;  // the sizes in max_length, and the feed that contains each row's value
  // By name of a fetch: its axes over the input's positions (not counting the axis of rows), and the feed that contains each
  // row's length.
  std::map<std::string, std::vector<std::pair<std::size_t, std::string>>> own_positions_;
  Feeds rows_;  // these feeds in the last run
};

}  // namespace graphrun
