// A trained network that makes words: an infer block's `generate`, ready to run on batches.
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

// What `mode` says of the graph (in inference) that does not fit it, or the vocabulary of what is made, each at its place.
void check_generate(const ir::Graph& graph, const Network& network, const InferSpec& mode, std::vector<Diagnostic>& problems);

// What a batch's rows are given besides their feeds.
struct RowsGiven {
  std::vector<std::vector<std::int32_t>> prefix;  // by row, or empty: see Sentences::prefix
  std::vector<std::uint64_t> keys;                // by row: of a sample's random numbers; empty: by the row's number
};

struct GeneratorOptions {
  std::vector<std::string> fetches;  // values of every step, to look at
  bool prefix = false;               // whether rows are given prefixes
  const Device* device = &cpu_device();
};

class Generator {
 public:
  // Throws UserError (kInvalidGraph) where check_generate finds something. It wants parameters before it runs.
  Generator(const ir::Graph& graph, const Network& network, const InferSpec& mode, GeneratorOptions options);
  // The same with a model's parameters; throws set_parameters' errors too.
  Generator(const ir::Graph& graph, const Network& network, const InferSpec& mode, const Parameters& parameters,
            GeneratorOptions options);

  // Another one of the same network and parameters, for runs on another thread at the same time: see Executable::share.
  std::unique_ptr<Generator> share() const;
  bool can_share() const { return search_->can_share(); }

  // `parameters` holds every parameter of the graph. Others that share them see it too; none of them may be running.
  void take(const Variables& parameters);

  // The job's feeds that it reads.
  const std::vector<std::string>& feeds() const { return feeds_; }
  // Whether it reads none, a language model say: then only the words that its rows begin with tell them apart, and
  // RowsGiven::prefix may be given whatever the options say.
  bool takes_prompts() const { return feeds_.empty(); }
  // The best of each row, or its samples. They do not depend on the other rows.
  std::vector<std::vector<Hypothesis>> run(const Batch& batch, const RowsGiven& given = {});
  // Of a hypothesis of the last run, one of the batch's `row`, where the mode aligns: the weights of the first `units`
  // positions of its input.
  std::optional<Alignment> alignment(const Hypothesis& hypothesis, std::size_t units, std::int64_t row) const;
  // Of the same, what was fetched in each of its steps. Axes over the input's positions end where the
  // row does.
  std::map<std::string, std::vector<Fetched>> fetched(const Hypothesis& hypothesis, std::int64_t row) const;
  // What was fetched that no word changes (an encoder's values): the row's own.
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
  std::vector<std::string> of_steps_, whole_;        // what is fetched of each step; what no word changes
  std::vector<std::string> feeds_;
  std::vector<std::pair<Symbol, std::string>> lengths_;  // of max_length: each size, and the feed that holds each row's
  // Of what is fetched, by name: axes over the input's positions, the rows' own left out, and the feed that holds each row's.
  std::map<std::string, std::vector<std::pair<std::size_t, std::string>>> own_positions_;
  Feeds rows_;  // of the last run, those feeds
};

}  // namespace graphrun
