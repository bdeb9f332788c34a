// Loops for the tests of thread groups: run with any number of threads and compared with their definition.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "compiler/passes/pass.h"
#include "runtime/execute/executable.h"
#include "runtime/threads/threads.h"
#include "tests/compiler/interpreter.h"

namespace graphrun {

inline const SymbolValues kSizes = {{Symbol::named("time"), 7}, {Symbol::named("batch"), 12}};

inline Tensor feed_for(const FeedSpec& feed, const SymbolValues& sizes = kSizes) {
  Tensor t(DType::kFloat64, evaluate(feed.shape, sizes));
  std::uint32_t state = 9;
  for (char c : feed.name) state = state * 31 + static_cast<unsigned char>(c);
  for (double& x : t.span<double>()) {
    state = state * 1664525u + 1013904223u;
    x = (static_cast<double>(state >> 20) / 2048 - 1) / 4;
  }
  return t.converted(feed.dtype);
}

// `check`: the bits are the same for any number of threads, and if values share no memory; the numbers equal those of the loop
// run step by step.
class Loops : public ::testing::Test {
 protected:
  ~Loops() override { set_threads(before_); }

  std::vector<Tensor> run(const ir::Graph& graph, int threads, Precision precision, bool share_memory = true) {
    set_threads(threads);
    CompileOptions options;
    options.precision = precision;
    if (!share_memory) options.disabled_passes = {kShareMemory};
    Executable executable(compile(graph, options), std::make_shared<Variables>());
    Feeds feeds;
    for (const FeedSpec& feed : executable.program().feeds) feeds[feed.name] = feed_for(feed, sizes_);
    executable.run(feeds);  // the second run starts with the memory that the first one left
    return executable.run(feeds);
  }

  // The loop by definition, node by node.
  std::vector<Tensor> meaning(const ir::Graph& graph, Precision precision) {
    set_threads(1);
    std::vector<Tensor> given(graph.values.size());
    for (const ir::Input& input : graph.inputs) {
      const ir::Value& value = graph.value(input.value);
      given[static_cast<std::size_t>(input.value)] =
          feed_for({value.name, concrete(value.type.type, precision), value.type.shape, {}, {}}, sizes_);
    }
    const std::vector<Tensor> values = test::Interpreter(precision, sizes_).values(graph, given);
    std::vector<Tensor> out;
    for (const ir::Output& o : graph.outputs) out.push_back(values[static_cast<std::size_t>(o.value)]);
    return out;
  }

  void check(const std::string& text) {
    const ir::Graph graph = ir::parse(text, "loops");
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      // The order of summation in products differs between instruction sets.
      const double tolerance = precision == Precision::kFloat32 ? 5e-5 : 1e-12;
      const std::vector<Tensor> expected = meaning(graph, precision), one = run(graph, 1, precision);
      ASSERT_EQ(one.size(), expected.size());
      for (std::size_t o = 0; o < one.size(); ++o) {
        ASSERT_EQ(one[o].sizes(), expected[o].sizes());
        for (std::int64_t i = 0; i < one[o].count(); ++i) {
          const double wanted = expected[o].at(i);
          ASSERT_NEAR(one[o].at(i), wanted, tolerance * std::max(1.0, std::abs(wanted)))
              << graph.outputs[o].name << " at " << i;
        }
      }
      for (int threads = 1; threads <= core_count(); ++threads) {
        for (const bool share_memory : {true, false}) {
          const std::vector<Tensor> again = run(graph, threads, precision, share_memory);
          for (std::size_t o = 0; o < one.size(); ++o) {
            EXPECT_EQ(std::memcmp(one[o].raw(), again[o].raw(), one[o].bytes()), 0)
                << graph.outputs[o].name << " differs with " << threads << " threads"
                << (share_memory ? "" : ", nothing shared");
          }
        }
      }
    }
  }
  const int before_ = threads();
  SymbolValues sizes_ = kSizes;  // the batch's
};

}  // namespace graphrun
