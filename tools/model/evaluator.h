// A network's reports over a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/execute/executable.h"
#include "tools/data/batch_source.h"
#include "tools/model/model_folder.h"
#include "tools/model/results.h"
#include "tools/model/writings.h"
#include "tools/report/report.h"

namespace graphrun {

class Evaluator {
 public:
  // `graph`: the network in inference. `network`, whose report is bound, must outlive it. Throws UserError (kInvalidGraph,
  // E0412, E0421) where a formula names what is neither output nor feed, or the graph wants what is not fed.
  // `weights`: of the network itself; infer blocks have their own.
  Evaluator(const ir::Graph& graph, const Network& network, const Device& device = cpu_device(),
            WeightForm weights = WeightForm::kFloat32);

  // Takes the memory that evaluating this set needs, see Executable::reserve.
  void reserve(const Dataset& set);
  // `set` was read with the report's text_fields(). `parameters` holds every parameter of the graph. A stream is read as one
  // row, so that every symbol counts and each has all those before it behind it. Nothing where `stop` said so between two
  // batches.
  std::optional<ReportResults> evaluate(const Dataset& set, const Variables& parameters,
                                        const std::function<bool()>& stop = {});
  // The reports of each example alone, in the set's order; those that compare text are left out. Not of a
  // stream, which has no examples.
  void evaluate_each(const Dataset& set, const Variables& parameters,
                     const std::function<void(std::int64_t example, const ReportResults&)>& visit);
  // What the last evaluation read: examples, of a stream windows; and real steps, of the first feed that is a sequence.
  std::int64_t examples() const { return examples_; }
  std::int64_t tokens() const { return tokens_; }
  // What the last evaluation wrote, line by line: train.validate.samples examples of it.
  const std::vector<std::string>& samples() const { return writings_.samples(); }

 private:
  BatchOptions batch_options() const;
  void take(const Variables& parameters);
  void add(const Batch& batch);

  const DataSpec& data_;
  const FeedPlan& plan_;
  Report& report_;
  std::vector<std::string> fed_;       // feeds that the graph wants
  std::vector<std::string> reported_;  // feeds that formulas name
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  std::unique_ptr<Executable> executable_;
  Writings writings_;
  std::int64_t examples_ = 0, tokens_ = 0;
};

// The names that formulas of reports may say: outputs and feeds.
std::vector<std::string> available(const ir::Graph& graph, const FeedPlan& plan);
// Erases the states of a stream: the next run begins with zeros.
void clear_states(const Program& program, Variables& variables);
// That nothing feeds this input (E0421).
Diagnostic not_fed(const std::string& input, const FeedPlan& plan);
// The feeds of a batch that a program needs, without `told` and what the caller sets itself, such as the learning rate. Marks
// them in the plan with their shapes: data that is read afterwards is checked against these (FeedPlan::need). Throws UserError
// (kInvalidGraph, E0421) naming the inputs that the job does not feed.
std::vector<std::string> need_feeds(const Program& program, FeedPlan& plan, const std::set<std::string>& told = {});

}  // namespace graphrun
