// Graphs: those that are shipped, and the mistakes of tests/errors, each a step from a graph that loads.
#include <array>
#include <regex>
#include <sstream>

#include "compiler/compile.h"
#include "tests/folders.h"
#include "tests/mutants/kinds.h"
#include "tests/mutants/text.h"
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

class Graphs : public Kind {
 public:
  explicit Graphs(const std::string& folder) : folder_(folder) {
    const std::string source = tests::source_folder();
    for (const auto& [name, text] : read_files(source + "/graphs")) {
      if (!name.ends_with(".pbtxt")) continue;
      write_files(folder, {{"graphs/" + name, text}});
      if (!name.starts_with("jobs/")) parts_.add(with_args(text));
    }
    for (const auto& [name, text] : read_files(source + "/tests/errors"))
      if (name.ends_with(".pbtxt") && name.find('/') == std::string::npos) parts_.add(text);
    for (const std::string& seed : parts_.texts()) run_quietly(seed);
  }

  Files mutant(tests::Draw& random) const override {
    return {{"graph.pbtxt", parts_.mutated(random.any(parts_.texts()), random)}};
  }

  void run(const Files& files) const override {
    const std::string& text = files.at("graph.pbtxt");
    write_files(folder_, {{"graphs/mutant.pbtxt", text}});
    GraphRequest request;
    request.path = folder_ + "/graphs/mutant.pbtxt";
    request.bindings = bindings_of(text);
    std::vector<Diagnostic> warnings;
    const ir::Graph graph = load_graph(request, &warnings);
    graph_summary(graph);
    compile(graph);
    for (const ir::Output& output : graph.outputs) {
      const ir::TensorType& type = graph.type(output.value);
      if (type.type != Type::kFloat || !type.shape.empty()) continue;
      TrainOptions train;
      train.minimize = output.name;
      compile(graph, {}, &train);
      break;
    }
    request.training = false;
    compile(load_graph(request));
  }

 private:
  // What is found out once is then known to every child.
  void run_quietly(const std::string& seed) const {
    try {
      run({{"graph.pbtxt", seed}});
    } catch (const UserError&) {  // a mistake, as most of these are
    }
  }

  const std::string folder_;
  TextParts parts_;
};

}  // namespace

std::unique_ptr<Kind> make_graphs(const std::string& folder, Children&) { return std::make_unique<Graphs>(folder); }

}  // namespace graphrun::mutants
