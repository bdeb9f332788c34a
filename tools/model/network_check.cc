#include "tools/model/network_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "compiler/fetch.h"
#include "compiler/generation.h"
#include "compiler/passes/dead_code.h"
#include "tools/job/problems.h"
#include "tools/model/evaluator.h"
#include "tools/model/expression.h"
#include "tools/model/inference.h"

namespace graphrun {
namespace {

// Checks a setting of `train` that must be a scalar of the graph: an output, or an expression, whose nodes are added. Returns
// ir::kNone if there is none.
ir::ValueId check_scalar(ir::Graph& graph, const LoadedJob& job, const char* field, bool floats_alone,
                         std::vector<Diagnostic>& found) {
  const ir::SourceText text = inside(job.places, "train").text(field);
  if (text.text.empty()) return ir::kNone;
  const ir::Output* const output = graph.output(text.text);
  const ir::ValueId value = output != nullptr
                                ? output->value
                                : add_expression(graph, text, std::string("train.") + field,
                                                 {.field = field, .code = "E0401 bad-objective", .inputs = true}, found);
  if (value == ir::kNone) return ir::kNone;
  const ir::TensorType& type = graph.type(value);
  const bool number = floats_alone ? type.type == Type::kFloat : type.type != Type::kBool;
  if (number && type.shape.empty()) return value;
  Problems(found).add(
      "E0401 bad-objective", inside(job.places, "train").location(field),
      fmt::format("'{}' is {}; what {} is a {} scalar", text.text, type.str(),
                  floats_alone ? "is minimized" : "divides a gradient", floats_alone ? "FLOAT" : "FLOAT or INT32"),
      "sum(x) or mean(x) makes a scalar");
  return value;
}

std::set<std::string> parameters_of(const ir::Graph& graph) {
  std::set<std::string> names;
  for (const ir::Variable& variable : graph.variables) {
    if (variable.kind == ir::Variable::Kind::kParameter) names.insert(graph.value(variable.value).name);
  }
  return names;
}

// A model has the parameters on which the objective depends; what else reads others can't run.
class Trained {
 public:
  // `parameters`: those of the objective; nullopt if the job does not train.
  explicit Trained(std::optional<std::set<std::string>> parameters) : parameters_(std::move(parameters)) {}

  // `read`: the parameters of `what`, a report or an infer block, at `at`.
  void check(const std::set<std::string>& read, const Location& at, const std::string& what, std::vector<Diagnostic>& found) {
    if (!parameters_) return;
    std::vector<std::string> untrained;
    std::set_difference(read.begin(), read.end(), parameters_->begin(), parameters_->end(), std::back_inserter(untrained));
    if (untrained.empty()) return;
    const bool one = untrained.size() == 1;
    Problems(found).add(
        "E0438 untrained-parameter", at,
        fmt::format("{} needs the parameter{} {}, but `minimize` does not depend on {}, and a model has only the "
                    "parameters of its objective",
                    what, one ? "" : "s", fmt::join(untrained, ", "), one ? "it" : "them"),
        "let `minimize` depend on them too, or remove the report or the infer block");
  }

 private:
  std::optional<std::set<std::string>> parameters_;
};

// Determines which inputs of the network are needed, and checks their feeds.
class Feeding {
 public:
  explicit Feeding(const Network& network)
      : plan_(*network.job.plan), vocabularies_(network.vocabularies), stream_(network.job.data.format == Format::kStream) {}

  // Marks the inputs that these values depend on. Returns the parameters that they depend on.
  std::set<std::string> need(ir::Graph graph, const std::vector<ir::ValueId>& values) {
    graph.outputs.clear();
    for (const ir::ValueId value : values) {
      if (value != ir::kNone) graph.outputs.push_back({fmt::format("needed.{}", graph.outputs.size()), value});
    }
    if (graph.outputs.empty()) return {};
    const ir::Graph needed = drop_unneeded(std::move(graph));
    need_inputs(needed);
    return parameters_of(needed);
  }
  // Marks all inputs of this graph except one.
  void need_inputs(const ir::Graph& graph, const std::string& but = {}) {
    for (const ir::Input& input : graph.inputs) {
      const ir::Value& value = graph.value(input.value);
      if (value.name != but) needed_.emplace(value.name, Needed{value.type, input.below});
    }
  }

  void check(std::vector<Diagnostic>& found) const {
    for (const auto& [name, input] : needed_) {
      const FeedPlan::Feed* const feed = plan_.feed(name);
      if (feed == nullptr) {
        found.push_back(not_fed(name, plan_));
      } else if (feed->sound) {
        check_type(*feed, input.type, found);
        check_bound(*feed, input.below, found);
      }
    }
  }

  // `inputs`: all inputs of the network. `read`: names that reports use.
  void warn(const std::set<std::string>& inputs, const std::set<std::string>& read, std::vector<Diagnostic>& warnings) const {
    std::vector<std::string> open;
    for (const std::string& input : inputs) {
      if (plan_.feed(input) == nullptr) open.push_back(input);
    }
    for (const FeedPlan::Feed& feed : plan_.feeds()) {
      if (inputs.count(feed.name) != 0 || read.count(feed.name) != 0) continue;
      Diagnostic warning{
          Severity::kWarning, "E0421 unused-feed", feed.at, fmt::format("nothing reads feed '{}'", feed.name), {}};
      const std::string near = did_you_mean(feed.name, open);
      warning.notes.push_back("help: " + (near.empty() ? "" : near + " ") +
                              "a feed is an input of the graph, or what a report names");
      warnings.push_back(std::move(warning));
    }
  }

 private:
  void check_type(const FeedPlan::Feed& feed, const ir::TensorType& type, std::vector<Diagnostic>& found) const {
    const std::string what = feed.numbers         ? "numbers"
                             : feed.field.empty() ? "lengths"
                                                  : fmt::format("entries of '{}' by their numbers", feed.field);
    if (const Type fed = feed.numbers ? Type::kFloat : Type::kInt32; type.type != fed) {
      std::string help = feed.numbers
                             ? "a FLOAT input takes them; without `type: FLOAT` the field gives entries of its vocabulary"
                             : "an INT32 input takes them: gather(E, x) looks entries up, and in arithmetic INT32 turns "
                               "to FLOAT";
      if (type.type == Type::kFloat && !feed.field.empty()) {
        help += "; with `type: FLOAT` a field gives the numbers that it holds";
      }
      Problems(found).add("E0622 feed-type", feed.at,
                          fmt::format("input '{}' of the graph is {}, and the feed gives it {}, which are {}", feed.name,
                                      type.str(), what, name_of(fed)),
                          help);
      return;
    }
    if (static_cast<int>(type.shape.size()) == feed.depth + 1) return check_sizes(feed, type, found);
    static const char* const kShapes[] = {"[batch]", "[time, batch]", "[time, inner_time, batch]"};
    Problems(found).add("E0623 feed-shape", feed.at,
                        fmt::format("input '{}' of the graph is {}, and the feed gives it {}, {}", feed.name, type.str(), what,
                                    kShapes[feed.depth]),
                        "`split` gives a field its sequence axes, x[0] and length(x) take one away");
  }

  // An entry of the field that a batch happens to lack would only be found in a later one.
  void check_bound(const FeedPlan::Feed& feed, const std::optional<Dim>& below, std::vector<Diagnostic>& found) const {
    const auto vocabulary = vocabularies_.find(feed.field);
    if (!below || !below->is_constant() || vocabulary == vocabularies_.end()) return;
    const std::int64_t size = vocabulary->second.size(), bound = below->constant();
    if (size <= bound) return;
    Problems(found).add("E0626 feed-out-of-range", feed.at,
                        fmt::format("input '{}' of the graph takes numbers below {}, and the vocabulary of '{}' has {} entries",
                                    feed.name, bound, feed.field, size),
                        fmt::format("vocabulary({}) in an arg of the job is that number", feed.field));
  }

  // A shape may fix the sizes of an example's axes, which are checked when data is read, but not those of a batch or window.
  void check_sizes(const FeedPlan::Feed& feed, const ir::TensorType& type, std::vector<Diagnostic>& found) const {
    const auto refuse = [&](const Dim& size, const char* axis, const char* why) {
      Problems(found).add(
          "E0623 feed-shape", feed.at,
          fmt::format("input '{}' of the graph is {}, whose {} axis is {}; {}", feed.name, type.str(), axis, size.str(), why),
          "name the size instead, as in [time, batch]");
    };
    if (type.shape.back().is_constant()) {
      refuse(type.shape.back(), "last", "batches have different numbers of rows");
    } else if (stream_ && type.shape.front().is_constant()) {
      refuse(type.shape.front(), "first", "the last window of a stream is shorter");
    }
  }

  struct Needed {
    ir::TensorType type;
    std::optional<Dim> below;
  };

  const FeedPlan& plan_;
  const Vocabularies& vocabularies_;
  const bool stream_;
  std::map<std::string, Needed> needed_;
};

void check_feeds(const Network& network, const ir::Graph& training, const ir::Graph& inference, Feeding feeding,
                 Trained trained, std::vector<Diagnostic>& found, std::vector<Diagnostic>& warnings) {
  std::set<std::string> inputs, read;
  for (const ir::Graph* graph : {&training, &inference}) {
    for (const ir::Input& input : graph->inputs) inputs.insert(graph->value(input.value).name);
  }
  std::vector<std::string> inner;
  for (const NameUse& use : network.report->names()) {
    read.insert(use.name);
    if (network.job.plan->feed(use.name) == nullptr && inputs.count(use.name) == 0) inner.push_back(use.name);
  }
  const ir::Graph reporting = with_fetches_kept(inference, inner);
  for (const NameUse& use : network.report->names()) {
    const ir::Output* const output = reporting.output(use.name);
    if (output == nullptr) continue;
    trained.check(feeding.need(reporting, {output->value}), use.at, fmt::format("'{}' of a report", use.name), found);
  }
  for (const InferSpec& mode : network.job.infer) {
    if (mode.generate) {
      try {
        const GenerationGraphs cut =
            cut_for_generation(inference, {mode.generate->scan, mode.generate->feed, mode.generate->score, {}});
        feeding.need_inputs(cut.prologue, cut.rows_input);
        std::set<std::string> parameters = parameters_of(cut.prologue);
        parameters.merge(parameters_of(cut.step));
        trained.check(parameters, mode.generate->place("score"), fmt::format("the infer block '{}'", mode.name), found);
      } catch (const UserError&) {
        // Reported by check_infer.
      }
    }
    if (mode.from.text.empty()) continue;
    ir::Graph graph = inference;
    std::vector<Diagnostic> said;  // by check_infer
    const ir::ValueId written = add_expression(graph, mode.from, "infer", {.field = "from", .code = "E0417 bad-infer"}, said);
    trained.check(feeding.need(std::move(graph), {written}), mode.from.at(0, mode.from.text.size()),
                  fmt::format("the infer block '{}'", mode.name), found);
  }
  feeding.check(found);
  feeding.warn(inputs, read, warnings);
}

// Named measures must read numbers of labels, and lengths.
void check_labels(const Network& network, const ir::Graph& inference, std::vector<Diagnostic>& found) {
  for (const NameUse& use : network.report->labels()) {
    const ir::Output* const output = inference.output(use.name);
    const FeedPlan::Feed* const feed = network.job.plan->feed(use.name);
    const bool numbers = output != nullptr ? inference.type(output->value).type == Type::kFloat
                                           : feed != nullptr && feed->sound && feed->numbers;
    if (!numbers) continue;
    Problems(found).add("E0414 bad-report", use.at, fmt::format("'{}' is FLOAT; expected numbers of labels, INT32", use.name),
                        "mean(abs(gold - found)) and mean((gold - found) ** 2) measure how far numbers are off");
  }
}

void check_states(const ir::Graph& graph, const LoadedJob& job, Problems& problems) {
  if (job.data.format == Format::kStream) return;
  std::string states;
  for (const ir::Variable& variable : graph.variables) {
    if (variable.kind == ir::Variable::Kind::kState) states += (states.empty() ? "" : ", ") + graph.value(variable.value).name;
  }
  if (states.empty()) return;
  problems.add("E0426 states-without-stream", job.places.location("graph"),
               fmt::format("the states of the graph ({}) persist from batch to batch, but the data is not a STREAM", states),
               "set data.format: STREAM, or call the graph in a `scan`, whose states start again with each example");
}

}  // namespace

void check_network(const ir::Graph& training, const ir::Graph& inference, const Network& network,
                   std::vector<Diagnostic>& warnings) {
  const LoadedJob& job = network.job;
  std::vector<Diagnostic> found;
  Problems problems(found);
  Feeding feeding(network);
  std::optional<std::set<std::string>> trained;
  if (job.message.has_train()) {
    ir::Graph graph = training;
    const ir::ValueId minimize = check_scalar(graph, job, "minimize", true, found);
    const ir::ValueId per = check_scalar(graph, job, "per", false, found);
    std::set<std::string> parameters = feeding.need(std::move(graph), {minimize, per});
    if (!parameters.empty()) trained = std::move(parameters);  // an objective without parameters is a mistake of its own
    check_states(training, job, problems);
  }
  network.report->check_names(available(inference, *job.plan, *network.report), found);
  check_labels(network, inference, found);
  check_feeds(network, training, inference, std::move(feeding), Trained(std::move(trained)), found, warnings);
  try {
    check_infer(inference, network);
  } catch (const UserError& error) {
    found.insert(found.end(), error.diagnostics().begin(), error.diagnostics().end());
  }
  if (!found.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(found));
}

}  // namespace graphrun
