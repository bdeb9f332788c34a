#include "tools/generate/search_graph.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/ir/builder.h"
#include "tools/generate/shared_constants.h"

namespace graphrun {
namespace {

using ir::ValueId;
using namespace search_names;

// Replaces a log-probability that is -infinity or NaN: such words come last, but can be chosen.
constexpr double kImpossible = -1e24;

class SearchMaker {
 public:
  SearchMaker(const GenerationGraphs& cut, const SearchOptions& options, const std::vector<std::string>& fetches)
      : cut_(cut), o_(options), fetches_(fetches), graph_(cut.step), b_(graph_) {
    GRAPHRUN_CHECK(!options.sampling || (options.beam == 1 && options.n_best == 1), "with_search: a sample is a sentence");
    GRAPHRUN_CHECK(options.n_best >= 1 && options.n_best <= options.beam, "with_search: bad sizes");
  }

  ir::Graph run(std::int64_t samples) {
    b_.set_name("search");
    take_inputs();
    o_.sampling ? draw() : choose();
    if (o_.prefixes) follow_given();
    end_some();
    keep_best();
    go_on();
    give();
    return o_.beam * samples > 1 ? with_shared_constants(std::move(graph_), cut_) : std::move(graph_);
  }

 private:
  using Names = std::vector<std::pair<std::string, ValueId>>;
  ValueId equation(std::string_view text, const Names& names) { return b_.equation(text, names); }
  ValueId shaped(ValueId v, Shape shape) { return b_.op("reshape", {v}, {{"shape", std::move(shape)}}); }
  ValueId number(std::int64_t value) { return b_.constant(static_cast<double>(value), Type::kInt32); }
  ValueId range(std::int64_t n) { return b_.op("range", {}, {{"n", Dim(n)}}); }
  // 0, 1, …, B - 1: the places of a sentence.
  ValueId places() { return o_.beam == 1 ? number(0) : range(o_.beam); }
  ValueId gathered(ValueId table, ValueId indices) { return b_.op("gather", {table, indices}); }
  // [S, 1] -> [S].
  ValueId of_sentences(ValueId v) { return shaped(v, {sentences_}); }
  ValueId expanded(ValueId v) { return b_.op("expand", {v}, {{"axis", std::int64_t{-1}}}); }
  ValueId input(const char* name, Type type, Shape shape) { return b_.input(name, {type, std::move(shape)}); }

  // x / divisor, rounded down, for whole numbers x from 0 to divisor · below - 1.
  ValueId quotient(ValueId x, std::int64_t divisor, std::int64_t below = std::numeric_limits<std::int64_t>::max()) {
    constexpr std::int64_t kFew = 16;
    if (divisor == 1) return x;
    if (below == 1) return number(0);
    if (below > kFew) {
      // Whole numbers below 2²⁴ are exact as FLOAT, and so is the floor of their quotient: kMostBeam.
      return equation("cast(floor(x / divisor), type='INT32')", {{"x", x}, {"divisor", number(divisor)}});
    }
    // Counts the multiples: a few comparisons of integers, which are one kernel with what reads the quotient.
    ValueId sum = ir::kNone;
    for (std::int64_t k = 1; k < below; ++k) {
      const ValueId reaches = equation("cast(x >= multiple, type='INT32')", {{"x", x}, {"multiple", number(k * divisor)}});
      sum = k == 1 ? reaches : equation("sum + reaches", {{"sum", sum}, {"reaches", reaches}});
    }
    return sum;
  }

  // x [S, n], columns [S, k] -> [S, k].
  ValueId picked(ValueId x, ValueId columns) {
    const Dim n = b_.graph().type(x).shape[1];
    if (n == Dim(1)) return x;  // each column is the only one
    ValueId first = first_place_;
    if (n != Dim(o_.beam)) {
      const ValueId sentences = b_.op("range", {}, {{"n", Dim(sentences_)}});
      first = equation("expand(s, axis=-1) * n", {{"s", sentences}, {"n", b_.dim(n)}});
    }
    const ValueId flat = equation("at + first", {{"at", columns}, {"first", first}});
    return gathered(shaped(x, {n * sentences_}), flat);
  }

  // The divisor of a log-probability of that many words, at least one: LengthNorm::score. Computed in FLOAT, where one more
  // than the most words does not overflow.
  ValueId norm_of(ValueId words) {
    const ValueId length = b_.cast(words, Type::kFloat);
    switch (o_.norm.kind) {
      case LengthNorm::Kind::kNone: return b_.constant(1);
      case LengthNorm::Kind::kLength: return length;
      case LengthNorm::Kind::kGnmt:
        return equation("pow((5 + length) / 6, alpha)", {{"length", length}, {"alpha", b_.constant(o_.norm.alpha)}});
    }
    throw InternalError("norm_of: no such kind");
  }

  void take_inputs() {
    const Dim s = sentences_, n = o_.n_best;
    nothing_ = b_.constant(static_cast<double>(kNothing));
    live_ = input(kLive, Type::kFloat, {s, o_.beam});
    ended_ = input(kEnded, Type::kInt32, {s});
    best_ = input(kBest, Type::kFloat, {s, n});
    best_step_ = input(kBestStep, Type::kInt32, {s, n});
    best_place_ = input(kBestPlace, Type::kInt32, {s, n});
    most_ = input(kMost, Type::kInt32, {s});
    first_place_ = expanded(input(kFirstPlace, Type::kInt32, {s}));
    row_of_ = input(kRowOf, Type::kInt32, {s, o_.beam});
    for (const ir::Input& i : graph_.inputs) {
      if (graph_.value(i.value).name == kStepInput) step_ = i.value;
    }
    score_ = graph_.output(kScoreOutput)->value;
    if (cut_.shortlist) take_shortlist();
    total_ = b_.op("logsumexp", {score_}, {{"axis", std::vector<std::int64_t>{-1}}});
    words_ = graph_.type(score_).shape.at(1);
    next_step_ = equation("step + 1", {{"step", step_}});
    if (!o_.sampling && !o_.prefixes) return;
    sentence_of_ = quotient(input(kPlaceOf, Type::kInt32, {Dim(cut_.rows)}), o_.beam);
  }

  // Restricts the scores of a sentence to its words of the list.
  void take_shortlist() {
    ValueId allowed = ir::kNone;
    for (const ir::Input& i : graph_.inputs) {
      const std::string& name = graph_.value(i.value).name;
      if (name == cut_.shortlist->words.constant) list_ = i.value;
      if (name == cut_.shortlist->allowed.constant) allowed = i.value;
    }
    // An allowed word stays above words outside the list, even if its score is -infinity or NaN.
    score_ =
        equation("where(allowed, where(score > impossible, score, impossible), nothing)",
                 {{"allowed", allowed}, {"score", score_}, {"impossible", b_.constant(kImpossible)}, {"nothing", nothing_}});
  }

  // The words of the vocabulary that these columns of the score belong to.
  ValueId words_of(ValueId columns) { return cut_.shortlist ? gathered(list_, columns) : columns; }

  // The number of words; with a shortlist, at least as many as choose() takes.
  std::int64_t vocabulary() const { return cut_.shortlist ? cut_.shortlist->vocabulary : words_.constant(); }

  // A log-probability in the form that is summed and compared.
  ValueId possible(ValueId gain) {
    return equation("where(gain > impossible, gain, impossible)", {{"gain", gain}, {"impossible", b_.constant(kImpossible)}});
  }

  // The log-probabilities of words in the form that is summed and compared; impossible ones cannot be chosen. `values`: the
  // words' scores.
  ValueId counted(ValueId gains, ValueId values, ValueId words) {
    ValueId counted = possible(gains);
    if (cut_.shortlist) {
      counted = equation("where(values > nothing / 2, counted, nothing)",
                         {{"values", values}, {"nothing", nothing_}, {"counted", counted}});
    }
    if (o_.min_length > 0) {
      counted = equation("where(words == end and step < least, nothing, counted)", {{"words", words},
                                                                                    {"end", number(o_.end)},
                                                                                    {"step", step_},
                                                                                    {"least", number(o_.min_length)},
                                                                                    {"nothing", nothing_},
                                                                                    {"counted", counted}});
    }
    return counted;
  }

  // Chooses the best continuations of each sentence, as many as it has places.
  void choose() {
    const std::int64_t candidates = std::min(most_candidates(o_), vocabulary());
    const Dim all = Dim(candidates) * Dim(cut_.rows);
    const std::vector<ValueId> top = b_.ops("topk", {score_}, {{"k", candidates}});
    if (o_.beam == 1 && candidates == 1) return take_best(shaped(top[0], {all}), shaped(top[1], {all}));
    const ValueId each = number(candidates);
    const ValueId gains = equation("values - expand(total, axis=-1)", {{"values", top[0]}, {"total", total_}});
    const ValueId words = words_of(top[1]);
    const ValueId sums = equation("expand(live, axis=-1) + counted",
                                  {{"live", live_}, {"counted", gathered(counted(gains, top[0], words), row_of_)}});
    const std::vector<ValueId> chosen = b_.ops("topk", {shaped(sums, {sentences_, o_.beam * candidates})}, {{"k", o_.beam}});
    sum_ = chosen[0];
    const ValueId place = quotient(chosen[1], candidates, o_.beam);
    parent_ = picked(row_of_, place);
    // Of the choices among the candidates of all rows.
    const ValueId at = equation("parent * each + at - place * each",
                                {{"parent", parent_}, {"each", each}, {"at", chosen[1]}, {"place", place}});
    word_ = gathered(shaped(words, {all}), at);
    gain_ = gathered(shaped(gains, {all}), at);
  }

  // There is nothing to choose: each sentence continues with the best column of its row. Values are gathered before anything is
  // computed from them, so that all that is computed is one kernel.
  void take_best(ValueId values, ValueId columns) {
    const ValueId value = gathered(values, row_of_);
    parent_ = row_of_;
    word_ = words_of(gathered(columns, row_of_));
    gain_ = equation("value - total", {{"value", value}, {"total", gathered(total_, row_of_)}});
    sum_ = equation("live + counted", {{"live", live_}, {"counted", counted(gain_, value, word_)}});
  }

  // Draws a word for each row.
  void draw() {
    ValueId scores = score_;
    if (o_.min_length > 0) {
      scores = equation("where(word == end and step < least, nothing, score)",
                        {{"word", words_of(b_.op("range", {}, {{"n", words_}}))},
                         {"end", number(o_.end)},
                         {"step", step_},
                         {"least", number(o_.min_length)},
                         {"nothing", nothing_},
                         {"score", score_}});
    }
    const ValueId keys = gathered(input(kKeys, Type::kInt32, {sentences_, 3}), sentence_of_);
    const ValueId word = b_.op("categorical", {scores, total_, keys, step_},
                               {{"temperature", o_.sampling->temperature}, {"k", o_.sampling->top_k}});
    parent_ = row_of_;
    word_ = gathered(words_of(word), row_of_);
    gain_ = gathered(gain_of(word), row_of_);
    sum_ = equation("live + gain", {{"live", live_}, {"gain", possible(gain_)}});
  }

  // The log-probability of one column in each row.
  ValueId gain_of(ValueId word) {
    return equation("pick(score, word) - total", {{"score", score_}, {"word", word}, {"total", total_}});
  }

  // A sentence whose next word is given has one hypothesis, in its first place, which continues with that word.
  void follow_given() {
    const Symbol steps = Symbol::named("search.given_steps");
    const ValueId given = input(kGiven, Type::kInt32, {Dim(steps), sentences_});
    const ValueId now = gathered(given, equation("minimum(step, steps - 1)", {{"step", step_}, {"steps", b_.dim(Dim(steps))}}));
    const ValueId column = equation("maximum(now, 0)", {{"now", now}});
    const ValueId of_rows = gain_of(gathered(column, sentence_of_));
    const ValueId row = first_column(row_of_), gain = gathered(of_rows, row);
    const ValueId sum = equation("live + gain", {{"live", first_column(live_)}, {"gain", possible(gain)}});
    const ValueId is_given = equation("expand(now, axis=-1) >= 0", {{"now", now}});
    const auto either = [&](ValueId forced, ValueId chosen) {
      return equation("where(is_given, expand(forced, axis=-1), chosen)",
                      {{"is_given", is_given}, {"forced", forced}, {"chosen", chosen}});
    };
    word_ = either(words_of(column), word_), parent_ = either(row, parent_), gain_ = either(gain, gain_);
    const ValueId first = equation("where(place == 0, expand(sum, axis=-1), nothing)",
                                   {{"place", places()}, {"sum", sum}, {"nothing", nothing_}});
    sum_ = equation("where(is_given, first, chosen)", {{"is_given", is_given}, {"first", first}, {"chosen", sum_}});
  }

  ValueId first_column(ValueId v) { return b_.op("index", {v}, {{"axis", std::int64_t{1}}, {"at", Dim(0)}}); }

  // The end symbol ends a hypothesis; the maximum length cuts it off. An ended hypothesis keeps its place in the beam.
  void end_some() {
    const ValueId chosen =
        equation("sum > nothing / 2 and place + expand(ended, axis=-1) < beam",
                 {{"sum", sum_}, {"nothing", nothing_}, {"place", places()}, {"beam", number(o_.beam)}, {"ended", ended_}});
    const ValueId is_end = equation("word == end", {{"word", word_}, {"end", number(o_.end)}});
    const ValueId full = equation("next >= expand(most, axis=-1)", {{"next", next_step_}, {"most", most_}});
    const Names names = {{"chosen", chosen},   {"is_end", is_end}, {"full", full}, {"sum", sum_}, {"norm", norm_of(next_step_)},
                         {"nothing", nothing_}};
    const ValueId ends = equation("chosen and is_end", {{"chosen", chosen}, {"is_end", is_end}});
    lives_ = equation("chosen and not is_end and not full", {{"chosen", chosen}, {"is_end", is_end}, {"full", full}});
    score_of_ended_ = equation("where(chosen and is_end, sum / norm, nothing)", names);
    score_of_cut_ = equation("where(chosen and full and not is_end, sum / norm, nothing)", names);
    const Names added = {{"ended", ended_}, {"ends", ends}};
    ended_ = o_.beam == 1 ? of_sentences(equation("expand(ended, axis=-1) + cast(ends, type='INT32')", added))
                          : equation("ended + sum(cast(ends, type='INT32'), axis=1)", added);
  }

  // The scores of the best of those that had ended, those that end now and those that are cut off, and their numbers in this
  // order.
  std::pair<ValueId, ValueId> best_now() {
    if (o_.beam > 1) {
      const ValueId all = b_.op("concat", {best_, score_of_ended_, score_of_cut_}, {{"axis", std::int64_t{1}}});
      const std::vector<ValueId> top = b_.ops("topk", {all}, {{"k", o_.n_best}});
      return {top[0], top[1]};
    }
    // One of three: comparisons, which are one kernel with what is around them. No score is NaN (possible()).
    const ValueId ends = equation("ended > best", {{"ended", score_of_ended_}, {"best", best_}});
    const Names names = {{"ends", ends}, {"ended", score_of_ended_}, {"best", best_}, {"cut", score_of_cut_}};
    const ValueId either = equation("where(ends, ended, best)", names);
    const ValueId is_cut = equation("cut > either", {{"cut", score_of_cut_}, {"either", either}});
    return {equation("where(is_cut, cut, either)", {{"is_cut", is_cut}, {"cut", score_of_cut_}, {"either", either}}),
            equation("where(is_cut, 2, where(ends, 1, 0))", {{"is_cut", is_cut}, {"ends", ends}})};
  }

  // Keeps the N best of the hypotheses that had ended, end now or are cut off.
  void keep_best() {
    const auto [score, at] = best_now();
    best_ = score;
    const ValueId before = equation("minimum(at, last)", {{"at", at}, {"last", number(o_.n_best - 1)}});
    const Names names = {{"at", at},
                         {"n", number(o_.n_best)},
                         {"cut", number(o_.n_best + o_.beam)},
                         {"step", step_},
                         {"first", first_place_},
                         {"step_before", picked(best_step_, before)},
                         {"place_before", picked(best_place_, before)}};
    best_step_ = equation("where(at < n, step_before, where(at < cut, 2 * step + 1, 2 * step))", names);
    best_place_ = equation("where(at < n, place_before, first + at - where(at < cut, n, cut))", names);
  }

  // A sentence is done if no live hypothesis can still become one of the best: probabilities only fall, and the norm has its
  // maximum at the greatest or the smallest length. Values of sentences are [S, 1], so that with one place, or if one
  // hypothesis is kept, they are one kernel with those of places.
  void go_on() {
    const Names of_places = {{"lives", lives_}, {"sum", sum_}, {"nothing", nothing_}};
    const ValueId most = o_.beam == 1 ? equation("where(lives, sum, nothing)", of_places)
                                      : expanded(equation("max(where(lives, sum, nothing), axis=1)", of_places));
    const ValueId norm = norm_of(equation("next + 1", {{"next", next_step_}}));
    const ValueId at_most = norm_of(equation("cast(expand(most, axis=-1), type='FLOAT') + 1", {{"most", most_}}));
    const ValueId worst =
        o_.n_best == 1 ? best_ : expanded(b_.op("index", {best_}, {{"axis", std::int64_t{1}}, {"at", Dim(o_.n_best - 1)}}));
    const ValueId decided =
        equation("worst > nothing / 2 and maximum(most / at_most, most / norm) <= worst",
                 {{"worst", worst}, {"nothing", nothing_}, {"most", most}, {"at_most", at_most}, {"norm", norm}});
    live_ = equation("where(lives and not decided, sum, nothing)",
                     {{"lives", lives_}, {"decided", decided}, {"sum", sum_}, {"nothing", nothing_}});
    const ValueId continues = equation("cast(most > nothing / 2 and not decided, type='INT32')",
                                       {{"most", most}, {"nothing", nothing_}, {"decided", decided}});
    continues_ = of_sentences(continues);
    // The step counter stops when no hypothesis is left: steps that were started in advance must not exceed the network's room
    // for steps.
    const ValueId counts = of_sentences(equation("step + continues", {{"step", step_}, {"continues", continues}}));
    counted_step_ = equation("max(counts, axis=0)", {{"counts", counts}});
  }

  void give() {
    const Shape places = {Dim(o_.beam) * sentences_};
    std::vector<ir::Output> outputs;
    const auto give_next = [&](const std::string& name, ValueId value) { outputs.push_back({kNextPrefix + name, value}); };
    give_next(kStepInput, counted_step_);
    for (const GenerationGraphs::Carried& state : cut_.states) {
      give_next(state.name, graph_.output(kNextPrefix + state.name)->value);
    }
    give_next(kLive, live_), give_next(kEnded, ended_);
    give_next(kBest, best_), give_next(kBestStep, best_step_), give_next(kBestPlace, best_place_);
    outputs.push_back({kWords, shaped(word_, places)});
    outputs.push_back({kParents, shaped(parent_, places)});
    outputs.push_back({kGains, shaped(gain_, places)});
    outputs.push_back({kLives, continues_});
    for (const std::string& name : fetches_) outputs.push_back(*graph_.output(name));
    graph_.outputs = std::move(outputs);
  }

  const Dim sentences_ = Symbol::named("search.sentences");
  const GenerationGraphs& cut_;
  const SearchOptions& o_;
  const std::vector<std::string>& fetches_;
  ir::Graph graph_;
  ir::Builder b_;
  Dim words_;  // the number of columns of the score
  ValueId live_ = ir::kNone, ended_ = ir::kNone, best_ = ir::kNone, best_step_ = ir::kNone, best_place_ = ir::kNone,
          most_ = ir::kNone, row_of_ = ir::kNone, first_place_ = ir::kNone, step_ = ir::kNone;
  ValueId list_ = ir::kNone;                       // INT32 [words_], with a shortlist
  ValueId score_ = ir::kNone, total_ = ir::kNone;  // by row: scores; logarithm of the sum of their exponentials
  ValueId sentence_of_ = ir::kNone;                // INT32 [R]; with sampling or prefixes
  ValueId nothing_ = ir::kNone, next_step_ = ir::kNone, counted_step_ = ir::kNone;
  // [S, B], for each choice: its log-probability, that of its last word, that word, its parent row, and whether it continues.
  ValueId sum_ = ir::kNone, gain_ = ir::kNone, word_ = ir::kNone, parent_ = ir::kNone, lives_ = ir::kNone,
          score_of_ended_ = ir::kNone, score_of_cut_ = ir::kNone, continues_ = ir::kNone;
};

}  // namespace

ir::Graph with_search(const GenerationGraphs& cut, const SearchOptions& options, const std::vector<std::string>& fetches,
                      std::int64_t samples) {
  return SearchMaker(cut, options, fetches).run(samples);
}

}  // namespace graphrun
