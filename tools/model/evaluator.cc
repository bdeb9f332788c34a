#include "tools/model/evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/compile.h"
#include "compiler/fetch.h"
#include "tools/json/json.h"
#include "tools/processes/message.h"

namespace graphrun {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<std::string> available(const ir::Graph& graph, const FeedPlan& plan, const Report& report) {
  std::vector<std::string> names;
  for (const ir::Output& output : graph.outputs) names.push_back(output.name);
  for (const FeedPlan::Feed& feed : plan.feeds()) names.push_back(feed.name);
  std::vector<std::string> others, inputs;
  for (const ir::Input& input : graph.inputs) inputs.push_back(graph.value(input.value).name);
  for (const NameUse& use : report.names()) {
    if (!contains(names, use.name) && !contains(inputs, use.name)) others.push_back(use.name);
  }
  if (others.empty()) return names;
  const ir::Graph kept = with_fetches_kept(graph, others);
  for (const std::string& name : others) {
    if (kept.output(name) != nullptr) names.push_back(name);
  }
  return names;
}

void clear_states(const Program& program, Variables& variables) {
  for (const VariableSpec& variable : program.variables) {
    if (variable.kind == VariableSpec::Kind::kState) variables.erase(variable.name);
  }
}

Diagnostic not_fed(const std::string& input, const FeedPlan& plan) {
  std::vector<std::string> fed;
  for (const FeedPlan::Feed& feed : plan.feeds()) fed.push_back(feed.name);
  Diagnostic problem{Severity::kError,
                     "E0421 not-fed",
                     plan.location(),
                     fmt::format("the job does not feed the graph's input '{}'", input),
                     {}};
  if (const std::string near = did_you_mean(input, fed); !near.empty()) problem.notes.push_back("help: " + near);
  return problem;
}

std::vector<std::string> need_feeds(const Program& program, FeedPlan& plan, const std::set<std::string>& told) {
  std::vector<std::string> names;
  std::vector<Diagnostic> problems;
  for (const FeedSpec& feed : program.feeds) {
    const bool training_only = feed.name == kLearningRate || feed.name == kUpdateCount || feed.name == kKeepSums;
    if (training_only || told.count(feed.name) != 0) continue;
    names.push_back(feed.name);
    if (plan.feed(feed.name) == nullptr) {
      problems.push_back(not_fed(feed.name, plan));
    } else {
      plan.need(feed.name, feed.shape);
    }
  }
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
  return names;
}

Evaluator::Evaluator(const ir::Graph& graph, const Network& network, const Device& device, WeightForm weights)
    : data_(network.job.data), plan_(*network.job.plan), report_(*network.report), writings_(graph, network, device) {
  FeedPlan& plan = *network.job.plan;
  Report& report = report_;
  std::vector<Diagnostic> problems;
  report.check_names(available(graph, plan, report), problems);
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));

  CompileOptions options;
  for (const NameUse& use : report.names()) {
    if (graph.output(use.name) != nullptr) {
      if (!contains(options.fetches, use.name)) options.fetches.push_back(use.name);
    } else if (plan.feed(use.name) != nullptr) {
      if (!contains(reported_, use.name)) reported_.push_back(use.name);
    } else if (use.name != kRowsName && !contains(options.fetches, use.name)) {
      options.fetches.push_back(use.name);  // a value inside the graph
    }
  }
  if (options.fetches.empty()) return;  // the reports only need feeds, or there are none
  Program program = compile(graph, options);
  fed_ = need_feeds(program, plan);
  executable_ = std::make_unique<Executable>(std::move(program), variables_, Target(device, weights, network.job.products));
}

BatchOptions Evaluator::batch_options() const {
  BatchOptions options;
  options.feeds = fed_;
  for (const std::string& name : reported_) {
    if (!contains(fed_, name)) options.feeds.push_back(name);
  }
  if (data_.format == Format::kStream) options.rows = 1;
  return options;
}

void Evaluator::reserve(const Dataset& set) {
  if (!executable_) return;
  const Batch batch = BatchSource(data_, plan_, set, batch_options()).largest();
  Feeds feeds;
  for (const std::string& name : fed_) feeds[name] = batch.feeds.at(name);
  executable_->reserve(feeds);
}

void Evaluator::take(const Variables& parameters) {
  report_.clear();
  examples_ = tokens_ = 0;
  if (!executable_) return;
  for (const VariableSpec& variable : executable_->program().variables) {
    if (variable.kind != VariableSpec::Kind::kParameter) continue;
    if (!parameters.has(variable.name)) {
      throw UserError(ExitCode::kBadData, "E0662 other-parameters",
                      fmt::format("a report needs the parameter '{}', which the model does not have", variable.name),
                      {"help: a model has the parameters on which its objective depends"});
    }
    variables_->set(variable.name, parameters.at(variable.name));
  }
  clear_states(executable_->program(), *variables_);
}

BatchValues Evaluator::values_of(const Batch& batch) {
  BatchValues values;
  values.rows = batch.rows;
  for (const std::string& name : reported_) values.tensors[name] = batch.feeds.at(name);
  if (executable_) {
    Feeds feeds;
    for (const std::string& name : fed_) feeds[name] = batch.feeds.at(name);
    const std::vector<Tensor> fetched = executable_->run(feeds);
    const std::vector<FetchSpec>& specs = executable_->program().fetches;
    for (std::size_t i = 0; i < specs.size(); ++i) values.tensors[specs[i].name] = fetched[i];
  }
  return values;
}

void Evaluator::add(const BatchValues& values, std::int64_t tokens) {
  examples_ += values.rows;
  tokens_ += tokens;
  report_.add(values);
}

bool Evaluator::add_shared(BatchSource& source, const std::function<bool()>& stop, Communicator& together) {
  source.begin({}, BatchShare::in_turn(together.rank(), together.size()));
  MessageWriter own;
  bool stopped = false;
  while (const std::optional<Batch> batch = source.next()) {
    stopped = stop && stop();
    if (stopped) break;
    const BatchValues values = values_of(*batch);
    own.add(values.rows);
    own.add(batch->tokens);
    own.add(values.tensors);
  }
  const std::vector<std::string> flags = together.gather(stopped ? "1" : "");
  if (std::any_of(flags.begin(), flags.end(), [](const std::string& flag) { return !flag.empty(); })) return false;
  const std::vector<std::string> all = together.collect(own.bytes());
  if (together.rank() != 0) return true;
  std::vector<MessageReader> readers(all.begin(), all.end());
  for (std::int64_t i = 0; i < source.batches(); ++i) {
    MessageReader& reader = readers[static_cast<std::size_t>(i) % readers.size()];
    BatchValues values;
    values.rows = reader.number();
    const std::int64_t tokens = reader.number();
    values.tensors = reader.tensors();
    add(values, tokens);
  }
  return true;
}

std::optional<ReportResults> Evaluator::evaluate(const Dataset& set, const Variables& parameters,
                                                 const std::function<bool()>& stop, Communicator* together) {
  take(parameters);
  if (data_.format == Format::kStream && together != nullptr) {  // it has only one row
    if (together->rank() != 0) return std::nullopt;
    together = nullptr;
  }
  BatchSource source(data_, plan_, set, batch_options());
  if (together != nullptr) {
    if (!add_shared(source, stop, *together)) return std::nullopt;
  } else {
    while (const std::optional<Batch> batch = source.next()) {
      if (stop && stop()) return std::nullopt;
      add(values_of(*batch), batch->tokens);
    }
  }
  if (writings_.wanted() && !writings_.add(set, parameters, stop, together)) return std::nullopt;
  if (together != nullptr && together->rank() != 0) return std::nullopt;
  return report_.results();
}

void Evaluator::evaluate_each(const Dataset& set, const Variables& parameters,
                              const std::function<void(std::int64_t, const ReportResults&)>& visit, Communicator* together) {
  GRAPHRUN_CHECK(data_.format != Format::kStream, "a stream has no examples");
  take(parameters);
  BatchOptions options = batch_options();
  options.one_by_one = true;
  BatchSource source(data_, plan_, set, options);
  if (together != nullptr) source.begin({}, BatchShare::in_turn(together->rank(), together->size()));
  MessageWriter own;
  while (const std::optional<Batch> batch = source.next()) {
    report_.clear();
    add(values_of(*batch), batch->tokens);
    const ReportResults results = report_.results_without_texts();
    if (together == nullptr) {
      visit(batch->examples.front(), results);
    } else {
      own.add(batch->examples.front());
      own.add(json_text(nlohmann::ordered_json{{"all", results_json(results)}}));
    }
  }
  if (together == nullptr) return;
  const std::vector<std::string> all = together->collect(own.bytes());
  std::vector<MessageReader> readers(all.begin(), all.end());
  for (std::int64_t i = 0; together->rank() == 0 && i < source.batches(); ++i) {
    MessageReader& reader = readers[static_cast<std::size_t>(i) % readers.size()];
    const std::int64_t example = reader.number();
    visit(example, *parse_results(reader.text(), "all"));
  }
}

}  // namespace graphrun
