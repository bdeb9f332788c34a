// Graphs: those that are shipped, those that tests/random makes up, and the mistakes of tests/errors, each a step from a graph
// that loads. Some are changed as text, more of them so that they stay graphs.
#include <algorithm>
#include <array>
#include <regex>
#include <sstream>

#include "compiler/compile.h"
#include "runtime/execute/executable.h"
#include "tests/folders.h"
#include "tests/mutants/kinds.h"
#include "tests/mutants/sound_changes.h"
#include "tests/mutants/text.h"
#include "tests/random/data.h"
#include "tests/random/generator.h"
#include "tests/random/scalar.h"
#include "tools/validate/validate.h"

namespace graphrun::mutants {
namespace {

// The args of the shipped graphs, small.
constexpr std::array<std::pair<const char*, const char*>, 14> kSmallArgs = {{{"vocabulary", "10"},
                                                                             {"labels", "3"},
                                                                             {"embed", "4"},
                                                                             {"hidden", "4"},
                                                                             {"width", "4"},
                                                                             {"inner", "6"},
                                                                             {"heads", "2"},
                                                                             {"depth", "2"},
                                                                             {"models", "2"},
                                                                             {"source_vocabulary", "10"},
                                                                             {"target_vocabulary", "10"},
                                                                             {"alphabet", "5"},
                                                                             {"letter_width", "3"},
                                                                             {"longest", "20"}}};

// "# set: hidden=4 …" for the args that the text declares, and its input's width where it says one.
std::string with_args(const std::string& text) {
  std::string set;
  static const std::regex kArgs(R"(arg\s*\{ name: (\[[^\]]*\]|"\w+"))");
  std::string declared;
  for (std::sregex_iterator at(text.begin(), text.end(), kArgs), end; at != end; ++at) declared += at->str(1);
  for (const auto& [name, value] : kSmallArgs)
    if (declared.find("\"" + std::string(name) + "\"") != std::string::npos) set += " " + std::string(name) + "=" + value;
  if (text.find("[batch, input]") != std::string::npos) set += " input=4";
  return set.empty() ? text : "# set:" + set + "\n" + text;
}

std::vector<GraphRequest::Binding> bindings_of(const std::string& text) {
  std::vector<GraphRequest::Binding> bindings;
  const std::size_t set = text.find("# set:");
  if (set == std::string::npos) return bindings;
  std::istringstream words(text.substr(set + 6, text.find('\n', set) - set - 6));
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos && equals > 0) bindings.push_back({word.substr(0, equals), word.substr(equals + 1), {}});
  }
  return bindings;
}

// What is done with one that loads, words: to infer and to train compile it so, a run does a step or two of what was compiled
// last. Without the file, all of it.
const std::string kGraph = "graph.pbtxt", kStages = "stages";
const std::string kObjective = "mutant.objective";
constexpr std::size_t kMadeUp = 100;             // seeds of graphs that are made up
constexpr std::int64_t kMostElements = 1 << 20;  // of a variable or a feed of what is run

class Graphs : public Kind {
 public:
  explicit Graphs(const std::string& folder) : folder_(folder) {
    for (const auto& [name, text] : read_files(tests::source_folder() + "/graphs"))
      if (name.ends_with(".pbtxt")) write_files(folder, {{"graphs/" + name, text}});
  }

  void prepare() override {
    const std::string source = tests::source_folder();
    std::vector<std::string> shipped, mistakes;
    for (const auto& [name, text] : read_files(source + "/graphs"))
      if (name.ends_with(".pbtxt") && !name.starts_with("jobs/")) shipped.push_back(with_args(text));
    for (const auto& [name, text] : read_files(source + "/tests/errors"))
      if (name.ends_with(".pbtxt") && name.find('/') == std::string::npos) mistakes.push_back(text);
    for (const std::string& text : shipped) parts_.add(text);
    for (const std::string& text : mistakes) parts_.add(text);
    for (const std::string& text : shipped) add_typed(text, shipped_);
    for (const std::string& text : mistakes) add_typed(text, made_up_);  // those with a warning alone
    for (std::size_t seed = 1; seed <= kMadeUp; ++seed) add_typed(random_graphs::generate(seed).text, made_up_);
    run({{kGraph, shipped_.front().text}, {kStages, "train infer"}});  // what is found out once is then known to every child
  }

  Files mutant(tests::Draw& random) const override {
    Files files;
    std::string& text = files[kGraph];
    if (random.one_in(3)) {
      text = parts_.mutated(random.any(parts_.texts()), random);
    } else {
      TypedGraph graph = random.any(random.one_in(4) ? shipped_ : made_up_);
      changes_.change(graph, random);
      text = random.one_in(8) ? parts_.mutated(graph.text, random) : graph.text;
    }
    static const std::array<const char*, 4> kWords = {"train", "train run", "infer", "infer run"};
    files[kStages] = random.any(kWords);
    return files;
  }

  void run(const Files& files) const override {
    const auto found = files.find(kStages);
    const std::string stages = found == files.end() ? "train infer run" : found->second;
    const auto goes_through = [&](const char* stage) { return stages.find(stage) != std::string::npos; };
    const std::string& text = files.at(kGraph);
    std::vector<Diagnostic> warnings;
    GraphRequest request = write_and_request(text);
    ir::Graph graph = load_graph(request, &warnings);
    graph_summary(graph);
    if (goes_through("train")) {
      TrainOptions train;
      if (const ir::ValueId scalar = objective_of(graph); scalar != ir::kNone) {
        train.minimize = kObjective;
        graph.outputs.push_back({kObjective, scalar});
      }
      const bool trains = !train.minimize.empty() && has_trainable(graph);
      const Program program = compile(graph, {}, trains ? &train : nullptr);
      if (goes_through("run")) run_steps(program);
    }
    if (goes_through("infer")) {
      request.training = false;
      const Program program = compile(load_graph(request));
      if (goes_through("run")) run_steps(program);
    }
  }

 private:
  GraphRequest write_and_request(const std::string& text) const {
    write_files(folder_, {{"graphs/mutant.pbtxt", text}});
    GraphRequest request;
    request.path = folder_ + "/graphs/mutant.pbtxt";
    request.bindings = bindings_of(text);
    return request;
  }

  void add_typed(const std::string& text, std::vector<TypedGraph>& to) {
    try {
      to.push_back({text, KnownTypes(expand_graph(write_and_request(text), nullptr))});
      changes_.add(to.back());
    } catch (const UserError&) {  // what does not load has no types
    }
  }

  static bool has_trainable(const ir::Graph& graph) {
    return std::any_of(graph.variables.begin(), graph.variables.end(), [](const ir::Variable& variable) {
      return variable.kind == ir::Variable::Kind::kParameter && variable.trainable;
    });
  }

  // The graph's own where it has one.
  static ir::ValueId objective_of(ir::Graph& graph) {
    for (const ir::Output& output : graph.outputs)
      if (graph.type(output.value).type == Type::kFloat && graph.type(output.value).shape.empty()) return output.value;
    return random_graphs::scalar_of(graph);
  }

  static void run_steps(const Program& program) {
    const random_graphs::Data data({{"batch", 2}, {"time", 3}}, 1);
    const auto fits = [&](const auto& spec) {
      return element_count(evaluate(spec.shape, data.symbols(spec.shape))) <= kMostElements;
    };
    if (!std::all_of(program.feeds.begin(), program.feeds.end(), fits)) return;
    if (!std::all_of(program.variables.begin(), program.variables.end(), fits)) return;
    const auto variables = std::make_shared<Variables>();
    initialize(program, *variables, 1);
    Executable executable(program, variables);
    const Feeds feeds = data.feeds(program);
    for (std::uint64_t step = 0; step < 2; ++step) {
      RunOptions how;
      how.step = step;
      executable.run(feeds, how);
    }
  }

  const std::string folder_;
  TextParts parts_;
  SoundChanges changes_;
  std::vector<TypedGraph> shipped_, made_up_;
};

}  // namespace

std::unique_ptr<Kind> make_graphs(const std::string& folder, Children&) { return std::make_unique<Graphs>(folder); }

}  // namespace graphrun::mutants
