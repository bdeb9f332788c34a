#include "tools/model/generate_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/file.h"
#include "tools/cli/program.h"
#include "tools/data/dataset_reader.h"
#include "tools/data/inference_reader.h"
#include "tools/data/units.h"
#include "tools/infer/generated.h"
#include "tools/infer/in_order.h"
#include "tools/infer/writers.h"
#include "tools/model/generator.h"

namespace graphrun {
namespace {

// The job's infer block, changed by the command line.
InferSpec chosen_mode(const InferSpec& mode, const GenerateOptions& options) {
  InferSpec chosen = mode;
  GenerateSpec& g = *chosen.generate;
  if (options.n_best > 0) g.n_best = options.n_best;
  if (options.all_words) g.shortlist.reset();
  if (options.temperature || options.top_k || options.seed) {
    if (!g.sample) g.sample = SampleSpec{};
    if (options.temperature) g.sample->temperature = *options.temperature;
    if (options.top_k) g.sample->top_k = *options.top_k;
    if (options.seed) g.sample->seed = *options.seed;
  }
  g.beam = options.beam > 0 ? options.beam : std::max(g.beam, g.n_best);
  if (options.json) chosen.write = WriteAs::kJson;
  if (!options.force.empty()) g.sample.reset(), g.beam = g.n_best = 1;
  return chosen;
}

[[noreturn]] void refuse(const char* code, std::string text, std::string help) {
  throw UserError(ExitCode::kUsage, code, std::move(text), {std::move(help)});
}

// The file whose lines belong to those of the input; "" if there is none.
const std::string& given_file(const GenerateOptions& g) { return g.force.empty() ? g.prefix : g.force; }

void check_options(const InferSpec& chosen, const InferOptions& options) {
  const GenerateOptions& g = options.generate;
  if (chosen.generate->n_best > chosen.generate->beam && !chosen.generate->sample) {
    refuse("E0428 narrow-beam",
           fmt::format("a beam of {} does not hold the {} best", chosen.generate->beam, chosen.generate->n_best),
           "help: use --n-best and --beam for several");
  }
  if (!g.prefix.empty() && !g.force.empty()) {
    refuse("E0429 bad-options", "--prefix and --force both set the words", "help: leave one of them out");
  }
  if (!g.force.empty() && g.searches()) {
    refuse("E0429 bad-options", "--force sets the words, so nothing is searched or drawn",
           "help: leave out --beam, --n-best, --temperature, --top-k and --seed, or --force");
  }
  if (!g.force.empty() && chosen.generate->shortlist) {
    refuse("E0429 bad-options",
           fmt::format("infer '{}' has a shortlist, which may lack the words of --force: their probability is among all words",
                       chosen.name),
           "help: add --no-shortlist");
  }
  if (g.alignments == "-") refuse("E0429 bad-options", "--alignments takes a file: stdout has the words", "help: name a file");
  if (!g.alignments.empty()) alignment_of(chosen);
  if (!options.fetches.empty() && (chosen.write != WriteAs::kJson || !options.fetch_file.empty())) {
    refuse("E0427 no-fetch",
           fmt::format("infer '{}' generates: what is fetched of its steps goes into JSON lines", chosen.name),
           "help: --json, and no --fetch-out");
  }
}

// `file`: the input's lines, unless they come from stdin. `prompts`: these lines are the only input.
void check_input(const InferSpec& chosen, const InferOptions& options, const std::string& file, bool prompts) {
  const GenerateOptions& g = options.generate;
  const std::string& given = given_file(g);
  if (prompts && !given.empty() && !options.from_stdin) {
    refuse("E0429 bad-options",
           fmt::format("infer '{}' reads one text, and both '{}' and {} '{}' give it", chosen.name, file,
                       g.force.empty() ? "--prefix" : "--force", given),
           "help: leave one of them out");
  }
  if (!prompts && options.from_stdin && given == "-") {
    refuse("E0429 bad-options", "stdin is both the input and the words that are given", "help: name a file for one of them");
  }
  refuse_to_overwrite("--alignments", g.alignments, {given, options.from_stdin ? "-" : file});
}

std::unique_ptr<LineReader> open_lines(const std::string& file) {
  return file == "-" ? std::make_unique<LineReader>(STDIN_FILENO, "stdin") : std::make_unique<LineReader>(file);
}

// For a STREAM, each given line is a separate text, ended by the end symbol.
DataSpec line_by_line(DataSpec data) {
  if (data.format == Format::kStream) data.format = Format::kLines;
  return data;
}

// The search ends a hypothesis at the end symbol, and would ignore the given words that follow it.
void refuse_end(const Network& network, const InferSpec& mode, const Record& record, const std::vector<std::int32_t>& words) {
  const std::string& end = mode.generate->end;
  const auto at = std::find(words.begin(), words.end(), network.vocabularies.at(mode.field).number(end));
  if (at == words.end()) return;
  data_error("E0644 end-symbol", record.file(), record.line, 0,
             fmt::format("word {} is '{}', the end symbol of infer '{}', which a given text may not contain",
                         at - words.begin() + 1, end, mode.name),
             {"help: remove it from the line; --force adds the end itself"});
}

// The texts given for the input's lines, one for each, as words of the generated field.
class GivenLines {
 public:
  GivenLines(const Network& network, const InferSpec& mode, const std::string& file)
      : network_(network),
        mode_(mode),
        data_(line_by_line(network.job.data)),
        field_(*data_.field(mode.field)),
        name_(file == "-" ? "stdin" : file) {
    reader_ = std::make_unique<RecordReader>(open_lines(file), layout_of_input(data_, {&field_}, Format::kLines));
  }

  std::vector<std::int32_t> next(const std::string& input) {
    Record record;
    if (!reader_->next(record)) unequal(name_, lines_, input);
    ++lines_;
    if (record.empty) return {};
    std::vector<std::int32_t> words = encode(data_, field_, network_.vocabularies, record).values;
    refuse_end(network_, mode_, record, words);
    return words;
  }
  // Whether next() can answer soon; see RecordReader::ready.
  bool ready(int milliseconds) { return reader_->ready(milliseconds); }
  void end(const std::string& input) {
    Record record;
    if (reader_->next(record)) unequal(input, lines_, name_);
  }

 private:
  [[noreturn]] static void unequal(const std::string& ended, std::int64_t line, const std::string& going) {
    data_error("E0653 unequal-files", ended, line, 0,
               fmt::format("the file ends after {}; '{}', which is read with it, has more", counted(line, "line"), going),
               {"help: line n of each belongs to the other's"});
  }

  const Network& network_;
  const InferSpec& mode_;
  const DataSpec data_;
  const FieldSpec& field_;
  const std::string name_;
  std::unique_ptr<RecordReader> reader_;
  std::int64_t lines_ = 0;
};

// Produces texts for batches of lines, and links if the mode aligns and they are requested.
class LineAnswerer : public Answerer {
 public:
  LineAnswerer(const Network& network, const InferSpec& mode, const InferOptions& options, std::unique_ptr<Generator> generator)
      : network_(network),
        mode_(mode),
        options_(options),
        vocabulary_(network.vocabularies.at(mode_.field)),
        generator_(std::move(generator)) {}

  std::unique_ptr<Answerer> share() const override {
    if (!generator_->can_share()) return nullptr;
    return std::make_unique<LineAnswerer>(network_, mode_, options_, generator_->share());
  }

  Answers answer(const InferenceBatch& batch) override {
    std::vector<std::vector<Hypothesis>> found;
    if (batch.batch.rows > 0) with_lines(batch, [&] { found = generator_->run(batch.batch, given_of(batch)); });
    Answers answers;
    for (std::size_t i = 0; i < batch.records.size(); ++i) {
      std::vector<Made> made;
      if (batch.rows[i] >= 0) {
        for (Hypothesis& h : found[static_cast<std::size_t>(batch.rows[i])]) {
          made.push_back(made_of(std::move(h), batch.records[i], batch.rows[i]));
        }
      }
      answers.texts.push_back(written(made, batch.numbers[i]));
      if (!options_.generate.alignments.empty()) answers.links.push_back(links_of(made));
    }
    return answers;
  }

 private:
  RowsGiven given_of(const InferenceBatch& batch) const {
    RowsGiven given;
    given.prefix = batch.prompts;
    if (!options_.generate.force.empty()) {
      for (std::vector<std::int32_t>& words : given.prefix) words.push_back(vocabulary_.number(mode_.generate->end));
    }
    given.keys = batch.hashes;
    return given;
  }

  Made made_of(Hypothesis hypothesis, const Record& record, std::int64_t row) const {
    Made made;
    std::vector<std::string> units;
    if (const auto& align = mode_.generate->align) {
      const TextForm& form = network_.vocabularies.at(align->field).form();
      units = units_as_written(network_.job.data, *network_.job.data.field(align->field), record, form.subwords.get());
      // If a line was cut, only what was read.
      if (mode_.longest > 0) units.resize(std::min(units.size(), static_cast<std::size_t>(mode_.longest)));
      made.alignment = generator_->alignment(hypothesis, units.size(), row);
      if (align->of_words) {
        WordSpans input = word_spans(units, form, EntriesAre::kCut);
        made.alignment = by_input_words(*made.alignment, input);
        units = std::move(input.words);
      }
    }
    const bool replaces = mode_.generate->align && options_.generate.force.empty();
    made.words = words_of(hypothesis, vocabulary_, replaces ? mode_.generate->align->replace : "", made.alignment, units);
    made.units = std::move(units);
    if (made.alignment && mode_.generate->align->of_words) {
      WordSpans words = word_spans(made.words, vocabulary_.form(), EntriesAre::kMade);
      made.alignment = by_made_words(*made.alignment, words);
      made.aligned_words = std::move(words.words);
    }
    if (!options_.fetches.empty()) made.fetched = generator_->fetched(hypothesis, row), made.whole = generator_->whole(row);
    made.hypothesis = std::move(hypothesis);
    return made;
  }

  // `number`: that of the record.
  std::string written(const std::vector<Made>& made, std::int64_t number) const {
    if (mode_.write == WriteAs::kJson) return json_line(made, vocabulary_);
    if (!options_.generate.force.empty()) {
      std::vector<double> sums;
      for (const Made& m : made) sums.push_back(m.hypothesis.log_probability);
      return numbers_line(sums);
    }
    if (mode_.generate->n_best > 1) return n_best_lines(number, made, vocabulary_, mode_.generate->align.has_value());
    return best_line(made, vocabulary_);
  }

  std::string links_of(const std::vector<Made>& made) const {
    std::string text = made.empty() && mode_.generate->n_best == 1 ? "\n" : "";
    for (const Made& m : made) text += alignment_line(*m.alignment);
    return text;
  }

  const Network& network_;
  const InferSpec& mode_;
  const InferOptions& options_;
  const Vocabulary& vocabulary_;
  const std::unique_ptr<Generator> generator_;
};

}  // namespace

void generate_lines(const ir::Graph& graph, const Network& network, const Parameters& parameters, const InferSpec& mode,
                    std::unique_ptr<LineReader> lines, const InferOptions& options) {
  const InferSpec chosen = chosen_mode(mode, options.generate);
  check_options(chosen, options);
  const std::string& given_name = given_file(options.generate);
  auto generator = std::make_unique<Generator>(graph, network, chosen, parameters,
                                               GeneratorOptions{options.fetches, !given_name.empty(), options.device});
  const bool prompts = generator->takes_prompts();
  check_input(chosen, options, lines->name(), prompts);
  std::optional<GivenLines> given;
  if (prompts && !given_name.empty()) lines = open_lines(given_name);
  if (!prompts && !given_name.empty()) given.emplace(network, chosen, given_name);
  std::optional<AtomicFile> alignments;
  if (!options.generate.alignments.empty() && options.writes()) alignments.emplace(options.generate.alignments);
  ReadingOptions reading;
  reading.read = prompts ? Format::kLines : chosen.read;
  reading.rows = options.rows;
  if (options.fetches.empty()) reading.ahead = options.ahead;  // answers with tensors are too large to keep thousands of them
  take_limit(reading, chosen, options.writes());
  BadLines bad_lines(options.stop_at_bad_lines, options.writes());
  bad_lines.read_with(reading);
  reading.feeds = generator->feeds();
  if (prompts) {
    reading.prompts = chosen.field;
    reading.check_prompt = [&](const Record& record, const std::vector<std::int32_t>& words) {
      refuse_end(network, chosen, record, words);
    };
  }
  const std::string input = lines->name();
  if (given) {
    reading.beside = [&] { return given->next(input); };
    reading.beside_ready = [&](int milliseconds) { return given->ready(milliseconds); };
  }
  const DataSpec data = prompts ? line_by_line(network.job.data) : network.job.data;
  InferenceReader reader(data, *network.job.plan, network.vocabularies, std::move(lines), reading);
  LineAnswerer answerer(network, chosen, options, std::move(generator));
  answer_in_order(
      reader, answerer, [&](const std::string& links) { alignments->write(links.data(), links.size()); }, options.together);
  if (given) given->end(input);
  if (alignments) alignments->commit();
  bad_lines.tell_total();
}

}  // namespace graphrun
