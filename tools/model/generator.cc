#include "tools/model/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "runtime/base/random.h"
#include "tools/model/evaluator.h"

namespace graphrun {
namespace {

// The values to fetch in every step, the alignment first.
std::vector<std::string> fetches_of(const GenerateSpec& spec, const std::vector<std::string>& more) {
  std::vector<std::string> all;
  if (spec.align) all.push_back(spec.align->from);
  for (const std::string& name : more) {
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  }
  return all;
}

// The feed that contains each row's value of a size; null if there is none.
const ir::Input* lengths_of(const ir::Graph& graph, Symbol size) {
  for (const ir::Input& input : graph.inputs) {
    if (input.lengths_of == size) return &input;
  }
  return nullptr;
}

Diagnostic problem(const Location& at, std::string text, std::vector<std::string> notes = {}) {
  return {Severity::kError, "E0417 bad-infer", at, std::move(text), std::move(notes)};
}

void check_words(const Network& network, const InferSpec& mode, std::int64_t scored, std::vector<Diagnostic>& problems) {
  const auto found = network.vocabularies.find(mode.field);
  if (found == network.vocabularies.end()) return;  // reported already
  const Vocabulary& vocabulary = found->second;
  for (const auto& [setting, entry] : {std::pair("begin", mode.generate->begin), std::pair("end", mode.generate->end)}) {
    if (vocabulary.has(entry)) continue;
    problems.push_back(problem(mode.generate->place(setting),
                               fmt::format("'{}' is not an entry of the vocabulary of field '{}'", entry, mode.field),
                               {"help: a feed puts it there, \"previous = ['<s>', text], target = [text, '</s>']\""}));
  }
  if (scored != vocabulary.size()) {
    problems.push_back(
        problem(mode.generate->place("score"), fmt::format("'{}' scores {} words, but the vocabulary of field '{}' has {}",
                                                           mode.generate->score, scored, mode.field, vocabulary.size())));
  }
}

// The type of a fetched value, of a step or whole.
const ir::TensorType& type_of(const GenerationGraphs& cut, const std::string& name) {
  const ir::Output* const of_step = cut.step.output(name);
  return of_step ? cut.step.type(of_step->value) : cut.prologue.type(cut.prologue.output(kWholePrefix + name)->value);
}

void check_align(const Network& network, const InferSpec& mode, const GenerationGraphs& cut,
                 std::vector<Diagnostic>& problems) {
  const AlignSpec& align = *mode.generate->align;
  const ir::TensorType& type = type_of(cut, align.from);
  const auto rows = std::count(type.shape.begin(), type.shape.end(), Dim(cut.rows));
  const bool fixed = std::any_of(type.shape.begin(), type.shape.end(), [](const Dim& d) { return d.is_constant(); });
  const bool of_step = cut.step.output(align.from) != nullptr;
  if (!of_step || type.type != Type::kFloat || type.shape.size() != 2 || rows != 1 || fixed) {
    problems.push_back(problem(mode.generate->place("align.from"),
                               fmt::format("align: '{}' must give a number for each position of the input, FLOAT [time, "
                                           "source_time, batch], found {}{}",
                                           align.from, type.str(), of_step ? " a step" : ", which no word changes")));
  }
  std::vector<std::string> fed;
  for (const ir::Input& input : cut.prologue.inputs) {
    const std::string& name = cut.prologue.value(input.value).name;
    if (network.job.plan->feed(name) != nullptr) fed.push_back(name);
  }
  const std::set<std::string> read =
      fed.empty() ? std::set<std::string>() : fields_of(*network.job.plan, choose_feeds(*network.job.plan, fed));
  if (read.count(align.field) == 0) {
    problems.push_back(
        problem(mode.generate->place("align.field"),
                fmt::format("align: generation does not read field '{}': the text at the input's positions is of {}",
                            align.field, read.empty() ? "none" : "'" + fmt::format("{}", fmt::join(read, "', '")) + "'")));
  }
  const auto words = network.vocabularies.find(mode.field);
  if (!align.replace.empty() && words != network.vocabularies.end() && !words->second.has(align.replace)) {
    problems.push_back(problem(mode.generate->place("align.replace"),
                               fmt::format("align: '{}', which is to be replaced, is not an entry of the vocabulary "
                                           "of field '{}'",
                                           align.replace, mode.field)));
  }
}

GenerationSpec cut_spec(const GenerateSpec& spec, std::vector<std::string> fetches) {
  return {spec.scan, spec.feed, spec.score, std::move(fetches), spec.shortlist.has_value()};
}

bool can_be_cut(const ir::Graph& graph, const GenerateSpec& spec, const std::vector<std::string>& fetches) {
  try {
    GenerationSpec whole = cut_spec(spec, fetches);
    whole.shortlist = false;
    cut_for_generation(graph, whole);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

// The setting that causes an error of cut_for_generation; "" if it is a fetch on the command line.
std::string setting_of(const ir::Graph& graph, const GenerateSpec& spec, const std::string& code) {
  if (code.starts_with("E0431")) return "scan";
  if (code.starts_with("E0432")) return "feed";
  if (code.starts_with("E0436")) return "shortlist";
  if (!can_be_cut(graph, spec, {})) return "score";
  return spec.align && !can_be_cut(graph, spec, {spec.align->from}) ? "align.from" : "";
}

// The graph, cut as the mode says; nullopt if the mode does not fit it.
std::optional<GenerationGraphs> checked_cut(const ir::Graph& graph, const Network& network, const InferSpec& mode,
                                            const std::vector<std::string>& fetches, std::vector<Diagnostic>& problems) {
  const std::size_t before = problems.size();
  const GenerateSpec& spec = *mode.generate;
  try {
    GenerationGraphs cut = cut_for_generation(graph, cut_spec(spec, fetches_of(spec, fetches)));
    const Dim& scored = cut.step.type(cut.step.output(kScoreOutput)->value).shape[1];
    check_words(network, mode, cut.shortlist ? cut.shortlist->vocabulary : scored.constant(), problems);
    if (spec.shortlist) check_shortlist(network, mode, cut, problems);
    if (spec.align) check_align(network, mode, cut, problems);
    for (Symbol size : spec.max_length.symbols()) {
      if (lengths_of(cut.prologue, size) != nullptr) continue;
      problems.push_back(
          problem(spec.place("max_length"),
                  fmt::format("max_length: no input that generation reads holds the lengths of '{}'", size.name()),
                  {"help: a size means each line's own number of steps, which an input with `lengths_of` provides"}));
    }
    if (problems.size() == before) return cut;
  } catch (const UserError& error) {
    for (Diagnostic d : error.diagnostics()) {
      if (const std::string setting = setting_of(graph, spec, d.code); setting.empty()) {
        d.notes.insert(d.notes.begin(), "note: of what --fetch names");
      } else if (!d.at.known()) {
        d.at = spec.place(setting);
        d.text = setting + ": " + d.text;
      }
      problems.push_back(std::move(d));
    }
  }
  return std::nullopt;
}

// The prologue's inputs that no feed of the job is.
std::set<std::string> made_inputs(const GenerationGraphs& cut) {
  std::set<std::string> names = {cut.rows_input};
  if (cut.shortlist) names.insert({cut.shortlist->words.input, cut.shortlist->allowed.input});
  return names;
}

}  // namespace

void check_generate(const ir::Graph& graph, const Network& network, const InferSpec& mode, std::vector<Diagnostic>& problems) {
  checked_cut(graph, network, mode, {}, problems);
}

Generator::Generator(const ir::Graph& graph, const Network& network, const InferSpec& mode, const Parameters& parameters,
                     GeneratorOptions options)
    : Generator(graph, network, mode, std::move(options)) {
  for (const Program* program : programs()) set_parameters(*program, parameters, *variables_);
}

Generator::Generator(const Generator& other)
    : mode_(other.mode_),
      options_(other.options_),
      variables_(other.variables_),
      search_(other.search_->share()),
      shortlists_(other.shortlists_),
      of_steps_(other.of_steps_),
      whole_(other.whole_),
      feeds_(other.feeds_),
      lengths_(other.lengths_),
      own_positions_(other.own_positions_) {}

std::unique_ptr<Generator> Generator::share() const { return std::unique_ptr<Generator>(new Generator(*this)); }

void Generator::take(const Variables& parameters) {
  for (const Program* program : programs()) {
    for (const VariableSpec& variable : program->variables) {
      if (variable.kind == VariableSpec::Kind::kParameter) variables_->set(variable.name, parameters.at(variable.name));
    }
  }
}

Generator::Generator(const ir::Graph& graph, const Network& network, const InferSpec& mode, GeneratorOptions options)
    : mode_(mode), options_(std::move(options)) {
  std::vector<Diagnostic> problems;
  const std::optional<GenerationGraphs> made = checked_cut(graph, network, mode_, options_.fetches, problems);
  if (!made) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
  const GenerationGraphs& cut = *made;
  const Vocabulary& vocabulary = network.vocabularies.at(mode_.field);
  whole_ = cut.whole;
  for (const std::string& name : fetches_of(spec(), options_.fetches)) {
    if (std::find(whole_.begin(), whole_.end(), name) == whole_.end()) of_steps_.push_back(name);
  }
  GraphSearchOptions running;
  running.fetches = of_steps_;
  SearchOptions& search = running.search;
  search.begin = vocabulary.number(spec().begin), search.end = vocabulary.number(spec().end);
  search.beam = spec().beam, search.n_best = spec().n_best, search.min_length = spec().min_length;
  search.norm = spec().norm;
  if (spec().sample) search.sampling = {spec().sample->temperature, spec().sample->top_k};
  search.prefixes = options_.prefix || cut.fed().empty();
  running.target = Target(*options_.device, mode_.weights, network.job.products);
  if (spec().shortlist) shortlists_ = std::make_shared<RowShortlists>(network, mode_, cut, search);
  search_ = std::make_unique<GraphSearch>(cut, std::move(running), variables_);
  feeds_ = need_feeds(*programs()[0], *network.job.plan, made_inputs(cut));
  if (shortlists_) {
    for (const std::string& feed : shortlists_->feeds()) read_too(feed);
  }
  for (Symbol size : spec().max_length.symbols()) {
    const std::string feed = cut.prologue.value(lengths_of(cut.prologue, size)->value).name;
    lengths_.emplace_back(size, feed);
    read_too(feed);
  }
  find_positions(cut);
}

void Generator::read_too(const std::string& feed) {
  if (std::find(feeds_.begin(), feeds_.end(), feed) == feeds_.end()) feeds_.push_back(feed);
}

void Generator::find_positions(const GenerationGraphs& cut) {
  for (const std::string& name : fetches_of(spec(), options_.fetches)) {
    std::size_t axis = 0;
    for (const Dim& size : type_of(cut, name).shape) {
      if (size == Dim(cut.rows)) continue;
      const std::optional<Symbol> symbol = size.as_symbol();
      if (const ir::Input* const lengths = symbol ? lengths_of(cut.prologue, *symbol) : nullptr; lengths != nullptr) {
        const std::string& feed = cut.prologue.value(lengths->value).name;
        own_positions_[name].emplace_back(axis, feed);
        read_too(feed);
      }
      ++axis;
    }
  }
}

// The prologue, and the step that runs once per word.
std::array<const Program*, 2> Generator::programs() const { return {&search_->prologue(), &search_->steps()}; }

// By row, independent of the other rows in the batch.
std::vector<std::int64_t> Generator::most_words(const Batch& batch) const {
  std::vector<std::int64_t> most;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    SymbolValues sizes;
    for (const auto& [size, feed] : lengths_) sizes[size] = static_cast<std::int64_t>(batch.feeds.at(feed).at(row));
    most.push_back(std::clamp<std::int64_t>(spec().max_length.evaluate(sizes), 0, kMostWords));
  }
  return most;
}

// With the list of words that the batch can need.
Feeds Generator::feeds_of(const Batch& batch, const RowsGiven& given) const {
  Feeds feeds = batch.feeds;
  if (shortlists_) shortlists_->add(batch.rows, given.prefix, feeds);
  return feeds;
}

std::vector<std::vector<Hypothesis>> Generator::run(const Batch& batch, const RowsGiven& given) {
  rows_.clear();
  for (const auto& [name, axes] : own_positions_) {
    for (const auto& [axis, feed] : axes) rows_[feed] = batch.feeds.at(feed);
  }
  Sentences sentences{most_words(batch), given.prefix, {}};
  if (spec().sample) {
    for (const std::uint64_t key : given.keys) sentences.keys.push_back(fold_coordinate(spec().sample->seed, key));
  }
  return search_->run(feeds_of(batch, given), sentences);
}

void Generator::free_histories() { search_->free_histories(); }

// The value with axes over the input's positions cut to the row's own length.
Fetched Generator::own_part(const std::string& name, Fetched all, std::int64_t row) const {
  if (const auto own = own_positions_.find(name); own != own_positions_.end()) {
    for (const auto& [axis, feed] : own->second) {
      all = first_of_axis(all, axis, static_cast<std::int64_t>(rows_.at(feed).at(row)));
    }
  }
  return all;
}

std::optional<Alignment> Generator::alignment(const Hypothesis& hypothesis, std::size_t units, std::int64_t row) const {
  if (!spec().align) return std::nullopt;
  Alignment alignment;
  for (std::size_t t = 0; t < hypothesis.words.size(); ++t) {
    Fetched made = own_part(spec().align->from, search_->fetched(0, static_cast<std::int64_t>(t), hypothesis.rows[t]), row);
    std::vector<float>& weights = made.values;
    const std::size_t own = std::min(units, weights.size());
    const auto rest = weights.begin() + static_cast<std::ptrdiff_t>(own);
    alignment.elsewhere.push_back(rest == weights.end() ? -std::numeric_limits<float>::infinity()
                                                        : *std::max_element(rest, weights.end()));
    weights.resize(own);
    alignment.weights.push_back(std::move(weights));
  }
  return alignment;
}

std::map<std::string, std::vector<Fetched>> Generator::fetched(const Hypothesis& hypothesis, std::int64_t row) const {
  std::map<std::string, std::vector<Fetched>> all;
  for (const std::string& name : options_.fetches) {
    const auto k = static_cast<std::size_t>(std::find(of_steps_.begin(), of_steps_.end(), name) - of_steps_.begin());
    if (k == of_steps_.size()) continue;
    for (std::size_t t = 0; t < hypothesis.rows.size(); ++t) {
      all[name].push_back(own_part(name, search_->fetched(k, static_cast<std::int64_t>(t), hypothesis.rows[t]), row));
    }
  }
  return all;
}

std::map<std::string, Fetched> Generator::whole(std::int64_t row) const {
  std::map<std::string, Fetched> all;
  for (std::size_t k = 0; k < whole_.size(); ++k) all[whole_[k]] = own_part(whole_[k], search_->whole(k, row), row);
  return all;
}

}  // namespace graphrun
