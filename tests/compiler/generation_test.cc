// Cutting for generation: fed the words of a reference one by one, the step gives what the graph as it was trained gives for
// all of them at once.
#include "compiler/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "compiler/ir/op.h"
#include "runtime/execute/executable.h"
#include "runtime/tensor/safetensors.h"
#include "tests/compiler/network_fixture.h"
#include "tests/frontend/graph_file.h"

namespace graphrun {
namespace {

using ::testing::HasSubstr;

const tests::NetworkFixtures& generating_fixtures() {
  static const tests::NetworkFixtures all("networks");
  return all;
}

struct Generates {
  std::string network;
  GenerationSpec spec;
  friend void PrintTo(const Generates& c, std::ostream* out) { *out << c.network; }
};
std::vector<Generates> networks_that_generate() {
  std::vector<Generates> out;
  for (const std::string name : {"translator", "translator_ca_adaptive_gru", "translator_ca_atr", "translator_ca_gru",
                                 "translator_ca_lstm", "translator_sru", "adaptive", "gnmt"}) {
    out.push_back({name, {"decode", "y", "logits", {"alignment"}}});
  }
  for (const std::string name : {"cyton_gru", "cyton_lstm", "transformer", "student"})
    out.push_back({name, {"decode", "y", "logits", {"alignment"}}});
  out.push_back({"ensemble", {"members.decode", "y", "score", {}}});
  return out;
}

std::int64_t capacity_of(const Dim& d, const GenerationGraphs& cut, std::int64_t steps, std::int64_t rows) {
  SymbolValues values{{cut.rows, rows}};
  for (Symbol s : cut.capacity) values[s] = steps;
  return d.evaluate(values);
}

class Generation : public ::testing::TestWithParam<Generates> {
 protected:
  void SetUp() override {
    for (const auto& [name, tensor] : read_safetensors(generating_fixtures().tensors(GetParam().network))) {
      if (name.rfind("feed/", 0) == 0) feeds_[name.substr(5)] = tensor;
      if (name.rfind("parameter/", 0) == 0) variables_->set(name.substr(10), tensor);
    }
    graph_ = load_graph(generating_fixtures().request(GetParam().network, false));
    options_.precision = Precision::kFloat64;
  }

  std::vector<Tensor> run(const ir::Graph& graph, const Feeds& all, std::vector<std::string> fetches = {}) {
    CompileOptions options = options_;
    options.fetches = std::move(fetches);
    Executable executable(compile(graph, options), variables_);
    Feeds feeds;
    for (const FeedSpec& f : executable.program().feeds) feeds[f.name] = all.at(f.name);
    return executable.run(feeds);
  }

  ir::Graph graph_;
  Feeds feeds_;
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  CompileOptions options_;
};

// Row b of step t of [time, rows, …] and row b of [rows, …], or where the rows are the last axis.
void expect_step(const Tensor& all, std::int64_t t, const Tensor& one, const std::vector<std::int64_t>& lengths,
                 std::size_t row_axis, const std::string& what) {
  const Sizes& sizes = one.sizes();
  std::int64_t below = 1;
  for (std::size_t axis = row_axis + 1; axis < sizes.size(); ++axis) below *= sizes[axis];
  for (std::int64_t i = 0; i < one.count(); ++i) {
    if (t >= lengths[static_cast<std::size_t>(i / below % sizes[row_axis])]) continue;  // padded in training
    const double expected = all.at(t * one.count() + i);
    ASSERT_NEAR(one.at(i), expected, 1e-12 * (1 + std::abs(expected))) << what << " of step " << t << " at " << i;
  }
}

TEST_P(Generation, StepByStepGivesWhatAllStepsGive) {
  const GenerationSpec& spec = GetParam().spec;
  const GenerationGraphs cut = cut_for_generation(graph_, spec);
  const Tensor words = feeds_.at("previous");
  const std::int64_t steps = words.sizes()[0], rows = words.sizes()[1];

  std::vector<std::string> wanted = {graph_.output(spec.score) ? spec.score : spec.scan + "." + spec.score};
  wanted.insert(wanted.end(), spec.fetches.begin(), spec.fetches.end());
  const std::vector<Tensor> whole = run(graph_, feeds_, wanted);
  std::vector<std::int64_t> lengths;
  for (std::int64_t b = 0; b < rows; ++b) lengths.push_back(static_cast<std::int64_t>(feeds_.at("target_lengths").at(b)));

  Feeds carried;
  const std::vector<Tensor> begins = run(cut.prologue, feeds_);
  for (std::size_t k = 0; k < begins.size(); ++k) carried[cut.prologue.outputs[k].name] = begins[k];
  for (const GenerationGraphs::Carried& s : cut.states) {
    if (!s.zeros) continue;
    Sizes sizes;
    for (const Dim& d : s.type.shape) sizes.push_back(capacity_of(d, cut, steps, rows));
    carried[s.name] = Tensor(DType::kFloat64, sizes);
    std::fill(carried[s.name].span<double>().begin(), carried[s.name].span<double>().end(), 0.0);
  }
  Executable step(compile(cut.step, options_), variables_);
  for (std::int64_t t = 0; t < steps; ++t) {
    Tensor word(DType::kInt32, {rows});
    for (std::int64_t b = 0; b < rows; ++b) word.data<std::int32_t>()[b] = static_cast<std::int32_t>(words.at(t * rows + b));
    carried[kWordInput] = word;
    carried[kStepInput] = Tensor::of<std::int32_t>({}, {static_cast<std::int32_t>(t)});
    Feeds feeds;
    for (const FeedSpec& f : step.program().feeds) feeds[f.name] = carried.at(f.name);
    const std::vector<Tensor> found = step.run(feeds);
    for (std::size_t k = 0; k < wanted.size(); ++k) expect_step(whole[k], t, found[k], lengths, k == 0 ? 0 : 1, wanted[k]);
    for (std::size_t k = wanted.size(); k < found.size(); ++k) {
      carried[cut.step.outputs[k].name.substr(std::string(kNextPrefix).size())] = found[k].clone();
    }
  }
}

// What no word changes is made once per sentence.
TEST_P(Generation, LeavesTheSourceToThePrologue) {
  const GenerationGraphs cut = cut_for_generation(graph_, GetParam().spec);
  EXPECT_NE(cut.prologue.nodes.size(), 0u);
  for (const ir::Input& input : cut.step.inputs) EXPECT_NE(cut.step.value(input.value).name, "source");
  for (const ir::Input& input : cut.prologue.inputs) {
    EXPECT_THAT(cut.prologue.value(input.value).name, ::testing::AnyOf("source", "source_lengths"));
  }
  for (const ir::Node& node : cut.step.nodes) EXPECT_FALSE(ir::is_scan(node));
}

INSTANTIATE_TEST_SUITE_P(Networks, Generation, ::testing::ValuesIn(networks_that_generate()),
                         [](const auto& i) { return i.param.network; });

// A scan carries where it and its sequences were declared; repetitions are numbered in its path alone.
TEST(GenerationPaths, AreThoseOfTheDeclarations) {
  const ir::Graph graph = load_graph(generating_fixtures().request("ensemble", false));
  std::map<std::string, std::string> declared;
  std::set<std::string> sequences;
  for (const ir::Node& node : graph.nodes) {
    if (!ir::is_scan(node)) continue;
    const ir::Graph& body = node.regions[0];
    declared[body.name] = body.declared;
    const ir::ScanLayout l = ir::scan_layout(node);
    for (std::size_t k = 0; k < body.inputs.size(); ++k) {
      EXPECT_EQ(body.inputs[k].each.empty(), k < l.each_begin() || k >= l.invariant_begin()) << body.name << " " << k;
      if (body.declared == "members.decode" && !body.inputs[k].each.empty()) sequences.insert(body.inputs[k].each);
    }
  }
  EXPECT_EQ(declared.at("members.0.decode"), "members.decode");
  EXPECT_EQ(declared.at("members.1.decode"), "members.decode");
  EXPECT_EQ(sequences.count("y"), 1u);
}

TEST(GenerationMistakes, AreToldInTheLanguageOfTheGraph) {
  const ir::Graph graph = load_graph(generating_fixtures().request("translator", false));
  const auto message = [&](const GenerationSpec& spec) {
    try {
      cut_for_generation(graph, spec);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message({"decod", "y", "logits", {}}),
              ::testing::AllOf(HasSubstr("E0431"), HasSubstr("did you mean 'decode'"), HasSubstr("encode.backward")));
  EXPECT_THAT(message({"decode", "x", "logits", {}}),
              ::testing::AllOf(HasSubstr("E0432"), HasSubstr("`each` of the scan gives: y")));
  EXPECT_THAT(message({"encode.forward", "x", "logits", {}}),
              ::testing::AllOf(HasSubstr("E0435"), HasSubstr("scan 'encode.backward'")));
  EXPECT_THAT(message({"decode", "y", "nll", {}}), ::testing::AllOf(HasSubstr("E0434"), HasSubstr("'target'")));
  EXPECT_THAT(message({"encode.backward", "y", "loss", {}}), HasSubstr("E0432"));
  EXPECT_THAT(message({"decode", "y", "alignment", {}}), HasSubstr("E0433"));
  EXPECT_THAT(message({"decode", "y", "logit", {}}), HasSubstr("E0403"));
}

// Cuts a graph at the scan "decode", which reads `words` as y; `calls` is the text of the graph.
std::string message_of(const std::string& calls, const GenerationSpec& spec) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("graphrun_cut_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string head = "# proto-file: graphs/graph.proto\n# proto-message: graphrun.Graph\n";
  std::ofstream(folder / "speller.pbtxt") << head << R"x(name: "speller"
    input { name: "y" shape: "[batch]" type: INT32 }
    parameter { name: "E" shape: "[7, 4]" } parameter { name: "U" shape: "[4, 4]" }
    state { name: "h" shape: "[batch, 4]" next: "tanh(gather(E, y) + gather(E, y_) + h @ U)" }
    state { name: "y_" shape: "[batch]" type: INT32 next: "y" }
    output: "h = next(h)")x";
  std::ofstream(folder / "over.pbtxt") << head << R"x(name: "over"
    input { name: "x" shape: "[batch, 4]" }
    input { name: "all" shape: "[time, batch, 4]" }
    state { name: "s" shape: "[batch, 4]" next: "s + x" }
    output: "s = all + next(s)")x";
  std::ofstream(folder / "net.pbtxt") << head << R"x(name: "net" import: "speller = speller.pbtxt, over = over.pbtxt"
    input { name: "words" shape: "[time, batch]" type: INT32 }
    input { name: "memory" shape: "[source_time, batch, 4]" }
    parameter { name: "O" shape: "[4, 7]" }
    )x" << calls;
  GraphRequest request;
  request.path = (folder / "net.pbtxt").string(), request.graphs_root = folder.string(), request.training = false;
  std::string message = "no error";
  try {
    cut_for_generation(load_graph(request), spec);
  } catch (const UserError& error) {
    message = error.what();
  }
  std::filesystem::remove_all(folder);
  return message;
}

// What a scan reads may be made of the words before it; which words they are must be plain.
TEST(GenerationMistakes, TellOfWhatIsNotMadeOfOneInputOfWords) {
  const std::string more =
      "input { name: \"tags\" shape: \"[time, batch]\" type: INT32 }\n"
      "input { name: \"heat\" shape: \"[time, batch]\" }\n";
  const GenerationSpec spec{"decode", "y", "logits", {}}, by_input{"decode", "words", "logits", {}};
  const std::string output = "output: \"logits = decode.h @ O\"";
  const auto decode = [&](const std::string& y) {
    return more + "scan { name: \"decode\" graph: \"speller\" each: \"y = " + y + "\" }\n" + output;
  };
  EXPECT_EQ(message_of(decode("words + 1"), spec), "no error");
  EXPECT_EQ(message_of(decode("words + 1"), by_input), "no error");
  EXPECT_THAT(
      message_of(decode("words + tags"), spec),
      ::testing::AllOf(HasSubstr("E0432"), HasSubstr("'y' of scan 'decode' is computed from several inputs: tags, words"),
                       HasSubstr("name the one whose words are generated: feed: \"tags\"")));
  EXPECT_THAT(message_of(decode("words + tags"), by_input), ::testing::AllOf(HasSubstr("E0434"), HasSubstr("'tags'")));
  EXPECT_THAT(
      message_of(decode("argmax(expand(heat, axis=0), axis=0)"), spec),
      ::testing::AllOf(HasSubstr("E0432"), HasSubstr("which is not computed from an input of the graph with a word for each")));
}

TEST(GenerationMistakes, TellOfWhatNeedsAllStepsAtOnce) {
  const std::string decode = "scan { name: \"decode\" graph: \"speller\" each: \"y = words\" }\n";
  const GenerationSpec spec{"decode", "y", "logits", {}};
  ASSERT_EQ(message_of(decode + "output: \"logits = decode.h @ O\"", spec), "no error");
  const auto needs_all = [](const char* what) { return ::testing::AllOf(HasSubstr("E0435"), HasSubstr(what)); };
  EXPECT_THAT(message_of("scan { name: \"decode\" graph: \"speller\" each: \"y = words\" reverse: true }\n"
                         "output: \"logits = decode.h @ O\"",
                         spec),
              needs_all("scan 'decode' runs from the last step to the first"));
  EXPECT_THAT(message_of(decode + "output: \"logits = (decode.h - max(decode.h, axis=0)) @ O\"", spec),
              needs_all("depends on all steps at once"));
  EXPECT_THAT(message_of(decode + "scan { name: \"again\" graph: \"over\" each: \"x = memory\" input: \"all = decode.h\" }\n"
                                  "output: \"logits = max(again.s, axis=0) @ O\"",
                         spec),
              needs_all("'again."));
  GenerationSpec fetching = spec;
  fetching.fetches = {"length"};
  EXPECT_THAT(message_of(decode + "output: \"logits = decode.h @ O, length = sum(decode.h)\"", fetching),
              needs_all("'length'"));
}

// A search selects rows of what goes from step to step.
TEST(GenerationMistakes, TellOfValuesWithoutAnAxisOfRows) {
  const std::string read = "let: \"h = decode.h\" scan { name: \"decode\" graph: \"cell\" each: \"y = words\" ";
  const auto with = [&](const std::string& scan, const std::string& members, const std::string& sum) {
    return message_of(read + scan +
                          " }\noutput: \"logits = h @ O\"\n"
                          "graph { name: \"cell\" input { name: \"y\" shape: \"[batch]\" type: INT32 }\n"
                          "parameter { name: \"E\" shape: \"[7, 4]\" }\n" +
                          members + "output: \"h = tanh(gather(E, y) + " + sum + ")\" }\n",
                      {"decode", "y", "logits", {}});
  };
  const auto state = [&](const std::string& shape) {
    return with("", "state { name: \"s\" shape: \"" + shape + "\" next: \"0.5 * s + 1\" }\n", "reshape(s, shape=[batch, 4])");
  };
  EXPECT_EQ(state("[batch, 2, 2]"), "no error");
  EXPECT_THAT(state("[batch * 2, 2]"),
              ::testing::AllOf(HasSubstr("E0437"), HasSubstr("'decode.s' FLOAT[2*batch, 2] has no axis"),
                               HasSubstr("[batch, 2, n] instead of [batch * 2, n]")));
  const auto constant = [&](const std::string& shape, const std::string& sum) {
    return with("input: \"m = softmax(reshape(memory[0], shape=" + shape + "))\"",
                "input { name: \"m\" shape: \"" + shape + "\" }\n", sum);
  };
  EXPECT_EQ(constant("[2, batch, 2]", "concat(m[0], m[1], axis=-1)"), "no error");
  EXPECT_THAT(constant("[2 * batch, 2]", "reshape(m * reshape(gather(E, y), shape=[2 * batch, 2]), shape=[batch, 4])"),
              HasSubstr("E0437"));
}

// Cuts a language model without other inputs at the scan "read"; `known` is part of the graph, `cell` of the step.
GenerationGraphs cut_model(const std::string& known, const std::string& scan, const std::string& cell) {
  const std::string text =
      "name: \"net\"\ninput { name: \"words\" shape: \"[time, batch]\" type: INT32 }\n"
      "parameter { name: \"E\" shape: \"[7, 4]\" } parameter { name: \"O\" shape: \"[4, 7]\" }\n" +
      known + "scan { name: \"read\" graph: \"cell\" each: \"x = gather(E, words)\" " + scan +
      " }\noutput: \"logits = read.h @ O\"\n"
      "graph { name: \"cell\" input { name: \"x\" shape: \"[batch, 4]\" }\n" +
      cell + "output: \"h = next(h)\" }\n";
  GraphRequest request = tests::request_of(text);
  request.training = false;
  return cut_for_generation(load_graph(request), {"read", "x", "logits", {}});
}

std::vector<Tensor> begins_of(const GenerationGraphs& cut, Feeds feeds) {
  Executable prologue(compile(cut.prologue), std::make_shared<Variables>());
  return prologue.run(feeds);
}

// Steps of generation are real ones: nothing that training needs for padded steps may be in the way.
TEST(Generation, OfAScanWithLengthsAndADivisionByANorm) {
  const GenerationGraphs cut = cut_model(
      "input { name: \"lengths\" shape: \"[batch]\" type: INT32 lengths_of: \"time\" }\n", "lengths: \"lengths\"",
      "state { name: \"h\" shape: \"[batch, 4]\" next: \"0.5 * h + x / expand(sqrt(sum(x * x, axis=-1)), axis=-1)\" }\n");
  EXPECT_EQ(cut.states.size(), 1u);
}

// What a state begins with has a row for each sentence; where nothing that is known has them, their number is an input.
TEST(GenerationSizes, OfTheRowsAreToldToThePrologue) {
  const std::string state =
      "state { name: \"h\" shape: \"[batch, 4]\" begin: \"full(shape=[batch, 4], value=0.25)\" next: \"tanh(x + h)\" }\n";
  const GenerationGraphs cut = cut_model("", "", state);
  EXPECT_EQ(cut.rows_input, "rows");
  EXPECT_TRUE(cut.fed().empty());
  Feeds feeds;
  feeds[cut.rows_input] = Tensor(DType::kInt32, {3});
  const std::vector<Tensor> begins = begins_of(cut, feeds);
  ASSERT_EQ(begins.size(), 1u);
  EXPECT_EQ(str(begins[0].sizes()), "[3, 4]");
  EXPECT_EQ(begins[0].at(11), 0.25);

  const std::string zeros = "state { name: \"h\" shape: \"[batch, 4]\" next: \"tanh(x + h)\" }\n";
  EXPECT_EQ(cut_model("", "", zeros).rows_input, "");
}

// What is known tells them rather.
TEST(GenerationSizes, OfTheRowsAreToldByWhatIsKnown) {
  const std::string known = "input { name: \"topic\" shape: \"[batch, 4]\" }\n";
  const std::string state =
      "input { name: \"topic\" shape: \"[batch, 4]\" }\n"
      "state { name: \"h\" shape: \"[batch, 4]\" begin: \"full(shape=[batch, 4], value=0.25)\" next: \"tanh(x + topic + h)\" "
      "}\n";
  const GenerationGraphs cut = cut_model(known, "input: \"topic\"", state);
  EXPECT_EQ(cut.rows_input, "");
  EXPECT_EQ(cut.fed(), std::vector<std::string>{"topic"});
}

// What no word, line or parameter changes is computed once, not with every word.
TEST(GenerationTables, AreComputedInThePrologue) {
  const std::string known = "let: \"table = sin(expand(range(9), axis=-1) * exp(range(4)))\"\n";
  const std::string reads =
      "input { name: \"table\" shape: \"[places, 4]\" }\n"
      "state { name: \"h\" shape: \"[batch, 4]\" next: \"tanh(x + h + gather(table, step()))\" }\n";
  const GenerationGraphs cut = cut_model(known, "input: \"table\"", reads);
  ASSERT_EQ(cut.constants.size(), 1u);
  EXPECT_EQ(cut.constants[0].name, "table");
  EXPECT_EQ(cut.constants[0].row_axis, -1);
  for (const ir::Node& node : cut.step.nodes) EXPECT_NE(node.op->name, "sin");
  EXPECT_TRUE(cut.fed().empty());
  const std::vector<Tensor> table = begins_of(cut, {});
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(str(table[0].sizes()), "[9, 4]");
  EXPECT_NEAR(table[0].at(4), std::sin(1), 1e-6);
}

// What a scan in a `repeat` makes of words is found by the scan's path without numbers, as the scan is; of several repetitions,
// only the path says whose it is.
TEST(GenerationScores, AreOutputsOfAScanInARepeat) {
  const auto cut = [](const std::string& times, const std::string& score) {
    const std::string text =
        "name: \"net\"\ninput { name: \"words\" shape: \"[time, batch]\" type: INT32 }\n"
        "repeat { name: \"members\" graph: \"member\" times: \"" +
        times +
        "\" input: \"words\" }\noutput: \"all = members.h\"\n"
        "graph { name: \"member\" input { name: \"words\" shape: \"[time, batch]\" type: INT32 }\n"
        "parameter { name: \"E\" shape: \"[7, 4]\" }\n"
        "scan { name: \"decode\" graph: \"cell\" each: \"x = gather(E, words)\" }\noutput: \"h = decode.h\" }\n"
        "graph { name: \"cell\" input { name: \"x\" shape: \"[batch, 4]\" }\n"
        "state { name: \"h\" shape: \"[batch, 4]\" next: \"tanh(x + h)\" }\noutput: \"h = next(h)\" }\n";
    GraphRequest request = tests::request_of(text);
    request.training = false;
    return cut_for_generation(load_graph(request), {"members.decode", "x", score, {}});
  };
  EXPECT_EQ(str(cut("1", "h").step.type(cut("1", "h").step.outputs[0].value).shape), "[batch, 4]");
  EXPECT_THROW(cut("2", "h"), UserError);
  EXPECT_NO_THROW(cut("2", "members.1.decode.h"));
}

// A size that a step only counts with, and one that only what begins has: neither input that has it is read.
TEST(GenerationSizes, ComeInWithAnInputThatIsNotRead) {
  const std::string known =
      "input { name: \"all\" shape: \"[time, source_time, batch]\" }\ninput { name: \"source\" shape: \"[source_time, batch]\" "
      "}\n";
  const std::string counts =
      "input { name: \"source\" shape: \"[source_time, batch]\" }\n"
      "state { name: \"h\" shape: \"[batch, 4]\" next: \"tanh(x + h / source_time)\" }\n";
  const GenerationGraphs cut = cut_model(known, "input: \"source\"", counts);
  ASSERT_EQ(cut.constants.size(), 1u);
  EXPECT_EQ(cut.constants[0].name, "source");
  EXPECT_EQ(cut.constants[0].row_axis, 1);
  Executable step(compile(cut.step), [] {
    const auto variables = std::make_shared<Variables>();
    variables->set("E", Tensor(DType::kFloat32, {7, 4})), variables->set("O", Tensor(DType::kFloat32, {4, 7}));
    return variables;
  }());
  Feeds feeds;
  for (const FeedSpec& f : step.program().feeds) {
    SymbolValues sizes;
    for (const Dim& d : f.shape)
      for (const Symbol s : d.symbols()) sizes[s] = 2;
    feeds[f.name] = Tensor(f.dtype, evaluate(f.shape, sizes));
  }
  EXPECT_EQ(str(step.run(feeds)[0].sizes()), "[2, 7]");

  const std::string begins =
      "input { name: \"source\" shape: \"[source_time, batch]\" }\n"
      "state { name: \"h\" shape: \"[batch, 4]\" begin: \"full(shape=[batch, 4], value=1) / source_time\" next: \"tanh(x + "
      "h)\" }\n";
  EXPECT_EQ(cut_model(known, "input: \"source\"", begins).fed(), std::vector<std::string>{"source"});
}

}  // namespace
}  // namespace graphrun
