// Loops that threads share by columns: the same bits for any number of threads, and the numbers of the same loop step by step.
#include "runtime/team.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/verifier.h"
#include "ops/schema.h"
#include "runtime/executable.h"
#include "runtime/kept.h"
#include "runtime/threads.h"
#include "tests/compiler/interpreter.h"
#include "tests/compiler/small_ops.h"

namespace graphrun {
namespace {

TEST(Barrier, LetsNobodyAheadAndNobodyBehind) {
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

TEST(Barrier, KeepsNobodyWaitingForOneThatLeft) {
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
        const ColumnRange range = columns_of(columns, t, threads);
        EXPECT_EQ(range.begin, at);
        EXPECT_TRUE(range.begin % kColumnStep == 0 || range.begin == columns);
        at = range.end;
      }
      EXPECT_EQ(at, columns);
    }
  }
}

// ---- loops

const SymbolValues kSizes = {{Symbol::named("time"), 7}, {Symbol::named("batch"), 12}};

Tensor feed_for(const FeedSpec& feed) {
  Tensor t(DType::kFloat64, evaluate(feed.shape, kSizes));
  std::uint32_t state = 9;
  for (char c : feed.name) state = state * 31 + static_cast<unsigned char>(c);
  for (double& x : t.span<double>()) {
    state = state * 1664525u + 1013904223u;
    x = (static_cast<double>(state >> 20) / 2048 - 1) / 4;
  }
  return t.converted(feed.dtype);
}

class Loops : public ::testing::Test {
 protected:
  ~Loops() override { set_threads(before_); }

  std::vector<Tensor> run(const ir::Graph& graph, int threads, Precision precision) {
    set_threads(threads);
    CompileOptions options;
    options.precision = precision;
    Executable executable(compile(graph, options), std::make_shared<Variables>());
    Feeds feeds;
    for (const FeedSpec& feed : executable.program().feeds) feeds[feed.name] = feed_for(feed);
    executable.run(feeds);  // the second run finds the memory as the first left it
    return executable.run(feeds);
  }

  // What the loop means, node by node.
  std::vector<Tensor> meaning(const ir::Graph& graph, Precision precision) {
    set_threads(1);
    std::vector<Tensor> given(graph.values.size());
    for (const ir::Input& input : graph.inputs) {
      const ir::Value& value = graph.value(input.value);
      given[static_cast<std::size_t>(input.value)] =
          feed_for({value.name, concrete(value.type.type, precision), value.type.shape, {}, {}});
    }
    const std::vector<Tensor> values = test::Interpreter(precision, kSizes).values(graph, given);
    std::vector<Tensor> out;
    for (const ir::Output& o : graph.outputs) out.push_back(values[static_cast<std::size_t>(o.value)]);
    return out;
  }

  void check(const std::string& text) {
    const ir::Graph graph = ir::parse(text, "team_test");
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      const double tolerance = precision == Precision::kFloat32 ? 1e-5 : 1e-12;
      const std::vector<Tensor> expected = meaning(graph, precision), one = run(graph, 1, precision);
      ASSERT_EQ(one.size(), expected.size());
      for (std::size_t o = 0; o < one.size(); ++o) {
        ASSERT_EQ(one[o].sizes(), expected[o].sizes());
        for (std::int64_t i = 0; i < one[o].count(); ++i) {
          ASSERT_NEAR(one[o].at(i), expected[o].at(i), tolerance) << graph.outputs[o].name << " at " << i;
        }
      }
      for (int threads = 2; threads <= core_count(); ++threads) {
        const std::vector<Tensor> many = run(graph, threads, precision);
        for (std::size_t o = 0; o < one.size(); ++o) {
          EXPECT_EQ(std::memcmp(one[o].raw(), many[o].raw(), one[o].bytes()), 0)
              << graph.outputs[o].name << " differs with " << threads << " threads";
        }
      }
    }
  }
  const int before_ = threads();
};

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

// Two products, the second of what the first made: reset before.
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

// States of other widths than each other's share the body's memory, but no columns.
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

// A step's number, numbers for each row, and a product of a state as it was.
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

// Both directions of a layer, with a product of each one's inputs before it and a sum of both behind; `begin`: of the second.
std::string two_directions(const std::string& begin, const std::string& second_width = "150") {
  const auto loop = [](const std::string& name, const std::string& begin, const std::string& width,
                       const std::string& reverse) {
    return "%" + name + "_end: FLOAT[batch, " + width + "], %" + name + ": FLOAT[time, batch, " + width + "] = scan(" + begin +
           ", %p" + name + ", %U" + name + "; states=1, each=1, steps=<time>, reverse=" + reverse + R"() body "b" {
      input %h: FLOAT[batch, )" +
           width + R"(]
      input %x: FLOAT[batch, )" +
           width + R"(]
      input %U: FLOAT[)" +
           width + ", " + width + R"(]
      input %step: INT32[]
      %q = matmul(%h, %U)
      %f = sigmoid(%q)
      %r = mul(%f, %h)
      %c = matmul(%r, %U)
      %s = add(%x, %c)
      %t = tanh(%s)
      %h1 = add(%r, %t)
      output "h" = %h1
      output "y" = %t
    }
)";
  };
  return R"(graph "g" {
    input %x: FLOAT[time, batch, 150]
    input %Wa: FLOAT[150, 150]
    input %Ua: FLOAT[150, 150]
    input %Wb: FLOAT[150, )" +
         second_width + R"(]
    input %Ub: FLOAT[)" +
         second_width + ", " + second_width + R"(]
    %h0 = full(; shape=[batch, 150], value=0.1, type="FLOAT")
    %g0 = full(; shape=[batch, )" +
         second_width + R"(], value=0.2, type="FLOAT")
    %pa = matmul(%x, %Wa)
)" + loop("a", "%h0", "150", "false") +
         R"(    %sa = sum(%a)
    %pb = matmul(%x, %Wb)
)" + loop("b", begin, second_width, "true") +
         R"(    output "a" = %a
    output "b" = %b
    output "ends" = %a_end
    output "endb" = %b_end
    output "sum" = %sa
  })";
}

// How many loops each of the root's loops has beside it, for two threads. The memory of those must not overlap: whether threads
// would be at it at the same moment is chance.
std::vector<std::size_t> loops_beside(const std::string& text) {
  const Program program = compile(ir::parse(text, "team_test"));
  const int before = threads();
  set_threads(2);
  KeptStore store(program);
  const std::unique_ptr<Binding> binding = bind(program, kSizes, Device::kCpu, store);
  set_threads(before);
  std::vector<std::size_t> out;
  const auto& instructions = binding->root.instructions;
  const auto place = [&](std::size_t i) { return binding->layout.regions[instructions[i].scan->body.index]; };
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (!instructions[i].scan) continue;
    out.push_back(instructions[i].beside);
    for (std::size_t k = 1; k <= instructions[i].beside; ++k) {
      const auto a = place(i), b = place(i + k);
      EXPECT_TRUE(a.base + a.bytes <= b.base || b.base + b.bytes <= a.base);
    }
  }
  return out;
}

TEST_F(Loops, OfBothDirectionsRunAtTheSameTime) {
  check(two_directions("%g0"));
  EXPECT_EQ(loops_beside(two_directions("%g0")), (std::vector<std::size_t>{1, 0}));
}

TEST_F(Loops, OfWhichOneNeedsTheOtherRunInTurn) {
  check(two_directions("%a_end"));
  EXPECT_EQ(loops_beside(two_directions("%a_end")), (std::vector<std::size_t>{0, 0}));
}

TEST_F(Loops, OfUnequalWorkRunInTurn) {
  check(two_directions("%g0", "64"));
  EXPECT_EQ(loops_beside(two_directions("%g0", "64")), (std::vector<std::size_t>{0, 0}));
}

// Rows that never meet: scores of all pairs, reduced along either, the best of them, look-ups, a number that grows.
constexpr const char* kRows = R"(graph "g" {
    input %x: FLOAT[time, batch, 70]
    input %T: FLOAT[70, 70]
    %a0 = zeros(; shape=[batch, 70], type="FLOAT")
    %y0 = zeros(; shape=[batch], type="INT32")
    %a.end: FLOAT[batch, 70], %y.end: INT32[batch], %from: INT32[time, batch, 70], %picked: FLOAT[time, batch] = scan(%a0, %y0, %x, %T; states=2, each=1, steps=<time>, reverse=true) body "b" {
      input %a: FLOAT[batch, 70]
      input %y: INT32[batch]
      input %x: FLOAT[batch, 70]
      input %T: FLOAT[70, 70]
      input %step: INT32[]
      %three = constant(; value=3, type="INT32")
      %late = lt(%step, %three)
      %u = expand(%a; axis=-1)
      %s = add(%u, %T)
      %f = argmax(%s; axis=1)
      %m = max(%s; axis=(1))
      %r = sum(%s; axis=(2))
      %l = logsumexp(%s; axis=(2))
      %d = sub(%m, %l)
      %e = sub(%d, %r)
      %h = tanh(%e)
      %g = where(%late, %h, %x)
      %row = gather(%T, %y)
      %p = pick(%row, %y)
      %y1 = argmax(%g; axis=-1)
      output "a" = %g
      output "y" = %y1
      output "from" = %f
      output "p" = %p
    }
    output "a" = %a.end
    output "y" = %y.end
    output "from" = %from
    output "p" = %picked
  })";
TEST_F(Loops, OfRowsThatNeverMeet) { check(kRows); }

// Threads that would share the first loop of a graph by rows.
int members_of(const char* text, std::int64_t batch, int threads) {
  set_threads(threads);
  const Program program = compile(ir::parse(text, "team_test"));
  KeptStore store(program);
  const auto binding = bind(program, {{Symbol::named("time"), 7}, {Symbol::named("batch"), batch}}, Device::kCpu, store);
  for (const BoundInstruction& bound : binding->root.instructions) {
    if (bound.scan) return bound.scan->row_members;
  }
  return -1;
}

// A loop over states [batch, 5] and [5].
std::string two_states(const std::string& equations) {
  return R"(graph "g" {
    input %x: FLOAT[time, batch, 5]
    %a0 = zeros(; shape=[batch, 5], type="FLOAT")
    %b0 = zeros(; shape=[5], type="FLOAT")
    %a.end: FLOAT[batch, 5], %b.end: FLOAT[5] = scan(%a0, %b0, %x; states=2, each=1, steps=<time>) body "b" {
      input %a: FLOAT[batch, 5]
      input %b: FLOAT[5]
      input %x: FLOAT[batch, 5]
      input %step: INT32[]
      )" +
         equations +
         R"(
      output "a" = %a1
      output "b" = %b1
    }
    output "a" = %a.end
    output "b" = %b.end
  })";
}

class RowMembers : public Loops {};

TEST_F(RowMembers, AreAsManyAsThereIsWorkAndRowsFor) {
  EXPECT_EQ(members_of(kRows, 12, 1), 1);
  if (core_count() > 1) {
    EXPECT_EQ(members_of(kRows, 64, 2), 2);
    EXPECT_EQ(members_of(two_states("%b1 = tanh(%b)\n %a1 = add(%a, %x)").c_str(), 5, 2), 1) << "little work";
    EXPECT_EQ(members_of(kRows, 1, 2), 0) << "more to share out than there are rows";
  }
}

TEST_F(RowMembers, AreNoneWhereARowReadsOthers) {
  // A sum over rows; a state without rows, read by all of them; softmax between rows.
  EXPECT_EQ(members_of(two_states("%b1 = sum(%a; axis=(0))\n %a1 = add(%a, %x)").c_str(), 12, 1), 0);
  EXPECT_EQ(members_of(two_states("%b1 = tanh(%b)\n %a1 = add(%a, %b)").c_str(), 12, 1), 0);
  EXPECT_EQ(members_of(two_states("%b1 = tanh(%b)\n %a1 = softmax(%a; axis=0)").c_str(), 12, 1), 0);
}

// A pointwise op that fails in the fifth step, at one column.
void register_failing() {
  static const bool once = [] {
    test::add_op(OpDefinition("t_fails", "test").Input("x", "").Output("y").Shape(test::same_as_first).NoGradient("test"),
                 [](const KernelRequest& request) -> Kernel {
                   auto by_columns = std::make_shared<ColumnKernel>();
                   by_columns->columns = request.outputs[0].sizes.back();
                   by_columns->run = [](const KernelContext& c, std::int64_t begin, std::int64_t end) {
                     if (begin <= 40 && 40 < end && c.random.scan_steps.back() == 4) {
                       throw UserError(ExitCode::kBadData, "E0610 index-out-of-range", "no such column");
                     }
                   };
                   return {[](const KernelContext&) {}, 0, by_columns};
                 });
    return true;
  }();
  (void)once;
}

TEST_F(Loops, EndWithTheErrorOfOneThread) {
  register_failing();
  const ir::Graph graph = ir::parse(R"(graph "g" {
    input %x: FLOAT[time, batch, 150]
    input %U: FLOAT[150, 150]
    %h0 = zeros(; shape=[batch, 150], type="FLOAT")
    %end: FLOAT[batch, 150] = scan(%h0, %x, %U; states=1, each=1, steps=<time>) body "b" {
      input %h: FLOAT[batch, 150]
      input %x: FLOAT[batch, 150]
      input %U: FLOAT[150, 150]
      input %step: INT32[]
      %q = matmul(%h, %U)
      %f = t_fails(%q)
      %h1 = add(%x, %f)
      output "h" = %h1
    }
    output "end" = %end
  })",
                                    "team_test");
  for (int threads = 1; threads <= core_count(); ++threads) {
    try {
      run(graph, threads, Precision::kFloat32);
      FAIL();
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("no such column"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("'f' (t_fails)"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace graphrun
