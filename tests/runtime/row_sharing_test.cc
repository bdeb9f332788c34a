// Loops that threads share by rows.
#include <gtest/gtest.h>

#include "runtime/execute/binding.h"
#include "runtime/execute/packed_weights.h"
#include "tests/runtime/loops.h"

namespace graphrun {
namespace {

// Rows that no other row reads: scores of all pairs, reduced along either, the best of them, look-ups, a number that grows.
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

// A slice that is reshaped and returned: the batch's rows are not the slice's rows.
constexpr const char* kViews = R"(graph "g" {
    input %x: FLOAT[time, batch, 70]
    input %T: FLOAT[70, 70]
    %z = reshape(%x; shape=[time, 1, batch, 70])
    %a0 = zeros(; shape=[batch, 70], type="FLOAT")
    %a.end: FLOAT[batch, 70], %seen: FLOAT[time, batch, 70] = scan(%a0, %z, %T; states=1, each=1, steps=<time>, reverse=true) body "b" {
      input %a: FLOAT[batch, 70]
      input %z: FLOAT[1, batch, 70]
      input %T: FLOAT[70, 70]
      input %step: INT32[]
      %v = reshape(%z; shape=[batch, 70])
      %u = expand(%a; axis=-1)
      %s = add(%u, %T)
      %m = max(%s; axis=(1))
      %n = add(%m, %v)
      output "a" = %n
      output "v" = %v
    }
    output "a" = %a.end
    output "seen" = %seen
  })";

class RowMembers : public Loops {
 protected:
  // Enough work for threads to share it.
  RowMembers() { sizes_ = {{Symbol::named("time"), 40}, {Symbol::named("batch"), 24}}; }
};

TEST_F(RowMembers, GiveTheSameBitsHoweverManyThereAre) { check(kRows); }
TEST_F(RowMembers, CopyWhatIsReadUnderAnotherShape) { check(kViews); }

// The number of threads that would share the first loop of a graph by rows.
int members_of(const char* text, std::int64_t batch, int threads, std::int64_t time = 7) {
  set_threads(threads);
  const Program program = compile(ir::parse(text, "loops"));
  PackedWeightsStore store(program);
  const auto binding =
      graphrun::bind(program, {{Symbol::named("time"), time}, {Symbol::named("batch"), batch}}, cpu_device(), store);
  for (const BoundInstruction& bound : binding->root.instructions) {
    if (!bound.scan) continue;
    const ScanPlan::ByRows* const rows = bound.scan->plan.by_rows();
    return rows == nullptr ? 0 : rows->count;
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

TEST_F(RowMembers, AreAsManyAsThereIsWorkAndRowsFor) {
  EXPECT_EQ(members_of(kRows, 12, 1), 1);
  if (core_count() > 1) {
    EXPECT_EQ(members_of(kRows, 24, 2, 40), 2);
    EXPECT_EQ(members_of(kViews, 24, 2, 40), 2);
    EXPECT_EQ(members_of(two_states("%b1 = tanh(%b)\n %a1 = add(%a, %x)").c_str(), 5, 2), 1) << "little work";
    EXPECT_EQ(members_of(kRows, 1, 2, 700), 0) << "more to share out than there are rows";
  }
}

TEST_F(RowMembers, AreNoneWhereARowReadsOthers) {
  // A sum over rows; a state without rows that all rows read; softmax across rows.
  EXPECT_EQ(members_of(two_states("%b1 = sum(%a; axis=(0))\n %a1 = add(%a, %x)").c_str(), 12, 1), 0);
  EXPECT_EQ(members_of(two_states("%b1 = tanh(%b)\n %a1 = add(%a, %b)").c_str(), 12, 1), 0);
  EXPECT_EQ(members_of(two_states("%b1 = tanh(%b)\n %a1 = softmax(%a; axis=0)").c_str(), 12, 1), 0);
}

}  // namespace
}  // namespace graphrun
