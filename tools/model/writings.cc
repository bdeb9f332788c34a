#include "tools/model/writings.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "runtime/threads/own_threads.h"
#include "tools/data/batch_source.h"
#include "tools/model/generator.h"
#include "tools/processes/message.h"

namespace graphrun {

namespace {

// The fields that these feeds use, by index in the job.
std::vector<std::size_t> fields_read(const LoadedJob& job, const std::vector<std::string>& feeds) {
  if (feeds.empty()) return {};
  const std::set<std::string> names = fields_of(*job.plan, choose_feeds(*job.plan, feeds));
  std::vector<std::size_t> fields;
  for (std::size_t i = 0; i < job.data.fields.size(); ++i) {
    if (names.count(job.data.fields[i].name) != 0) fields.push_back(i);
  }
  return fields;
}

// The keys of samples: as for graphrun infer, from what is read. A network that reads nothing would write the same text for
// every example, so its keys are the examples' numbers.
std::vector<std::uint64_t> keys_of(const Batch& batch, const Dataset& set, const std::vector<std::size_t>& read,
                                   std::int64_t longest) {
  std::vector<std::uint64_t> keys;
  for (const std::int64_t i : batch.examples) {
    std::vector<Nested> fields = read.empty() ? std::vector<Nested>() : set.example(i);
    for (Nested& field : fields) {
      if (longest > 0 && field.depth > 0 && field.steps() > longest) field.cut(longest);
    }
    keys.push_back(read.empty() ? static_cast<std::uint64_t>(i) : hash_of(fields, read));
  }
  return keys;
}

}  // namespace

Writings::Writings(ir::Graph graph, const Network& network, const Device& device)
    : graph_(std::move(graph)), network_(network), device_(device) {
  // What is wrong with a shortlist's table is told before the first evaluation, which may be hours away.
  for (TextMeasure* measure : network_.report->texts()) {
    const InferSpec& mode = *network_.job.infer_named(measure->mode().name);
    if (mode.generate && mode.generate->shortlist && generators_[mode.name].empty()) add_generator(mode);
  }
}

Writings::~Writings() = default;

void Writings::add_generator(const InferSpec& mode) {
  generators_[mode.name].push_back(std::make_unique<Generator>(graph_, network_, mode, GeneratorOptions{{}, false, &device_}));
}

const std::vector<std::unique_ptr<Generator>>& Writings::generators(const InferSpec& mode, const Variables& parameters) {
  std::vector<std::unique_ptr<Generator>>& made = generators_[mode.name];
  if (made.empty()) add_generator(mode);
  while (made.front()->can_share() && static_cast<int>(made.size()) < threads()) made.push_back(made.front()->share());
  made.front()->take(parameters);
  return made;
}

bool Writings::write(const std::string& mode, const Dataset& set, const Variables& parameters,
                     const std::function<bool()>& stop, Communicator* together, std::vector<std::string>& lines) {
  const InferSpec& spec = *network_.job.infer_named(mode);
  const std::vector<std::unique_ptr<Generator>>& making = generators(spec, parameters);
  const Vocabulary& vocabulary = network_.vocabularies.at(spec.field);
  BatchOptions options;
  options.feeds = making.front()->feeds();
  options.longest = spec.longest;  // like graphrun infer
  BatchSource source(network_.job.data, *network_.job.plan, set, options);
  if (together != nullptr) source.begin({}, BatchShare::in_turn(together->rank(), together->size()));
  std::vector<std::int64_t> written;  // examples, also those whose line is empty
  lines.assign(static_cast<std::size_t>(set.size()), "");
  const std::vector<std::size_t> read = fields_read(network_.job, options.feeds);
  const auto refused = [&](std::int64_t example) {
    return spec.refuse_longer && spec.longest > 0 && std::any_of(read.begin(), read.end(), [&](std::size_t field) {
             return field_depth(network_.job.data, network_.job.data.fields[field]) > 0 &&
                    set.steps(field, example) > spec.longest;
           });
  };
  std::mutex lock;  // protects the source and `stop`
  bool stopped = false;
  const auto next = [&]() -> std::optional<Batch> {
    const std::lock_guard<std::mutex> guard(lock);
    std::optional<Batch> batch;
    if (!stopped) batch = source.next();
    stopped = stopped || (batch && stop && stop());
    if (batch) written.insert(written.end(), batch->examples.begin(), batch->examples.end());
    return stopped ? std::nullopt : std::move(batch);
  };
  on_own_threads(static_cast<int>(making.size()), [&](int i) {
    while (const std::optional<Batch> batch = next()) {
      RowsGiven given;
      if (spec.generate->sample) given.keys = keys_of(*batch, set, read, spec.longest);
      const std::vector<std::vector<Hypothesis>> found = making[static_cast<std::size_t>(i)]->run(*batch, given);
      for (std::size_t row = 0; row < found.size(); ++row) {
        if (!found[row].empty() && !refused(batch->examples[row])) {
          lines[static_cast<std::size_t>(batch->examples[row])] = vocabulary.text_of(found[row].front().words);
        }
      }
    }
  });
  generators_[mode].resize(1);  // frees the memory of the other generators for training
  generators_[mode].front()->free_histories();
  return together == nullptr ? !stopped : collect(*together, stopped, written, lines);
}

// Gives process 0 the lines that the others have written; false if any of them was stopped.
bool Writings::collect(Communicator& together, bool stopped, const std::vector<std::int64_t>& written,
                       std::vector<std::string>& lines) {
  MessageWriter own;
  own.add(static_cast<std::int64_t>(stopped));
  for (const std::int64_t example : written) {
    own.add(example);
    own.add(lines[static_cast<std::size_t>(example)]);
  }
  bool all_done = true;
  for (const std::string& theirs : together.collect(own.bytes())) {
    if (theirs.empty()) continue;  // the lines of process 0 alone are complete
    MessageReader reader(theirs);
    all_done = reader.number() == 0 && all_done;
    while (!reader.at_end()) {
      const std::int64_t example = reader.number();
      lines[static_cast<std::size_t>(example)] = reader.text();
    }
  }
  return together.broadcast(all_done ? "1" : "") == "1";
}

TextGroup Writings::group_of(const TextMeasure& measure, const Dataset& set, std::int64_t example) const {
  if (!measure.grouped_by()) return {};
  const GroupedBy& by = *measure.grouped_by();
  const std::vector<FieldSpec>& fields = network_.job.data.fields;
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const FieldSpec& field) { return field.name == by.of->name; });
  const auto field = static_cast<std::size_t>(found - fields.begin());
  if (by.width > 0) {
    const std::int64_t number = set.steps(field, example) / by.width;
    return {number, by.range(number)};
  }
  const std::int32_t entry = set.values(field, example).front();
  return {entry, network_.vocabularies.at(found->name).entries().at(static_cast<std::size_t>(entry))};
}

bool Writings::add(const Dataset& set, const Variables& parameters, const std::function<bool()>& stop, Communicator* together) {
  const bool reports = together == nullptr || together->rank() == 0;
  samples_.clear();
  std::map<std::string, std::vector<std::string>> written, compared;  // by mode: its lines; the fields of its references
  for (TextMeasure* measure : network_.report->texts()) {
    const std::string& mode = measure->mode().name;
    std::vector<std::string>& lines = written[mode];
    if (lines.empty() && !write(mode, set, parameters, stop, together, lines)) return false;
    if (!reports) continue;
    const std::string& field = measure->field().name;
    for (std::int64_t i = 0; i < set.size(); ++i) {
      measure->add_text(lines[static_cast<std::size_t>(i)], set.text(field, i), group_of(*measure, set, i));
    }
    std::vector<std::string>& fields = compared[mode];
    if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
  }
  if (!reports) return true;
  for (const auto& [mode, lines] : written) show(mode, compared[mode], set, lines);
  return true;
}

void Writings::show(const std::string& mode, const std::vector<std::string>& fields, const Dataset& set,
                    const std::vector<std::string>& lines) {
  const DataSpec& data = network_.job.data;
  const auto read = fields_of(*network_.job.plan, choose_feeds(*network_.job.plan, generators_.at(mode).front()->feeds()));
  const std::int64_t shown = std::min<std::int64_t>(network_.job.message.train().validate().samples(), set.size());
  for (std::int64_t i = 0; i < shown; ++i) {
    const auto add = [&](const std::string& name, const std::string& text) {
      samples_.push_back(fmt::format("sample {}  {}: {}", i + 1, name, text));
    };
    for (std::size_t f = 0; f < data.fields.size(); ++f) {
      const FieldSpec& field = data.fields[f];
      if (read.count(field.name) == 0) continue;
      if (field.numbers) {
        std::vector<float> numbers;
        for (const std::int32_t bits : set.values(f, i)) numbers.push_back(float_of(bits));
        add(field.name, fmt::format("{}", fmt::join(numbers, " ")));
      } else {
        add(field.name, network_.vocabularies.at(field.name).text_of(set.values(f, i)));
      }
    }
    add(mode, lines[static_cast<std::size_t>(i)]);
    for (const std::string& field : fields) add(field, set.text(field, i));
  }
}

}  // namespace graphrun
