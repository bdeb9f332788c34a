// graphrun data JOB: shows a batch as the graph receives it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "tools/commands/command_line.h"
#include "tools/data/batch_source.h"
#include "tools/data/field_vocabularies.h"
#include "tools/data/preview.h"
#include "tools/job/job.h"
#include "tools/train/training_data.h"

namespace graphrun {
namespace {

const std::vector<std::string>& files_of(const DataSpec& data, const std::string& split) {
  if (split != "train" && split != "valid" && split != "test")
    throw UsageError(fmt::format("--split takes train, valid or test, found '{}'", split));
  const std::vector<std::string>& files = split == "train" ? data.train : split == "valid" ? data.valid : data.test;
  if (files.empty()) throw UsageError(fmt::format("the job names no {} data", split));
  return files;
}

std::int64_t number_from(const po::variables_map& options, const char* name, std::int64_t least) {
  const std::int64_t number = option<std::int64_t>(options, name);
  if (number < least) throw UsageError(fmt::format("--{} takes a number from {}", name, least));
  return number;
}

// The size of the batch, and how much of its first sequence is padding.
std::string size_of(const Batch& batch) {
  std::int64_t longest = 0;
  for (const std::int64_t steps : batch.steps) longest = std::max(longest, steps);
  const std::int64_t held = longest * batch.rows;
  const double share = held == 0 ? 0 : 100.0 * static_cast<double>(held - batch.tokens) / static_cast<double>(held);
  return fmt::format("{} rows, {} tokens, {:.1f} % padding", batch.rows, batch.tokens, share);
}

}  // namespace

ExitCode run_data(const Arguments& arguments) {
  po::options_description group("what to show", 100);
  group.add_options()("split", po::value<std::string>()->default_value("train")->value_name("NAME"),
                      "which files of the job: train, valid or test")(
      "epoch", po::value<std::int64_t>()->default_value(1)->value_name("N"),
      "the epoch of training, in which batches are shuffled")(
      "batch", po::value<std::int64_t>()->default_value(1)->value_name("N"), "which batch of the epoch, from 1")(
      "rows", po::value<std::int64_t>()->default_value(4)->value_name("N"), "rows to print; 0: all")(
      "steps", po::value<std::int64_t>()->default_value(16)->value_name("N"), "steps of a row to print; 0: all");
  CommandLine line;
  line.usage = "graphrun data JOB [option ...]";
  line.about =
      "Reads the data of a job and prints its counts and one batch as the graph receives it: each feed with its type and\n"
      "sizes, the entries with their numbers, · for padding. Trains and writes nothing.";
  line.examples = {"graphrun data graphs/jobs/segment_quick.pbtxt", "graphrun data job.pbtxt --split valid --batch 2 --rows 0"};
  line.words = {{"JOB"}};
  line.groups.push_back(group);
  line.groups.push_back(set_option());
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  LoadedJob job = load_job(option<std::string>(*options, "JOB"), option<std::vector<std::string>>(*options, "set"));
  const std::string split = option<std::string>(*options, "split");
  const std::vector<std::string>& files = files_of(job.data, split);
  const BatchPosition at{number_from(*options, "epoch", 1), number_from(*options, "batch", 1) - 1};
  const PreviewLimits limits{number_from(*options, "rows", 0), number_from(*options, "steps", 0)};
  if (!job.warnings.empty()) fmt::print(stderr, "{}\n", render(job.warnings, color_on_stderr()));

  std::optional<ReadExamples> training;
  const Vocabularies vocabularies = build_vocabularies(job.data, *job.plan, split == "train" ? &training : nullptr);
  job.plan->bind(vocabularies);
  DatasetOptions reading;
  reading.training = split == "train";
  reading.at = split == "train" ? job.data.at.train : split == "valid" ? job.data.at.valid : job.data.at.test;
  const Dataset set =
      training ? std::move(*training).take(job.data, *job.plan) : read_dataset(job.data, vocabularies, files, reading);
  const BatchOptions batches = reading.training ? training_batches(job) : BatchOptions();
  BatchSource source(job.data, *job.plan, set, batches);
  source.begin(at);
  const std::optional<Batch> batch = source.next();
  if (!batch) throw UsageError(fmt::format("--batch {}: the epoch has {} batches", at.batch + 1, source.batches()));

  fmt::print("{}: {}\n{}", split, fmt::join(files, ", "), describe_set(job.data, set, vocabularies));
  if (source.unused_steps() > 0) fmt::print("{} steps at the end do not fill all rows\n", source.unused_steps());
  if (source.too_long() > 0) fmt::print("{} longer than batch.tokens, each in a batch of its own\n", source.too_long());
  fmt::print("\nbatch {} of {}{}: {}\n\n{}", at.batch + 1, source.batches(),
             batches.shuffle ? fmt::format(" in epoch {}", at.epoch) : "", size_of(*batch),
             describe_batch(*job.plan, vocabularies, set, *batch, limits));
  return ExitCode::kDone;
}

}  // namespace graphrun
