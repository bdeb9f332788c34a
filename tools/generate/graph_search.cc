#include "tools/generate/graph_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tools/generate/history_memory.h"
#include "tools/generate/row_layout.h"
#include "tools/generate/search_graph.h"
#include "tools/generate/settings.h"

namespace graphrun {
namespace {

using namespace search_names;
using Carried = GenerationGraphs::Carried;

std::vector<Carried> followers_of(const GenerationGraphs& cut) {
  std::vector<Carried> all = cut.states;
  all.push_back({kWordInput, {Type::kInt32, {Dim(cut.rows)}}, 0});
  return all;
}

std::vector<Carried> begun_of(const GenerationGraphs& cut) {
  std::vector<Carried> begun = cut.states;
  std::erase_if(begun, [](const Carried& state) { return state.zeros; });
  return begun;
}

// The constants that the step reads with a row for each hypothesis, or as they are; hypotheses of a sentence share the others.
std::vector<Carried> constants_by_row(const GenerationGraphs& cut, const Program& step) {
  std::vector<Carried> by_row = cut.constants;
  std::erase_if(by_row, [&](const Carried& c) {
    const auto feed = std::find_if(step.feeds.begin(), step.feeds.end(), [&](const FeedSpec& f) { return f.name == c.name; });
    return c.row_axis >= 0 && feed != step.feeds.end() && feed->shape[static_cast<std::size_t>(c.row_axis)] != Dim(cut.rows);
  });
  return by_row;
}

// The number of steps that a device is given before the host checks what is done.
constexpr std::int64_t kStepsAhead = 4;

// The number of rows for `needed` of all places: one of a few numbers, so that few shapes are ever bound.
std::size_t rows_for(std::size_t needed, std::size_t places) {
  return needed <= 8 || needed == places ? needed : std::min(places, (needed + 7) / 8 * 8);
}

// The samples of each sentence, which are searched as sentences of their own.
std::int64_t samples_of(const SearchOptions& search) { return search.sampling ? search.n_best : 1; }

GraphSearchOptions of_one_sample(GraphSearchOptions options) {
  if (options.search.sampling) options.search.beam = options.search.n_best = 1;
  return options;
}

std::vector<ir::TensorType> fetch_types_of(const GenerationGraphs& cut, const std::vector<std::string>& fetches) {
  std::vector<ir::TensorType> types;
  for (const std::string& name : fetches) types.push_back(cut.step.type(cut.step.output(name)->value));
  return types;
}

Tensor filled(Sizes sizes, float x) {
  Tensor t(DType::kFloat32, std::move(sizes));
  std::fill_n(t.data<float>(), t.count(), x);
  return t;
}

template <class Number>
Tensor int32_of(Sizes sizes, const std::vector<Number>& numbers) {
  Tensor t(DType::kInt32, std::move(sizes));
  std::transform(numbers.begin(), numbers.end(), t.data<std::int32_t>(), [](Number n) { return static_cast<std::int32_t>(n); });
  return t;
}

// The position of a word in the list of words; an empty list means all words.
std::int32_t place_in(std::span<const std::int32_t> list, std::int32_t word) {
  if (list.empty()) return word;
  const auto found = std::lower_bound(list.begin(), list.end(), word);
  GRAPHRUN_CHECK(found != list.end() && *found == word, "GraphSearch: a prefix with a word that the shortlist lacks");
  return static_cast<std::int32_t>(found - list.begin());
}

}  // namespace

GraphSearch::GraphSearch(const GenerationGraphs& cut, GraphSearchOptions options, std::int64_t samples, SearchParts made)
    : cut_(without_graphs(cut)),
      samples_(samples),
      options_(std::move(options)),
      followers_(followers_of(cut)),
      begun_(begun_of(cut)),
      by_row_(constants_by_row(cut, made.step.program())),
      fetch_types_(std::move(made.fetch_types)),
      whole_types_(std::move(made.whole_types)),
      prologue_(std::move(made.prologue)),
      step_(std::move(made.step)),
      pick_constants_(cut, by_row_, *options_.target.device),
      pick_begun_(cut, begun_, *options_.target.device),
      follow_(cut, followers_, *options_.target.device, true),
      done_(*options_.target.device) {}

GraphSearch::GraphSearch(const GenerationGraphs& cut, GraphSearchOptions options, std::shared_ptr<Variables> variables)
    : GraphSearch(
          cut, of_one_sample(options), samples_of(options.search),
          {Executable(compile(cut.prologue, in_float32()), variables, options.target),
           Executable(compile(with_search(cut, of_one_sample(options).search, options.fetches, samples_of(options.search)),
                              in_float32()),
                      variables, options.target),
           fetch_types_of(cut, options.fetches), whole_types(cut)}) {}

std::unique_ptr<GraphSearch> GraphSearch::share() const {
  GraphSearchOptions options = options_;
  options.profiler = nullptr;  // a profiler serves only one thread
  return std::unique_ptr<GraphSearch>(
      new GraphSearch(cut_, std::move(options), samples_, {prologue_.share(), step_.share(), fetch_types_, whole_types_}));
}

std::vector<std::vector<Hypothesis>> GraphSearch::run(const Feeds& feeds, const Sentences& given) {
  struct Forgets {  // frees the values on the device, even after an exception
    GraphSearch& search;
    ~Forgets() { search.forget(); }
  } forgets{*this};
  take(given);
  begin(feeds);
  while (continue_rows()) step();
  prologue_.finish(), step_.finish();
  done_.bring_to_host();
  return found();
}

void GraphSearch::take(const Sentences& given) {
  const std::size_t count = given.max_length.size();
  GRAPHRUN_CHECK(count > 0, "GraphSearch: no sentences");
  GRAPHRUN_CHECK(options_.room > 0, "GraphSearch: no room");
  GRAPHRUN_CHECK(given.prefix.empty() || (options_.search.prefixes && given.prefix.size() == count), "GraphSearch: prefixes");
  GRAPHRUN_CHECK(!options_.search.sampling || given.keys.size() == count, "GraphSearch: a key for each sentence");
  given_ = {};
  longest_ = 0;
  for (std::size_t s = 0; s < count; ++s) {
    longest_ = std::max(longest_, given.most(s));
    for (std::int64_t n = 0; n < samples_; ++n) {
      given_.max_length.push_back(given.max_length[s]);
      if (!given.prefix.empty()) given_.prefix.push_back(given.prefix[s]);
      if (!given.keys.empty()) given_.keys.push_back(given.keys[s]);
    }
  }
}

void GraphSearch::forget() {
  for (auto& [name, history] : spare_) {
    if (const auto left = now_.find(name); left != now_.end()) history = std::move(left->second);
  }
  constants_.clear(), now_.clear();
  layout_ = nullptr;
  words_ = parents_ = continues_ = Tensor();
}

void GraphSearch::begin(const Feeds& feeds) {
  done_.clear(), layouts_.clear();
  const std::int64_t rows = sentences() / samples_;
  std::vector<Tensor> made =
      prologue_.run(prologue_feeds(cut_, prologue_.program(), feeds, rows), left_on_device(options_.profiler));
  std::size_t k = 0;
  for (const Carried& c : cut_.constants) now_[c.name] = made.at(k++);
  for (const Carried& c : by_row_) constants_.push_back(now_.at(c.name));
  for (const Carried& s : begun_) now_[s.name] = made.at(k++);
  whole_ = Tensor::to_host({made.begin() + static_cast<std::ptrdiff_t>(k), made.end()});
  sentence_of_row_.resize(static_cast<std::size_t>(rows));
  std::iota(sentence_of_row_.begin(), sentence_of_row_.end(), 0);
  begin_search(cut_.shortlist ? feeds.at(cut_.shortlist->words.input).span<std::int32_t>() : std::span<const std::int32_t>());
}

void GraphSearch::begin_search(std::span<const std::int32_t> list) {
  const std::int64_t s = sentences(), n = options_.search.n_best;
  const auto count = static_cast<std::size_t>(s);
  Tensor live = filled({s, beam()}, kNothing);
  std::vector<std::int64_t> most;
  for (std::size_t i = 0; i < count; ++i) {
    most.push_back(given_.most(i));
    if (most[i] > 0) live.data<float>()[static_cast<std::int64_t>(i) * beam()] = 0;
  }
  now_[kStepInput] = Tensor(DType::kInt32, {});
  now_[kLive] = live, now_[kEnded] = Tensor(DType::kInt32, {s});
  now_[kBest] = filled({s, n}, kNothing);
  now_[kBestStep] = Tensor(DType::kInt32, {s, n}), now_[kBestPlace] = Tensor(DType::kInt32, {s, n});
  now_[kMost] = step_.feed_on_device(kMost, int32_of({s}, most));
  std::vector<std::int64_t> first;
  for (std::int64_t k = 0; k < s; ++k) first.push_back(k * beam());
  now_[kFirstPlace] = step_.feed_on_device(kFirstPlace, int32_of({s}, first));
  if (options_.search.prefixes) {
    std::int64_t words = 0;
    for (std::size_t i = 0; i < count; ++i) words = std::max(words, given_.given(i));
    Tensor given(DType::kInt32, {words + 1, s});
    std::fill_n(given.data<std::int32_t>(), given.count(), kNoWord);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::int64_t t = 0; t < given_.given(i); ++t) {
        given.data<std::int32_t>()[t * s + static_cast<std::int64_t>(i)] =
            place_in(list, given_.prefix[i][static_cast<std::size_t>(t)]);
      }
    }
    now_[kGiven] = step_.feed_on_device(kGiven, given);
  }
  if (options_.search.sampling) {
    std::vector<std::uint32_t> keys;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t key = given_.keys[i];
      keys.insert(keys.end(), {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32),
                               static_cast<std::uint32_t>(static_cast<std::int64_t>(i) % samples_)});
    }
    now_[kKeys] = step_.feed_on_device(kKeys, int32_of({s, 3}, keys));
  }
}

// On the CPU, the host looks at every step; a device is given several steps before the host looks.
bool GraphSearch::looks_before(std::int64_t step) const { return step > 0 && (on_host() || step % kStepsAhead == 0); }

// The last step before the rows are laid out again.
std::int64_t GraphSearch::last_before_look(std::int64_t step) const {
  return on_host() || step == 0 ? step : step / kStepsAhead * kStepsAhead + kStepsAhead - 1;
}

// The places that may have a hypothesis until the host looks again. After a look, the host knows those of the next step; in
// later steps, hypotheses are in the first places of the sentences that have not ended.
std::vector<bool> GraphSearch::places_needed(bool look) const {
  const std::int64_t next = done_.count(), last = last_before_look(next);
  Tensor live, ended, continues;
  if (look) {
    const std::vector<Tensor> seen = Tensor::to_host({now_.at(kLive), now_.at(kEnded), continues_});
    live = seen[0], ended = seen[1], continues = seen[2];
  }
  std::vector<bool> needed(static_cast<std::size_t>(sentences() * beam()));
  for (std::int64_t s = 0; s < sentences(); ++s) {
    const auto i = static_cast<std::size_t>(s);
    if (next >= given_.most(i) || (look && continues.data<std::int32_t>()[s] == 0)) continue;
    std::int64_t first = 0;
    if (!look || last > next) first = last > given_.given(i) ? beam() - (look ? ended.data<std::int32_t>()[s] : 0) : 1;
    for (std::int64_t b = 0, place = s * beam(); b < beam(); ++b, ++place) {
      needed[static_cast<std::size_t>(place)] = b < first || (look && live.data<float>()[place] > kNothing / 2);
    }
  }
  return needed;
}

bool GraphSearch::Layout::covers(const std::vector<bool>& needed) const {
  for (std::size_t place = 0; place < needed.size(); ++place) {
    if (needed[place] && !has_row[place]) return false;
  }
  return true;
}

void GraphSearch::lay_out(std::vector<bool> needed) {
  auto layout = std::make_shared<Layout>();
  std::vector<std::int64_t> sentence_of_row;
  for (std::size_t place = 0; place < needed.size(); ++place) {
    if (needed[place]) layout->places.push_back(static_cast<std::int64_t>(place));
  }
  layout->in_order = layout->places.size() == needed.size();
  layout->places.resize(rows_for(layout->places.size(), needed.size()), layout->places.front());
  layout->has_row = std::move(needed);
  feed(*layout);
  for (std::int64_t place : layout->places) sentence_of_row.push_back(place / beam() / samples_);
  const bool moves = sentence_of_row != sentence_of_row_;
  sentence_of_row_ = std::move(sentence_of_row);
  const Tensor rows = int32_of({static_cast<std::int64_t>(sentence_of_row_.size())}, sentence_of_row_);
  if (shares_constants() && (moves || layout_ == nullptr)) {
    now_.erase(kSourceOf);
    now_[kSourceOf] = step_.feed_on_device(kSourceOf, rows);
  }
  if (moves) {
    for (const Carried& c : by_row_) now_.erase(c.name);
    const std::vector<Tensor> picked = pick_constants_.pick(constants_, rows);
    for (std::size_t k = 0; k < picked.size(); ++k) now_[by_row_[k].name] = picked[k];
  }
  layout_ = std::move(layout);
}

// Keeps the rows and their sentences, but lets hypotheses stay in the rows of their parents, so that fewer states are copied.
void GraphSearch::keep_rows() {
  std::vector<std::int64_t> places = rows_beside_parents(layout_->places, parents_.span<std::int32_t>(), beam());
  if (places == layout_->places) return;
  auto layout = std::make_shared<Layout>(*layout_);
  layout->places = std::move(places);
  layout->in_order = is_range(layout->places, sentences() * beam());
  feed(*layout);
  layout_ = std::move(layout);
}

void GraphSearch::feed(const Layout& layout) {
  const auto rows = static_cast<std::int64_t>(layout.places.size());
  std::vector<std::int64_t> row_of(layout.has_row.size());
  for (std::int64_t row = rows - 1; row >= 0; --row) {
    row_of[static_cast<std::size_t>(layout.places[static_cast<std::size_t>(row)])] = row;
  }
  // Releases the feeds of the last layout first, so that their memory is reused.
  now_.erase(kPlaceOf), now_.erase(kRowOf);
  now_[kPlaceOf] = step_.feed_on_device(kPlaceOf, int32_of({rows}, layout.places));
  now_[kRowOf] = step_.feed_on_device(kRowOf, int32_of({sentences(), beam()}, row_of));
}

// Prepares the feeds of the next step; false if there is no next step.
bool GraphSearch::continue_rows() {
  const std::int64_t next = done_.count();
  if (next >= longest_) return false;
  const bool look = looks_before(next);
  bool moved = false;
  if (look || next <= 1) {
    std::vector<bool> needed = places_needed(look);
    const auto count = static_cast<std::size_t>(std::count(needed.begin(), needed.end(), true));
    if (count == 0) return false;
    // A device records its work for each number of rows, so there the number is only reduced if that saves enough.
    const std::size_t rows = rows_for(count, needed.size()), had = layout_ ? layout_->places.size() : 0;
    const bool shrinks = on_host() ? rows < had : 4 * rows <= 3 * had;
    moved = shrinks || layout_ == nullptr || !layout_->covers(needed);
    if (moved) {
      lay_out(std::move(needed));
    } else if (on_host() && look && beam() > 1) {
      keep_rows();
    }
  }
  next == 0 ? begin_rows() : follow_parents(moved);
  make_room_in_histories();
  return true;
}

// In the first step, each sentence has one row.
void GraphSearch::begin_rows() {
  const auto rows = static_cast<std::int64_t>(layout_->places.size());
  std::vector<Tensor> begun;
  const bool may_grow = std::all_of(cut_.states.begin(), cut_.states.end(),
                                    [&](const Carried& s) { return s.zeros || !is_history(s, cut_.capacity); });
  capacity_ = on_host() && may_grow ? std::min(options_.room, longest_ + 1) : longest_ + 1;
  for (const Carried& s : begun_) begun.push_back(now_.at(s.name));
  if (!is_range(sentence_of_row_, sentences() / samples_)) {
    begun = pick_begun_.pick(begun, int32_of({rows}, sentence_of_row_));
  }
  for (std::size_t k = 0; k < begun.size(); ++k) now_[begun_[k].name] = begun[k];
  for (const Carried& s : cut_.states) {
    if (!s.zeros) continue;
    const DType dtype = dtype_of_state(s);
    const Sizes sizes = sizes_of_state(cut_, s, rows, capacity_);
    now_[s.name] = on_host() && is_history(s, cut_.capacity) ? begin_history(std::exchange(spare_[s.name], {}), dtype, sizes)
                                                             : step_.zeros_on_device(s.name, dtype, sizes);
  }
  now_[kWordInput] = int32_of({rows}, std::vector<std::int32_t>(static_cast<std::size_t>(rows), options_.search.begin));
}

void GraphSearch::make_room_in_histories() {
  const std::int64_t steps = done_.count();
  if (steps < capacity_) return;
  capacity_ = std::min(capacity_ + std::max(options_.room, capacity_ / 8), longest_ + 1);
  for (const Carried& s : cut_.states) {
    if (is_history(s, cut_.capacity)) now_[s.name] = grow_history(std::move(now_.at(s.name)), steps, capacity_);
  }
}

// Feeds the words that the last step chose, and the states of their parent rows.
void GraphSearch::follow_parents(bool moved) {
  now_[kWordInput] = std::exchange(words_, {});
  const Tensor parents = std::exchange(parents_, {});
  if (!moved && beam() == 1 && layout_->in_order) return;
  std::vector<Tensor> values;
  for (const Carried& c : followers_) values.push_back(std::move(now_.at(c.name)));
  values = follow_.pick(std::move(values), now_.at(kPlaceOf), parents, done_.count());
  for (std::size_t k = 0; k < values.size(); ++k) now_[followers_[k].name] = values[k];
}

void GraphSearch::step() {
  Feeds feeds;
  for (const FeedSpec& f : step_.program().feeds) feeds[f.name] = now_.at(f.name);
  for (const Carried& state : cut_.states) now_.erase(state.name);  // the step may overwrite them
  const std::vector<Tensor> made = step_.run(std::move(feeds), left_on_device(options_.profiler));
  const std::vector<FetchSpec>& names = step_.program().fetches;
  const std::string prefix = kNextPrefix;
  std::size_t k = 0;
  for (; names.at(k).name != kWords; ++k) now_[names[k].name.substr(prefix.size())] = made[k];
  words_ = made[k], parents_ = made.at(k + 1), continues_ = made.at(k + 3);
  done_.add({words_, parents_, made.at(k + 2), {made.begin() + static_cast<std::ptrdiff_t>(k) + 4, made.end()}});
  layouts_.push_back(layout_);
}

std::vector<std::vector<Hypothesis>> GraphSearch::found() const {
  const std::vector<Tensor> kept = Tensor::to_host({now_.at(kBest), now_.at(kBestStep), now_.at(kBestPlace)});
  const Tensor &best = kept[0], &steps = kept[1], &places = kept[2];
  const std::int64_t n = options_.search.n_best;
  std::vector<std::vector<Hypothesis>> all(static_cast<std::size_t>(sentences() / samples_));
  for (std::int64_t s = 0; s < sentences(); ++s) {
    std::vector<Hypothesis>& found = all[static_cast<std::size_t>(s / samples_)];
    if (given_.most(static_cast<std::size_t>(s)) == 0) {  // the sentence may have no words
      found.push_back({{}, 0, options_.search.norm.score(0, 0), false, {}});
      continue;
    }
    for (std::int64_t i = s * n; i < (s + 1) * n && best.data<float>()[i] > kNothing / 2; ++i) {
      found.push_back(hypothesis(steps.data<std::int32_t>()[i], places.data<std::int32_t>()[i]));
    }
  }
  if (options_.search.sampling) return all;
  // Sorted by sums in double.
  for (std::vector<Hypothesis>& found : all) {
    std::stable_sort(found.begin(), found.end(), [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  }
  return all;
}

// Follows a hypothesis from its last word to its first; `step` as in kBestStep.
Hypothesis GraphSearch::hypothesis(std::int64_t step, std::int64_t place) const {
  Hypothesis h;
  h.ended = step % 2 != 0;
  std::vector<double> gains;
  for (std::int64_t t = step / 2; t >= 0; --t) {
    const KeptStep& d = done_.at(t);
    if (t < step / 2 || !h.ended) h.words.push_back(d.words.data<std::int32_t>()[place]);
    gains.push_back(static_cast<double>(d.gains.data<float>()[place]));
    h.rows.push_back(d.parents.data<std::int32_t>()[place]);
    place = layouts_[static_cast<std::size_t>(t)]->places[static_cast<std::size_t>(h.rows.back())];
  }
  std::reverse(h.words.begin(), h.words.end());
  std::reverse(h.rows.begin(), h.rows.end());
  h.log_probability = std::accumulate(gains.rbegin(), gains.rend(), 0.0);
  h.score = options_.search.norm.score(h.log_probability, static_cast<std::int64_t>(h.rows.size()));
  return h;
}

Fetched GraphSearch::whole(std::size_t k, std::int64_t sentence) const {
  return fetched_row(whole_.at(k), whole_types_.at(k), cut_.rows, sentence);
}

Fetched GraphSearch::fetched(std::size_t k, std::int64_t t, std::int64_t row) const {
  const ir::TensorType& type = fetch_types_.at(k);
  Fetched found = fetched_row(done_.at(t).fetches.at(k), type, cut_.rows, row);
  std::size_t axis = 0;
  for (const Dim& dim : type.shape) {
    if (dim == Dim(cut_.rows)) continue;
    if (is_capacity(dim, cut_.capacity)) found = first_of_axis(found, axis, t + 1);  // the rest is room for later steps
    ++axis;
  }
  return found;
}

}  // namespace graphrun
