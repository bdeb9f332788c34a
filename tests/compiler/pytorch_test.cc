// Cells, language model, tagger, classifier and translators with all their parts against PyTorch, outputs and gradients; and
// three steps of training with every optimizer; in both precisions (made by tests/reference/pytorch_networks.py,
// pytorch_translators.py and pytorch_training.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/passes/parallelize_history.h"
#include "runtime/execute/executable.h"
#include "runtime/tensor/safetensors.h"
#include "tests/compiler/network_fixture.h"

namespace graphrun {
namespace {

const tests::NetworkFixtures& pytorch_fixtures(const std::string& folder) {
  static const tests::NetworkFixtures networks("pytorch"), translators("pytorch_translators");
  return folder == "pytorch" ? networks : translators;
}

// Folder and name.
std::vector<std::pair<std::string, std::string>> all_networks() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const char* folder : {"pytorch", "pytorch_translators"}) {
    for (const std::string& name : pytorch_fixtures(folder).names()) all.emplace_back(folder, name);
  }
  return all;
}

Tensor in_precision(const Tensor& t, Precision precision) {
  return t.dtype() == DType::kFloat64 ? t.converted(concrete(Type::kFloat, precision)) : t;
}

// The tensors whose names begin with `prefix`, by the rest of their names.
NamedTensors under(const NamedTensors& all, const std::string& prefix, Precision precision) {
  NamedTensors out;
  for (const auto& [name, tensor] : all) {
    if (name.rfind(prefix, 0) == 0) out[name.substr(prefix.size())] = in_precision(tensor, precision);
  }
  return out;
}

// What counts as large where single precision adds up what almost cancels, as the gradients of an attention do.
constexpr double kCancelled = 0.1;

// Within `tolerance` of the tensor's largest element; of 1 where all are zero.
void expect_close(const Tensor& found, const Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  double largest = 0, difference = 0;
  for (std::int64_t i = 0; i < found.count(); ++i) {
    largest = std::max(largest, std::abs(expected.at(i)));
    difference = std::max(difference, std::abs(found.at(i) - expected.at(i)));
    ASSERT_TRUE(std::isfinite(found.at(i))) << what << " at " << i;
  }
  const double least = largest == 0 ? 1 : found.dtype() == DType::kFloat32 ? kCancelled : 0;
  EXPECT_LE(difference, tolerance * std::max(largest, least)) << what;
}

class PyTorch : public ::testing::TestWithParam<std::pair<std::string, std::string>> {
 protected:
  void expect_agreement(Precision precision, double tolerance) {
    const auto& [folder, name] = GetParam();
    const NamedTensors all = read_safetensors(pytorch_fixtures(folder).tensors(name));
    // Histories as training has them.
    const tests::WithGradients network =
        tests::with_gradients(parallelize_history(load_graph(pytorch_fixtures(folder).request(name))).graph);
    NamedTensors expected = under(all, "output/", Precision::kFloat64);
    for (const auto& [parameter, gradient] : under(all, "gradient/", Precision::kFloat64))
      expected["d." + parameter] = gradient;
    ASSERT_EQ(under(all, "gradient/", precision).size(), network.parameters.size());

    CompileOptions options;
    options.precision = precision;
    for (const auto& [output, tensor] : expected) options.fetches.push_back(output);
    auto variables = std::make_shared<Variables>();
    for (const auto& [parameter, tensor] : under(all, "parameter/", precision)) variables->set(parameter, tensor);
    Executable executable(compile(network.graph, options), variables);
    const auto run_and_compare = [&](const NamedTensors& feeds, const NamedTensors& wanted) {
      Feeds given;
      for (const FeedSpec& f : executable.program().feeds) given[f.name] = feeds.at(f.name);
      const std::vector<Tensor> found = executable.run(given);
      for (std::size_t k = 0; k < found.size(); ++k) {
        const auto it = wanted.find(options.fetches[k]);
        if (it != wanted.end()) expect_close(found[k], it->second, tolerance, it->first);
      }
    };
    run_and_compare(under(all, "feed/", precision), expected);
    // The window after it, where states live on.
    const NamedTensors second = under(all, "second/feed/", precision);
    if (!second.empty()) run_and_compare(second, under(all, "second/output/", Precision::kFloat64));
  }
};

TEST_P(PyTorch, AgreesInDoublePrecision) { expect_agreement(Precision::kFloat64, 1e-10); }
TEST_P(PyTorch, AgreesInSinglePrecision) { expect_agreement(Precision::kFloat32, 1e-5); }

const tests::NetworkFixtures& trainings() {
  static const tests::NetworkFixtures all("pytorch_training");
  return all;
}

TrainOptions options_of(const nlohmann::json& entry) {
  TrainOptions options;
  options.minimize = "loss";
  options.optimizer = entry.at("optimizer");
  options.clip_global_norm = entry.at("clip");
  for (const auto& [name, value] : entry.at("attributes").items()) {
    options.attributes.emplace_back(name, value.is_boolean() ? Attribute(value.get<bool>()) : Attribute(value.get<double>()));
  }
  return options;
}

class PyTorchTraining : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_agreement(Precision precision, double tolerance) {
    const NamedTensors all = read_safetensors(trainings().tensors(GetParam()));
    const nlohmann::json& entry = trainings().entry(GetParam());
    CompileOptions options;
    options.precision = precision;
    options.fetches = {"loss", kGradientNorm};
    const TrainOptions train = options_of(entry);
    auto variables = std::make_shared<Variables>();
    Executable executable(compile(load_graph(trainings().request(GetParam(), false)), options, &train), variables);
    for (const auto& [name, tensor] : under(all, "parameter/", precision)) variables->set(name, tensor);
    initialize(executable.program(), *variables, 0);
    const std::int64_t steps = all.at("loss").count();
    for (std::int64_t step = 0; step < steps; ++step) {
      NamedTensors feeds = under(all, "feed/" + std::to_string(step) + "/", precision);
      feeds[kLearningRate] = Tensor::of<double>({}, {entry.at("rate").get<double>()});
      feeds[kUpdateCount] = Tensor::of<double>({}, {static_cast<double>(step + 1)});
      Feeds given;
      for (const FeedSpec& f : executable.program().feeds) given[f.name] = feeds.at(f.name);
      const std::vector<Tensor> found = executable.run(given);
      EXPECT_NEAR(found[0].at(0), all.at("loss").at(step), tolerance * all.at("loss").at(step)) << "step " << step;
      EXPECT_NEAR(found[1].at(0), all.at("norm").at(step), tolerance * all.at("norm").at(step)) << "step " << step;
    }
    for (const auto& [name, tensor] : under(all, "after/", Precision::kFloat64)) {
      expect_close(variables->at(name), tensor, tolerance, name);
    }
  }
};

TEST_P(PyTorchTraining, AgreesInDoublePrecision) { expect_agreement(Precision::kFloat64, 1e-10); }
TEST_P(PyTorchTraining, AgreesInSinglePrecision) { expect_agreement(Precision::kFloat32, 1e-5); }

INSTANTIATE_TEST_SUITE_P(Optimizers, PyTorchTraining, ::testing::ValuesIn(trainings().names()),
                         [](const auto& i) { return i.param; });
INSTANTIATE_TEST_SUITE_P(Networks, PyTorch, ::testing::ValuesIn(all_networks()), [](const auto& i) { return i.param.second; });

}  // namespace
}  // namespace graphrun
