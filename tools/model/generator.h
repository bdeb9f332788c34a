// A trained network that makes words: an infer block's `generate`, ready to run on batches.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "tools/data/batch.h"
#include "tools/generate/step_runner.h"
#include "tools/model/model_folder.h"

namespace graphrun {

// What `mode` says of the graph (in inference) that does not fit it, or the vocabulary of what is made, each at its place.
void check_generate(const ir::Graph& graph, const Network& network, const InferSpec& mode, std::vector<Diagnostic>& problems);

class Generator {
 public:
  // Throws UserError (kInvalidGraph) where check_generate finds something. It wants parameters before it runs.
  Generator(const ir::Graph& graph, const Network& network, const InferSpec& mode, Device device);
  // The same with a model's parameters; throws set_parameters' errors too.
  Generator(const ir::Graph& graph, const Network& network, const InferSpec& mode, const Parameters& parameters,
            Device device = Device::kCpu);

  // `parameters` holds every parameter of the graph.
  void take(const Variables& parameters);

  // The job's feeds that it reads.
  const std::vector<std::string>& feeds() const { return feeds_; }
  // The best of each row. They do not depend on the other rows.
  std::vector<std::vector<Hypothesis>> run(const Batch& batch);

 private:
  const GenerateSpec& spec() const { return *mode_.generate; }
  std::vector<std::int64_t> most_words(const Batch& batch) const;

  const InferSpec mode_;
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  std::unique_ptr<StepRunner> model_;
  std::vector<std::string> feeds_;
  std::vector<std::pair<Symbol, std::string>> lengths_;  // of max_length: each size, and the feed that holds each row's
  std::int32_t begin_ = 0, end_ = 0;
};

}  // namespace graphrun
