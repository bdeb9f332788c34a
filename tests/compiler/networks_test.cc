// Every network of the papers against values that an independent reading of the language in numpy gave (the fixtures): same
// files, parameters and feeds, float64.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "compiler/passes/pass.h"
#include "runtime/execute/executable.h"
#include "runtime/tensor/safetensors.h"
#include "tests/compiler/network_fixture.h"
#include "tests/sanitized.h"

namespace graphrun {
namespace {

const tests::NetworkFixtures& fixtures() {
  static const tests::NetworkFixtures all("networks");
  return all;
}

class Network : public ::testing::TestWithParam<std::string> {};

// The passes that a network does without in turn; under sanitizers a third of them, others for each network.
std::vector<std::string> passes_to_disable(const std::string& network) {
  const std::vector<std::string>& names = fixtures().names();
  const auto at = std::find(names.begin(), names.end(), network) - names.begin();
  return tests::some_if_sanitized(names_to_disable(), static_cast<std::size_t>(at), 3);
}

void expect_reference(const std::string& name, const std::vector<std::string>& disabled_passes) {
  const NamedTensors tensors = read_safetensors(fixtures().tensors(name));
  const ir::Graph graph = load_graph(fixtures().request(name));

  CompileOptions options;
  options.precision = Precision::kFloat64;
  options.disabled_passes = disabled_passes;
  std::vector<Tensor> expected;
  auto variables = std::make_shared<Variables>();
  Feeds all;
  for (const auto& [full, tensor] : tensors) {
    const std::string rest = full.substr(full.find('/') + 1);
    if (full.rfind("feed/", 0) == 0) all[rest] = tensor;
    if (full.rfind("parameter/", 0) == 0) variables->set(rest, tensor);
    if (full.rfind("output/", 0) == 0) {
      options.fetches.push_back(rest);
      expected.push_back(tensor);
    }
  }
  Executable executable(compile(graph, options), variables);
  Feeds feeds;
  for (const FeedSpec& f : executable.program().feeds) feeds[f.name] = all.at(f.name);
  const std::vector<Tensor> found = executable.run(feeds);
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_FALSE(found.empty());
  for (std::size_t k = 0; k < found.size(); ++k) {
    ASSERT_EQ(found[k].sizes(), expected[k].sizes()) << options.fetches[k];
    for (std::int64_t i = 0; i < found[k].count(); ++i) {
      ASSERT_NEAR(found[k].at(i), expected[k].at(i), 1e-9 * (1 + std::abs(expected[k].at(i))))
          << options.fetches[k] << " at " << i;
    }
  }
}

TEST_P(Network, ComputesWhatTheReferenceComputes) { expect_reference(GetParam(), {}); }

TEST_P(Network, ComputesItWithAnyPassSwitchedOff) {
  for (const std::string& name : passes_to_disable(GetParam())) expect_reference(GetParam(), {name});
  expect_reference(GetParam(), names_to_disable());
}

// The derived gradient of a scalar made of every FLOAT output against central differences, dropout included: its draws depend
// on seed, step and place alone.
TEST_P(Network, DerivesTheGradientThatDifferencesShow) {
  const NamedTensors tensors = read_safetensors(fixtures().tensors(GetParam()));
  const auto [graph, names] = tests::with_gradients(load_graph(fixtures().request(GetParam(), true)));
  CompileOptions options;
  options.precision = Precision::kFloat64;
  auto variables = std::make_shared<Variables>();
  Executable all(compile(graph, options), variables);
  options.fetches = {"scalar"};
  Executable value(compile(graph, options), variables);
  Feeds feeds;
  for (const FeedSpec& f : all.program().feeds) feeds[f.name] = tensors.at("feed/" + f.name);
  for (const std::string& name : names) variables->set(name, tensors.at("parameter/" + name).clone());

  // Every run from the stream's start.
  const auto run = [&](Executable& executable) {
    for (const ir::Variable& v : graph.variables) {
      if (v.kind == ir::Variable::Kind::kState) variables->erase(graph.value(v.value).name);
    }
    return executable.run(feeds);
  };
  const std::vector<Tensor> found = run(all);
  const std::vector<std::string> disabled = passes_to_disable(GetParam());
  for (std::size_t p = 0; p <= disabled.size(); ++p) {
    CompileOptions other = options;
    other.fetches.clear();
    other.disabled_passes = p == disabled.size() ? names_to_disable() : std::vector<std::string>{disabled[p]};
    ir::Graph early = run_early_passes(load_graph(fixtures().request(GetParam(), true)), other.disabled_passes);
    const bool recompute = p < disabled.size() && disabled[p] != kRecompute;
    Executable without(compile(tests::with_gradients(std::move(early), {recompute, nullptr}).graph, other), variables);
    const std::vector<Tensor> again = run(without);
    for (std::size_t k = 0; k < found.size(); ++k) {
      for (std::int64_t i = 0; i < found[k].count(); ++i) {
        ASSERT_NEAR(again[k].at(i), found[k].at(i), 1e-9 * (1 + std::abs(found[k].at(i))))
            << graph.outputs[k].name << " without " << (p == disabled.size() ? "passes" : disabled[p]);
      }
    }
  }
  double largest = 0;
  for (std::size_t k = 0; k < names.size(); ++k) {
    double* x = variables->at(names[k]).data<double>();
    const std::int64_t n = found[k + 1].count(), stride = std::max<std::int64_t>(1, n / (tests::address_sanitized() ? 1 : 5));
    for (std::int64_t i = k % stride; i < n; i += stride) {
      const double before = x[i], h = 1e-5;
      x[i] = before + h;
      const double above = run(value)[0].at(0);
      x[i] = before - h;
      const double below = run(value)[0].at(0);
      x[i] = before;
      const double expected = (above - below) / (2 * h);
      largest = std::max(largest, std::abs(expected));
      EXPECT_NEAR(found[k + 1].at(i), expected, 1e-6 * (1 + std::abs(expected))) << names[k] << " at " << i;
    }
  }
  EXPECT_GT(largest, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Papers, Network, ::testing::ValuesIn(fixtures().names()), [](const auto& i) { return i.param; });

}  // namespace
}  // namespace graphrun
