// a ** b in expressions: what it binds, what is known when compiling, and what it is at run time.
#include <gtest/gtest.h>

#include "compiler/ir/expression.h"
#include "runtime/execute/executable.h"
#include "tests/frontend/graph_file.h"

namespace graphrun {
namespace {

std::string text_of(const ir::Expression& e) {
  if (e.kind == ir::Expression::Kind::kNumber)
    return e.number < 0 ? "(" + std::to_string(static_cast<int>(e.number)) + ")" : std::to_string(static_cast<int>(e.number));
  if (e.kind == ir::Expression::Kind::kName) return e.dotted();
  if (e.kind == ir::Expression::Kind::kIndex) return text_of(e.operands[0]) + "[]";
  std::string out = e.text + "(";
  for (const ir::Expression& o : e.operands) out += (out.back() == '(' ? "" : " ") + text_of(o);
  return out + ")";
}

std::string read(const std::string& text) { return text_of(ir::parse_expression(ir::SourceText(text))); }

TEST(Powers, BindAsInPython) {
  EXPECT_EQ(read("a ** b"), "pow(a b)");
  EXPECT_EQ(read("a ** b ** c"), "pow(a pow(b c))");
  EXPECT_EQ(read("-a ** 2"), "neg(pow(a 2))");
  EXPECT_EQ(read("-2 ** 2"), "neg(pow(2 2))");
  EXPECT_EQ(read("2 ** -1"), "pow(2 (-1))");
  EXPECT_EQ(read("2 ** -a ** 3"), "pow(2 neg(pow(a 3)))");
  EXPECT_EQ(read("a * b ** 2 / c"), "div(mul(a pow(b 2)) c)");
  EXPECT_EQ(read("a @ b ** 2"), "matmul(a pow(b 2))");
  EXPECT_EQ(read("(a + b) ** 2"), "pow(add(a b) 2)");
  EXPECT_EQ(read("f(a) ** 2"), "pow(f(a) 2)");
  EXPECT_EQ(read("a[0] ** b[1]"), "pow(a[] b[])");
  EXPECT_EQ(read("a ** 2 < b ** 2 and c"), "and(lt(pow(a 2) pow(b 2)) c)");
}

TEST(Powers, ThatNestWithoutEndAreRefused) {
  std::string text = "2";
  for (int k = 0; k < 1000; ++k) text += " ** 1";
  EXPECT_THROW(read(text), UserError);
}

TEST(Powers, OfNumbersAndSizesAreKnownWhenCompiling) {
  const ir::Graph graph =
      load_graph(tests::request_of("name: \"g\"\narg { name: \"n\" default: \"2 ** 3\" }\n"
                                   "input { name: \"x\" shape: \"[time, n ** 2]\" }\n"
                                   "let: \"y[time ** 2, 8] = zeros(shape=[time ** 2, 2 ** 4 ** 0 * 4])\"\n"
                                   "output: \"x = x * 2, y\"\n"));
  EXPECT_EQ(str(graph.type(graph.inputs[0].value).shape), "[time, 64]");
  EXPECT_EQ(str(graph.type(graph.output("y")->value).shape), "[time*time, 8]");
}

// Powers from -1 to 4 are products, with the same bits in any context; std::pow may give others.
TEST(Powers, OfSmallWholeNumbersAreProducts) {
  const ir::Graph graph = load_graph(tests::request_of(
      "name: \"g\"\ninput { name: \"x\" shape: \"[n]\" }\ninput { name: \"b\" shape: \"[n]\" }\n"
      "output: \"inverse = x ** -1, one = x ** 1, two = x ** 2, three = x ** 3, four = x ** 4, none = x ** 0, "
      "any = x ** b\"\n"));
  for (const bool with_passes : {true, false}) {
    CompileOptions options;
    if (!with_passes) options.disabled_passes = {"simplify", "fuse"};
    Executable executable(compile(graph, options), std::make_shared<Variables>());
    constexpr std::int64_t kCount = 37;
    Tensor x(DType::kFloat32, {kCount}), b(DType::kFloat32, {kCount});
    for (std::int64_t i = 0; i < kCount; ++i) {
      x.data<float>()[i] = 0.37F * static_cast<float>(i - 18) + 0.01F;
      b.data<float>()[i] = static_cast<float>(i % 6 - 1);
    }
    const std::vector<Tensor> y = executable.run({{"x", x}, {"b", b}});
    for (std::int64_t i = 0; i < kCount; ++i) {
      const float v = x.data<float>()[i];
      const float powers[] = {1 / v, 1, v, v * v, v * v * v, (v * v) * (v * v)};
      const float by_output[] = {powers[0], powers[2], powers[3], powers[4], powers[5], powers[1], powers[i % 6]};
      for (std::size_t k = 0; k < 7; ++k) EXPECT_EQ(y[k].data<float>()[i], by_output[k]) << k << " of " << v;
    }
  }
}

}  // namespace
}  // namespace graphrun
