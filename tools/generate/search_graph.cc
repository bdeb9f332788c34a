#include "tools/generate/search_graph.h"

#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/ir/substitute.h"
#include "tools/generate/row_picker.h"

namespace graphrun {
namespace {

using ir::ValueId;
using namespace search_names;

class SearchMaker {
 public:
  SearchMaker(ir::Graph graph, const GenerationGraphs& cut, const SearchGraphOptions& options)
      : cut_(cut),
        o_(options),
        graph_(ir::substituted(std::move(graph), {{cut.rows, Dim(options.before) * sentences_}})),
        b_(graph_) {}

  ir::Graph run() {
    b_.set_name("search");
    take_inputs();
    choose();
    end_some();
    keep_best();
    go_on();
    give();
    return std::move(graph_);
  }

 private:
  using Names = std::vector<std::pair<std::string, ValueId>>;
  ValueId equation(std::string_view text, const Names& names) { return b_.equation(text, names); }
  ValueId shaped(ValueId v, Shape shape) { return b_.op("reshape", {v}, {{"shape", std::move(shape)}}); }
  ValueId number(std::int64_t value) { return b_.constant(static_cast<double>(value), Type::kInt32); }
  ValueId range(std::int64_t n) { return b_.op("range", {}, {{"n", Dim(n)}}); }
  // Columns of a, then those of b.
  ValueId beside(ValueId a, ValueId b) { return b_.op("concat", {a, b}, {{"axis", std::int64_t{1}}}); }

  // x [S, n], places [S, k] -> [S, k].
  ValueId picked(ValueId x, ValueId places) {
    const Dim n = b_.graph().type(x).shape[1];
    const ValueId flat = equation("at + expand(s, axis=-1) * n", {{"at", places}, {"s", numbers_}, {"n", b_.dim(n)}});
    return b_.op("gather", {shaped(x, {n * sentences_}), flat});
  }

  // What a log-probability of so many words, at least one, is divided by: LengthNorm::score. As FLOAT, where one more than the
  // most words is no overflow.
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

  ValueId input(const char* name, Type type, Shape shape) { return b_.input(name, {type, std::move(shape)}); }

  void take_inputs() {
    const Dim s = sentences_, n = o_.n_best;
    live_ = input(kLive, Type::kFloat, {s, o_.before});
    ended_ = input(kEnded, Type::kInt32, {s});
    best_ = input(kBest, Type::kFloat, {s, n});
    best_sum_ = input(kBestSum, Type::kFloat, {s, n});
    best_step_ = input(kBestStep, Type::kInt32, {s, n});
    best_place_ = input(kBestPlace, Type::kInt32, {s, n});
    most_ = input(kMost, Type::kInt32, {s});
    for (const ir::Input& i : graph_.inputs) {
      if (graph_.value(i.value).name == kStepInput) step_ = i.value;
    }
    nothing_ = b_.constant(static_cast<double>(kNothing));
    numbers_ = b_.op("range", {}, {{"n", s}});
    next_step_ = equation("step + 1", {{"step", step_}});
  }

  // The best continuations of each sentence, B of them, as many as the places that are left.
  void choose() {
    const ValueId score = graph_.output(kScoreOutput)->value;
    const std::int64_t words = graph_.type(score).shape.at(1).constant();
    const std::int64_t candidates = std::min(o_.beam + (o_.min_length > 0 ? 1 : 0), words), all = o_.before * candidates;
    const std::vector<ValueId> top = b_.ops("topk", {score}, {{"k", candidates}});
    ValueId gained = equation("values - expand(logsumexp(score, axis=-1), axis=-1)", {{"values", top[0]}, {"score", score}});
    if (o_.min_length > 0) {
      gained = equation("where(words == end and step < least, nothing, gained)", {{"words", top[1]},
                                                                                  {"end", number(o_.end)},
                                                                                  {"step", step_},
                                                                                  {"least", number(o_.min_length)},
                                                                                  {"nothing", nothing_},
                                                                                  {"gained", gained}});
    }
    const ValueId sums = equation("expand(live, axis=-1) + gained",
                                  {{"live", live_}, {"gained", shaped(gained, {sentences_, o_.before, candidates})}});
    std::vector<ValueId> chosen = b_.ops("topk", {shaped(sums, {sentences_, all})}, {{"k", std::min(o_.beam, all)}});
    if (all < o_.beam) {  // fewer words than hypotheses
      const Shape rest = {sentences_, o_.beam - all};
      chosen[0] = beside(chosen[0], b_.op("full", {}, {{"shape", rest}, {"value", static_cast<double>(kNothing)}}));
      chosen[1] = beside(chosen[1], b_.zeros({Type::kInt32, rest}));
    }
    sum_ = chosen[0];
    word_ = picked(shaped(top[1], {sentences_, all}), chosen[1]);
    // Whole numbers below 2²⁴ divide as FLOAT as they should.
    parent_ = equation("cast(floor(at / candidates), type='INT32') + expand(s, axis=-1) * before",
                       {{"at", chosen[1]}, {"candidates", number(candidates)}, {"s", numbers_}, {"before", number(o_.before)}});
    chosen_ = equation(
        "sum > nothing / 2 and place < beam - expand(ended, axis=-1)",
        {{"sum", sum_}, {"nothing", nothing_}, {"place", range(o_.beam)}, {"beam", number(o_.beam)}, {"ended", ended_}});
  }

  // The end symbol ends a hypothesis, its greatest length cuts it off.
  void end_some() {
    const ValueId is_end = equation("word == end", {{"word", word_}, {"end", number(o_.end)}});
    const ValueId full = equation("expand(next >= most, axis=-1)", {{"next", next_step_}, {"most", most_}});
    const ValueId norm = norm_of(next_step_);
    ends_ = equation("chosen and is_end", {{"chosen", chosen_}, {"is_end", is_end}});
    lives_ = equation("chosen and not is_end and not full", {{"chosen", chosen_}, {"is_end", is_end}, {"full", full}});
    const Names names = {{"chosen", chosen_}, {"is_end", is_end}, {"full", full},
                         {"sum", sum_},       {"norm", norm},     {"nothing", nothing_}};
    score_of_ended_ = equation("where(chosen and is_end, sum / norm, nothing)", names);
    score_of_cut_ = equation("where(chosen and full and not is_end, sum / norm, nothing)", names);
    ended_ = equation("ended + sum(cast(ends, type='INT32'), axis=1)", {{"ended", ended_}, {"ends", ends_}});
  }

  // The N best of what had ended, of what ends and of what is cut off.
  void keep_best() {
    const ValueId zeros = b_.zeros({Type::kInt32, {sentences_, o_.beam}});
    const ValueId place = equation("at + expand(s, axis=-1) * beam + zeros",
                                   {{"at", range(o_.beam)}, {"s", numbers_}, {"beam", number(o_.beam)}, {"zeros", zeros}});
    const Names at = {{"step", step_}, {"zeros", zeros}};
    const auto joined = [&](ValueId before, ValueId ended, ValueId cut) { return beside(before, beside(ended, cut)); };
    const std::vector<ValueId> top = b_.ops("topk", {joined(best_, score_of_ended_, score_of_cut_)}, {{"k", o_.n_best}});
    best_ = top[0];
    best_sum_ = picked(joined(best_sum_, sum_, sum_), top[1]);
    best_step_ = picked(joined(best_step_, equation("2 * step + 1 + zeros", at), equation("2 * step + zeros", at)), top[1]);
    best_place_ = picked(joined(best_place_, place, place), top[1]);
  }

  // A hypothesis that can no longer be among the best is dropped: probabilities only fall, and a norm is greatest at the
  // greatest length or the least.
  void go_on() {
    const ValueId most =
        equation("max(where(lives, sum, nothing), axis=1)", {{"lives", lives_}, {"sum", sum_}, {"nothing", nothing_}});
    const ValueId norm = norm_of(equation("next + 1", {{"next", next_step_}}));
    const ValueId at_most = norm_of(equation("cast(most, type='FLOAT') + 1", {{"most", most_}}));
    const ValueId worst = b_.op("index", {best_}, {{"axis", std::int64_t{1}}, {"at", Dim(o_.n_best - 1)}});
    const ValueId decided =
        equation("worst > nothing / 2 and maximum(most / at_most, most / norm) <= worst",
                 {{"worst", worst}, {"nothing", nothing_}, {"most", most}, {"at_most", at_most}, {"norm", norm}});
    live_ = equation("where(lives and not expand(decided, axis=-1), sum, nothing)",
                     {{"lives", lives_}, {"decided", decided}, {"sum", sum_}, {"nothing", nothing_}});
    goes_on_ = equation("cast(most > nothing / 2 and not decided, type='INT32')",
                        {{"most", most}, {"nothing", nothing_}, {"decided", decided}});
  }

  void give() {
    const Shape rows = {Dim(o_.beam) * sentences_};
    const ValueId parents = shaped(parent_, rows);
    std::vector<ir::Output> outputs;
    const auto give_next = [&](const std::string& name, ValueId value) { outputs.push_back({kNextPrefix + name, value}); };
    give_next(kWordInput, shaped(word_, rows));
    // It stops when no hypothesis is left: steps that were started ahead must not run past what the network has for each.
    give_next(kStepInput, equation("step + max(goes_on, axis=0)", {{"step", step_}, {"goes_on", goes_on_}}));
    for (const GenerationGraphs::Carried& state : cut_.states) {
      const ValueId next = graph_.output(kNextPrefix + state.name)->value;
      b_.set_name(state.name);
      give_next(state.name, state.row_axis < 0 ? next : with_rows(b_, next, static_cast<std::size_t>(state.row_axis), parents));
    }
    give_next(kLive, live_), give_next(kEnded, ended_);
    give_next(kBest, best_), give_next(kBestSum, best_sum_);
    give_next(kBestStep, best_step_), give_next(kBestPlace, best_place_);
    outputs.push_back({kParent, parents});
    outputs.push_back({search_names::kGoesOn, goes_on_});
    for (const std::string& name : o_.fetches) outputs.push_back(*graph_.output(name));
    graph_.outputs = std::move(outputs);
  }

  const Dim sentences_ = Symbol::named("search.sentences");
  const GenerationGraphs& cut_;
  const SearchGraphOptions& o_;
  ir::Graph graph_;
  ir::Builder b_;
  ValueId live_ = ir::kNone, ended_ = ir::kNone, best_ = ir::kNone, best_sum_ = ir::kNone, best_step_ = ir::kNone,
          best_place_ = ir::kNone, most_ = ir::kNone, step_ = ir::kNone;
  ValueId nothing_ = ir::kNone, numbers_ = ir::kNone, next_step_ = ir::kNone;
  // [S, B], of what is chosen: log-probability, word, row it comes from, and what becomes of it.
  ValueId sum_ = ir::kNone, word_ = ir::kNone, parent_ = ir::kNone, chosen_ = ir::kNone, ends_ = ir::kNone, lives_ = ir::kNone,
          score_of_ended_ = ir::kNone, score_of_cut_ = ir::kNone, goes_on_ = ir::kNone;
};

}  // namespace

ir::Graph with_search(const GenerationGraphs& cut, const SearchGraphOptions& options) {
  return SearchMaker(cut.step, cut, options).run();
}

}  // namespace graphrun
