#include "tests/random/word_by_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "compiler/ir/sizes.h"
#include "runtime/execute/executable.h"
#include "tests/random/prefix.h"

namespace graphrun::random_graphs {
namespace {

constexpr double kStepClose = 1e-9;
constexpr std::int64_t kSpareSteps = 2;  // spare steps for which histories have space

// Whether the initial state of a scan over the words' steps depends on the words, which generation does not know in advance.
bool begins_with_words(const ir::Graph& graph) {
  std::vector<bool> of_words(graph.values.size());
  std::optional<Dim> steps;
  for (const ir::Input& input : graph.inputs) {
    if (graph.value(input.value).name != "ids") continue;
    of_words[static_cast<std::size_t>(input.value)] = true;
    steps = graph.type(input.value).shape[0];
  }
  for (const ir::Node& node : graph.nodes) {
    bool any = false;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const bool made = node.inputs[k] != ir::kNone && of_words[static_cast<std::size_t>(node.inputs[k])];
      if (made && ir::is_scan(node) && k < ir::scan_layout(node).states && node.attributes.dim("steps") == *steps) return true;
      any = any || made;
    }
    for (const ir::ValueId v : node.outputs) of_words[static_cast<std::size_t>(v)] = any;
  }
  return false;
}

// Whether a size is not determined by what is known before the words.
bool lacks_a_size(const ir::Graph& graph) {
  std::set<Symbol> known, unknown;
  std::optional<Symbol> time;
  for (const ir::Input& input : graph.inputs)
    if (graph.value(input.value).name == "ids") time = graph.type(input.value).shape[0].as_symbol();
  for (const ir::Input& input : graph.inputs) {
    const Shape& shape = graph.type(input.value).shape;
    for (const Dim& dim : shape)
      if (const auto symbol = dim.as_symbol(); symbol && symbol != time)
        (ir::tells_size(shape, *time) ? unknown : known).insert(*symbol);
  }
  unknown.erase(Symbol::named("batch"));
  return !std::includes(known.begin(), known.end(), unknown.begin(), unknown.end());
}

class Driven {
 public:
  Driven(const ir::Graph& graph, const GenerationSpec& spec, const Data& data)
      : graph_(graph), spec_(spec), cut_(cut_for_generation(graph, spec)), data_(data) {
    wanted_ = {spec.score};
    wanted_.insert(wanted_.end(), spec.fetches.begin(), spec.fetches.end());
  }

  WordByWord run() {
    WordByWord result;
    feed();
    CompileOptions options = compile_options();
    options.fetches = wanted_;
    whole_ = random_graphs::run(graph_, options, data_, feeds_, 1);
    result.refused = whole_.refused;
    if (!whole_.refused.empty() || !well_behaved(whole_)) return result;
    try {
      begin();
      for (std::int64_t t = 0; t < steps_ && result.differs.empty(); ++t) result.differs = step(t);
    } catch (const UserError& error) {
      result.differs = error.what();
    }
    return result;
  }

 private:
  // If rows read each other, finished rows must look like continuing ones.
  bool rows_apart() const {
    const std::vector<bool> apart = positions_apart(graph_, cut_.rows);
    return std::all_of(wanted_.begin(), wanted_.end(), [&](const std::string& name) {
      return bool{apart[static_cast<std::size_t>(graph_.output(name)->value)]};
    });
  }

  void feed() {
    feeds_ = data_.feeds(compile(graph_, compile_options()));
    words_ = feeds_.at("ids");
    steps_ = words_.sizes()[0], rows_ = words_.sizes()[1];
    const auto lengths = feeds_.find("lengths");
    if (lengths != feeds_.end() && !rows_apart()) {
      lengths->second = lengths->second.clone();
      std::fill_n(lengths->second.data<std::int32_t>(), rows_, static_cast<std::int32_t>(steps_));
    }
    for (std::int64_t row = 0; row < rows_; ++row)
      lengths_.push_back(lengths == feeds_.end() ? steps_ : static_cast<std::int64_t>(lengths->second.at(row)));
  }

  // Runs the prologue.
  void begin() {
    Executable prologue(compile(cut_.prologue, compile_options()), variables_);
    data_.set_parameters(prologue.program(), *variables_);
    Feeds feeds;
    for (const FeedSpec& f : prologue.program().feeds)
      feeds[f.name] = f.name == cut_.rows_input ? Tensor(DType::kInt32, {rows_}) : feeds_.at(f.name);
    const std::vector<Tensor> made = prologue.run(feeds);
    for (std::size_t k = 0; k < made.size(); ++k) carried_[cut_.prologue.outputs[k].name] = made[k].clone();
    SymbolValues sizes{{cut_.rows, rows_}};
    for (const Symbol s : cut_.capacity) sizes[s] = steps_ + kSpareSteps;
    for (const GenerationGraphs::Carried& s : cut_.states) {
      if (!s.zeros) continue;
      for (const Dim& dim : s.type.shape)
        for (const Symbol symbol : dim.symbols())
          if (sizes.count(symbol) == 0) sizes[symbol] = data_.symbols({dim}).at(symbol);
      carried_[s.name] = Tensor(concrete(s.type.type, Precision::kFloat64), evaluate(s.type.shape, sizes));
    }
    step_.emplace(compile(cut_.step, compile_options()), variables_);
    data_.set_parameters(step_->program(), *variables_);
  }

  // Describes how the step's results differ from those of all steps at once.
  std::string step(std::int64_t t) {
    Tensor word(DType::kInt32, {rows_});
    for (std::int64_t b = 0; b < rows_; ++b) word.data<std::int32_t>()[b] = static_cast<std::int32_t>(words_.at(t * rows_ + b));
    carried_[kWordInput] = word;
    carried_[kStepInput] = Tensor::of<std::int32_t>({}, {static_cast<std::int32_t>(t)});
    Feeds feeds;
    for (const FeedSpec& f : step_->program().feeds) feeds[f.name] = carried_.at(f.name);
    const std::vector<Tensor> found = step_->run(feeds);
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::string& name = cut_.step.outputs[k].name;
      if (name.rfind(kNextPrefix, 0) == 0) {
        carried_[name.substr(std::string(kNextPrefix).size())] = found[k].clone();
      } else if (const std::string what = compare(name == kScoreOutput ? spec_.score : name, t, found[k]); !what.empty()) {
        return fmt::format("step {}: {}", t, what);
      }
    }
    for (const std::string& name : cut_.whole) {
      const Tensor &once = carried_.at(kWholePrefix + name), &all = of_all(name);
      for (std::int64_t i = 0; i < once.count(); ++i)
        if (!close(once.at(i), all.at(i))) return fmt::format("{} at {}: {} and {}", name, i, all.at(i), once.at(i));
    }
    return "";
  }

  const Tensor& of_all(const std::string& name) const {
    return whole_.values[static_cast<std::size_t>(std::find(wanted_.begin(), wanted_.end(), name) - wanted_.begin())];
  }

  static bool close(double a, double b) { return std::abs(a - b) <= kStepClose * (1 + std::abs(a)); }

  // Compares one value, [rows, …], with step t of all, [time, rows, …].
  std::string compare(const std::string& name, std::int64_t t, const Tensor& one) const {
    const Tensor& all = of_all(name);
    const std::int64_t unit = one.count() / rows_;
    for (std::int64_t i = 0; i < one.count(); ++i) {
      if (t >= lengths_[static_cast<std::size_t>(i / unit)]) continue;
      const double expected = all.at(t * one.count() + i);
      if (!close(expected, one.at(i))) return fmt::format("{} at {}: {} and {}", name, i, expected, one.at(i));
    }
    return "";
  }

  const ir::Graph& graph_;
  const GenerationSpec& spec_;
  const GenerationGraphs cut_;
  const Data& data_;
  std::vector<std::string> wanted_;
  Feeds feeds_, carried_;
  Tensor words_;
  Results whole_;
  std::int64_t steps_ = 0, rows_ = 0;
  std::vector<std::int64_t> lengths_;
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  std::optional<Executable> step_;
};

}  // namespace

WordByWord word_by_word(const ir::Graph& graph, const GenerationSpec& spec, const Data& data) {
  if (begins_with_words(graph)) return {"", "states begin with what the first word makes"};
  try {
    return Driven(graph, spec, data).run();
  } catch (const UserError& error) {
    const bool training_only = std::string(error.what()).find("E0434") != std::string::npos;
    if (training_only && lacks_a_size(graph)) return {"", error.what()};
    throw;
  }
}

}  // namespace graphrun::random_graphs
