// No operator new is called while a graph runs, and the threads of a program survive one that fails: operator new is replaced
// by one that counts its calls between two kernels, or fails. Direct calls of malloc are not counted. This is a separate
// program, so that all other tests keep the sanitizers' allocator.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "compiler/lower.h"
#include "compiler/memory.h"
#include "compiler/schedule.h"
#include "runtime/execute/executable.h"
#include "runtime/threads/own_threads.h"
#include "tests/compiler/small_ops.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0};
thread_local long until_failure = -1;  // the calls of this thread that still succeed; -1: all do

// For aligned_alloc, a size must be a multiple of the alignment.
void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
  if (counting) ++allocations;
  if (until_failure == 0) throw std::bad_alloc();
  if (until_failure > 0) --until_failure;
  const std::size_t whole = std::max<std::size_t>((bytes + alignment - 1) / alignment, 1) * alignment;
  if (void* memory = std::aligned_alloc(alignment, whole)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// The forms that return nullptr call these.
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

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
  ::operator delete(::operator new(1, std::align_val_t(64)), std::align_val_t(64));
  counting = false;
  EXPECT_GE(allocations, 2);
}

// Whatever allocation fails as threads are started, the others do all the work.
TEST(OwnThreads, DoTheWorkOfOnesThatHaveNoMemory) {
  constexpr int kItems = 20;
  for (long failure = 0; failure < 6; ++failure) {
    std::atomic<int> next{0}, done{0};
    until_failure = failure;
    on_own_threads(4, [&](int i) {
      if (i == 0) until_failure = -1;
      while (next++ < kItems) ++done;
    });
    EXPECT_EQ(done, kItems) << "allocation " << failure;
  }
}

}  // namespace
}  // namespace graphrun
