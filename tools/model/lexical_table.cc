#include "tools/model/lexical_table.h"

#include <algorithm>
#include <mutex>

#include "runtime/threads/own_threads.h"
#include "runtime/threads/threads.h"
#include "tools/data/batch_source.h"
#include "tools/data/dataset_reader.h"
#include "tools/model/generator.h"

namespace graphrun {
namespace {

std::size_t place_of_field(const DataSpec& data, const std::string& name) {
  const auto found = std::find_if(data.fields.begin(), data.fields.end(), [&](const FieldSpec& f) { return f.name == name; });
  return static_cast<std::size_t>(found - data.fields.begin());
}

// The block as it aligns given words.
InferSpec aligning(InferSpec mode) {
  GenerateSpec& generate = *mode.generate;
  generate.shortlist.reset(), generate.sample.reset();
  generate.beam = generate.n_best = 1;
  return mode;
}

}  // namespace

LexicalCounts count_alignments(const ir::Graph& graph, const Network& network, const InferSpec& mode,
                               const Parameters& parameters, const std::vector<std::string>& files, const Device& device) {
  const InferSpec chosen = aligning(mode);
  const DataSpec& data = network.job.data;
  const std::size_t source = place_of_field(data, chosen.generate->align->field), target = place_of_field(data, chosen.field);
  const std::int32_t end = network.vocabularies.at(chosen.field).number(chosen.generate->end);
  std::vector<std::unique_ptr<Generator>> aligners;
  aligners.push_back(
      std::make_unique<Generator>(graph, network, chosen, parameters, GeneratorOptions{{}, /*prefix=*/true, &device}));
  while (aligners.front()->can_share() && static_cast<int>(aligners.size()) < threads()) {
    aligners.push_back(aligners.front()->share());
  }
  DatasetOptions reading;
  reading.training = true;  // what is longer than `longest` is left out
  reading.plan = network.job.plan.get();
  const Dataset set = read_dataset(data, network.vocabularies, files, reading);
  BatchOptions options;
  options.feeds = aligners.front()->feeds();
  BatchSource batches(data, *network.job.plan, set, options);
  std::mutex lock;
  const auto next = [&] {
    const std::lock_guard<std::mutex> guard(lock);
    return batches.next();
  };
  std::vector<LexicalCounts> counts(aligners.size());
  on_own_threads(static_cast<int>(aligners.size()), [&](int i) {
    Generator& aligner = *aligners[static_cast<std::size_t>(i)];
    LexicalCounts& own = counts[static_cast<std::size_t>(i)];
    while (const std::optional<Batch> batch = next()) {
      RowsGiven given;
      for (std::int64_t example : batch->examples) {
        const auto words = set.values(target, example);
        given.prefix.emplace_back(words.begin(), words.end());
        given.prefix.back().push_back(end);
      }
      const std::vector<std::vector<Hypothesis>> found = aligner.run(*batch, given);
      for (std::size_t row = 0; row < found.size(); ++row) {
        if (found[row].empty()) continue;
        const auto units = set.values(source, batch->examples[row]);
        const Hypothesis& made = found[row].front();
        const std::optional<Alignment> alignment = aligner.alignment(made, units.size(), static_cast<std::int64_t>(row));
        for (std::size_t word = 0; word < made.words.size(); ++word) {
          const std::vector<float>& weights = alignment->weights[word];
          for (std::size_t unit = 0; unit < weights.size(); ++unit) {
            if (weights[unit] >= kLeastWeight) own.add(units[unit], made.words[word], static_cast<double>(weights[unit]));
          }
        }
      }
    }
  });
  for (std::size_t i = 1; i < counts.size(); ++i) counts[0].add(counts[i]);
  return std::move(counts[0]);
}

}  // namespace graphrun
