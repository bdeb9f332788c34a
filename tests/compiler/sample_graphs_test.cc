#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/ir/builder.h"
#include "compiler/ir/verifier.h"
#include "tests/compiler/sample_graphs.h"
#include "tests/folders.h"

namespace graphrun::test {

using ir::Builder;
using ir::Graph;
using ir::TensorType;
using ir::ValueId;

namespace {

const Dim kRows = Symbol::named("batch");
const Dim kSteps = Symbol::named("time");

Location place(const char* file, int line, int column, int length = 1, const Location* via = nullptr) {
  return {intern_file(file), line, column, length, via};
}

// h' = tanh(x + h @ U)
Graph cell_body() {
  Graph body;
  body.name = "cell";
  Builder b(body);
  const ValueId h = b.input("h", {Type::kFloat, {kRows, 4}});
  const ValueId x = b.input("x", {Type::kFloat, {kRows, 4}});
  const ValueId u = b.input("U", {Type::kFloat, {4, 4}});
  b.input("step", {Type::kInt32, {}});
  b.set_name("p");
  b.set_location(place("cells/elman.pbtxt", 12, 8, 9, intern(place("model.pbtxt", 3, 1))));
  const ValueId sum = b.op("add", {x, b.op("matmul", {h, u})});
  b.set_name("h_next");
  const ValueId next = b.op("tanh", {sum});
  body.outputs = {{"h", next}, {"h", next}, {"p", sum}};
  return body;
}

}  // namespace

Graph recurrent_graph() {
  Graph g;
  g.name = "recurrent";
  Builder b(g);
  const ValueId words = b.input("words", {Type::kInt32, {kSteps, kRows}});
  g.inputs[0].below = Dim(10);
  const ValueId lengths = b.input("lengths", {Type::kInt32, {kRows}});
  g.inputs[1].lengths_of = Symbol::named("time");
  ir::Variable weight;
  weight.init = {ir::Initializer::Kind::kUniform, 0.08};
  weight.at = place("model.pbtxt", 5, 3);
  const ValueId table = b.variable("E", {Type::kFloat, {10, 4}}, weight);
  const ValueId u = b.variable("cell.U", {Type::kFloat, {4, 4}}, weight);
  ir::Variable stream;
  stream.kind = ir::Variable::Kind::kState;
  const ValueId h0 = b.variable("cell.h", {Type::kFloat, {kRows, 4}}, stream);
  b.set_name("embedded");
  const ValueId x = b.op("gather", {table, words});
  b.set_name("cell");
  b.set_location(place("model.pbtxt", 3, 1));
  const auto results = b.scan({h0, x, u}, cell_body(), 1, 1, kSteps, false);
  g.variables[2].next = results[0];
  b.set_name("logits");
  const ValueId logits = b.op("matmul", {results[1], table}, {{"transpose_b", true}});
  b.set_name("nll");
  const ValueId nll = b.op("cross_entropy", {logits, words});
  b.set_name("loss");
  const ValueId loss = b.op("sum", {nll, lengths}, {{"axis", std::vector<std::int64_t>{0}}});
  g.outputs = {{"loss", loss}, {"h", results[1]}};
  g.defined_symbols.emplace(Symbol::named("steps"), kSteps + 1);
  return g;
}

namespace {

class GraphMaker {
 public:
  explicit GraphMaker(std::mt19937& random) : random_(random) {}

  Graph make(int nodes, bool is_root, int depth) {
    Graph g;
    g.name = word();
    Builder b(g);
    std::vector<ValueId> floats;
    for (int i = 0; i < 3; ++i) floats.push_back(b.input(word(), {Type::kFloat, {kRows, 4}}));
    if (is_root) {
      b.input(word(), {Type::kInt32, {kRows}});
      g.inputs.back().below = kRows * kSteps + below(5);
      ir::Variable v;
      v.init = {static_cast<ir::Initializer::Kind>(below(5)), real(), below(2) == 0};
      v.trainable = below(2) == 0;
      v.at = location();
      floats.push_back(b.variable("variable " + word(), {Type::kFloat, {1, 4}}, v));
    } else {
      b.input("step", {Type::kInt32, {}});
    }
    for (int i = 0; i < nodes; ++i) add_node(b, floats, depth);
    std::vector<ValueId> wide;
    for (ValueId v : floats) {
      if (g.type(v).shape == Shape{kRows, 4}) wide.push_back(v);
    }
    for (std::size_t i = 0; i < 3; ++i) g.outputs.push_back({word() + std::to_string(i), wide[wide.size() - 1 - i]});
    return g;
  }

 private:
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  ValueId any(const std::vector<ValueId>& from) { return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))]; }

  double real() {
    switch (below(6)) {
      case 0: return -0.0;
      case 1: return 1e300 * 1e300;
      case 2: return 5e-324;
      case 3: return below(100);
      case 4: return 0.1 * below(1000);
      default: return std::ldexp(std::uniform_real_distribution<>(-1, 1)(random_), below(200) - 100);
    }
  }

  std::string word() {
    static constexpr char kLetters[] = "abz09._$@/-%\"\\ \n\t#{}()[]<>,;:=\x01\x7f\xc3\xa9";
    std::string w(1, static_cast<char>('a' + below(26)));
    const bool plain = below(3) != 0;
    for (int i = below(8); i > 0; --i) w += kLetters[below(plain ? 6 : static_cast<int>(sizeof kLetters) - 1)];
    return w;
  }

  Location location() {
    if (below(3) == 0) return {};
    Location l = place(below(2) ? "a.pbtxt" : "dir/b \"quoted\".pbtxt", 1 + below(90), 1 + below(90), 1 + below(3));
    if (below(2)) l.via = intern(place("c.pbtxt", 1 + below(9), 1));
    if (l.via && below(2)) {
      Location outer = *l.via;
      outer.via = intern(place("d.pbtxt", 7, 1 + below(9)));
      l.via = intern(outer);
    }
    return l;
  }

  void add_node(Builder& b, std::vector<ValueId>& floats, int depth) {
    b.set_location(location());
    b.set_name(word());
    switch (below(depth < 2 ? 8 : 7)) {
      case 0: floats.push_back(b.op("add", {any(floats), any(floats)})); break;
      case 1:
        floats.push_back(b.op("mul", {any(floats), b.op("constant", {}, {{"value", real()}, {"type", std::string("FLOAT")}})}));
        break;
      case 2: floats.push_back(b.op("tanh", {any(floats)})); break;
      case 3: floats.push_back(b.op("softmax", {any(floats)}, {{"axis", std::int64_t{-1 - below(2)}}})); break;
      case 4:
        floats.push_back(
            b.op("transpose", {b.op("transpose", {any(floats)}, {{"permutation", std::vector<std::int64_t>{1, 0}}})}));
        break;
      case 5: floats.push_back(b.op("dropout", {any(floats)}, {{"rate", 0.1 * below(5)}, {"key", word()}})); break;
      case 6: {
        const Shape shape = b.graph().type(floats[0]).shape;
        floats.push_back(b.op("broadcast_to", {any(floats)}, {{"shape", shape}}));
        break;
      }
      default: {
        const ValueId stacked = b.op("broadcast_to", {floats[0]}, {{"shape", Shape{kSteps, kRows, 4}}});
        const auto results = b.scan({floats[0], stacked, floats[1]}, make(3, false, depth + 1), 1, 1, kSteps, below(2) == 0);
        floats.push_back(results[0]);
      }
    }
  }

  std::mt19937& random_;
};

}  // namespace

Graph random_graph(std::mt19937& random, int nodes) { return GraphMaker(random).make(nodes, true, 0); }

std::vector<std::string> files_in(const std::string& folder, const std::string& suffix) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(tests::source_folder() + "/" + folder)) {
    if (entry.path().string().ends_with(suffix)) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

namespace {

TEST(SampleGraphs, AreSound) {
  ir::verify(recurrent_graph(), "the sample");
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) ir::verify(random_graph(random, 12), "the random sample");
}

}  // namespace
}  // namespace graphrun::test
