#include "tests/tools/oracle/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

// One row of one step: its parent, and its position in the step's input.
struct Link {
  std::int64_t parent;  // the index of a link; -1: none
  std::int32_t word;
  std::int64_t row;
};

// A hypothesis that is not finished.
struct Live {
  std::int64_t link = -1;
  double log_probability = 0;
};

class Sentence {
 public:
  Sentence(std::int64_t number, const SearchCase& options)
      : options_(options),
        number_(number),
        given_(options, number),
        most_(std::max(options.max_length[static_cast<std::size_t>(number)], given_.length())) {}

  std::int64_t number() const { return number_; }
  const std::vector<Live>& live() const { return live_; }
  void begin(std::int64_t link) { live_ = {{link, 0}}; }
  bool done() const { return live_.empty(); }
  std::int32_t asked() const { return given_.at(length_); }

  struct Choice {
    std::size_t from;  // an index into the live hypotheses
    std::int32_t word;
    double log_probability;
  };

  // The best continuations of the live hypotheses, as many as may stay live or end; those that end are removed.
  std::vector<Choice> choose(const Candidates& candidates, std::int64_t first_row) const {
    if (asked() != kNoWord)
      return {{0, asked(), live_[0].log_probability + candidates.asked.at(static_cast<std::size_t>(first_row))}};
    std::vector<Choice> all;
    for (std::size_t h = 0; h < live_.size(); ++h) {
      const auto at = static_cast<std::size_t>((first_row + static_cast<std::int64_t>(h)) * candidates.count);
      for (std::size_t k = at; k < at + static_cast<std::size_t>(candidates.count); ++k) {
        if (candidates.words[k] == options_.end && length_ < options_.min_length) continue;
        all.push_back({h, candidates.words[k], live_[h].log_probability + candidates.scores[k]});
      }
    }
    const auto better = [](const Choice& a, const Choice& b) { return a.log_probability > b.log_probability; };
    std::stable_sort(all.begin(), all.end(), better);
    all.resize(std::min(all.size(), static_cast<std::size_t>(options_.beam) - ended_));
    return all;
  }

  // `live`: the unfinished hypotheses, one word longer.
  void advance(std::vector<Live> live) {
    live_ = std::move(live);
    ++length_;
  }
  void finish(Hypothesis made) {
    ended_ += made.ended;
    finished_.push_back(std::move(made));
  }
  void begin_nothing() { live_.clear(); }
  bool at_most() const { return length_ >= most_; }

  // No live hypothesis can become one of the best: probabilities only decrease, and the norm is largest at the greatest
  // length.
  void stop_where_decided() {
    if (live_.empty() || finished_.size() < static_cast<std::size_t>(options_.n_best)) return;
    std::vector<double> scores;
    for (const Hypothesis& h : finished_) scores.push_back(h.score);
    std::nth_element(scores.begin(), scores.begin() + options_.n_best - 1, scores.end(), std::greater<>());
    const double worst = scores[static_cast<std::size_t>(options_.n_best - 1)];
    const double best = std::max(options_.norm.score(live_[0].log_probability, most_ + 1),
                                 options_.norm.score(live_[0].log_probability, length_ + 1));
    if (best <= worst) live_.clear();
  }

  std::vector<Hypothesis> best() {
    std::stable_sort(finished_.begin(), finished_.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    finished_.resize(std::min(finished_.size(), static_cast<std::size_t>(options_.n_best)));
    return std::move(finished_);
  }

 private:
  const SearchCase& options_;
  const std::int64_t number_;
  const Given given_;
  const std::int64_t most_;
  std::int64_t length_ = 0;  // words of the live hypotheses
  std::size_t ended_ = 0;    // hypotheses that have ended, whose places in the beam stay empty
  std::vector<Live> live_;   // best first
  std::vector<Hypothesis> finished_;
};

class Search {
 public:
  Search(StepModel& model, std::int64_t sentences, const SearchCase& options) : model_(model), options_(options) {
    GRAPHRUN_CHECK(options.beam >= 1 && options.n_best >= 1 && options.n_best <= options.beam, "beam_search: bad sizes");
    GRAPHRUN_CHECK(static_cast<std::int64_t>(options.max_length.size()) == sentences, "beam_search: no length for a sentence");
    for (std::int64_t s = 0; s < sentences; ++s) all_.emplace_back(s, options);
  }

  std::vector<std::vector<Hypothesis>> run() {
    std::vector<Row> rows;
    for (Sentence& s : all_) {
      s.begin(link(-1, options_.begin, static_cast<std::int64_t>(rows.size())));
      if (s.at_most()) finish_live(s);
      if (!s.done()) rows.push_back({s.number(), options_.begin, s.number(), s.asked()});
    }
    // The end symbol may be among the best of a row before it is allowed.
    while (has_live()) rows = step(rows, options_.beam + (options_.min_length > 0 ? 1 : 0));
    std::vector<std::vector<Hypothesis>> out;
    for (Sentence& s : all_) out.push_back(s.best());
    return out;
  }

 private:
  std::int64_t link(std::int64_t parent, std::int32_t word, std::int64_t row) {
    links_.push_back({parent, word, row});
    return static_cast<std::int64_t>(links_.size()) - 1;
  }
  bool has_live() const {
    return std::any_of(all_.begin(), all_.end(), [](const Sentence& s) { return !s.done(); });
  }

  std::vector<Row> step(const std::vector<Row>& rows, std::int64_t count) {
    const Candidates candidates = model_.step(rows, count);
    std::vector<Row> next;
    std::int64_t row = 0;
    for (Sentence& s : all_) {
      const auto live = static_cast<std::int64_t>(s.live().size());
      if (live > 0) continue_sentence(s, candidates, row, next);
      row += live;
    }
    return next;
  }

  void continue_sentence(Sentence& s, const Candidates& candidates, std::int64_t first_row, std::vector<Row>& next) {
    std::vector<Live> live;
    std::vector<Row> own;
    for (const Sentence::Choice& c : s.choose(candidates, first_row)) {
      const Live& from = s.live()[c.from];
      if (c.word == options_.end) {
        s.finish(hypothesis(from.link, c.log_probability, true));
        continue;
      }
      own.push_back({first_row + static_cast<std::int64_t>(c.from), c.word, s.number(), kNoWord});
      live.push_back({link(from.link, c.word, static_cast<std::int64_t>(next.size() + own.size()) - 1), c.log_probability});
    }
    s.advance(std::move(live));
    if (s.at_most()) finish_live(s);
    s.stop_where_decided();
    for (Row& row : own) row.asked = s.asked();
    if (!s.done()) next.insert(next.end(), own.begin(), own.end());
  }

  void finish_live(Sentence& s) {
    for (const Live& l : s.live()) s.finish(hypothesis(l.link, l.log_probability, false));
    s.begin_nothing();
  }
  Hypothesis hypothesis(std::int64_t last, double log_probability, bool ended) const {
    Hypothesis h;
    for (std::int64_t l = last; l >= 0; l = links_[static_cast<std::size_t>(l)].parent) {
      const Link& at = links_[static_cast<std::size_t>(l)];
      h.rows.push_back(at.row);
      if (at.parent >= 0) h.words.push_back(at.word);
    }
    if (!ended) h.rows.erase(h.rows.begin());  // its last word was never read
    std::reverse(h.words.begin(), h.words.end());
    std::reverse(h.rows.begin(), h.rows.end());
    h.log_probability = log_probability;
    h.ended = ended;
    h.score = options_.norm.score(log_probability, static_cast<std::int64_t>(h.words.size()) + (ended ? 1 : 0));
    return h;
  }

  StepModel& model_;
  const SearchCase& options_;
  std::vector<Sentence> all_;
  std::vector<Link> links_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(StepModel& model, std::int64_t sentences, const SearchCase& options) {
  return Search(model, sentences, options).run();
}

}  // namespace graphrun
