#include "tools/generate/graph_search.h"

#include <algorithm>
#include <numeric>

#include "tools/generate/search_graph.h"
#include "tools/generate/settings.h"

namespace graphrun {
namespace {

using namespace search_names;
using Carried = GenerationGraphs::Carried;

// So many steps are begun before the host asks which sentences are done; one that is done may cost so many steps more.
constexpr std::size_t kStepsAhead = 4;

std::vector<Carried> search_state(std::int64_t beam, std::int64_t n_best) {
  const Dim sentences = Symbol::named("search.sentences");
  const Shape one = {sentences}, live = {sentences, beam}, best = {sentences, n_best};
  return {{kLive, {Type::kFloat, live}, 0},    {kEnded, {Type::kInt32, one}, 0},     {kBest, {Type::kFloat, best}, 0},
          {kBestSum, {Type::kFloat, best}, 0}, {kBestStep, {Type::kInt32, best}, 0}, {kBestPlace, {Type::kInt32, best}, 0},
          {kMost, {Type::kInt32, one}, 0}};
}

std::vector<Carried> rows_of(const GenerationGraphs& cut) {
  std::vector<Carried> rows = cut.states;
  rows.push_back({kWordInput, {Type::kInt32, {Dim(cut.rows)}}, 0});
  return rows;
}

ir::Graph step_of(const GenerationGraphs& cut, const GraphSearch::Options& options, std::int64_t before) {
  SearchGraphOptions search;
  search.before = before, search.beam = options.search.beam, search.n_best = options.search.n_best;
  search.min_length = options.search.min_length, search.end = options.search.end;
  search.norm = options.search.norm;
  search.fetches = options.fetches;
  return with_search(cut, search);
}

// Few distinct numbers of sentences, so that few shapes are ever bound.
std::size_t padded_sentences(std::size_t live) {
  if (live > 8) return (live + 7) / 8 * 8;
  std::size_t padded = 1;
  while (padded < live) padded *= 2;
  return padded;
}

}  // namespace

GraphSearch::GraphSearch(const GenerationGraphs& cut, Options options, std::shared_ptr<Variables> variables)
    : cut_(without_graphs(cut)),
      options_(std::move(options)),
      of_sentences_(search_state(options_.search.beam, options_.search.n_best)),
      of_rows_(rows_of(cut)),
      whole_types_(whole_types(cut)),
      prologue_(compile(cut.prologue, in_float32()), variables, options_.target),
      first_(compile(step_of(cut, options_, 1), in_float32()), variables, options_.target),
      pick_constants_(cut.constants, options_.target.device),
      pick_rows_(of_rows_, options_.target.device),
      pick_sentences_(of_sentences_, options_.target.device) {
  const SearchOptions& search = options_.search;
  GRAPHRUN_CHECK(search.n_best >= 1 && search.n_best <= search.beam && search.prefix.empty(), "GraphSearch: bad options");
  if (search.beam > 1) {
    next_ =
        std::make_unique<Executable>(compile(step_of(cut, options_, search.beam), in_float32()), variables, options_.target);
  }
  for (const std::string& name : options_.fetches) fetch_types_.push_back(cut.step.type(cut.step.output(name)->value));
}

std::vector<std::vector<Hypothesis>> GraphSearch::run(const Feeds& feeds, const std::vector<std::int64_t>& max_length) {
  GRAPHRUN_CHECK(!max_length.empty(), "GraphSearch: no sentences");
  struct Forgets {  // what lies on the device, however this ends
    GraphSearch& search;
    ~Forgets() { search.forget(); }
  } forgets{*this};
  max_length_ = max_length;
  begin(feeds);
  const auto steps =
      static_cast<std::size_t>(std::max<std::int64_t>(1, *std::max_element(max_length.begin(), max_length.end())));
  while (done_.size() < steps) {
    step();
    if (done_.size() == steps || done_.size() % kStepsAhead != 0) continue;
    const std::vector<std::size_t> live = going_on();
    if (live.empty()) break;
    if (4 * padded_sentences(live.size()) <= 3 * sentences_.size()) shrink(live);
  }
  for (Executable* executable : {&prologue_, &first_, next_.get()})
    if (executable != nullptr) executable->finish();
  take_ends();
  for (Done& d : done_) {
    d.words = d.words.to_host(), d.parents = d.parents.to_host();
    for (Tensor& fetched : d.fetches) fetched = fetched.to_host();
  }
  std::vector<std::vector<Hypothesis>> found(max_length.size());
  for (const auto& [sentence, ends] : ends_) {
    if (max_length[sentence] == 0) {  // it may have no words
      found[sentence].push_back({{}, 0, options_.search.norm.score(0, 0), false, {}});
      continue;
    }
    for (std::size_t k = 0; k < ends.sums.size(); ++k)
      found[sentence].push_back(hypothesis(ends.sums[k], ends.steps[k], ends.places[k]));
  }
  return found;
}

void GraphSearch::forget() {
  constants_.clear(), now_.clear(), origin_.clear();
  goes_on_ = Tensor();
}

void GraphSearch::begin(const Feeds& feeds) {
  done_.clear(), ends_.clear();
  const auto count = static_cast<std::int64_t>(max_length_.size());
  const std::vector<Tensor> made =
      prologue_.run(prologue_feeds(cut_, prologue_.program(), feeds, count), left_on_device(options_.profiler));
  const std::int64_t most = *std::max_element(max_length_.begin(), max_length_.end()),
                     capacity = std::max<std::int64_t>(1, most + 1);
  sentences_.resize(max_length_.size());
  std::iota(sentences_.begin(), sentences_.end(), 0);
  std::size_t k = 0;
  for (const Carried& c : cut_.constants) constants_[c.name] = now_[c.name] = made.at(k++);
  for (const Carried& s : cut_.states) now_[s.name] = s.zeros ? zeros_for(cut_, s, count, capacity) : made.at(k++);
  whole_.clear();
  for (; k < made.size(); ++k) whole_.push_back(made[k].to_host());
  const std::int64_t n = options_.search.n_best;
  Tensor words(DType::kInt32, {count}), best(DType::kFloat32, {count, n}), longest(DType::kInt32, {count});
  std::fill_n(words.data<std::int32_t>(), count, options_.search.begin);
  std::fill_n(best.data<float>(), count * n, kNothing);
  std::copy(max_length_.begin(), max_length_.end(), longest.data<std::int32_t>());
  now_[kWordInput] = words, now_[kStepInput] = Tensor(DType::kInt32, {});
  now_[kLive] = Tensor(DType::kFloat32, {count, 1}), now_[kEnded] = Tensor(DType::kInt32, {count});
  now_[kBest] = best, now_[kBestSum] = Tensor(DType::kFloat32, {count, n});
  now_[kBestStep] = Tensor(DType::kInt32, {count, n}), now_[kBestPlace] = Tensor(DType::kInt32, {count, n});
  now_[kMost] = first_.on_device(longest);
}

void GraphSearch::step() {
  Executable& executable = done_.empty() || !next_ ? first_ : *next_;
  if (done_.size() == 1) spread_constants(options_.search.beam);
  Feeds feeds;
  for (const FeedSpec& f : executable.program().feeds) feeds[f.name] = now_.at(f.name);
  const std::vector<Tensor> made = executable.run(feeds, left_on_device(options_.profiler));
  const std::vector<FetchSpec>& names = executable.program().fetches;
  const std::string prefix = kNextPrefix;
  std::size_t k = 0;
  for (; names.at(k).name != kParent; ++k) now_[names[k].name.substr(prefix.size())] = made[k];
  Done step{std::move(origin_), now_.at(kWordInput), made[k], {}};
  goes_on_ = made.at(k + 1);
  step.fetches.assign(made.begin() + static_cast<std::ptrdiff_t>(k) + 2, made.end());
  done_.push_back(std::move(step));
  origin_.clear();
}

void GraphSearch::pick(RowPicker& picker, const std::vector<Carried>& what, const std::map<std::string, Tensor>& from,
                       const std::vector<std::int64_t>& rows) {
  std::vector<Tensor> values;
  for (const Carried& c : what) values.push_back(from.at(c.name));
  const std::vector<Tensor> picked = picker.pick(values, rows);
  for (std::size_t k = 0; k < what.size(); ++k) now_[what[k].name] = picked[k];
}

// Constants for so many rows of each sentence.
void GraphSearch::spread_constants(std::int64_t each) {
  if (each == 1 && sentences_.size() == max_length_.size()) return;
  std::vector<std::int64_t> rows;
  for (std::size_t s : sentences_) rows.insert(rows.end(), static_cast<std::size_t>(each), static_cast<std::int64_t>(s));
  pick(pick_constants_, cut_.constants, constants_, rows);
}

std::vector<std::size_t> GraphSearch::going_on() const {
  const Tensor flags = goes_on_.to_host();
  std::vector<std::size_t> live;
  for (std::size_t s = 0; s < sentences_.size(); ++s)
    if (flags.data<std::int32_t>()[s] != 0) live.push_back(s);
  return live;
}

// Sentences leave: what they gave is taken, what is left moves together.
void GraphSearch::shrink(const std::vector<std::size_t>& live) {
  take_ends();
  std::vector<std::size_t> keep = live;
  for (std::size_t s = 0; s < sentences_.size() && keep.size() < padded_sentences(live.size()); ++s)
    if (!std::binary_search(live.begin(), live.end(), s)) keep.push_back(s);
  std::sort(keep.begin(), keep.end());
  std::vector<std::int64_t> places;
  std::vector<std::size_t> left;
  origin_.clear();
  for (std::size_t s : keep) {
    left.push_back(sentences_[s]);
    places.push_back(static_cast<std::int64_t>(s));
    for (std::int64_t b = 0; b < options_.search.beam; ++b)
      origin_.push_back(static_cast<std::int64_t>(s) * options_.search.beam + b);
  }
  pick(pick_sentences_, of_sentences_, now_, places);
  pick(pick_rows_, of_rows_, now_, origin_);
  sentences_ = std::move(left);
  spread_constants(options_.search.beam);
}

void GraphSearch::take_ends() {
  const Tensor best = now_.at(kBest).to_host(), sums = now_.at(kBestSum).to_host(), steps = now_.at(kBestStep).to_host(),
               places = now_.at(kBestPlace).to_host();
  const std::int64_t n = options_.search.n_best;
  for (std::size_t s = 0; s < sentences_.size(); ++s) {
    Ends ends;
    for (std::int64_t i = static_cast<std::int64_t>(s) * n; i < static_cast<std::int64_t>(s + 1) * n; ++i) {
      if (best.data<float>()[i] <= kNothing / 2) break;
      ends.sums.push_back(sums.at(i));
      ends.steps.push_back(steps.data<std::int32_t>()[i]);
      ends.places.push_back(places.data<std::int32_t>()[i]);
    }
    ends_[sentences_[s]] = std::move(ends);
  }
}

// Back from its last word to its first; `step` as in kBestStep.
Hypothesis GraphSearch::hypothesis(double sum, std::int64_t step, std::int64_t place) const {
  Hypothesis h;
  h.log_probability = sum, h.ended = step % 2 != 0;
  for (std::int64_t t = step / 2; t >= 0; --t) {
    const Done& d = done_[static_cast<std::size_t>(t)];
    if (t < step / 2 || !h.ended) h.words.push_back(d.words.data<std::int32_t>()[place]);
    const std::int64_t row = d.parents.data<std::int32_t>()[place];
    h.rows.push_back(row);
    place = d.origin.empty() ? row : d.origin[static_cast<std::size_t>(row)];
  }
  std::reverse(h.words.begin(), h.words.end());
  std::reverse(h.rows.begin(), h.rows.end());
  h.score = options_.search.norm.score(sum, static_cast<std::int64_t>(h.rows.size()));
  return h;
}

Fetched GraphSearch::whole(std::size_t k, std::int64_t sentence) const {
  return fetched_row(whole_.at(k), whole_types_.at(k), cut_.rows, sentence);
}

Fetched GraphSearch::fetched(std::size_t k, std::int64_t t, std::int64_t row) const {
  return fetched_row(done_.at(static_cast<std::size_t>(t)).fetches.at(k), fetch_types_.at(k), cut_.rows, row);
}

}  // namespace graphrun
