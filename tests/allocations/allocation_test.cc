// Nothing allocates while a graph runs: operator new is replaced by one that counts allocations between two kernels. This is a
// separate program, so that all other tests keep the sanitizers' allocator.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "compiler/lower.h"
#include "compiler/memory.h"
#include "compiler/schedule.h"
#include "runtime/execute/executable.h"
#include "tests/compiler/small_ops.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0};

void* allocate(std::size_t bytes) {
  if (counting) ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace graphrun {
namespace {

// Copies of its operand that switch the count on and off.
KernelFactory switching(bool on) {
  return [on](const KernelRequest&) {
    return Kernel{[on](const KernelContext& c) {
      std::memcpy(c.outputs[0].data, c.inputs[0].data, c.inputs[0].bytes());
      counting = on;
    }};
  };
}
REGISTER_OP("t_on", "test").Input("x", "").Output("y").Internal().Shape(test::same_as_first);
REGISTER_OP("t_off", "test").Input("x", "").Output("y").Internal().Shape(test::same_as_first);
REGISTER_KERNEL("t_on", kCpu, switching(true));
REGISTER_KERNEL("t_off", kCpu, switching(false));

TEST(Executable, AllocatesNothingWhileItRuns) {
  test::register_small_ops();
  const Dim batch = Symbol::named("batch"), time = Symbol::named("time");
  const ir::TensorType row{Type::kFloat, {batch, Dim(4)}};
  ir::Graph body;
  ir::Builder inner(body);
  const ir::ValueId h = inner.input("h", row), c = inner.input("c", row), slice = inner.input("x", row);
  inner.input("step", {Type::kInt32, {}});
  const ir::ValueId next = inner.op("t_reverse", {inner.op("t_average", {inner.op("t_mix", {h}), slice})});
  body.outputs = {{"h", next}, {"c", inner.op("t_update", {c, next})}, {"y", inner.op("t_key", {next})}};

  ir::Graph graph;
  ir::Builder b(graph);
  const ir::ValueId x = b.input("x", {Type::kFloat, {time, batch, Dim(4)}});
  const ir::ValueId begin = b.op("t_on", {b.input("begin", row)});
  const auto made = b.scan({begin, begin, x}, std::move(body), 2, 1, time, false);
  const ir::ValueId both = b.op("t_average", {made[0], made[1]});
  graph.outputs = {{"end", b.op("t_off", {both})}, {"y", made[2]}};

  const ir::Graph scheduled = schedule(graph);
  Executable executable(lower(scheduled, plan_memory(scheduled), Precision::kFloat32), std::make_shared<Variables>());
  const Feeds feeds{{"x", Tensor(DType::kFloat32, {7, 3, 4})}, {"begin", Tensor(DType::kFloat32, {3, 4})}};
  for (int run = 0; run < 3; ++run) {
    allocations = 0;
    executable.run(feeds);
    EXPECT_FALSE(counting);
    EXPECT_EQ(allocations, 0) << "run " << run;
  }
  // The count does count. A new-expression could be left out by the compiler, a call of the function cannot.
  counting = true;
  ::operator delete(::operator new(1));
  counting = false;
  EXPECT_GE(allocations, 1);
}

}  // namespace
}  // namespace graphrun
