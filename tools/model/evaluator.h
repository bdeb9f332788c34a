// Computes a network's reports over a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/communicator/communicator.h"
#include "runtime/execute/executable.h"
#include "tools/data/batch_source.h"
#include "tools/model/model_folder.h"
#include "tools/model/results.h"
#include "tools/model/writings.h"
#include "tools/report/report.h"

namespace graphrun {

class Evaluator {
 public:
  // `graph`: the network in inference. `network`, whose report is bound, must outlive it. `weights`: the form of the network's
  // weights; infer blocks have their own. Throws UserError (kInvalidGraph): E0412 if a formula names something that is neither
  // output nor feed, E0421 if the graph needs an input that is not fed.
  Evaluator(const ir::Graph& graph, const Network& network, const Device& device = cpu_device(),
            WeightForm weights = WeightForm::kFloat32);

  // Allocates the memory that evaluating this set needs; see Executable::reserve.
  void reserve(const Dataset& set);
  // `set` was read with the report's text_fields(); `parameters` has every parameter of the graph. A stream is read as one row,
  // so that every symbol counts and is preceded by all earlier ones. nullopt if `stop` returned true between two batches.
  //
  // `together`: processes that share the batches; null if there is only this one. All of them call it. Process 0 adds the
  // results in the order of the batches, so they have the same bits as with one process; the others return nullopt, and so does
  // process 0 if `stop` returned true in any process. Throws PeerEnd.
  std::optional<ReportResults> evaluate(const Dataset& set, const Variables& parameters, const std::function<bool()>& stop = {},
                                        Communicator* together = nullptr);
  // The reports of each example, in the order of the set, without those that compare text. Not for streams, which have no
  // examples. `together`: as above; only process 0 calls `visit`.
  void evaluate_each(const Dataset& set, const Variables& parameters,
                     const std::function<void(std::int64_t example, const ReportResults&)>& visit,
                     Communicator* together = nullptr);
  // What the last evaluation read: examples (windows of a stream), and real steps of the first feed that is a sequence.
  std::int64_t examples() const { return examples_; }
  std::int64_t tokens() const { return tokens_; }
  // Sample lines of what the last evaluation wrote: train.validate.samples examples.
  const std::vector<std::string>& samples() const { return writings_.samples(); }

 private:
  BatchOptions batch_options() const;
  void take(const Variables& parameters);
  BatchValues values_of(const Batch& batch);
  void add(const BatchValues& values, std::int64_t tokens);
  // Adds the values of all batches in their order; false if `stop` returned true in any process.
  bool add_shared(BatchSource& source, const std::function<bool()>& stop, Communicator& together);

  const DataSpec& data_;
  const FeedPlan& plan_;
  Report& report_;
  std::vector<std::string> fed_;       // feeds that the graph needs
  std::vector<std::string> reported_;  // feeds that formulas use
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  std::unique_ptr<Executable> executable_;
  Writings writings_;
  std::int64_t examples_ = 0, tokens_ = 0;
};

// The names that formulas of reports may use: outputs, feeds, and those inner values of the graph, by path, that they do use.
std::vector<std::string> available(const ir::Graph& graph, const FeedPlan& plan, const Report& report);
// Clears the states of a stream, so that the next run begins with zeros.
void clear_states(const Program& program, Variables& variables);
// The error about an input that is not fed (E0421).
Diagnostic not_fed(const std::string& input, const FeedPlan& plan);
// The feeds of a batch that a program needs, without `told`, which the caller sets itself, such as the learning rate. Records
// their shapes in the plan, so that data read later is checked against them (FeedPlan::need). Throws UserError (kInvalidGraph,
// E0421) that lists the inputs that the job does not feed.
std::vector<std::string> need_feeds(const Program& program, FeedPlan& plan, const std::set<std::string>& told = {});

}  // namespace graphrun
