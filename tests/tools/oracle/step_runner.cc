#include "tests/tools/oracle/step_runner.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "compiler/ir/builder.h"
#include "runtime/threads/threads.h"
#include "tools/generate/settings.h"

namespace graphrun {
namespace {

const std::string kAsked = "asked";  // the feed of words whose scores are requested, and the fetch of these scores

// The best words of every row, and their scores as log-probabilities: score - logsumexp(score). So log-probabilities stay
// unchanged, and a network that outputs logits needs no softmax.
ir::Graph with_best_words(ir::Graph graph, const Symbol rows, const StepRunner::Options& wanted) {
  const ir::ValueId score = graph.output(kScoreOutput)->value;
  const std::int64_t words = graph.type(score).shape.at(1).constant();
  ir::Builder b(graph);
  b.set_name("best");
  const std::vector<ir::ValueId> best = b.ops("topk", {score}, {{"k", std::min(wanted.most, words)}});
  const ir::ValueId total =
      b.op("expand", {b.op("logsumexp", {score}, {{"axis", std::vector<std::int64_t>{-1}}})}, {{"axis", std::int64_t{-1}}});
  std::vector<ir::Output> outputs = {{"best", b.op("sub", {best[0], total})}, {"words", best[1]}};
  if (wanted.asked) {
    const ir::ValueId asked = b.input(kAsked, {Type::kInt32, {Dim(rows)}});
    const ir::ValueId one = b.op("expand", {b.op("pick", {score, asked})}, {{"axis", std::int64_t{-1}}});
    outputs.push_back({kAsked, b.op("sub", {one, total})});
  }
  for (const std::string& name : wanted.fetches) outputs.push_back(*graph.output(name));
  for (const ir::Output& o : graph.outputs) {
    if (o.name.rfind(kNextPrefix, 0) == 0) outputs.push_back(o);
  }
  graph.outputs = std::move(outputs);
  return graph;
}

// Copies rows of `from` along an axis: row r of `to` is row rows[r]. If axis 0 is not the rows' axis, only its first `leading`
// entries are copied.
void gather_rows(const Tensor& from, Tensor& to, std::size_t axis, const std::vector<std::int64_t>& rows,
                 std::int64_t leading) {
  const Sizes& sizes = from.sizes();
  std::int64_t before = 1, unit = static_cast<std::int64_t>(size_of(from.dtype()));
  for (std::size_t k = 0; k < axis; ++k) before *= k == 0 ? std::min(leading, sizes[0]) : sizes[k];
  for (std::size_t k = axis + 1; k < sizes.size(); ++k) unit *= sizes[k];
  const auto count = static_cast<std::int64_t>(rows.size()), stride = sizes[axis];
  const auto* source = static_cast<const char*>(from.raw());
  auto* target = static_cast<char*>(to.raw());
  constexpr std::int64_t kLeastBytes = 65536;
  parallel_ranges(before * count, std::max<std::int64_t>(1, kLeastBytes / std::max<std::int64_t>(unit, 1)),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) {
                      const std::int64_t row = rows[static_cast<std::size_t>(i % count)];
                      std::memcpy(target + i * unit, source + (i / count * stride + row) * unit,
                                  static_cast<std::size_t>(unit));
                    }
                  });
}

// Rounds to one of few numbers of rows, so that few shapes are bound.
std::int64_t padded_rows(std::int64_t rows) { return rows <= 8 ? rows : (rows + 7) / 8 * 8; }

}  // namespace

StepRunner::StepRunner(const GenerationGraphs& cut, Options options, std::shared_ptr<Variables> variables)
    : cut_(without_graphs(cut)),
      options_(std::move(options)),
      whole_types_(whole_types(cut)),
      prologue_(compile(cut.prologue, in_float32()), variables),
      step_(compile(with_best_words(cut.step, cut.rows, options_), in_float32()), variables) {
  for (const std::string& name : options_.fetches) fetch_types_.push_back(cut.step.type(cut.step.output(name)->value));
  for (const GenerationGraphs::Carried& c : cut.constants) constants_.push_back({c, {}, {}, false});
  for (const GenerationGraphs::Carried& s : cut.states) states_.push_back({s, {}, {}, false});
  for (const FeedSpec& feed : step_.program().feeds) {
    for (auto* list : {&constants_, &states_}) {
      for (Carried& c : *list) c.fed = c.fed || c.what.name == feed.name;
    }
  }
}

void StepRunner::begin(const Feeds& feeds, std::int64_t sentences, std::int64_t most_steps) {
  std::vector<Tensor> made = prologue_.run(prologue_feeds(cut_, prologue_.program(), feeds, sentences), {});
  std::size_t k = 0;
  for (auto* list : {&constants_, &states_}) {
    for (Carried& c : *list) {
      if (!c.what.zeros) c.original = std::move(made.at(k++));
      c.now = {};
    }
  }
  whole_.clear();
  for (; k < made.size(); ++k) whole_.push_back(made[k]);
  capacity_ = std::max<std::int64_t>(1, most_steps), steps_done_ = 0;
  for (Carried& s : states_) s.now = s.what.zeros ? zeros_for(s.what, sentences) : s.original;
  sentence_of_row_.clear();
  kept_.clear();
}

bool StepRunner::has_history(const GenerationGraphs::Carried& state) const {
  const std::optional<Symbol> first = state.type.shape.empty() ? std::nullopt : state.type.shape[0].as_symbol();
  return first && std::find(cut_.capacity.begin(), cut_.capacity.end(), *first) != cut_.capacity.end();
}

// Selects constants for the sentences of the rows, if they differ from those of the last step.
void StepRunner::lay_out(const std::vector<Row>& rows, std::int64_t padded) {
  std::vector<std::int64_t> sentences;
  for (const Row& row : rows) sentences.push_back(row.sentence);
  sentences.resize(static_cast<std::size_t>(padded), sentences.front());
  if (sentences == sentence_of_row_) return;
  sentence_of_row_ = sentences;
  for (Carried& c : constants_) {
    if (!c.fed) continue;
    if (c.what.row_axis < 0) {
      c.now = c.original;
      continue;
    }
    Sizes sizes = c.original.sizes();
    const auto axis = static_cast<std::size_t>(c.what.row_axis);
    sizes[axis] = padded;
    c.now = Tensor(c.original.dtype(), sizes);
    gather_rows(c.original, c.now, axis, sentences, sizes[0]);
  }
}

// Selects the states of each row's parent.
void StepRunner::follow(const std::vector<Row>& rows, std::int64_t padded) {
  std::vector<std::int64_t> parents;
  for (const Row& row : rows) parents.push_back(row.parent);
  parents.resize(static_cast<std::size_t>(padded), parents.front());
  std::vector<std::int64_t> same(parents.size());
  std::iota(same.begin(), same.end(), 0);
  for (Carried& s : states_) {
    if (!s.fed || s.what.row_axis < 0) continue;
    const auto axis = static_cast<std::size_t>(s.what.row_axis);
    if (s.now.sizes()[axis] == padded && parents == same) continue;
    const bool history = has_history(s.what);
    Sizes sizes = s.now.sizes();
    sizes[axis] = padded;
    Tensor next = history ? zeros_for(s.what, padded) : Tensor(s.now.dtype(), sizes);
    gather_rows(s.now, next, axis, parents, history ? steps_done_ : sizes[0]);
    s.now = std::move(next);
  }
}

Tensor StepRunner::zeros_for(const GenerationGraphs::Carried& state, std::int64_t rows) const {
  return {dtype_of_state(state), sizes_of_state(cut_, state, rows, capacity_)};
}

Feeds StepRunner::feeds_of(const std::vector<Row>& rows, std::int64_t padded) const {
  Tensor words(DType::kInt32, {padded}), asked(DType::kInt32, {padded});
  for (std::int64_t r = 0; r < padded; ++r) {
    const Row& row = rows[r < static_cast<std::int64_t>(rows.size()) ? static_cast<std::size_t>(r) : 0];
    words.data<std::int32_t>()[r] = row.word;
    asked.data<std::int32_t>()[r] = std::max(row.asked, 0);  // a row that requests none gets a score that is not read
  }
  Feeds feeds;
  for (const FeedSpec& f : step_.program().feeds) {
    if (f.name == kWordInput) feeds[f.name] = words;
    if (f.name == kAsked) feeds[f.name] = asked;
    if (f.name == kStepInput) feeds[f.name] = Tensor::of<std::int32_t>({}, {static_cast<std::int32_t>(steps_done_)});
  }
  for (const auto* list : {&constants_, &states_}) {
    for (const Carried& c : *list) {
      if (c.fed) feeds[c.what.name] = c.now;
    }
  }
  return feeds;
}

Candidates StepRunner::step(const std::vector<Row>& rows, std::int64_t count) {
  GRAPHRUN_CHECK(!rows.empty() && steps_done_ < capacity_, "StepRunner: a step beyond the last");
  const auto live = static_cast<std::int64_t>(rows.size());
  const std::int64_t padded = padded_rows(live);
  lay_out(rows, padded);
  follow(rows, padded);
  std::vector<Tensor> made = step_.run(feeds_of(rows, padded), {});
  const Candidates best = candidates_of(made, live, count);
  auto next = std::make_move_iterator(made.begin() + (options_.asked ? 3 : 2));
  const auto states = next + static_cast<std::ptrdiff_t>(options_.fetches.size());
  kept_.emplace_back(next, states);
  next = states;
  for (Carried& state : states_) state.now = *next++;
  ++steps_done_;
  return best;
}

Candidates StepRunner::candidates_of(const std::vector<Tensor>& made, std::int64_t rows, std::int64_t count) const {
  const Tensor &values = made[0], &indices = made[1];
  const std::int64_t given = values.sizes()[1];
  Candidates best;
  best.count = std::min(count, given);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < best.count; ++k) {
      best.scores.push_back(static_cast<double>(values.data<float>()[r * given + k]));
      best.words.push_back(indices.data<std::int32_t>()[r * given + k]);
    }
    if (options_.asked) best.asked.push_back(static_cast<double>(made[2].data<float>()[r]));
  }
  return best;
}

Fetched StepRunner::whole(std::size_t k, std::int64_t sentence) const {
  return fetched_row(whole_.at(k), whole_types_.at(k), cut_.rows, sentence);
}

Fetched StepRunner::fetched(std::size_t k, std::int64_t t, std::int64_t row) const {
  return fetched_row(kept_.at(static_cast<std::size_t>(t)).at(k), fetch_types_.at(k), cut_.rows, row);
}

}  // namespace graphrun
