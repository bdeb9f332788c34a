#include "tools/train/training_data.h"

#include <fmt/format.h>

#include <algorithm>

namespace graphrun {
namespace {

Dataset training_set(const Network& network, std::optional<ReadExamples> read) {
  if (read) return std::move(*read).take(network.job.data, *network.job.plan);
  const DataSpec& data = network.job.data;
  DatasetOptions options;
  options.training = true;
  options.at = data.at.train;
  options.plan = network.job.plan.get();
  return read_dataset(data, network.vocabularies, data.train, options);
}

std::optional<Dataset> reported_set(const Network& network, const std::vector<std::string>& files, const Location& at) {
  if (files.empty()) return std::nullopt;
  DatasetOptions options;
  options.texts = network.report->text_fields();
  options.at = at;
  options.plan = network.job.plan.get();
  return read_dataset(network.job.data, network.vocabularies, files, options);
}

BatchOptions with_feeds(BatchOptions options, const std::vector<std::string>& feeds) {
  options.feeds = feeds;
  return options;
}

std::string set_text(const char* name, const Dataset& set, const DataSpec& data) {
  std::string text = data.format == Format::kStream ? fmt::format("{} {} steps", name, set.size() == 0 ? 0 : set.steps(0, 0))
                                                    : fmt::format("{} {} examples", name, set.size());
  if (set.dropped() > 0) text += fmt::format(" ({} too long and left out)", set.dropped());
  return text;
}

}  // namespace

BatchOptions training_batches(const LoadedJob& job) {
  BatchOptions options;
  options.shuffle = job.data.format != Format::kStream;
  options.seed = job.message.train().seed();
  options.together = std::max(1, job.message.train().accumulate());
  return options;
}

RunSets read_sets(const Network& network, std::optional<ReadExamples> training) {
  const DataSpec& data = network.job.data;
  Dataset train = training_set(network, std::move(training));
  std::optional<Dataset> valid = reported_set(network, data.valid, data.at.valid);
  return {std::move(train), std::move(valid), reported_set(network, data.test, data.at.test)};
}

TrainingData::TrainingData(const Network& network, const std::vector<std::string>& feeds, RunSets sets)
    : data_(network.job.data),
      sets_(std::move(sets)),
      batches_(data_, *network.job.plan, sets_.train, with_feeds(training_batches(network.job), feeds)) {}

std::string TrainingData::summary() const {
  std::string text = set_text("train", sets_.train, data_) + fmt::format(", {} batches", batches_.batches());
  if (batches_.unused_steps() > 0) text += fmt::format(", {} steps at its end unused", batches_.unused_steps());
  if (batches_.too_long() > 0) text += fmt::format(", {} of one example longer than batch.tokens", batches_.too_long());
  if (sets_.valid) text += "; " + set_text("valid", *sets_.valid, data_);
  if (sets_.test) text += "; " + set_text("test", *sets_.test, data_);
  return text;
}

std::optional<Diagnostic> TrainingData::too_many_validations(const ValidateRule& rule) const {
  const std::int64_t batches = batches_.batches();
  if (!sets_.valid || rule.times_per_epoch <= batches) return std::nullopt;
  return Diagnostic{Severity::kWarning,
                    "E0423 too-many-validations",
                    rule.at,
                    fmt::format("{} validations in an epoch of {}; at most one follows each batch", rule.times_per_epoch,
                                counted(batches, "batch", "es")),
                    {}};
}

void TrainingData::reserve_memory(Stepper& stepper, Evaluator& evaluator) const {
  stepper.reserve(batches_.largest());
  if (sets_.valid) evaluator.reserve(*sets_.valid);
  if (sets_.test) evaluator.reserve(*sets_.test);
}

}  // namespace graphrun
