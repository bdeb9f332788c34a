// Products of a table's rows, kept from run to run (ops/matmul/gather_matmul.h): always the bits of the products themselves.
#include "ops/matmul/gather_matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/execute/executable.h"
#include "runtime/threads/own_threads.h"
#include "runtime/threads/threads.h"
#include "tests/same_bits.h"

namespace graphrun {
namespace {

using tests::same_bits;

constexpr const char* kLookups = R"(
graph "network" {
  input %w: INT32[n] below <$rows>
  parameter %E: FLOAT[$rows, $k] = uniform(1.0)
  parameter %V: FLOAT[$k, $n] = uniform(1.0)
  parameter %W: FLOAT[$k, $n] = uniform(1.0)
  %x = gather(%E, %w)
  %zero = constant(; value=0)
  %three = constant(; value=3, type="INT32")
  %some = ne(%w, %three)
  %m = expand(%some; axis=-1)
  %y = where(%m, %x, %zero)
  %v = matmul(%x, %V)
  %p = matmul(%y, %W)
  %d = sub(%v, %p)
  %q = tanh(%d)
  output "v" = %v
  output "q" = %q
}
)";

struct LookupSize {
  std::int64_t rows, k, n;
};

Program lookup_program(const LookupSize& size, const std::vector<std::string>& disabled = {}) {
  std::string text = kLookups;
  for (const auto& [name, number] :
       {std::pair<std::string, std::int64_t>{"$rows", size.rows}, {"$k", size.k}, {"$n", size.n}}) {
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;)
      text.replace(at, name.size(), std::to_string(number));
  }
  CompileOptions options;
  options.disabled_passes = disabled;
  return compile(ir::parse(text, "network"), options);
}

Tensor frequent_words(std::int64_t count, std::int64_t below, std::uint32_t seed) {
  std::mt19937 random(seed);
  Tensor t(DType::kInt32, {count});
  // Low numbers come often, as frequent words do.
  for (std::int32_t& x : t.span<std::int32_t>()) {
    x = static_cast<std::int32_t>(
        static_cast<std::int64_t>(random() % 65536) * static_cast<std::int64_t>(random() % 65536) * below >> 32);
  }
  return t;
}

// A program with the pass and one without, on the same variables.
class LookupPair {
 public:
  explicit LookupPair(const LookupSize& size, WeightForm form = WeightForm::kFloat32)
      : keeps(lookup_program(size), variables, Target(cpu_device(), form)),
        computes(lookup_program(size, {"tabulate"}), variables, Target(cpu_device(), form)) {
    initialize(keeps.program(), *variables, 3);
    std::size_t lookups = 0;
    for (const Instruction& i : keeps.program().regions[0].instructions) lookups += i.op == "gather_matmul";
    EXPECT_EQ(lookups, 2u);
  }
  static void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const std::string& what) {
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << what << ", result " << i;
  }
  void expect_same(const Tensor& w, const std::string& what) {
    expect_same(keeps.run({{"w", w}}), computes.run({{"w", w}}), what);
  }

  std::shared_ptr<Variables> variables = std::make_shared<Variables>();
  Executable keeps, computes;
};

constexpr LookupSize kSmallTable = {300, 40, 70}, kLargeTable = {2000, 620, 1000};

// Whatever was kept before, however many rows a batch has.
TEST(KeptRows, GiveTheBitsOfProducts) {
  for (const WeightForm form : {WeightForm::kFloat32, WeightForm::kBFloat16, WeightForm::kInt8}) {
    for (const LookupSize& size : {kSmallTable, kLargeTable, LookupSize{50, 7, 5}, LookupSize{90, 512, 100}}) {
      LookupPair pair(size, form);
      std::uint32_t seed = 1;
      for (const std::int64_t count : {1, 5, 64, 1, 200, 17, 64, 300}) {
        // The product of many rows and few columns has other code, which may round otherwise.
        if (form == WeightForm::kFloat32 && count > 128 && size.n < 256) continue;
        pair.expect_same(frequent_words(count, size.rows, seed++), std::to_string(count) + " words of " +
                                                                       std::to_string(size.rows) + ", form " +
                                                                       std::to_string(static_cast<int>(form)));
      }
    }
  }
}

// A kept row has one result, whatever was computed before and with it.
TEST(KeptRows, DependOnNoOtherRow) {
  for (const LookupSize& size : {kSmallTable, kLargeTable, LookupSize{50, 7, 5}, LookupSize{90, 512, 100}}) {
    LookupPair pair(size);
    std::uint32_t seed = 1;
    for (const std::int64_t count : {1, 5, 64, 1, 200, 17, 64, 300}) {
      const Tensor w = frequent_words(count, size.rows, seed++);
      const std::vector<Tensor> found = pair.keeps.run({{"w", w}}), product = pair.computes.run({{"w", w}});
      for (std::size_t k = 0; k < found.size(); ++k) {
        for (std::int64_t i = 0; i < found[k].count(); ++i) ASSERT_NEAR(found[k].at(i), product[k].at(i), 1e-3) << count;
      }
      Executable fresh(lookup_program(size), pair.variables);
      const Tensor reversed = w.clone();
      std::reverse(reversed.span<std::int32_t>().begin(), reversed.span<std::int32_t>().end());
      const Tensor again = fresh.run({{"w", reversed}})[0];
      for (std::int64_t row = 0; row < count; ++row) {
        const float* const a = again.data<float>() + (count - 1 - row) * size.n;
        const float* const b = found[0].data<float>() + row * size.n;
        ASSERT_TRUE(std::equal(a, a + size.n, b)) << count << " words, row " << row;
      }
    }
  }
}

TEST(KeptRows, AreComputedAgainAfterAnyWrite) {
  LookupPair pair(kSmallTable);
  const Tensor w = frequent_words(40, kSmallTable.rows, 1);
  for (const char* name : {"E", "V", "W"}) {
    const std::vector<Tensor> before = pair.keeps.run({{"w", w}});
    Tensor tensor = pair.variables->at(name);
    for (float& x : tensor.span<float>()) x += 0.5f;
    tensor.mark_written();
    const std::vector<Tensor> after = pair.keeps.run({{"w", w}});
    EXPECT_FALSE(same_bits(before[1], after[1])) << name;
    LookupPair::expect_same(after, Executable(lookup_program(kSmallTable), pair.variables).run({{"w", w}}), name);
  }
}

// A table that was written without the runtime's knowledge is not read again: the second run looks up what the first computed.
TEST(KeptRows, AreUsedAgain) {
  LookupPair pair(kSmallTable);
  const Tensor w = frequent_words(40, kSmallTable.rows, 1);
  const std::vector<Tensor> before = pair.keeps.run({{"w", w}});
  ASSERT_GT(pair.keeps.packed_bytes(), 0u);
  Tensor table = pair.variables->at("E");
  for (float& x : table.span<float>()) x += 0.5f;
  LookupPair::expect_same(pair.keeps.run({{"w", w}}), before, "again");
}

TEST(KeptRows, AreSharedByExecutablesOnSeveralThreads) {
  LookupPair pair(kSmallTable, WeightForm::kInt8);
  std::vector<Executable> all;
  for (int i = 0; i < 3; ++i) all.push_back(pair.keeps.share());
  for (int round = 0; round < 3; ++round) {
    if (round == 2) pair.variables->at("W").mark_written();
    std::vector<Tensor> fed;
    std::vector<std::vector<Tensor>> expected, found(30);
    for (std::uint32_t i = 0; i < 30; ++i) {
      fed.push_back(frequent_words(10 + i * 3, kSmallTable.rows, 100 * static_cast<std::uint32_t>(round) + i));
      expected.push_back(pair.computes.run({{"w", fed.back()}}));
    }
    on_own_threads(3, [&](int t) {
      for (std::size_t i = static_cast<std::size_t>(t); i < 30; i += 3)
        found[i] = all[static_cast<std::size_t>(t)].run({{"w", fed[i]}});
    });
    for (std::size_t i = 0; i < 30; ++i) LookupPair::expect_same(found[i], expected[i], "batch " + std::to_string(i));
  }
  EXPECT_EQ(all[0].packed_bytes(), all[1].packed_bytes());
}

// Rows beyond the limit are computed each time.
TEST(KeptRows, HaveALimit) {
  const KeptRows few(10, 4), many(100'000, 4000);
  EXPECT_EQ(few.room(), 10);
  EXPECT_EQ(many.room(), (32 << 20) / 16000);
  const LookupSize wide = {4000, 3, 9000};
  LookupPair pair(wide, WeightForm::kInt8);
  Tensor all(DType::kInt32, {wide.rows});
  for (std::int32_t i = 0; std::int32_t & x : all.span<std::int32_t>()) x = i++;
  pair.expect_same(all, "all at once");
  for (const std::uint32_t seed : {1, 2}) pair.expect_same(frequent_words(50, wide.rows, seed), "some");
}

TEST(KeptRows, RefuseAnIndexOutOfRange) {
  LookupPair pair(kSmallTable);
  Tensor w = frequent_words(4, kSmallTable.rows, 1);
  w.data<std::int32_t>()[2] = 300;
  EXPECT_THROW(pair.keeps.run({{"w", w}}), UserError);
}

}  // namespace
}  // namespace graphrun
