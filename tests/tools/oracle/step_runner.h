// A network cut for generation, as the model of a beam search. It runs the prologue once for a batch of sentences and the step
// once per word, both on the CPU; states move with their hypotheses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/generation.h"
#include "runtime/execute/executable.h"
#include "tests/tools/oracle/beam_search.h"
#include "tools/generate/step_values.h"

namespace graphrun {

class StepRunner : public StepModel {
 public:
  struct Options {
    std::vector<std::string> fetches;  // those fetches of the specification that are kept for every step
    std::int64_t most = 1;             // the largest count with which step() is called
    bool asked = false;                // whether rows request scores of words
  };
  // FLOAT is float32. Throws what compiling throws.
  StepRunner(const GenerationGraphs& cut, Options options, std::shared_ptr<Variables> variables);

  const Program& prologue() const { return prologue_.program(); }
  const Program& steps() const { return step_.program(); }

  // Starts over with these feeds, of `sentences` rows, for at most `most_steps` steps. Feeds that the prologue does not need
  // are ignored.
  void begin(const Feeds& feeds, std::int64_t sentences, std::int64_t most_steps);

  Candidates step(const std::vector<Row>& rows, std::int64_t count) override;

  // Row r of fetch k in step t.
  Fetched fetched(std::size_t k, std::int64_t t, std::int64_t row) const;
  // The k-th of the fetches that do not depend on words, for one sentence.
  Fetched whole(std::size_t k, std::int64_t sentence) const;

 private:
  struct Carried {
    GenerationGraphs::Carried what;
    Tensor now;       // with the rows of the next step
    Tensor original;  // for a constant: one row for each sentence
    bool fed = false;
  };

  void lay_out(const std::vector<Row>& rows, std::int64_t padded);
  void follow(const std::vector<Row>& rows, std::int64_t padded);
  Tensor zeros_for(const GenerationGraphs::Carried& state, std::int64_t rows) const;
  bool has_history(const GenerationGraphs::Carried& state) const;
  Feeds feeds_of(const std::vector<Row>& rows, std::int64_t padded) const;
  Candidates candidates_of(const std::vector<Tensor>& made, std::int64_t rows, std::int64_t count) const;

  const GenerationGraphs cut_;  // without the graphs
  const Options options_;
  std::vector<ir::TensorType> fetch_types_;  // of a step
  const std::vector<ir::TensorType> whole_types_;
  std::vector<Carried> constants_, states_;
  Executable prologue_, step_;

  std::int64_t capacity_ = 0, steps_done_ = 0;
  std::vector<std::int64_t> sentence_of_row_;
  std::vector<std::vector<Tensor>> kept_;  // by step, then fetch
  std::vector<Tensor> whole_;
};

}  // namespace graphrun
