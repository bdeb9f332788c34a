// Loops that run concurrently on a device, with a backend that only counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/execute/execute.h"
#include "runtime/execute/packed_weights.h"
#include "runtime/execute/profiler.h"
#include "runtime/scan/launch.h"
#include "tests/runtime/counting_backend.h"
#include "tests/runtime/two_directions.h"

namespace graphrun {
namespace {

using ::testing::ElementsAre;

class CountedLoop : public LoopKernel {
 public:
  explicit CountedLoop(std::function<void()> run) : run_(std::move(run)) {}
  void run(const LoopRun&) const override { run_(); }
  std::string describe() const override { return "one that counts"; }
  void prepare() const override {}
  Traits traits() const override { return {}; }
  std::string text() const override { return ""; }

 private:
  std::function<void()> run_;
};

// Only the two loops of a graph.
class ConcurrentStreams : public ::testing::Test {
 protected:
  ConcurrentStreams() : program_(compile(ir::parse(two_directions("%h0"), "two directions"), {})), store_(program_) {
    binding_ = graphrun::bind(program_, {{Symbol::named("time"), 3}, {Symbol::named("batch"), 2}}, cpu_device(), store_);
    loops_.source = binding_->root.source;
    for (BoundInstruction& bound : binding_->root.instructions) {
      if (!bound.scan) continue;
      const int number = static_cast<int>(loops_.instructions.size());
      bound.scan->plan.way = std::make_shared<CountedLoop>([this, number] {
        ran_.push_back(number);
        if (number == fails_) throw std::runtime_error("the loop fails");
      });
      loops_.instructions.push_back(std::move(bound));
    }
    loops_.instructions.at(0).concurrent = 1;
  }
  void run(Profiler* profiler = nullptr) {
    RunContext context{0, 0, profiler, binding_->scan_steps.data(), nullptr, &on_device_};
    run_region(loops_, context);
  }
  std::string failure_of_run() {
    try {
      run();
    } catch (const std::exception& failure) {
      return failure.what();
    }
    return "none";
  }

  const Program program_;
  PackedWeightsStore store_;
  std::unique_ptr<Binding> binding_;
  BoundRegion loops_;
  Counting device_;
  const OnDevice on_device_{&device_, nullptr, nullptr, nullptr};
  std::vector<int> ran_;
  int fails_ = -1;
};

TEST_F(ConcurrentStreams, RunEachLoopOnItsOwnAndJoin) {
  run();
  EXPECT_THAT(ran_, ElementsAre(0, 1));
  EXPECT_THAT(device_.streams, ElementsAre(0, 1));
  EXPECT_EQ(device_.joins, 1);
}

TEST_F(ConcurrentStreams, AreInTurnWhereSomebodyLooks) {
  Profiler profiler;
  run(&profiler);
  EXPECT_THAT(ran_, ElementsAre(0, 1));
  EXPECT_TRUE(device_.streams.empty());
  EXPECT_EQ(device_.joins, 0);
}

// Errors are thrown, and no stream stays forked.
TEST_F(ConcurrentStreams, AreJoinedWhereALoopFails) {
  for (int which : {0, 1}) {
    fails_ = which, device_.joins = 0;
    EXPECT_EQ(failure_of_run(), "the loop fails");
    EXPECT_EQ(device_.joins, 1);
  }
  device_.joining = false;
  EXPECT_EQ(failure_of_run(), "the loop fails") << "not what came of it";
  fails_ = -1;
  EXPECT_EQ(failure_of_run(), "no stream is joined");
}

}  // namespace
}  // namespace graphrun
