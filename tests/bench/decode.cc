// Generation by a translator at the papers' sizes: greedy and by beam search, one sentence and many at a time, words a second,
// the share of the search itself (all but the network; a device does both in one), and PyTorch's of the same network in the
// same run. Weights are random; every sentence has as many words in as out, so that both make equally many.
//
//   bench_decode [--pairs N] [--threads N] [--device NAME] [--peer 'python3 …/torch_peer.py']
//                [--product-precision tf32|bfloat16] [--profile] [NAME …]
//
// decode_gru_64_10: batch 64, beam 10; decode_gru_64_10_int8: with weights rounded to int8 (PyTorch's are float32 all the
// same).
#include <algorithm>
#include <cstdio>

#include "compiler/compile.h"
#include "compiler/generation.h"
#include "runtime/execute/executable.h"
#include "tests/bench/peer.h"
#include "tools/generate/graph_search.h"
#include "tools/generate/step_runner.h"

namespace graphrun {
namespace {

struct Decode {
  std::string cell;
  std::int64_t batch, beam, words, vocabulary, embed, hidden;
  WeightForm weights;
  std::string name() const {
    const char* const form = weights == WeightForm::kInt8 ? "_int8" : weights == WeightForm::kBFloat16 ? "_bfloat16" : "";
    return fmt::format("decode_{}_{}_{}{}", cell, batch, beam, form);
  }
};

// The network, and how long it took itself.
class TimedModel : public StepModel {
 public:
  explicit TimedModel(StepRunner& model) : model_(model) {}
  Candidates step(const std::vector<Row>& rows, std::int64_t count) override {
    const std::int64_t begin = Profiler::now();
    Candidates found = model_.step(rows, count);
    spent_ += milliseconds(begin);
    return found;
  }
  double spent() const { return spent_; }

 private:
  StepRunner& model_;
  double spent_ = 0;
};

class Decoding {
 public:
  Decoding(const Decode& c, Target target, Profiler* profiler)
      : batch_(c.batch), words_(c.words), variables_(std::make_shared<Variables>()) {
    GraphRequest request;
    request.path = "translator.pbtxt";
    request.from_graphs = true;
    request.graphs_root = tests::source_folder() + "/graphs";
    const std::string vocabulary = std::to_string(c.vocabulary);
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"source_vocabulary", vocabulary},
                                                                                      {"target_vocabulary", vocabulary},
                                                                                      {"cell", "cells/" + c.cell + ".pbtxt"},
                                                                                      {"embed", std::to_string(c.embed)},
                                                                                      {"hidden", std::to_string(c.hidden)}}) {
      request.bindings.push_back({name, value, {}});
    }
    const GenerationGraphs cut = cut_for_generation(load_graph(request), {"decode", "y", "logits", {}});
    search_.beam = c.beam;
    search_.end = 1;
    search_.min_length = c.words;  // then it ends: there is no room for more
    search_.max_length.assign(static_cast<std::size_t>(c.batch), c.words);
    search_.norm.kind = LengthNorm::Kind::kLength;
    if (target.device == Device::kCpu) {
      StepRunner::Options running;
      running.most = c.beam + 1;
      running.target = {target.device, c.weights, target.products}, running.profiler = profiler;
      model_ = std::make_unique<StepRunner>(cut, running, variables_);
      make_inputs(model_->prologue(), model_->steps(), c);
    } else {
      GraphSearch::Options running;
      running.search = search_;
      running.target = {target.device, c.weights, target.products}, running.profiler = profiler;
      by_device_ = std::make_unique<GraphSearch>(cut, running, variables_);
      make_inputs(by_device_->prologue(), by_device_->steps(), c);
    }
  }

  struct Time {
    double all = 0, search = 0;  // milliseconds; of the search itself
  };
  Time run() {
    const std::int64_t begin = Profiler::now();
    if (by_device_) {
      by_device_->run(feeds_, search_.max_length);
      return {milliseconds(begin), 0};
    }
    model_->begin(feeds_, batch_, words_ + 1);
    TimedModel timed(*model_);
    const std::int64_t searched = Profiler::now();
    beam_search(timed, batch_, search_);
    return {milliseconds(begin), milliseconds(searched) - timed.spent()};
  }

 private:
  void make_inputs(const Program& prologue, const Program& steps, const Decode& c) {
    initialize(prologue, *variables_, 1);
    initialize(steps, *variables_, 1);
    for (const FeedSpec& f : prologue.feeds) feeds_[f.name] = feed(f, c);
  }
  static Tensor feed(const FeedSpec& f, const Decode& c) {
    static std::mt19937 random(1);
    Tensor t(f.dtype, evaluate(f.shape, {{Symbol::named("source_time"), c.words}, {Symbol::named("batch"), c.batch}}));
    for (std::int32_t& x : t.span<std::int32_t>()) {
      x = static_cast<std::int32_t>(f.lengths_of ? c.words : static_cast<std::int64_t>(random()) % c.vocabulary);
    }
    return t;
  }

  const std::int64_t batch_, words_;
  std::shared_ptr<Variables> variables_;
  std::unique_ptr<StepRunner> model_;       // on the CPU
  std::unique_ptr<GraphSearch> by_device_;  // elsewhere
  Feeds feeds_;
  SearchOptions search_;
};

void measure(const Decode& c, Peer& peer, const PairOptions& options) {
  Profiler profiler;
  Decoding decoding(c, options.target, options.profile ? &profiler : nullptr);
  const bool has_peer = peer.ready(fmt::format("decode {} {} {} {} {} {} {} {}", c.cell, c.words, c.batch, c.beam, c.vocabulary,
                                               c.embed, c.hidden, threads()));
  std::vector<double> ours, share, theirs, times;
  for (int round = -1; round < options.pairs; ++round) {
    const Decoding::Time mine = decoding.run();
    const double other = has_peer ? peer.time() : 0;
    if (round < 0) continue;  // the first is for caches
    ours.push_back(mine.all), share.push_back(mine.search / mine.all), theirs.push_back(other);
    times.push_back(other / mine.all);
  }
  const auto rate = [&](double time) { return static_cast<double>(c.batch * c.words) / time * 1e3; };
  fmt::print("{:<18} {:9.2f} ms, {:7.0f} words/s, search {:4.1f} %", c.name(), median(ours), rate(median(ours)),
             100 * median(share));
  if (has_peer) {
    fmt::print("  {} {:9.2f} ms, {:7.0f} words/s, {:.2f} x, by {}", options.peer_name, median(theirs), rate(median(theirs)),
               median(times), peer.said());
  }
  fmt::print("{}", peer.missing(options.peer_name, has_peer));
  fmt::print("\n");
  if (options.profile) fmt::print("{}\n", profiler.table());
  std::fflush(stdout);
}

int run(int count, char** words) {
  const PairOptions options(count, words);
  Peer peer(options);
  set_threads(options.threads);
  for (const std::string cell : {"gru", "atr"}) {
    for (const std::int64_t batch : {1, 64}) {
      for (const std::int64_t beam : {1, 4, 10}) {
        for (const WeightForm weights : {WeightForm::kFloat32, WeightForm::kBFloat16, WeightForm::kInt8}) {
          const Decode c{cell, batch, beam, 12, 10000, 620, 1000, weights};
          const bool wanted =
              options.rest.empty() || std::find(options.rest.begin(), options.rest.end(), c.name()) != options.rest.end();
          if (wanted) measure(c, peer, options);
        }
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace graphrun

int main(int count, char** words) { return graphrun::run(count, words); }
