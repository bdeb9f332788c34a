#include "tools/model/row_shortlists.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/cli/program.h"

namespace graphrun {
namespace {

// The feeds that generation reads of entries.
std::vector<const FeedPlan::Feed*> feeds_of_entries(const Network& network, const GenerationGraphs& cut) {
  std::vector<const FeedPlan::Feed*> feeds;
  for (const std::string& name : cut.fed()) {
    const FeedPlan::Feed* const feed = network.job.plan->feed(name);
    if (feed != nullptr && !feed->field.empty()) feeds.push_back(feed);
  }
  return feeds;
}

// The field that the table's source words are of: the one that is named, else align's, else the only one. Empty: there is none.
std::string source_field(const Network& network, const InferSpec& mode, const GenerationGraphs& cut) {
  const GenerateSpec& generate = *mode.generate;
  if (!generate.shortlist->field.empty()) return generate.shortlist->field;
  if (generate.align) return generate.align->field;
  std::set<std::string> fields;
  for (const FeedPlan::Feed* feed : feeds_of_entries(network, cut)) fields.insert(feed->field);
  return fields.size() == 1 ? *fields.begin() : "";
}

const ir::Input* input_of(const ir::Graph& graph, const std::string& name) {
  const auto found = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                  [&](const ir::Input& input) { return graph.value(input.value).name == name; });
  return found == graph.inputs.end() ? nullptr : &*found;
}

// The feed that holds how many steps of a feed's first axis are each row's own; empty: there is none.
std::string lengths_feed(const GenerationGraphs& cut, const std::string& feed) {
  const ir::Graph& graph = cut.prologue;
  const Shape& shape = graph.type(input_of(graph, feed)->value).shape;
  const std::optional<Symbol> time = shape.size() == 2 ? shape[0].as_symbol() : std::nullopt;
  for (const ir::Input& input : graph.inputs) {
    if (time && input.lengths_of == time) return graph.value(input.value).name;
  }
  return "";
}

Lexicon read_lexicon(const Network& network, const InferSpec& mode, const std::string& field) {
  const ShortlistSpec& spec = *mode.generate->shortlist;
  return Lexicon::read(spec.table, network.vocabularies.at(field), network.vocabularies.at(mode.field), spec.best,
                       [](const Diagnostic& d) { fmt::print(stderr, "{}\n", render(d, color_on_stderr())); });
}

// Begin and unknown are words of every list, so that a row has some even if the search forbids the end.
std::vector<std::int32_t> always_allowed(const Vocabulary& vocabulary, std::int64_t first, const SearchOptions& search) {
  std::vector<std::int32_t> words = {search.begin, search.end};
  if (!vocabulary.closed()) words.push_back(vocabulary.unknown());
  for (std::int32_t word = 0; word < std::min(first, vocabulary.size()); ++word) words.push_back(word);
  return words;
}

}  // namespace

void check_shortlist(const Network& network, const InferSpec& mode, const GenerationGraphs& cut,
                     std::vector<Diagnostic>& problems) {
  const GenerateSpec& generate = *mode.generate;
  const std::string field = source_field(network, mode, cut);
  std::vector<std::string> read;
  bool deep = false;
  for (const FeedPlan::Feed* feed : feeds_of_entries(network, cut)) {
    read.push_back(feed->field);
    deep = deep || (feed->field == field && feed->depth > 1);
  }
  const auto add = [&](std::string text, std::vector<std::string> notes = {}) {
    const Location& at = generate.place(generate.places.count("shortlist.field") != 0 ? "shortlist.field" : "shortlist");
    problems.push_back({Severity::kError, "E0417 bad-infer", at, std::move(text), std::move(notes)});
  };
  if (read.empty()) {
    add("shortlist: generation reads no words of which the table could hold translations");
  } else if (field.empty()) {
    add(fmt::format("shortlist: generation reads several fields, '{}': which one has the words that are translated?",
                    fmt::join(read, "', '")),
        {"help: shortlist { field: \"" + read.front() + "\" }, for one"});
  } else if (std::find(read.begin(), read.end(), field) == read.end()) {
    add(fmt::format("shortlist: generation does not read field '{}': what it reads is of '{}'", field,
                    fmt::join(read, "', '")));
  } else if (deep) {
    add(fmt::format("shortlist: field '{}' is a sequence of sequences; expected words", field));
  }
}

RowShortlists::RowShortlists(const Network& network, const InferSpec& mode, const GenerationGraphs& cut,
                             const SearchOptions& search)
    : words_input_(cut.shortlist->words.input),
      allowed_input_(cut.shortlist->allowed.input),
      shortlist_(read_lexicon(network, mode, source_field(network, mode, cut)),
                 always_allowed(network.vocabularies.at(mode.field), mode.generate->shortlist->first, search),
                 cut.shortlist->vocabulary, most_candidates(search)) {
  const std::string field = source_field(network, mode, cut);
  for (const FeedPlan::Feed* feed : feeds_of_entries(network, cut)) {
    if (feed->field == field) sources_.push_back({feed->name, lengths_feed(cut, feed->name)});
  }
}

std::vector<std::string> RowShortlists::feeds() const {
  std::vector<std::string> names;
  for (const SourceFeed& source : sources_) {
    names.push_back(source.feed);
    if (!source.lengths.empty()) names.push_back(source.lengths);
  }
  return names;
}

void RowShortlists::add(std::int64_t rows, const std::vector<std::vector<std::int32_t>>& prefix, Feeds& feeds) const {
  std::vector<std::vector<std::int32_t>> words(static_cast<std::size_t>(rows));
  for (const SourceFeed& source : sources_) {
    const Tensor& fed = feeds.at(source.feed);
    const std::int64_t steps = fed.sizes().size() == 2 ? fed.sizes()[0] : 1;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t own =
          source.lengths.empty() ? steps : std::min(steps, static_cast<std::int64_t>(feeds.at(source.lengths).at(row)));
      for (std::int64_t t = 0; t < own; ++t) {
        words[static_cast<std::size_t>(row)].push_back(fed.data<std::int32_t>()[t * rows + row]);
      }
    }
  }
  BatchShortlist::Selected selected = shortlist_.select(words, prefix);
  feeds[words_input_] = std::move(selected.words);
  feeds[allowed_input_] = std::move(selected.allowed);
}

}  // namespace graphrun
