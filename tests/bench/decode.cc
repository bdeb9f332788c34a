// Generation: kUsage says what is measured.
#include <algorithm>
#include <atomic>
#include <cstdio>

#include "compiler/compile.h"
#include "compiler/generation.h"
#include "runtime/execute/executable.h"
#include "runtime/threads/own_threads.h"
#include "tests/bench/peer.h"
#include "tests/bench/table4.h"
#include "tools/generate/graph_search.h"

namespace graphrun {
namespace {

constexpr const char* kUsage =
    R"(bench_decode [--pairs N] [--threads N] [--device NAME] [--peer 'python3 …/torch_peer.py'] [--peer-name NAME]
             [--product-precision tf32|bfloat16] [--profile] [--shortlist N] [--vocabulary N] [--searches N] [NAME …]

Generation at the papers' sizes, in words per second: a translator, greedy and with beam search, the student network that
translates in browsers, the Transformer, and a language model that samples words; for one sentence and for many at a time,
compared with PyTorch's translator in the same run. Weights are random. Output sentences are as long as input sentences, so that
both programs generate equally many words.

decode_gru_64_10: batch 64, beam 10; decode_gru_64_10_int8: with weights rounded to int8 (PyTorch's stay float32).
decode_student_64_1: Transformer encoder and SSRU decoder at the sizes of Bergamot's tiny11. decode_transformer_64_1: Transformer
base, 20 words; its peer is --peer 'python3 …/ctranslate2_peer.py', int8 in both. sample_lstm_64_10: batch 64, each word sampled
from the 10 best; 0: from all. --shortlist N: searches N words of the vocabulary, whose size --vocabulary sets (the peer searches
all). --searches N: N threads each search for their own part of the batch, as graphrun infer does; CT2_WORKERS=N has CTranslate2
do the same. A word that begins several cases, such as decode_gru, chooses all of them.

table4: the networks of Table 4 of Zhang et al. (2018), greedy, 40 000 words, sentences of 22; table4_ca_64: batch 64. They have
no peer: the others are compared with GRU, which runs in alternation, beside the paper's ratios, of one sentence at a time.
)";

constexpr const char *kStudent = "student", *kTransformer = "transformer";

struct Decode {
  std::string cell;  // a translator's, or kStudent or kTransformer
  std::int64_t batch, beam, words, vocabulary, embed, hidden;
  WeightForm weights;
  std::optional<std::int64_t> top_k = {};  // the number of words that a language model samples from
  std::int64_t shortlist = 0;              // words that are searched; 0: all
  std::int64_t searches = 1;               // that run at the same time, with a part of the batch each
  const Table4Network* paper = nullptr;    // then `cell` is its name
  std::int64_t part() const { return std::max<std::int64_t>(1, batch / searches); }
  bool is_student() const { return cell == kStudent; }
  bool is_transformer() const { return cell == kTransformer; }
  std::string name() const {
    if (paper) return fmt::format("table4_{}_{}", cell, batch);
    if (top_k) return fmt::format("sample_{}_{}_{}", cell, batch, *top_k);
    const char* const form = weights == WeightForm::kInt8 ? "_int8" : weights == WeightForm::kBFloat16 ? "_bfloat16" : "";
    return fmt::format("decode_{}_{}_{}{}", cell, batch, beam, form);
  }
};

class Decoding {
 public:
  Decoding(const Decode& c, Target target, Profiler* profiler) {
    const GenerationGraphs cut = c.paper                                ? cut_of_table4(c)
                                 : c.top_k                              ? cut_of_language_model(c)
                                 : c.is_student() || c.is_transformer() ? cut_of_transformer(c)
                                                                        : cut_of_translator(c);
    GraphSearchOptions running;
    SearchOptions& search = running.search;
    search.beam = c.beam;
    search.end = 1;
    search.min_length = c.words;  // the sentence then ends, since this is also its greatest length
    search.norm.kind = LengthNorm::Kind::kLength;
    if (c.top_k) search.sampling = {1, *c.top_k};
    running.target = {*target.device, c.weights, target.products}, running.profiler = profiler;
    searches_.push_back(std::make_unique<GraphSearch>(cut, running, variables_));
    GraphSearch& first = *searches_.front();
    sentences_.max_length.assign(static_cast<std::size_t>(c.part()), c.words);
    for (std::int64_t s = 0; s < c.part(); ++s) sentences_.keys.push_back(static_cast<std::uint64_t>(s));
    for (const Program* program : {&first.prologue(), &first.steps()}) initialize(*program, *variables_, 1);
    for (const FeedSpec& f : first.prologue().feeds) feeds_[f.name] = feed(f, c);
    while (static_cast<std::int64_t>(searches_.size()) < c.searches) searches_.push_back(first.share());
    if (cut.shortlist) {
      Tensor words(DType::kInt32, {c.shortlist}), allowed(DType::kBool, {c.part(), c.shortlist});
      for (std::int64_t k = 0; k < c.shortlist; ++k) {
        words.data<std::int32_t>()[k] = static_cast<std::int32_t>(k < 2 ? k : k * c.vocabulary / c.shortlist);
      }
      std::fill_n(allowed.data<std::uint8_t>(), allowed.count(), std::uint8_t{1});
      feeds_[cut.shortlist->words.input] = words, feeds_[cut.shortlist->allowed.input] = allowed;
    }
  }

  // Milliseconds.
  double run() {
    const std::int64_t begin = Profiler::now();
    std::atomic<std::size_t> next = 0;
    on_own_threads(static_cast<int>(searches_.size()), [&](int) {
      for (std::size_t i = next++; i < searches_.size(); i = next++) searches_[i]->run(feeds_, sentences_);
    });
    return milliseconds(begin);
  }

 private:
  using Settings = std::vector<std::pair<std::string, std::string>>;
  static GenerationGraphs cut_of(const std::string& graph, const Settings& settings, const GenerationSpec& spec) {
    GraphRequest request;
    request.path = graph;
    request.from_graphs = true;
    request.training = false;
    request.graphs_root = tests::source_folder() + "/graphs";
    for (const auto& [name, value] : settings) request.bindings.push_back({name, value, {}});
    return cut_for_generation(load_graph(request), spec);
  }
  static Settings of_cell(const Decode& c, Settings settings) {
    settings.insert(
        settings.end(),
        {{"cell", "cells/" + c.cell + ".pbtxt"}, {"embed", std::to_string(c.embed)}, {"hidden", std::to_string(c.hidden)}});
    return settings;
  }
  static Settings of_vocabulary(const Decode& c) {
    const std::string words = std::to_string(c.vocabulary);
    return {{"source_vocabulary", words}, {"target_vocabulary", words}};
  }
  static GenerationGraphs cut_of_translator(const Decode& c) {
    return cut_of("translator.pbtxt", of_cell(c, of_vocabulary(c)), {"decode", "y", "logits", {}, c.shortlist > 0});
  }
  // The Transformer is the base one; the student has the sizes of Bergamot's tiny11.
  static GenerationGraphs cut_of_transformer(const Decode& c) {
    Settings settings = of_vocabulary(c);
    settings.insert(
        settings.end(),
        {{"shared", "true"}, {"width", std::to_string(c.embed)}, {"inner", std::to_string(c.hidden)}, {"depth", "6"}});
    if (c.is_student()) settings.insert(settings.end(), {{"recurrent", "true"}, {"decoder_depth", "2"}});
    return cut_of("transformer.pbtxt", settings, {"decode", "y", "logits", {}, c.shortlist > 0});
  }
  static GenerationGraphs cut_of_language_model(const Decode& c) {
    return cut_of("language_model.pbtxt", of_cell(c, {{"vocabulary", std::to_string(c.vocabulary)}}),
                  {"layers.read", "x", "logits", {}, c.shortlist > 0});
  }
  static GenerationGraphs cut_of_table4(const Decode& c) {
    Settings settings = c.paper->settings;
    for (auto& [name, value] : settings) {
      if (name.ends_with("_vocabulary")) value = std::to_string(c.vocabulary);
    }
    return cut_of(c.paper->graph, settings, {"decode", "y", "logits", {}, c.shortlist > 0});
  }
  static Tensor feed(const FeedSpec& f, const Decode& c) {
    static std::mt19937 random(1);
    if (f.dtype != DType::kInt32 || f.shape == Shape{Dim(Symbol::named("shortlist.words"))}) return {};  // the shortlist's
    Tensor t(f.dtype, evaluate(f.shape, {{Symbol::named("source_time"), c.words}, {Symbol::named("batch"), c.part()}}));
    for (std::int32_t& x : t.span<std::int32_t>()) {
      x = static_cast<std::int32_t>(f.lengths_of ? c.words : static_cast<std::int64_t>(random()) % c.vocabulary);
    }
    return t;
  }

  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  std::vector<std::unique_ptr<GraphSearch>> searches_;
  Feeds feeds_;
  Sentences sentences_;
};

// `name`: the case in the line of results. `gru`: what a network of Table 4 runs in alternation with.
void measure(const Decode& c, const std::string& name, Decoding* gru, Peer& peer, const PairOptions& options) {
  Profiler profiler;
  Decoding decoding(c, options.target, options.profile ? &profiler : nullptr);
  const bool compares = !c.paper && !c.top_k && !c.is_student();
  // A peer of Transformers, ctranslate2_peer.py, rounds too; PyTorch stays in float32.
  const std::string network = c.cell + (c.is_transformer() && c.weights == WeightForm::kInt8 ? "_int8" : "");
  const bool has_peer = compares && peer.ready(fmt::format("decode {} {} {} {} {} {} {} {}", network, c.words, c.batch, c.beam,
                                                           c.vocabulary, c.embed, c.hidden, threads()));
  std::vector<double> ours, theirs, times, times_gru;
  for (int round = -1; round < options.pairs; ++round) {
    const double mine = decoding.run();
    const double other = has_peer ? peer.time() : 0, first = gru ? gru->run() : 0;
    if (round < 0) continue;  // warm-up
    ours.push_back(mine), theirs.push_back(other);
    times.push_back(other / mine), times_gru.push_back(first / mine);
  }
  const auto rate = [&](double time) { return static_cast<double>(c.part() * c.searches * c.words) / time * 1e3; };
  fmt::print("{:<18} {:9.2f} ms, {:7.0f} words/s", name, median(ours), rate(median(ours)));
  if (gru) fmt::print("  {:.2f} x GRU", median(times_gru));
  if (gru && c.batch == 1) fmt::print(", paper {:.2f}", c.paper->decoding / table4_gru().decoding);
  if (has_peer) {
    fmt::print("  {} {:9.2f} ms, {:7.0f} words/s, {:.2f} x, by {}", options.peer_name, median(theirs), rate(median(theirs)),
               median(times), peer.said());
  }
  if (compares) fmt::print("{}", peer.missing(options.peer_name, has_peer));
  fmt::print("\n");
  if (options.profile) fmt::print("{}\n", profiler.table());
  std::fflush(stdout);
}

Decode sized(const std::string& cell, std::int64_t batch, std::int64_t beam, WeightForm weights) {
  if (cell == kStudent) return {cell, batch, beam, 12, 32000, 256, 1536, weights};
  if (cell == kTransformer) return {cell, batch, beam, 20, 10000, 512, 2048, weights};
  return {cell, batch, beam, 12, 10000, 620, 1000, weights};
}

void run(const BenchArguments& arguments) {
  const PairOptions options(arguments);
  const std::int64_t shortlist = arguments.number("--shortlist", 0), vocabulary = arguments.number("--vocabulary", 0),
                     searches = std::max<std::int64_t>(1, arguments.number("--searches", 1));
  std::vector<Decode> all;
  for (const std::string cell : {"gru", "atr", kStudent, kTransformer}) {
    for (const std::int64_t batch : {1, 64}) {
      for (const std::int64_t beam : {1, 4, 10}) {
        for (const WeightForm weights : {WeightForm::kFloat32, WeightForm::kBFloat16, WeightForm::kInt8})
          all.push_back(sized(cell, batch, beam, weights));
      }
    }
  }
  for (const std::int64_t batch : {1, 64}) {
    for (const std::int64_t top_k : {0, 10})
      all.push_back({"lstm", batch, 1, 12, 10000, 650, 650, WeightForm::kFloat32, top_k});
  }
  for (const std::int64_t batch : {1, 64}) {
    for (const Table4Network& n : table4()) {
      Decode c = {n.name, batch, 1, kTable4Words, 40000, 620, 1000, WeightForm::kFloat32};
      c.paper = &n;
      all.push_back(c);
    }
  }
  std::vector<std::string> names;
  for (Decode& c : all) {
    c.shortlist = shortlist, c.searches = searches;
    if (vocabulary > 0) c.vocabulary = vocabulary;
    names.push_back(c.name());
  }
  const std::set<std::string> chosen = arguments.chosen(names);
  Peer peer(options);
  set_threads(options.threads);
  std::unique_ptr<Decoding> gru;  // of the same batch
  for (const Decode& c : all) {
    if (c.paper == &table4_gru()) gru.reset();  // the first of its batch
    if (chosen.count(c.name()) == 0) continue;
    const bool against_gru = c.paper && c.paper != &table4_gru();
    if (against_gru && !gru) {
      Decode first = c;
      first.paper = &table4_gru(), first.cell = first.paper->name;
      gru = std::make_unique<Decoding>(first, options.target, nullptr);
    }
    const std::string of_words = (vocabulary > 0 ? fmt::format(" vocabulary {}", vocabulary) : "") +
                                 (shortlist > 0 ? fmt::format(" shortlist {}", shortlist) : "") +
                                 (searches > 1 ? fmt::format(" searches {}", searches) : "");
    measure(c, c.name() + of_words, against_gru ? gru.get() : nullptr, peer, options);
  }
}

}  // namespace
}  // namespace graphrun

int main(int count, char** words) {
  return graphrun::bench_main("bench_decode", graphrun::kUsage, count, words, graphrun::run);
}
