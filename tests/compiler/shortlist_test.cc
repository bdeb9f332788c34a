// Generation among the words of a list: the scores of the list's words are those that the whole network gives them.
#include "compiler/shortlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "compiler/passes/dead_code.h"
#include "runtime/execute/executable.h"
#include "runtime/tensor/safetensors.h"
#include "tests/compiler/network_fixture.h"
#include "tests/frontend/graph_file.h"

namespace graphrun {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Listed {
  std::string network;
  GenerationSpec spec;
  bool log_probabilities = false;  // of all words, so that those of a list differ from them by a number for each row
  friend void PrintTo(const Listed& c, std::ostream* out) { *out << c.network; }
};
const Listed kListed[] = {
    {"translator", {"decode", "y", "logits", {"alignment"}}},
    {"translator_ca_atr", {"decode", "y", "logits", {}}},
    {"translator_sru", {"decode", "y", "logits", {}}},
    {"gnmt", {"decode", "y", "logits", {}}},
    {"cyton_gru", {"decode", "y", "logits", {}}},
    {"transformer", {"decode", "y", "logits", {}}},
    {"student", {"decode", "y", "logits", {}}},
    {"ensemble", {"members.decode", "y", "score", {}}, true},
};

Tensor all_allowed(std::int64_t rows, std::int64_t words) {
  Tensor allowed(DType::kBool, {rows, words});
  std::fill_n(allowed.data<std::uint8_t>(), allowed.count(), std::uint8_t{1});
  return allowed;
}

// One step after another, fed the same words.
class Stepping {
 public:
  Stepping(const GenerationGraphs& cut, Feeds feeds, std::shared_ptr<Variables> variables, std::int64_t rows)
      : cut_(cut), rows_(rows) {
    CompileOptions options;
    options.precision = Precision::kFloat64;
    Executable prologue(compile(cut.prologue, options), variables);
    Feeds given;
    for (const FeedSpec& f : prologue.program().feeds) given[f.name] = feeds.at(f.name);
    const std::vector<Tensor> made = prologue.run(given);
    for (std::size_t k = 0; k < made.size(); ++k) now_[cut.prologue.outputs[k].name] = made[k];
    for (const GenerationGraphs::Carried& s : cut.states) {
      if (!s.zeros) continue;
      SymbolValues values{{cut.rows, rows}};
      for (Symbol capacity : cut.capacity) values[capacity] = 5;
      now_[s.name] = Tensor(DType::kFloat64, evaluate(s.type.shape, values));
    }
    step_ = std::make_unique<Executable>(compile(cut.step, options), variables);
  }

  // The results of the step, by name.
  std::map<std::string, Tensor> step(std::int32_t t, std::int32_t word) {
    Tensor words(DType::kInt32, {rows_});
    for (std::int32_t& w : words.span<std::int32_t>()) w = word;
    now_[kWordInput] = words, now_[kStepInput] = Tensor::of<std::int32_t>({}, {t});
    Feeds feeds;
    for (const FeedSpec& f : step_->program().feeds) feeds[f.name] = now_.at(f.name);
    const std::vector<Tensor> made = step_->run(feeds);
    std::map<std::string, Tensor> results;
    for (std::size_t k = 0; k < made.size(); ++k) {
      const std::string& name = cut_.step.outputs[k].name;
      results[name] = made[k].clone();
      if (name.starts_with(kNextPrefix)) now_[name.substr(std::string(kNextPrefix).size())] = made[k].clone();
    }
    return results;
  }

 private:
  const GenerationGraphs& cut_;
  const std::int64_t rows_;
  std::map<std::string, Tensor> now_;
  std::unique_ptr<Executable> step_;
};

class ShortlistCut : public ::testing::TestWithParam<Listed> {};

TEST_P(ShortlistCut, ScoresTheListsWordsAsTheWholeNetworkDoes) {
  const tests::NetworkFixtures fixtures("networks");
  Feeds feeds;
  const auto variables = std::make_shared<Variables>();
  for (const auto& [name, tensor] : read_safetensors(fixtures.tensors(GetParam().network))) {
    if (name.starts_with("feed/")) feeds[name.substr(5)] = tensor;
    if (name.starts_with("parameter/")) variables->set(name.substr(10), tensor);
  }
  const ir::Graph graph = load_graph(fixtures.request(GetParam().network, false));
  GenerationSpec spec = GetParam().spec;
  const GenerationGraphs whole = cut_for_generation(graph, spec);
  spec.shortlist = true;
  spec.fetches.push_back(spec.score);
  const GenerationGraphs cut = cut_for_generation(graph, spec);
  ASSERT_TRUE(cut.shortlist);
  const std::int64_t rows = feeds.at("source_lengths").count();
  EXPECT_EQ(cut.fed(), whole.fed());

  const std::vector<std::int32_t> words = {1, 2, 4, 5};
  const auto count = static_cast<std::int64_t>(words.size());
  feeds[cut.shortlist->words.input] = Tensor::of<std::int32_t>({count}, words);
  feeds[cut.shortlist->allowed.input] = all_allowed(rows, count);
  Stepping all(whole, feeds, variables, rows), listed(cut, feeds, variables, rows);
  for (const std::int32_t t : {0, 1, 2}) {
    const auto expected = all.step(t, t + 1);
    const auto found = listed.step(t, t + 1);
    ASSERT_EQ(str(found.at(kScoreOutput).sizes()), str(Sizes{rows, count}));
    const Tensor &score = expected.at(kScoreOutput), &own = found.at(kScoreOutput);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto at = [&](std::size_t k) { return score.at(row * score.sizes()[1] + words[k]); };
      double sum = 0;
      for (std::size_t k = 0; k < words.size(); ++k) {
        const double listed_score = own.at(row * count + static_cast<std::int64_t>(k));
        sum += std::exp(listed_score);
        // Softmaxes of an ensemble's members are each of the list's words.
        if (!GetParam().log_probabilities) {
          EXPECT_NEAR(listed_score, at(k), 1e-9) << "step " << t << " row " << row;
        }
      }
      if (GetParam().log_probabilities) {
        EXPECT_NEAR(sum, 1, 1e-9);
      }
    }
    // What is fetched is as without the list.
    const Tensor& fetched = found.at(GetParam().spec.score);
    ASSERT_EQ(fetched.count(), score.count());
    for (std::int64_t i = 0; i < score.count(); ++i) EXPECT_NEAR(fetched.at(i), score.at(i), 1e-9);
  }
}
INSTANTIATE_TEST_SUITE_P(Networks, ShortlistCut, ::testing::ValuesIn(kListed), [](const auto& i) { return i.param.network; });

// A language model of seven words whose score is `score`, of the state h [time, batch, 4]; `more` stands in the graph.
GenerationGraphs listed_cut(const std::string& score, const std::string& more = "") {
  const std::string text =
      "name: \"net\"\ninput { name: \"words\" shape: \"[time, batch]\" type: INT32 }\n"
      "parameter { name: \"E\" shape: \"[7, 4]\" } parameter { name: \"O\" shape: \"[4, 7]\" }\n"
      "parameter { name: \"b\" shape: \"[7]\" } parameter { name: \"T\" shape: \"[7, 7]\" }\n" +
      more + "scan { name: \"read\" graph: \"cell\" each: \"x = gather(E, words)\" }\nlet: \"h = read.h\"\noutput: \"score = " +
      score +
      "\"\ngraph { name: \"cell\" input { name: \"x\" shape: \"[batch, 4]\" }\n"
      "state { name: \"h\" shape: \"[batch, 4]\" next: \"tanh(x + h)\" } output: \"h = next(h)\" }\n";
  GraphRequest request = tests::request_of(text);
  request.training = false;
  return cut_for_generation(load_graph(request), {"read", "x", "score", {}, true});
}

// The score of three words against the same three of all.
void expect_alike(const std::string& score, bool up_to_a_number = false) {
  SCOPED_TRACE(score);
  const GenerationGraphs cut = listed_cut(score);
  const auto variables = std::make_shared<Variables>();
  for (const auto& [name, sizes] : std::map<std::string, Sizes>{{"E", {7, 4}}, {"O", {4, 7}}, {"b", {7}}, {"T", {7, 7}}}) {
    Tensor t(DType::kFloat64, sizes);
    for (std::int64_t i = 0; i < t.count(); ++i)
      t.span<double>()[static_cast<std::size_t>(i)] = std::sin(static_cast<double>(3 * i + 1));
    variables->set(name, t);
  }
  const auto scored = [&](const std::vector<std::int32_t>& words) {
    Feeds feeds;
    const auto count = static_cast<std::int64_t>(words.size());
    feeds[cut.shortlist->words.input] = Tensor::of<std::int32_t>({count}, words);
    feeds[cut.shortlist->allowed.input] = all_allowed(2, count);
    return Stepping(cut, feeds, variables, 2).step(0, 3).at(kScoreOutput);
  };
  std::vector<std::int32_t> all(7);
  std::iota(all.begin(), all.end(), 0);
  const Tensor whole = scored(all), part = scored({0, 3, 6});
  for (std::int64_t row = 0; row < 2; ++row) {
    const double shift = up_to_a_number ? part.at(row * 3) - whole.at(row * 7) : 0;
    for (std::int64_t k = 0; k < 3; ++k) EXPECT_NEAR(part.at(row * 3 + k), whole.at(row * 7 + 3 * k) + shift, 1e-9);
  }
}

TEST(ShortlistScores, FollowTheWordsToParameters) {
  expect_alike("h @ O + b");
  expect_alike("matmul(h, E, transpose_b=true) * 2 - b");
  expect_alike("transpose(matmul(E, transpose(h)), permutation=[0, 2, 1])");
  expect_alike("matmul(h, E * 0.5, transpose_b=true)");
  expect_alike("where(b > 0, h @ O, b)");
  expect_alike("h @ O + gather(T, words) + range(7) * 0.25");
  expect_alike("max(stack(h @ O, gather(T, words), axis=0), axis=0)");
  expect_alike("mean(stack(h @ O, gather(T, words), axis=0), axis=0)");
}

// A softmax is then one of the list's words, however it is written.
TEST(ShortlistScores, AreNormalizedOverTheList) {
  expect_alike("log_softmax(h @ O + b, axis=-1)", true);
  expect_alike("log(softmax(h @ O, axis=-1))", true);
  expect_alike("h @ O - expand(logsumexp(h @ O, axis=-1), axis=-1)", true);
  // Nothing of all words is left to compute.
  for (const std::string score :
       {"log(exp(h @ O) / expand(sum(exp(h @ O), axis=-1), axis=-1))", "log_softmax(h @ O, axis=-1)"}) {
    ir::Graph step = listed_cut(score).step;
    step.outputs.resize(1);
    EXPECT_EQ(drop_unneeded(std::move(step)).variable("O"), nullptr) << score;
  }
  expect_alike("log(exp(h @ O) / expand(sum(exp(h @ O), axis=-1), axis=-1))", true);
}

TEST(ShortlistMistakes, NameTheOperationThatNeedsAllWords) {
  const auto message = [](const std::string& score, const std::string& more = "") {
    try {
      listed_cut(score, more);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message("h @ O"), "no error");
  EXPECT_THAT(message("cumsum(h @ O, axis=-1)"), AllOf(HasSubstr("E0436"), HasSubstr("op 'cumsum' needs all words")));
  EXPECT_THAT(message("concat(h, h[:, :, :3], axis=-1)"), AllOf(HasSubstr("E0436"), HasSubstr("op 'concat' needs all words")));
  EXPECT_THAT(message("h @ O - expand(mean(h @ O, axis=-1), axis=-1)"), AllOf(HasSubstr("E0436"), HasSubstr("op 'mean'")));
  EXPECT_THAT(message("h @ O + expand(cast(argmax(h @ O, axis=-1), type='FLOAT'), axis=-1)"),
              AllOf(HasSubstr("E0436"), HasSubstr("op 'argmax' gives the place of a word among all")));
}

}  // namespace
}  // namespace graphrun
