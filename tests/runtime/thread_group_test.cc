// Loops that threads share by columns: the same bits for any number of threads, and the same numbers as the loop step by step.
#include "runtime/scan/thread_group.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "ops/schema.h"
#include "runtime/scan/barrier.h"
#include "tests/compiler/small_ops.h"
#include "tests/runtime/loops.h"

namespace graphrun {
namespace {

TEST(Barrier, NoThreadIsAheadOrBehind) {
  constexpr int kThreads = 3, kRounds = 2000;
  Barrier barrier(kThreads);
  std::atomic<int> came{0};
  std::atomic<bool> wrong{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int r = 1; r <= kRounds; ++r) {
        ++came;
        barrier.wait();
        if (came.load() < r * kThreads) wrong = true;
        barrier.wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(wrong);
  EXPECT_EQ(came.load(), kThreads * kRounds);
}

TEST(Barrier, DoesNotWaitForThreadsThatLeft) {
  Barrier barrier(2);
  std::thread waiting([&] { barrier.wait(), barrier.wait(); });
  barrier.leave();
  waiting.join();
}

TEST(ColumnsOf, CutAtStepsAndCoverAll) {
  for (std::int64_t columns : {0, 1, 15, 16, 17, 32, 650, 1000}) {
    for (int threads = 1; threads <= 5; ++threads) {
      std::int64_t at = 0;
      for (int t = 0; t < threads; ++t) {
        const Share range = share_of(columns, t, threads);
        EXPECT_EQ(range.begin, at);
        EXPECT_TRUE(range.begin % kColumnStep == 0 || range.begin == columns);
        at = range.end;
      }
      EXPECT_EQ(at, columns);
    }
  }
}

TEST_F(Loops, OfOneProduct) {
  check(R"(graph "g" {
    input %x: FLOAT[time, batch, 150]
    input %U: FLOAT[150, 150]
    %h0 = zeros(; shape=[batch, 150], type="FLOAT")
    %end: FLOAT[batch, 150], %y: FLOAT[time, batch, 150] = scan(%h0, %x, %U; states=1, each=1, steps=<time>) body "b" {
      input %h: FLOAT[batch, 150]
      input %x: FLOAT[batch, 150]
      input %U: FLOAT[150, 150]
      input %step: INT32[]
      %q = matmul(%h, %U)
      %f = sigmoid(%q)
      %s = add(%x, %q)
      %t = tanh(%s)
      %h1 = mul(%f, %t)
      output "h" = %h1
      output "y" = %t
    }
    output "y" = %y
    output "end" = %end
  })");
}

// Two products, the second of the first one's result, as in a reset gate applied before the product.
TEST_F(Loops, OfDependentProductsBackwards) {
  check(R"(graph "g" {
    input %x: FLOAT[time, batch, 100]
    input %b: FLOAT[100]
    input %U: FLOAT[100, 100]
    input %V: FLOAT[100, 100]
    %h0 = full(; shape=[batch, 100], value=0.1, type="FLOAT")
    %end: FLOAT[batch, 100], %y: FLOAT[time, batch, 100] = scan(%h0, %x, %b, %U, %V; states=1, each=1, steps=<time>, reverse=true) body "b" {
      input %h: FLOAT[batch, 100]
      input %x: FLOAT[batch, 100]
      input %b: FLOAT[100]
      input %U: FLOAT[100, 100]
      input %V: FLOAT[100, 100]
      input %step: INT32[]
      %q = matmul(%h, %U; transpose_b=true)
      %qb = add(%q, %b)
      %r = sigmoid(%qb)
      %rh = mul(%r, %h)
      %c = matmul(%rh, %V)
      %s = add(%x, %c)
      %n = tanh(%s)
      %h1 = add(%rh, %n)
      output "h" = %h1
      output "y" = %h1
    }
    output "y" = %y
    output "end" = %end
  })");
}

// States of different widths share the body's memory, but no columns.
TEST_F(Loops, OfStatesOfTwoWidths) {
  check(R"(graph "g" {
    input %x: FLOAT[time, batch, 96]
    input %U: FLOAT[96, 160]
    input %V: FLOAT[160, 96]
    %h0 = zeros(; shape=[batch, 96], type="FLOAT")
    %c0 = zeros(; shape=[batch, 160], type="FLOAT")
    %hend: FLOAT[batch, 96], %cend: FLOAT[batch, 160] = scan(%h0, %c0, %x, %U, %V; states=2, each=1, steps=<time>) body "b" {
      input %h: FLOAT[batch, 96]
      input %c: FLOAT[batch, 160]
      input %x: FLOAT[batch, 96]
      input %U: FLOAT[96, 160]
      input %V: FLOAT[160, 96]
      input %step: INT32[]
      %q = matmul(%h, %U)
      %e = tanh(%q)
      %c1 = add(%c, %e)
      %p = matmul(%c1, %V)
      %pp = matmul(%e, %V)
      %s = add(%p, %x)
      %d = sub(%s, %pp)
      %h1 = tanh(%d)
      output "h" = %h1
      output "c" = %c1
    }
    output "h" = %hend
    output "c" = %cend
  })");
}

// Results narrower than the number of threads with columns: threads without columns compute nothing.
TEST_F(Loops, OfNarrowResults) {
  for (const char* width : {"1", "16", "64", "70"}) {
    std::string text = R"(graph "g" {
    input %x: FLOAT[time, batch, 160]
    input %U: FLOAT[160, 160]
    input %v: FLOAT[160, WIDTH]
    input %w: FLOAT[WIDTH, 160]
    %h0 = zeros(; shape=[batch, 160], type="FLOAT")
    %end: FLOAT[batch, 160], %y: FLOAT[time, batch, WIDTH] = scan(%h0, %x, %U, %v, %w; states=1, each=1, steps=<time>) body "b" {
      input %h: FLOAT[batch, 160]
      input %x: FLOAT[batch, 160]
      input %U: FLOAT[160, 160]
      input %v: FLOAT[160, WIDTH]
      input %w: FLOAT[WIDTH, 160]
      input %step: INT32[]
      %g = matmul(%h, %v)
      %e = exp(%g)
      %f = sigmoid(%e)
      %back = matmul(%f, %w)
      %q = matmul(%h, %U)
      %s = add(%x, %q)
      %t = add(%s, %back)
      %h1 = tanh(%t)
      output "h" = %h1
      output "y" = %f
    }
    output "y" = %y
    output "end" = %end
  })";
    for (std::size_t at = text.find("WIDTH"); at != std::string::npos; at = text.find("WIDTH")) text.replace(at, 5, width);
    check(text);
  }
}

// Instructions that cannot be divided by columns: one thread runs them, and the others wait.
TEST_F(Loops, OfNormalizedStates) {
  check(R"(graph "g" {
    input %x: FLOAT[time, batch, 400]
    input %U: FLOAT[400, 400]
    %h0 = full(; shape=[batch, 400], value=0.5, type="FLOAT")
    %end: FLOAT[batch, 400], %y: FLOAT[time, batch, 1] = scan(%h0, %x, %U; states=1, each=1, steps=<time>) body "b" {
      input %h: FLOAT[batch, 400]
      input %x: FLOAT[batch, 400]
      input %U: FLOAT[400, 400]
      input %step: INT32[]
      %q = matmul(%h, %U)
      %s = add(%x, %q)
      %m = mean(%s; axis=(-1), keep=true)
      %c = sub(%s, %m)
      %cc = mul(%c, %c)
      %d = mean(%cc; axis=(-1), keep=true)
      %one = constant(; value=1, type="FLOAT")
      %e = add(%d, %one)
      %r = sqrt(%e)
      %n = div(%c, %r)
      %h1 = tanh(%n)
      output "h" = %h1
      output "y" = %r
    }
    output "y" = %y
    output "end" = %end
  })");
}

// A step's number, one number per row, and a product with a state's previous value.
TEST_F(Loops, OfScalarsAndRows) {
  check(R"(graph "g" {
    input %x: FLOAT[time, batch, 1]
    input %U: FLOAT[128, 128]
    %h0 = full(; shape=[batch, 128], value=0.5, type="FLOAT")
    %end: FLOAT[batch, 128], %y: FLOAT[time, batch, 128] = scan(%h0, %x, %U; states=1, each=1, steps=<time>) body "b" {
      input %h: FLOAT[batch, 128]
      input %x: FLOAT[batch, 1]
      input %U: FLOAT[128, 128]
      input %step: INT32[]
      %t = cast(%step; type="FLOAT")
      %hx = mul(%h, %x)
      %ht = sub(%hx, %t)
      %a = tanh(%ht)
      %q = matmul(%a, %U)
      %p = matmul(%h, %U)
      %s = add(%p, %q)
      %h1 = sigmoid(%s)
      output "h" = %h1
      output "y" = %q
    }
    output "end" = %end
    output "y" = %y
  })");
}

// A pointwise op that fails in the fifth step, in one column.
REGISTER_OP("t_fails", "test").Input("x", "").Output("y").Shape(test::same_as_first).NoGradient("test");
REGISTER_KERNEL("t_fails", kCpu, [](const KernelRequest& request) -> Kernel {
  auto by_columns = std::make_shared<ColumnKernel>();
  by_columns->columns = request.outputs[0].sizes.back();
  by_columns->run = [](const KernelContext& c, std::int64_t begin, std::int64_t end) {
    if (begin <= 40 && 40 < end && c.random.scan_steps.back() == 4) {
      throw UserError(ExitCode::kBadData, "E0610 index-out-of-range", "no such column");
    }
  };
  return {[](const KernelContext&) {}, 0, by_columns};
});

// A loop with a failing kernel, whose final state is `%end`; if `beside`, preceded by a loop without one that may run
// concurrently.
std::string failing(bool beside) {
  const auto loop = [](const std::string& name, const std::string& op) {
    return "%" + name + ": FLOAT[batch, 150] = scan(%h0, %x, %U; states=1, each=1, steps=<time>) body \"b\" {" + R"(
      input %h: FLOAT[batch, 150]
      input %x: FLOAT[batch, 150]
      input %U: FLOAT[150, 150]
      input %step: INT32[]
      %q = matmul(%h, %U)
      %f = )" +
           op + R"((%q)
      %h1 = add(%x, %f)
      output "h" = %h1
    }
)";
  };
  return R"(graph "g" {
    input %x: FLOAT[time, batch, 150]
    input %U: FLOAT[150, 150]
    %h0 = zeros(; shape=[batch, 150], type="FLOAT")
    )" + (beside ? loop("other", "tanh") : "") +
         loop("end", "t_fails") + (beside ? "output \"other\" = %other\n" : "") + "output \"end\" = %end\n}";
}

// Nothing makes a thread wait between steps for those that are behind, so each must know its own step.
TEST_F(Loops, DrawWhatTheStepDrawsOnEveryThread) {
  sizes_[Symbol::named("time")] = 40;
  const ir::Graph graph = ir::parse(R"(graph "g" {
    input %x: FLOAT[time, batch, 160]
    input %U: FLOAT[160, 160]
    %h0 = zeros(; shape=[batch, 160], type="FLOAT")
    %end: FLOAT[batch, 160] = scan(%h0, %x, %U; states=1, each=1, steps=<time>) body "b" {
      input %h: FLOAT[batch, 160]
      input %x: FLOAT[batch, 160]
      input %U: FLOAT[160, 160]
      input %step: INT32[]
      %q = matmul(%h, %U)
      %s = add(%x, %q)
      %t = tanh(%s)
      %d = dropout(%t; rate=0.25, key="d")
      %h1 = add(%h, %d)
      output "h" = %h1
    }
    output "end" = %end
  })",
                                    "loops");
  const std::vector<Tensor> one = run(graph, 1, Precision::kFloat32);
  set_threads(core_count());
  Executable executable(compile(graph, {}), std::make_shared<Variables>());
  Feeds feeds;
  for (const FeedSpec& feed : executable.program().feeds) feeds[feed.name] = feed_for(feed, sizes_);
  for (int k = 0; k < 100; ++k) {
    const Tensor again = executable.run(feeds)[0];
    ASSERT_EQ(std::memcmp(one[0].raw(), again.raw(), again.bytes()), 0) << "run " << k;
  }
}

void expect_error_of_one(const std::function<void(int threads)>& run) {
  for (int threads = 1; threads <= core_count(); ++threads) {
    try {
      run(threads);
      FAIL();
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("no such column"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("'f' (t_fails)"), std::string::npos) << error.what();
    }
  }
}

TEST_F(Loops, EndWithTheErrorOfOneThread) {
  const ir::Graph graph = ir::parse(failing(false), "loops");
  expect_error_of_one([&](int threads) { run(graph, threads, Precision::kFloat32); });
}

TEST_F(Loops, EndWithTheErrorOfOneBesideAnother) {
  const ir::Graph graph = ir::parse(failing(true), "loops");
  expect_error_of_one([&](int threads) { run(graph, threads, Precision::kFloat32); });
}

}  // namespace
}  // namespace graphrun
