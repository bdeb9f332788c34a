// Training steps from end to end against plain loops: three updates of a linear regression with every optimizer, clipped.
#include "compiler/training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compiler/compile.h"
#include "runtime/execute/executable.h"
#include "tests/folders.h"
#include "tests/runtime/temporary_folder.h"

namespace graphrun {
namespace {

constexpr int kRows = 4, kIn = 3, kOut = 2, kSteps = 3;
constexpr double kRate = 0.1, kLimit = 0.5;

using Vector = std::vector<double>;

// Batch number `step`: x, then y, row by row.
double x_at(int step, int row, int k) { return std::sin(1.0 + 5 * step + 3 * row + 7 * k); }
double y_at(int step, int row, int k) { return std::cos(2.0 + 3 * step + 2 * row + 5 * k); }

Vector begin() {
  Vector w;
  for (int i = 0; i < kIn * kOut; ++i) w.push_back(0.3 * std::sin(i + 0.5));
  return w;
}

// The gradient of the sum of squares over a batch.
Vector gradient(const Vector& w, int step) {
  Vector g(w.size());
  for (int row = 0; row < kRows; ++row) {
    for (int o = 0; o < kOut; ++o) {
      double e = -y_at(step, row, o);
      for (int k = 0; k < kIn; ++k) e += x_at(step, row, k) * w[static_cast<std::size_t>(k * kOut + o)];
      for (int k = 0; k < kIn; ++k) g[static_cast<std::size_t>(k * kOut + o)] += 2 * e * x_at(step, row, k);
    }
  }
  return g;
}

double norm_of(const Vector& g) {
  double sum = 0;
  for (double e : g) sum += e * e;
  return std::sqrt(sum);
}

Vector clipped(Vector g, double limit) {
  const double factor = std::min(1.0, limit / norm_of(g));
  for (double& e : g) e *= factor;
  return g;
}

class TrainingStep : public ::testing::Test {
 protected:
  TrainingStep() {
    put_bytes(folder_ / "line.pbtxt",
              "name: \"line\"\n"
              "input { name: \"x\" shape: \"[batch, 3]\" }\n"
              "input { name: \"y\" shape: \"[batch, 2]\" }\n"
              "parameter { name: \"W\" shape: \"[3, 2]\" }\n"
              "let: \"e = x @ W - y\"\n"
              "output: \"loss = sum(e * e), rows = sum(e * 0 + 1) / 2\"\n");
    GraphRequest request;
    request.path = folder_ / "line.pbtxt";
    request.graphs_root = tests::source_folder() + "/graphs";
    graph_ = load_graph(request);
    options_.minimize = "loss";
  }

  std::unique_ptr<Executable> compiled(TrainOptions::Part part) {
    options_.part = part;
    CompileOptions compile_options;
    compile_options.precision = Precision::kFloat64;
    if (part == TrainOptions::Part::kUpdate) compile_options.fetches = {kGradientNorm};
    Program program = compile(graph_, compile_options, &options_);
    initialize(program, *variables_, 1);
    return std::make_unique<Executable>(std::move(program), variables_);
  }

  void set_begin() const {
    const Vector w = begin();
    variables_->set("W", Tensor::of<double>({kIn, kOut}, w));
  }

  static Feeds feeds(const Executable& executable, int batch, int update, double continues = 0) {
    Vector x, y;
    for (int row = 0; row < kRows; ++row) {
      for (int k = 0; k < kIn; ++k) x.push_back(x_at(batch, row, k));
      for (int k = 0; k < kOut; ++k) y.push_back(y_at(batch, row, k));
    }
    const std::map<std::string, Tensor> all = {{"x", Tensor::of<double>({kRows, kIn}, x)},
                                               {"y", Tensor::of<double>({kRows, kOut}, y)},
                                               {kLearningRate, Tensor::of<double>({}, {kRate})},
                                               {kUpdateCount, Tensor::of<double>({}, {update + 1.0})},
                                               {kKeepSums, Tensor::of<double>({}, {continues})}};
    Feeds feeds;
    for (const FeedSpec& feed : executable.program().feeds) feeds[feed.name] = all.at(feed.name);
    return feeds;
  }

  void expect(const Vector& w, const std::string& variable = "W") const {
    const Tensor& found = variables_->at(variable);
    for (std::size_t i = 0; i < w.size(); ++i)
      EXPECT_NEAR(found.at(static_cast<std::int64_t>(i)), w[i], 1e-13) << variable << "[" << i << "]";
  }

  // step(g, t, i): how far element i moves at update t (from 1) by its clipped gradient.
  void expect_three_steps(const std::string& optimizer, const std::function<double(double, int, std::size_t)>& step) {
    options_.optimizer = optimizer;
    options_.clip_global_norm = kLimit;
    const auto executable = compiled(TrainOptions::Part::kWhole);
    set_begin();
    Vector w = begin();
    for (int t = 0; t < kSteps; ++t) {
      executable->run(feeds(*executable, t, t));
      const Vector g = clipped(gradient(w, t), kLimit);
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= kRate * step(g[i], t + 1, i);
      expect(w);
    }
  }

  TemporaryFolder folder_;
  ir::Graph graph_;
  TrainOptions options_;
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
};

TEST_F(TrainingStep, Sgd) {
  expect_three_steps("sgd", [](double g, int, std::size_t) { return g; });
}

TEST_F(TrainingStep, MomentumPlainAndNesterov) {
  for (const bool nesterov : {false, true}) {
    options_.attributes = {{"momentum", 0.8}, {"nesterov", nesterov}};
    variables_ = std::make_shared<Variables>();
    Vector v(kIn * kOut);
    expect_three_steps("momentum", [&](double g, int, std::size_t i) {
      v[i] = 0.8 * v[i] + g;
      return nesterov ? g + 0.8 * v[i] : v[i];
    });
    expect(v, "W.momentum_v");
  }
}

TEST_F(TrainingStep, Adagrad) {
  Vector s(kIn * kOut);
  expect_three_steps("adagrad", [&](double g, int, std::size_t i) {
    s[i] += g * g;
    return g / (std::sqrt(s[i]) + 1e-10);
  });
}

TEST_F(TrainingStep, Adadelta) {
  Vector s(kIn * kOut), d(kIn * kOut);
  expect_three_steps("adadelta", [&](double g, int, std::size_t i) {
    s[i] = 0.95 * s[i] + 0.05 * g * g;
    const double x = std::sqrt(d[i] + 1e-6) / std::sqrt(s[i] + 1e-6) * g;
    d[i] = 0.95 * d[i] + 0.05 * x * x;
    return x;
  });
}

TEST_F(TrainingStep, Rmsprop) {
  Vector s(kIn * kOut);
  expect_three_steps("rmsprop", [&](double g, int, std::size_t i) {
    s[i] = 0.9 * s[i] + 0.1 * g * g;
    return g / (std::sqrt(s[i]) + 1e-8);
  });
}

TEST_F(TrainingStep, Adam) {
  Vector m(kIn * kOut), v(kIn * kOut);
  expect_three_steps("adam", [&](double g, int t, std::size_t i) {
    m[i] = 0.9 * m[i] + 0.1 * g;
    v[i] = 0.999 * v[i] + 0.001 * g * g;
    return (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
  });
}

// Coupled: the penalty's gradient passes through the rule. Decoupled: p shrinks in addition.
TEST_F(TrainingStep, DecaysCoupledAndNot) {
  for (const std::string decay : {"l2", "weight_decay"}) {
    options_.attributes = {{decay, 0.2}, {"momentum", 0.8}};
    options_.optimizer = "momentum";
    options_.clip_global_norm = kLimit;
    variables_ = std::make_shared<Variables>();
    const auto executable = compiled(TrainOptions::Part::kWhole);
    set_begin();
    Vector w = begin(), v(w.size());
    for (int t = 0; t < kSteps; ++t) {
      executable->run(feeds(*executable, t, t));
      const Vector g = clipped(gradient(w, t), kLimit);
      for (std::size_t i = 0; i < w.size(); ++i) {
        v[i] = 0.8 * v[i] + g[i] + (decay == "l2" ? 0.2 * w[i] : 0);
        w[i] -= kRate * (v[i] + (decay == "l2" ? 0 : 0.2 * w[i]));
      }
    }
    expect(w);
  }
}

TEST_F(TrainingStep, ParametersWithoutDecayKeepTheirSize) {
  options_.attributes = {{"weight_decay", 0.2}};
  options_.undecayed = {"W"};
  expect_three_steps("sgd", [](double g, int, std::size_t) { return g; });
}

// Weight decay, which is proportional to the rate, is multiplied too; a factor of 1 does not change the graph.
TEST_F(TrainingStep, AParameterMayHaveARateOfItsOwn) {
  options_.rate_factors = {{"W", 0.3}};
  options_.attributes = {{"weight_decay", 0.2}};
  options_.optimizer = "sgd";
  const auto executable = compiled(TrainOptions::Part::kWhole);
  set_begin();
  Vector w = begin();
  for (int t = 0; t < kSteps; ++t) {
    executable->run(feeds(*executable, t, t));
    const Vector g = gradient(w, t);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.3 * kRate * (g[i] + 0.2 * w[i]);
    expect(w);
  }
  options_.rate_factors = {};
  const ir::Graph plain = add_training(graph_, options_);
  options_.rate_factors = {{"W", 1}, {"V", 0.1}};
  EXPECT_EQ(add_training(graph_, options_).nodes.size(), plain.nodes.size());
}

// The gradient of several batches together, divided by all their rows, is that of one batch of all of them.
TEST_F(TrainingStep, SeveralBatchesMakeOneUpdate) {
  options_.optimizer = "sgd";
  options_.clip_global_norm = kLimit;
  options_.per = "rows";
  const auto gradients = compiled(TrainOptions::Part::kGradients), update = compiled(TrainOptions::Part::kUpdate);
  set_begin();
  Vector w = begin();
  int batch = 0;
  for (int t = 0; t < kSteps; ++t) {
    Vector g(w.size());
    const int batches = t == 1 ? 1 : 2;
    for (int k = 0; k < batches; ++k, ++batch) {
      gradients->run(feeds(*gradients, batch, t, k > 0 ? 1 : 0));
      const Vector one = gradient(w, batch);
      for (std::size_t i = 0; i < g.size(); ++i) g[i] += one[i] / (batches * kRows);
    }
    const std::vector<Tensor> norm = update->run(feeds(*update, 0, t));
    EXPECT_NEAR(norm[0].at(0), norm_of(g), 1e-13);
    g = clipped(g, kLimit);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= kRate * g[i];
    expect(w);
  }
}

// Slices of a parameter, updated by a program of their own, get the bits that the whole has.
TEST_F(TrainingStep, UpdatesSlices) {
  options_.optimizer = "adam";
  options_.attributes = {{"weight_decay", 0.01}};
  options_.clip_global_norm = kLimit;
  options_.moving_average = 0.6;
  options_.rate_factors = {{"W", 0.5}};
  ASSERT_TRUE(is_elementwise("adam"));
  EXPECT_FALSE(is_elementwise("adafactor"));
  EXPECT_EQ(slot_endings(options_), (std::vector<std::string>{".adam_m", ".adam_v", ".average"}));
  const auto gradients = compiled(TrainOptions::Part::kGradients), update = compiled(TrainOptions::Part::kUpdate);
  set_begin();
  options_.slices = {{"W", 0, 4}, {"W", 4, 2}};
  const auto of_slices = compiled(TrainOptions::Part::kUpdate);
  const auto slice = [&](const ParameterSlice& of, const std::string& ending) {
    Vector elements;
    for (std::int64_t i = 0; i < of.count; ++i) elements.push_back(variables_->at("W" + ending).at(of.begin + i));
    return Tensor::of<double>({of.count}, elements);
  };
  for (const ParameterSlice& of : *options_.slices) variables_->set(of.name(), slice(of, ""));
  EXPECT_EQ((*options_.slices)[1].name(), "W[4:6]");
  for (int t = 0; t < kSteps; ++t) {
    gradients->run(feeds(*gradients, t, t));
    for (const ParameterSlice& of : *options_.slices) variables_->set(of.name() + kGradientSlot, slice(of, kGradientSlot));
    const Tensor norm = update->run(feeds(*update, 0, t))[0];
    Feeds of_update = feeds(*update, 0, t);
    of_update[kSumNorm] = norm;
    EXPECT_EQ(of_slices->run(of_update)[0].at(0), norm.at(0));
    for (const ParameterSlice& of : *options_.slices) {
      for (const std::string ending : {"", ".adam_m", ".adam_v", ".average"}) {
        const Tensor expected = slice(of, ending), &found = variables_->at(of.name() + ending);
        for (std::int64_t i = 0; i < of.count; ++i) EXPECT_EQ(found.at(i), expected.at(i)) << of.name() << ending << " " << t;
      }
    }
  }
}

TEST_F(TrainingStep, AnAverageBeginsAsTheMeanAndThenForgets) {
  options_.moving_average = 0.6;
  const auto executable = compiled(TrainOptions::Part::kWhole);
  set_begin();
  Vector w = begin(), average(w.size());
  for (int t = 1; t <= 4; ++t) {
    executable->run(feeds(*executable, t, t - 1));
    const Vector g = gradient(w, t);
    const double d = std::min(0.6, 1 - 1.0 / t);
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] -= kRate * g[i];
      average[i] = d * average[i] + (1 - d) * w[i];
    }
    expect(w);
    expect(average, "W.average");
  }
}

}  // namespace
}  // namespace graphrun
