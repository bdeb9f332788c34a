#include "compiler/memory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ir/verifier.h"
#include "compiler/lower.h"
#include "compiler/schedule.h"
#include "runtime/program/arena.h"
#include "tests/compiler/random_graph.h"

namespace graphrun {
namespace {

using ir::Builder;
using ir::Graph;
using ir::Node;
using ir::ValueId;
using testing::HasSubstr;

// ---- An overlap test of its own: it knows what a plan may do, not how the planner does it. ----

struct Range {
  std::int64_t begin = 0, end = 0;
};

class OverlapTest {
 public:
  OverlapTest(const Graph& graph, const RegionPlan& plan, const Program& program, const ProgramLayout& layout,
              const SymbolValues& symbols)
      : graph_(graph), plan_(plan), program_(program), layout_(layout), symbols_(symbols) {}

  // Throws where a value is overwritten before its last reader; `region`: of the program. Returns the next region's index.
  std::size_t check(std::size_t region, std::size_t states, bool is_body) {
    region_ = region;
    find_lives(is_body, states);
    for (std::size_t u = 0; u < lives_.size(); ++u) {
      for (std::size_t v = 0; v < lives_.size(); ++v) {
        if (u != v) check_pair(static_cast<ValueId>(u), static_cast<ValueId>(v));
      }
    }
    check_taken_throughout();
    std::size_t next = region + 1;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (!ir::is_scan(node)) continue;
      check_body_apart(static_cast<std::int32_t>(n), next);
      const ScanMemory& scan = plan_.scans.at(static_cast<std::int32_t>(n));
      OverlapTest inner(node.regions[0], scan.body, program_, layout_, symbols_);
      for (const StateSpec& state : scan.states) {
        if (state.mode == StateSpec::Mode::kAlternate) inner.taken_throughout_.push_back(state.index);
      }
      next = inner.check(next, scan.states.size(), true);
    }
    return next;
  }

 private:
  // A value without its views: they are it. first > last: it lives nowhere, or is a view.
  struct Life {
    std::int32_t first = 0, last = -1;
  };

  ValueId base(ValueId v) const {
    for (std::int32_t n = graph_.value(v).node; n >= 0 && graph_.nodes[static_cast<std::size_t>(n)].op->view;) {
      v = graph_.nodes[static_cast<std::size_t>(n)].inputs[0];
      n = graph_.value(v).node;
    }
    return v;
  }
  Life& life(ValueId v) { return lives_[static_cast<std::size_t>(base(v))]; }
  const Storage& storage(ValueId v) const { return plan_.values[static_cast<std::size_t>(v)]; }

  void find_lives(bool is_body, std::size_t states) {
    const auto end = static_cast<std::int32_t>(graph_.nodes.size());
    lives_.assign(graph_.values.size(), {});
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      const auto id = static_cast<ValueId>(v);
      EXPECT_EQ(storage(id), storage(base(id))) << "a view of other memory: " << graph_.values[v].name;
      if (base(id) == id && storage(id).kind != Storage::Kind::kNone)
        lives_[v] = {graph_.values[v].node, graph_.values[v].node};
    }
    const auto read = [&](ValueId v, std::int32_t at) {
      if (v == ir::kNone) return;
      ASSERT_NE(storage(v).kind, Storage::Kind::kNone) << "reads what lives nowhere: " << graph_.value(v).name;
      life(v).last = std::max(life(v).last, at);
    };
    for (std::int32_t n = 0; n < end; ++n) {
      for (ValueId v : graph_.nodes[static_cast<std::size_t>(n)].inputs) read(v, n);
    }
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
      // An unread output of a body may have no memory.
      const Storage slot{Storage::Kind::kSlot, static_cast<std::int32_t>(graph_.inputs.size() + o)};
      const ValueId v = graph_.outputs[o].value;
      const bool copied = std::any_of(plan_.copies.begin(), plan_.copies.end(),
                                      [&](const CopyPlan& c) { return c.from == v && c.slot == slot.index; });
      if (!is_body || o < states || copied || storage(v) == slot) read(v, end);
    }
    for (const ir::Variable& variable : graph_.variables) read(variable.next, end);
  }

  // Blocks by bytes, slots as wholes.
  bool share(ValueId u, ValueId v) const {
    const Storage &a = storage(u), &b = storage(v);
    if (a.kind != b.kind) return false;
    if (a.kind == Storage::Kind::kSlot) return a.index == b.index;
    const Range x = range(u), y = range(v);
    return x.begin < y.end && y.begin < x.end;
  }
  Range range(ValueId v) const {
    const auto block = static_cast<std::size_t>(storage(v).index);
    const Sizes sizes = evaluate(graph_.type(v).shape, symbols_);
    const std::int64_t begin = layout_.regions[region_].blocks[block];
    return {begin, begin + element_count(sizes) *
                               static_cast<std::int64_t>(size_of(concrete(graph_.type(v).type, Precision::kFloat32)))};
  }

  // v may begin in u's memory only once u is done; as its successor in the same node only where the op says so.
  void check_pair(ValueId u, ValueId v) {
    const Life &a = lives_[static_cast<std::size_t>(u)], &b = lives_[static_cast<std::size_t>(v)];
    if (a.first > a.last || b.first > b.last || b.first < a.first || !share(u, v)) return;
    const std::string pair = graph_.value(u).name + " and " + graph_.value(v).name;
    if (b.first > a.last) return;
    ASSERT_EQ(b.first, a.last) << "both live: " << pair;
    ASSERT_GT(b.first, a.first) << "made together: " << pair;
    ASSERT_TRUE(may_overwrite(b.first, u, v)) << "not in place: " << pair;
    ASSERT_EQ(storage(u), storage(v)) << "in place, but not the same place: " << pair;
  }

  bool may_overwrite(std::int32_t n, ValueId u, ValueId v) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(n)];
    std::vector<std::pair<int, int>> pairs = node.op->in_place_pairs(node.attributes);
    if (ir::is_scan(node)) {
      const std::vector<StateSpec>& states = plan_.scans.at(n).states;
      for (int s = 0; s < static_cast<int>(states.size()); ++s) {
        if (states[static_cast<std::size_t>(s)].mode == StateSpec::Mode::kInPlace) pairs.emplace_back(s, s);
      }
    }
    std::ptrdiff_t operands =
        std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId x) { return x != ir::kNone && base(x) == u; });
    return operands == 1 && std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
             const ValueId x = node.inputs[static_cast<std::size_t>(pair.second)];
             return node.outputs[static_cast<std::size_t>(pair.first)] == v && x != ir::kNone && base(x) == u &&
                    graph_.type(x) == graph_.type(v);
           });
  }

  // Values that are live while a scan runs are outside the memory of its body.
  void check_body_apart(std::int32_t n, std::size_t body) {
    const Range inner{layout_.regions[body].base, layout_.regions[body].base + layout_.regions[body].bytes};
    for (std::size_t v = 0; v < lives_.size(); ++v) {
      const auto id = static_cast<ValueId>(v);
      if (lives_[v].first > n || lives_[v].last < n || storage(id).kind != Storage::Kind::kBlock) continue;
      const Range outer = range(id);
      ASSERT_TRUE(outer.end <= inner.begin || inner.end <= outer.begin) << "in a scan's body: " << graph_.values[v].name;
    }
  }

  // The alternating blocks of states are not used for anything else at any step.
  void check_taken_throughout() {
    const ProgramLayout::RegionLayout& place = layout_.regions[region_];
    const auto block_range = [&](std::int32_t block) {
      const auto i = static_cast<std::size_t>(block);
      return Range{place.blocks[i], place.blocks[i] + program_.regions[region_].blocks[i].bytes.evaluate(symbols_)};
    };
    for (std::int32_t block : taken_throughout_) {
      const Range taken = block_range(block);
      for (std::int32_t other = 0; other < static_cast<std::int32_t>(place.blocks.size()); ++other) {
        const Range range = block_range(other);
        ASSERT_TRUE(other == block || range.end <= taken.begin || taken.end <= range.begin) << "between steps: " << block;
      }
      for (std::size_t v = 0; v < lives_.size(); ++v) {
        ASSERT_FALSE(storage(static_cast<ValueId>(v)) == (Storage{Storage::Kind::kBlock, block})) << "between steps: " << block;
      }
    }
  }

  const Graph& graph_;
  const RegionPlan& plan_;
  const Program& program_;
  const ProgramLayout& layout_;
  const SymbolValues& symbols_;
  std::size_t region_ = 0;
  std::vector<Life> lives_;
  std::vector<std::int32_t> taken_throughout_;
};

const Symbol kBatch = Symbol::named("batch"), kTime = Symbol::named("time"), kWords = Symbol::named("words");

TEST(MemoryPlan, NeverLetsTwoLivingValuesOverlap) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Graph graph = schedule(test::RandomGraph(seed).make(5 + static_cast<int>(seed % 40)));
    const SymbolValues symbols{{kBatch, 3}, {kTime, 2}, {kWords, 5}};
    const MemoryPlan plan = plan_memory(graph);
    const Program program = lower(graph, plan, Precision::kFloat32);
    const ProgramLayout placed = layout(program, symbols);
    OverlapTest(graph, plan.root, program, placed, symbols).check(0, 0, false);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(MemoryPlan, SavesMemory) {
  std::int64_t with = 0, without = 0;
  const SymbolValues symbols{{kBatch, 16}, {kTime, 5}, {kWords, 7}};
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Graph graph = schedule(test::RandomGraph(seed).make(40));
    with += layout(lower(graph, plan_memory(graph), Precision::kFloat32), symbols).bytes;
    without += layout(lower(graph, plan_memory(graph, {false}), Precision::kFloat32), symbols).bytes;
  }
  EXPECT_LT(2 * with, without);
}

// ---- Each way of sharing on its own. ----

class Sharing : public testing::Test {
 protected:
  Sharing() { test::register_small_ops(); }

  void plan() {
    ir::verify(graph_, "test");
    plan_ = plan_memory(graph_);
  }
  Storage at(ValueId v) const { return plan_.root.values[static_cast<std::size_t>(v)]; }
  static Storage slot(int index) { return {Storage::Kind::kSlot, index}; }
  ValueId variable(const std::string& name) {
    ir::Variable variable;
    variable.kind = ir::Variable::Kind::kState;
    return b_.variable(name, type_, variable);
  }
  void output(ValueId v) { graph_.outputs.push_back({"out" + std::to_string(graph_.outputs.size()), v}); }

  // A scan over `time` of `sequence` [time, batch, 3] whose one state begins as `begin`: the body makes (state, x) the state's
  // next value and, where stacked, its outputs.
  template <class Make>
  std::vector<ValueId> scan(ValueId begin, ValueId sequence, Make make) {
    Graph body;
    Builder inner(body);
    const ValueId h = inner.input("h", type_), x = inner.input("x", type_);
    inner.input("step", {Type::kInt32, {}});
    const std::vector<ValueId> made = make(inner, h, x);
    for (ValueId v : made) body.outputs.push_back({"o" + std::to_string(body.outputs.size()), v});
    return b_.scan({begin, sequence}, std::move(body), 1, 1, kTime, false);
  }
  const ScanMemory& the_scan() const { return plan_.root.scans.begin()->second; }

  Graph graph_;
  Builder b_{graph_};
  MemoryPlan plan_;
  const ir::TensorType type_{Type::kFloat, {Dim(kBatch), Dim(3)}};
  const ir::TensorType sequence_{Type::kFloat, {Dim(kTime), Dim(kBatch), Dim(3)}};
};

TEST_F(Sharing, ResultsGoOverOperandsThatDie) {
  const ValueId x = b_.input("x", type_);
  const ValueId a = b_.op("t_mix", {x}), b = b_.op("t_twist", {a}), c = b_.op("t_mix", {b});
  output(c);
  plan();
  EXPECT_EQ(at(a), at(b));
  EXPECT_EQ(at(a).kind, Storage::Kind::kBlock);
  EXPECT_EQ(at(c), slot(1));  // what is fetched is computed where it belongs
}

TEST_F(Sharing, ResultsDoNotGoOverOperandsThatLiveOn) {
  const ValueId x = b_.input("x", type_);
  const ValueId a = b_.op("t_mix", {x}), b = b_.op("t_twist", {a}), c = b_.op("t_average", {a, b});
  const ValueId square = b_.op("t_average", {c, c});
  output(b_.op("t_mix", {square}));
  plan();
  EXPECT_NE(at(a), at(b));
  EXPECT_NE(at(square), at(c));  // the op reads it twice
}

TEST_F(Sharing, EachFusedResultGoesOverWhatNothingReadsAfterIt) {
  const ValueId x = b_.input("x", type_);
  const ValueId a = b_.op("t_mix", {x}), b = b_.op("t_twist", {x});
  const std::string code = "t0 = add(x0, x1); t1 = mul(t0, x0); return t0, t1";
  const std::vector<ValueId> made = b_.ops("fused", {a, b}, {{"code", code}});
  output(b_.op("t_average", {made[0], made[1]}));
  plan();
  EXPECT_EQ(at(made[0]), at(b));  // a is read once more after t0
  EXPECT_EQ(at(made[1]), at(a));
  EXPECT_NE(at(a), at(b));
}

TEST_F(Sharing, WhatIsFedIsNeverOverwritten) {
  const ValueId x = b_.input("x", type_);
  const ValueId a = b_.op("t_twist", {x});
  output(b_.op("t_mix", {a}));
  plan();
  EXPECT_EQ(at(x), slot(0));
  EXPECT_NE(at(a), at(x));
}

TEST_F(Sharing, ViewsAreTheirOperand) {
  const ValueId x = b_.input("x", type_);
  const ValueId a = b_.op("t_mix", {x}), flat = b_.op("t_flat", {a});
  const ValueId b = b_.op("t_twist", {a});  // the view is still to be read
  output(b_.op("t_mix", {flat}));
  output(b_.op("t_mix", {b}));
  plan();
  EXPECT_EQ(at(flat), at(a));
  EXPECT_NE(at(b), at(a));
}

TEST_F(Sharing, UpdatesGoOverTheVariable) {
  const ValueId w = variable("w"), g = b_.input("g", type_);
  const ValueId a = b_.op("t_update", {w, g}), b = b_.op("t_twist", {a});
  graph_.variables[0].next = b;
  plan();
  EXPECT_EQ(at(a), slot(0));
  EXPECT_EQ(at(b), slot(0));
  EXPECT_TRUE(plan_.root.copies.empty());
}

TEST_F(Sharing, AVariableThatIsReadLaterIsCopiedInTheEnd) {
  const ValueId w = variable("w"), g = b_.input("g", type_);
  graph_.variables[0].next = b_.op("t_update", {w, g});
  output(w);
  plan();
  EXPECT_NE(at(graph_.variables[0].next), slot(0));
  ASSERT_EQ(plan_.root.copies.size(), 2u);
  EXPECT_EQ(plan_.root.copies[0].slot, 2);  // what is fetched first
  EXPECT_EQ(plan_.root.copies[1].slot, 0);
}

TEST_F(Sharing, ANewValueIsWrittenStraightIntoAVariableThatIsFree) {
  const ValueId w = variable("w");
  const ValueId a = b_.op("t_mix", {w}), b = b_.op("t_mix", {a});
  graph_.variables[0].next = b;
  plan();
  EXPECT_EQ(at(b), slot(0));
  EXPECT_NE(at(a), slot(0));
}

TEST_F(Sharing, VariablesSwapThroughBlocks) {
  const ValueId v = variable("v"), w = variable("w");
  graph_.variables[0].next = w;
  graph_.variables[1].next = v;
  plan();
  ASSERT_EQ(plan_.root.copies.size(), 2u);
  EXPECT_GE(plan_.root.copies[0].staging_block, 0);
  EXPECT_GE(plan_.root.copies[1].staging_block, 0);
}

TEST_F(Sharing, AStackedStateIsReadOffTheStack) {
  const ValueId x = b_.input("x", sequence_), begin = b_.input("begin", type_);
  const auto made = scan(begin, x, [](Builder& b, ValueId h, ValueId slice) {
    const ValueId next = b.op("t_average", {h, slice});
    return std::vector<ValueId>{next, next};
  });
  output(made[1]);
  plan();
  EXPECT_EQ(the_scan().states[0].mode, StateSpec::Mode::kStacked);
  EXPECT_TRUE(the_scan().body.copies.empty());
  EXPECT_TRUE(the_scan().body.blocks.empty());
  EXPECT_EQ(at(made[0]).kind, Storage::Kind::kNone);  // the final state is not read
  EXPECT_EQ(at(made[1]), slot(2));
}

TEST_F(Sharing, AStateThatIsUpdatedStaysWhereItIs) {
  const ValueId x = b_.input("x", sequence_);
  const ValueId begin = b_.op("t_count", {}, {{"shape", type_.shape}});
  const auto made = scan(begin, x, [](Builder& b, ValueId h, ValueId slice) {
    return std::vector<ValueId>{b.op("t_update", {b.op("t_twist", {h}), slice})};
  });
  output(b_.op("t_mix", {made[0]}));
  plan();
  EXPECT_EQ(the_scan().states[0].mode, StateSpec::Mode::kInPlace);
  EXPECT_TRUE(the_scan().body.blocks.empty());
  EXPECT_EQ(at(made[0]), at(begin));  // not even its begin is copied
}

TEST_F(Sharing, AStateThatIsReadByItsNextValueGoesByTurns) {
  const ValueId x = b_.input("x", sequence_), begin = b_.input("begin", type_);
  const auto made = scan(begin, x, [](Builder& b, ValueId h, ValueId slice) {
    return std::vector<ValueId>{b.op("t_average", {b.op("t_mix", {h}), slice})};
  });
  output(made[0]);
  plan();
  EXPECT_EQ(the_scan().states[0].mode, StateSpec::Mode::kAlternate);
  EXPECT_EQ(the_scan().body.blocks.size(), 1u);  // for the turns; the rest is computed where it belongs
  EXPECT_EQ(at(made[0]), slot(2));
}

TEST_F(Sharing, AStackThatNobodyReadsIsNone) {
  const ValueId x = b_.input("x", sequence_), begin = b_.input("begin", type_);
  const auto made = scan(begin, x, [](Builder& b, ValueId h, ValueId slice) {
    return std::vector<ValueId>{b.op("t_average", {h, slice}), b.op("t_mix", {h})};
  });
  output(made[0]);
  plan();
  EXPECT_EQ(at(made[1]).kind, Storage::Kind::kNone);
}

TEST_F(Sharing, AStreamsStateIsUpdatedInPlaceThroughAScan) {
  const ValueId x = b_.input("x", sequence_);
  const ValueId h = variable("h");
  const auto made = scan(h, x, [](Builder& b, ValueId before, ValueId slice) {
    return std::vector<ValueId>{b.op("t_update", {before, slice})};
  });
  graph_.variables[0].next = made[0];
  plan();
  EXPECT_EQ(at(made[0]), slot(0));
  EXPECT_TRUE(plan_.root.copies.empty());
}

TEST_F(Sharing, IsDescribedAndDrawn) {
  const ValueId x = b_.input("x", sequence_), begin = b_.input("begin", type_);
  b_.set_name("hidden");
  const auto made = scan(begin, x, [](Builder& b, ValueId h, ValueId slice) {
    b.set_name("p");
    return std::vector<ValueId>{b.op("t_average", {b.op("t_mix", {h}), slice})};
  });
  b_.set_name("a<b");
  output(b_.op("t_mix", {b_.op("t_mix", {made[0]})}));
  plan();
  const std::string text = describe(plan_, graph_);
  EXPECT_THAT(text, HasSubstr("%x: FLOAT[time, batch, 3] feed x, 12*batch*time bytes"));
  EXPECT_THAT(text, HasSubstr("state %h: by turns"));
  EXPECT_THAT(text, HasSubstr("next state o0"));
  const Program program = lower(graph_, plan_, Precision::kFloat32);
  const std::string peak = describe_peak(program, {{kBatch, 2}, {kTime, 3}});
  EXPECT_THAT(peak, HasSubstr(fmt::format("arena: {} bytes at ", layout(program, {{kBatch, 2}, {kTime, 3}}).bytes)));
  EXPECT_THAT(peak, HasSubstr("batch = 2"));
  EXPECT_THAT(peak, HasSubstr("variables: parameters 0 bytes"));
  const std::string svg = arena_svg(program, {{kBatch, 2}, {kTime, 3}});
  EXPECT_THAT(svg, HasSubstr("<svg xmlns"));
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
  EXPECT_THAT(svg, HasSubstr("body of hidden"));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
}

}  // namespace
}  // namespace graphrun
