// The verifier refuses each kind of broken graph, says what is broken, where, and after which stage.
#include "compiler/ir/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ir/parser.h"
#include "tests/compiler/sample_graphs.h"
#include "tests/compiler/small_ops.h"

// A namespace of its own, for the file compiles together with others, which have another Graph.
namespace graphrun::verifier_tests {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ValueId;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Break {
  const char* name;
  void (*apply)(Graph&);
  const char* message;
  friend void PrintTo(const Break& b, std::ostream* out) { *out << b.name; }
};

Node& node_of(Graph& g, const char* op) {
  for (Node& n : g.nodes) {
    if (n.op->name == op) return n;
  }
  throw InternalError(std::string("the sample has no ") + op);
}

// recurrent_graph(): values by name.
ValueId id(const Graph& g, const char* name) {
  for (std::size_t v = 0; v < g.values.size(); ++v) {
    if (g.values[v].name == name) return static_cast<ValueId>(v);
  }
  throw InternalError(std::string("the sample has no value ") + name);
}

Graph& body_of(Graph& g) { return node_of(g, "scan").regions[0]; }

class BrokenGraph : public ::testing::TestWithParam<Break> {};

TEST_P(BrokenGraph, IsRefused) {
  Graph g = test::recurrent_graph();
  ir::verify(g, "nothing");
  GetParam().apply(g);
  try {
    ir::verify(g, "mixing things up");
    FAIL() << "not found: " << GetParam().message;
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("graph 'recurrent'"), HasSubstr(GetParam().message)));
    EXPECT_TRUE(std::string_view(error.what()).ends_with("(after mixing things up)")) << error.what();
  }
}

const Break kBreaks[] = {
    // Producers.
    {"OutputOfNothing", [](Graph& g) { node_of(g, "gather").outputs[0] = 99; }, "value 99, which does not exist"},
    {"TwoProducers", [](Graph& g) { node_of(g, "sum").outputs[0] = id(g, "nll"); }, "'nll' says that it is result 0 of node"},
    {"NoProducer",
     [](Graph& g) {
       g.values.push_back({"orphan", {}, -1, 0});
     },
     "'orphan' has 0 producers"},
    {"InputTwice", [](Graph& g) { g.inputs.push_back(g.inputs[0]); }, "'words' has 2 producers"},
    {"WrongNode", [](Graph& g) { g.value(id(g, "nll")).node = 0; }, "'nll' says that it is result 0 of node 0"},
    {"WrongResult", [](Graph& g) { g.value(id(g, "nll")).result = 1; }, "'nll' says that it is result 1"},
    // Names.
    {"NoName", [](Graph& g) { g.value(id(g, "nll")).name.clear(); }, "has no name"},
    {"NameTwice", [](Graph& g) { g.value(id(g, "nll")).name = "loss"; }, "two values are named 'loss'"},
    {"OutputTwice", [](Graph& g) { g.outputs[0].name = "h"; }, "two outputs are named 'h'"},
    {"OutputWithoutName", [](Graph& g) { g.outputs[0].name.clear(); }, "has no name"},
    {"OutputOfNoValue", [](Graph& g) { g.outputs[0].value = kNone; }, "output 'loss' is value -1, which does not exist"},
    // Order.
    {"UseBeforeDefinition", [](Graph& g) { node_of(g, "gather").inputs[0] = id(g, "logits"); },
     "node 'embedded' = gather(…): uses 'logits' before it is defined"},
    {"OperandOfNothing", [](Graph& g) { node_of(g, "gather").inputs[0] = 77; }, "the operand value 77 does not exist"},
    {"BodyUsesOutside", [](Graph& g) { body_of(g).nodes[0].inputs[0] = 40; }, "the operand value 40 does not exist"},
    // Operands and attributes.
    {"NoOp", [](Graph& g) { g.nodes.push_back({}); }, "has no op"},
    {"TooManyOperands", [](Graph& g) { node_of(g, "gather").inputs.push_back(0); }, "takes 2 inputs, has 3"},
    {"AbsentOperand", [](Graph& g) { node_of(g, "gather").inputs[1] = kNone; },
     "operand 'indices' is absent, but not optional"},
    {"MissingAttribute", [](Graph& g) { node_of(g, "matmul").attributes.erase("transpose_b"); },
     "the attribute 'transpose_b' is missing"},
    {"WrongAttribute", [](Graph& g) { node_of(g, "matmul").attributes.set("transpose_b", 1.0); },
     "the attribute 'transpose_b' is a float, not a bool"},
    {"UnknownAttribute", [](Graph& g) { node_of(g, "gather").attributes.set("speed", 1.0); },
     "has the unknown attribute 'speed'"},
    // Types.
    {"WrongType", [](Graph& g) { g.value(id(g, "loss")).type.shape = {3}; },
     "'loss' is FLOAT[3], the shape rule gives FLOAT[batch]"},
    {"ShapeRule", [](Graph& g) { g.value(id(g, "words")).type.type = Type::kFloat, g.inputs[0].below.reset(); },
     "the shape rule says: "},
    {"TooManyResults",
     [](Graph& g) {
       Node& n = node_of(g, "sum");
       n.outputs.push_back(static_cast<ValueId>(g.values.size()));
       g.values.push_back({"second", {}, g.value(n.outputs[0]).node, 1});
     },
     "has 2 results, the shape rule gives 1"},
    // Inputs, variables, symbols.
    {"BelowOfFloat", [](Graph& g) { g.value(id(g, "words")).type.type = Type::kFloat; },
     "has a bound or is a length, but is FLOAT"},
    {"SymbolicParameter", [](Graph& g) { g.value(id(g, "E")).type.shape[0] = Symbol::named("words"); },
     "parameter 'E' has a size that is not a number"},
    {"NextOfNothing", [](Graph& g) { g.variables[0].next = 99; }, "the next value of 'E' does not exist"},
    {"NextOfAnotherType", [](Graph& g) { g.variables[0].next = id(g, "loss"); },
     "variable 'E' is FLOAT[10, 4], but its next value 'loss' is FLOAT[batch]"},
    {"SymbolDefinedByItself",
     [](Graph& g) { g.defined_symbols.insert_or_assign(Symbol::named("steps"), Dim(Symbol::named("steps")) + 1); },
     "the size 'steps' is defined by itself"},
    {"SymbolsDefinedByEachOther",
     [](Graph& g) {
       g.defined_symbols.insert_or_assign(Symbol::named("a"), Dim(Symbol::named("b")) + 1);
       g.defined_symbols.insert_or_assign(Symbol::named("b"), Dim(Symbol::named("a")) + 1);
     },
     "is defined by itself"},
    // Scans.
    {"RegionOfAnotherOp", [](Graph& g) { node_of(g, "gather").regions.push_back(Graph()); },
     "has a region, which only a scan may have"},
    {"NoBody", [](Graph& g) { node_of(g, "scan").regions.clear(); }, "a scan has one region, this one 0"},
    {"NegativeStates", [](Graph& g) { node_of(g, "scan").attributes.set("states", std::int64_t{-1}); },
     "the attribute 'states' is -1"},
    {"TooManySequences", [](Graph& g) { node_of(g, "scan").attributes.set("each", std::int64_t{3}); },
     "states and sequences are more than the operands"},
    {"MissingOperand", [](Graph& g) { node_of(g, "scan").inputs.pop_back(); },
     "the body has 4 inputs for 2 operands and the step"},
    {"AbsentSequence", [](Graph& g) { node_of(g, "scan").inputs[1] = kNone; }, "operand 1 is absent"},
    {"MissingBodyOutput", [](Graph& g) { body_of(g).outputs.pop_back(); }, "the body has 2 outputs, the scan 3 results"},
    {"NoStep", [](Graph& g) { body_of(g).value(id(body_of(g), "step")).type.type = Type::kFloat; }, "the step, is not INT32[]"},
    {"WrongBegin", [](Graph& g) { node_of(g, "scan").inputs[0] = id(g, "embedded"); },
     "the begin 'embedded' is FLOAT[time, batch, 4], but the body's 'h' asks for FLOAT[batch, 4]"},
    {"WrongSequence", [](Graph& g) { node_of(g, "scan").inputs[1] = id(g, "cell.h"); },
     "the sequence 'cell.h' is FLOAT[batch, 4], but the body's 'x' asks for FLOAT[time, batch, 4]"},
    {"WrongOperand", [](Graph& g) { node_of(g, "scan").inputs[2] = id(g, "E"); },
     "the operand 'E' is FLOAT[10, 4], but the body's 'U' asks for FLOAT[4, 4]"},
    {"WrongSteps", [](Graph& g) { node_of(g, "scan").attributes.set("steps", Dim(7)); }, "asks for FLOAT[7, batch, 4]"},
    {"StateOfAnotherType", [](Graph& g) { body_of(g).outputs[0].value = id(body_of(g), "U"); },
     "the state 'h' is FLOAT[batch, 4], but after the step it is FLOAT[4, 4]"},
    {"WrongEnd", [](Graph& g) { g.value(g.variables[2].next).type.shape = {2}, g.variables[2].next = kNone; },
     "the end 'cell.h.1' is FLOAT[2]"},
    {"WrongStack", [](Graph& g) { g.value(id(g, "cell.p")).type.shape.erase(g.value(id(g, "cell.p")).type.shape.begin()); },
     "the output 'cell.p' is FLOAT[batch, 4]"},
    {"VariableInABody",
     [](Graph& g) {
       Graph& body = body_of(g);
       ir::Builder(body).variable("W", {Type::kFloat, {4}}, {});
     },
     "a region has the variable 'W'"},
    {"BrokenInsideABody", [](Graph& g) { body_of(g).value(id(body_of(g), "h_next")).type.shape = {9}; },
     "= scan(…) at model.pbtxt:3:1, graph 'cell', node 'h_next' = tanh(…) at cells/elman.pbtxt:12:8: 'h_next' is FLOAT[9]"},
};

INSTANTIATE_TEST_SUITE_P(All, BrokenGraph, ::testing::ValuesIn(kBreaks),
                         [](const auto& info) { return std::string(info.param.name); });

// For the verifier and the parser: running out of memory does not mean that the graph is invalid.
TEST(Verifier, AShapeRuleWithoutMemoryIsNoMistake) {
  static bool no_memory = false;
  const auto shape = [](ir::InferContext& c) {
    if (no_memory) throw std::bad_alloc();
    test::same_as_first(c);
  };
  ir::OpRegistry::instance().add(OpDefinition("t_hungry", "test").Input("x", "").Output("y").Internal().Shape(shape).schema());
  const std::string text = "graph \"g\" {\n  input %x: FLOAT[3]\n  %y = t_hungry(%x)\n  output \"y\" = %y\n}";
  no_memory = false;
  const Graph g = ir::parse(text, "hungry");
  no_memory = true;
  EXPECT_THROW(ir::verify(g, "parsing"), std::bad_alloc);
  EXPECT_THROW(ir::parse(text, "hungry"), std::bad_alloc);
}

TEST(Verifier, RegionsMayNotNestWithoutEnd) {
  Graph g;
  g.name = "deep";
  for (int depth = 0; depth < 150; ++depth) {
    Graph body = std::move(g);
    ir::Builder(body).input("step", {Type::kInt32, {}});
    g = Graph();
    g.name = "deep";
    ir::Builder(g).scan({}, std::move(body), 0, 0, 1, false);
  }
  EXPECT_THROW(ir::verify(g, "nesting"), InternalError);
}

}  // namespace
}  // namespace graphrun::verifier_tests
