#include "tools/train/training_data.h"

#include <fmt/format.h>

namespace graphrun {
namespace {

Dataset training_set(const Network& network) {
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

std::string set_text(const char* name, const Dataset& set, const DataSpec& data) {
  std::string text = data.format == Format::kStream ? fmt::format("{} {} steps", name, set.size() == 0 ? 0 : set.steps(0, 0))
                                                    : fmt::format("{} {} examples", name, set.size());
  if (set.dropped() > 0) text += fmt::format(" ({} too long and left out)", set.dropped());
  return text;
}

}  // namespace

TrainingData::TrainingData(const Network& network, const Recipe& recipe, const std::vector<std::string>& feeds)
    : data_(network.job.data),
      train_(training_set(network)),
      valid_(reported_set(network, data_.valid, data_.at.valid)),
      test_(reported_set(network, data_.test, data_.at.test)) {
  BatchOptions options;
  options.shuffle = data_.format != Format::kStream;
  options.seed = recipe.seed;
  options.feeds = feeds;
  batches_.emplace(data_, *network.job.plan, train_, options);
}

std::string TrainingData::summary() const {
  std::string text = set_text("train", train_, data_) + fmt::format(", {} batches", batches_->batches());
  if (batches_->unused_steps() > 0) text += fmt::format(", {} steps at its end unused", batches_->unused_steps());
  if (batches_->too_long() > 0) text += fmt::format(", {} of one example longer than batch.tokens", batches_->too_long());
  if (valid_) text += "; " + set_text("valid", *valid_, data_);
  if (test_) text += "; " + set_text("test", *test_, data_);
  return text;
}

std::optional<Diagnostic> TrainingData::too_many_validations(const ValidateRule& rule) const {
  const std::int64_t batches = batches_->batches();
  if (!valid_ || rule.times_per_epoch <= batches) return std::nullopt;
  return Diagnostic{Severity::kWarning,
                    "E0423 too-many-validations",
                    rule.at,
                    fmt::format("{} validations in an epoch of {}; it has one behind each batch", rule.times_per_epoch,
                                counted(batches, "batch", "es")),
                    {}};
}

void TrainingData::reserve_memory(Stepper& stepper, Evaluator& evaluator) const {
  stepper.reserve(batches_->largest());
  if (valid_) evaluator.reserve(*valid_);
  if (test_) evaluator.reserve(*test_);
}

}  // namespace graphrun
