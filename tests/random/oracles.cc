#include "tests/random/oracles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/passes/pass.h"
#include "compiler/stopped.h"
#include "runtime/device/cuda_library.h"
#include "runtime/execute/executable.h"
#include "runtime/threads/threads.h"
#include "tests/draw.h"
#include "tests/random/beside_more.h"
#include "tests/random/runs.h"
#include "tests/random/scalar.h"
#include "tests/random/word_by_word.h"

namespace graphrun::random_graphs {
namespace {

constexpr double kSlopeClose = 1e-5;  // between a gradient and a finite difference
const std::string kScalar = "random.scalar";
constexpr int kDraws = 3;  // draws of data: a chance difference, at a corner or a tie, does not occur in all of them

// The graph with a scalar of all its FLOAT outputs and next states, its gradients with respect to parameters and FLOAT inputs,
// and its own outputs; `of` names the variables of the gradients, in order. Nothing if the scalar depends on none of them.
struct Gradients {
  ir::Graph graph;
  std::vector<std::string> of;
};
std::optional<Gradients> with_gradients(ir::Graph graph, const TapeOptions& tape) {
  std::vector<ir::Output> own = graph.outputs;
  const ir::ValueId scalar = scalar_of(graph);
  if (scalar == ir::kNone) return std::nullopt;
  std::vector<ir::ValueId> by;
  for (const ir::Variable& v : graph.variables)
    if (v.kind == ir::Variable::Kind::kParameter) by.push_back(v.value);
  for (const ir::Input& input : graph.inputs)
    if (graph.type(input.value).type == Type::kFloat) by.push_back(input.value);
  if (by.empty()) return std::nullopt;
  const std::vector<ir::ValueId> gradients = differentiate(graph, scalar, by, tape);
  Gradients made;
  graph.outputs = {{kScalar, scalar}};
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (gradients[k] == ir::kNone) continue;
    made.of.push_back(graph.value(by[k]).name);
    graph.outputs.push_back({"random.gradient." + made.of.back(), gradients[k]});
  }
  graph.outputs.insert(graph.outputs.end(), own.begin(), own.end());
  made.graph = std::move(graph);
  return made;
}

// The first lines at which two texts differ.
std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream x(a), y(b);
  std::string p, q;
  while (p == q && x && y) std::getline(x, p), std::getline(y, q);
  return p + " and " + q;
}

class Holding {
 public:
  Holding(const Generated& made, std::uint64_t seed, const OracleOptions& options)
      : made_(made), seed_(seed), options_(options) {}

  Findings findings() {
    try {
      check();
      if (findings_.failures.empty() && options_.numbers) numbers();
    } catch (const UserError& error) {
      fail(stage_, error.what());
    } catch (const std::exception& error) {
      fail(stage_, error.what());
    }
    return findings_;
  }

 private:
  void fail(const std::string& oracle, const std::string& what) { findings_.failures.push_back(oracle + ": " + what); }
  void count(const std::string& what) { ++findings_.tally[what]; }

  Data data(int k, std::int64_t batch = 5, std::int64_t time = 4, std::int64_t words = 3) const {
    return {{{"batch", batch}, {"time", time}, {"words", words}}, seed_ + static_cast<std::uint64_t>(k) * 1000003};
  }

  // Loads these files; "random.pbtxt" imports the others.
  ir::Graph load(const std::map<std::string, std::string>& files, bool training) const {
    const std::filesystem::path folder(options_.folder);
    for (const auto& [name, text] : files) std::ofstream(folder / name) << text;
    GraphRequest request;
    request.path = (folder / "random.pbtxt").string();
    request.training = training;
    return load_graph(request);
  }

  void check() {
    stage_ = "check";
    graph_ = load({{"random.pbtxt", made_.text}}, true);
    count("checked");
    if (!made_.files.empty()) {
      stage_ = "files";
      const ir::PrintOptions places{.locations = false};
      const std::string one = ir::print(graph_, places), several = ir::print(load(made_.files, true), places);
      if (one != several) fail("files", "another graph in several files, from here on: " + first_difference(one, several));
      count("the same graph of several files");
    }
    stage_ = "compile";
    compile(graph_);
    count("compiled");
    if (options_.text) reads_back();
  }

  void reads_back() {
    stage_ = "text";
    std::string last;
    CompileOptions options = compile_options();
    options.observe = [&](const std::string& stage, const ir::Graph& graph, double) {
      if (!last.empty()) return;
      const std::string printed = ir::print(graph);
      if (ir::print(ir::parse(printed, "random")) != printed) last = stage;
    };
    compile(graph_, options);
    const std::string printed = ir::print(graph_);
    if (ir::print(ir::parse(printed, "random")) != printed) last = "checked";
    if (!last.empty()) fail("text", "what stands after " + last + " reads back as another graph");
    count("text read back");
  }

  // Finds the first of several draws of data for which the graph computes and stays within bounds.
  void numbers() {
    stage_ = "run";
    const Results reference = run(graph_, compile_options(names_to_disable()), data(0));
    if (!reference.refused.empty()) {
      const std::string& why = reference.refused;
      // A size may be negative, or a position or slice out of range, if only a run knows the sizes; no other error is allowed.
      count("refused at run time");
      const auto is = [&](const char* code) { return why.find(code) != std::string::npos; };
      if (!is("E0602") && !is("E0610") && !is("E0611")) fail("run", why);
      if (is("has no value")) fail("run", why);
      return;
    }
    count("run");
    if (!well_behaved(reference)) {
      count("not finite or too large to compare");
      return;
    }
    if (options_.words) words();
    if (options_.beside) {
      beside("batch", 3, data(0, 3), data(0));
      beside("time", 4, data(0), data(0, 5, 7));
      beside("words", 3, data(0), data(0, 5, 4, 5));
    }
    if (options_.passes) passes();
    if (options_.gradients) gradients();
    if (options_.threads) threads();
    if (options_.device) device();
  }

  void words() {
    if (!made_.generation || !findings_.failures.empty()) return;
    stage_ = "word by word";
    const ir::Graph inference = load({{"random.pbtxt", made_.text}}, false);
    const WordByWord found = word_by_word(inference, *made_.generation, data(0));
    if (!found.differs.empty()) fail(stage_, found.differs);
    count(found.refused.empty() ? "word by word" : "word by word refused at run time");
  }

  void beside(const std::string& size, std::int64_t few, const Data& fewer, const Data& more) {
    if (!findings_.failures.empty()) return;
    stage_ = "beside more " + size;
    const BesideMore found = beside_more(graph_, Symbol::named(size), few, fewer, more);
    if (!found.differs.empty()) fail(stage_, found.differs);
    findings_.tally["outputs " + stage_] += found.compared;
  }

  // Passes if `check` holds for at least one draw of data.
  void some_draw(const std::string& oracle, const std::function<std::string(const Data&)>& compare) {
    stage_ = oracle;
    std::string what;
    for (int k = 0; k < kDraws; ++k) {
      const std::string now = compare(data(k));
      if (now.empty()) {
        if (k > 0) count(oracle + " differed by chance");
        return;
      }
      what = now;
    }
    fail(oracle, what);
  }

  void passes() {
    std::vector<std::string> names = names_to_disable();
    count("each pass off");
    names.emplace_back();
    for (const std::string& name : names) {
      some_draw(name.empty() ? "all passes" : "without " + name, [&](const Data& numbers) {
        const Results reference = run(graph_, compile_options(names_to_disable()), numbers);
        if (!well_behaved(reference)) return std::string();
        return difference(reference,
                          run(graph_, compile_options(name.empty() ? std::vector<std::string>{} : std::vector{name}), numbers),
                          kClose);
      });
      if (!findings_.failures.empty()) return;
    }
  }

  std::optional<Gradients> differentiated(const std::vector<std::string>& disabled) {
    const bool recompute = std::find(disabled.begin(), disabled.end(), kRecompute) == disabled.end();
    return with_gradients(run_early_passes(graph_, disabled), {recompute, nullptr});
  }

  void gradients() {
    if (!findings_.failures.empty()) return;
    stage_ = "gradient";
    const std::vector<std::string> all = names_to_disable();
    const std::optional<Gradients> plain = differentiated(all);
    if (!plain || plain->of.empty()) {
      count("no gradient");
      return;
    }
    std::vector<std::string> names = all;
    names.emplace_back();
    for (const std::string& name : names) {
      const std::vector<std::string> disabled = name.empty() ? std::vector<std::string>{} : std::vector{name};
      some_draw(name.empty() ? "gradient with all passes" : "gradient without " + name, [&](const Data& numbers) {
        const Results reference = run(plain->graph, compile_options(all), numbers, 1);
        if (!well_behaved(reference)) return std::string();
        return difference(reference, run(differentiated(disabled)->graph, compile_options(disabled), numbers, 1), kClose);
      });
      if (!findings_.failures.empty()) return;
    }
    count("gradient with each pass off");
    differences(*plain);
  }

  // The values behind stop_gradient, which finite differences keep fixed, by the name of the input that replaces each.
  Feeds stopped_values(ir::Graph graph, const Data& numbers, const std::shared_ptr<Variables>& variables,
                       const RunOptions& how) const {
    Feeds values;
    // Keep the other outputs: they need every input that determines a size.
    const std::size_t others = graph.outputs.size();
    const std::vector<std::string> names = take_stopped(graph);
    if (names.empty()) return values;
    for (ir::Variable& v : graph.variables) {
      if (v.kind == ir::Variable::Kind::kState) variables->erase(graph.value(v.value).name);
    }
    Executable point(compile(graph, compile_options()), variables);
    numbers.set_parameters(point.program(), *variables);
    const std::vector<Tensor> found = point.run(numbers.feeds(point.program()), how);
    for (std::size_t k = 0; k < names.size(); ++k) values[names[k]] = found[others + k].clone();
    return values;
  }

  // Compares directional derivatives, in a random direction for each tensor. If the function has a corner or too much
  // curvature, the differences of two step sizes disagree with each other, and nothing is checked.
  void differences(const Gradients& derived) {
    stage_ = "differences";
    const Data numbers = data(0);
    const auto variables = std::make_shared<Variables>();
    Executable all(compile(derived.graph, compile_options()), variables);
    CompileOptions options = compile_options();
    options.fetches = {kScalar};
    ir::Graph held = derived.graph;
    give_stopped(held);
    Executable value(compile(held, options), variables);
    numbers.set_parameters(all.program(), *variables);
    numbers.set_parameters(value.program(), *variables);
    Feeds feeds = numbers.feeds(all.program());
    RunOptions how;
    how.seed = 7;
    const auto forget = [&] {
      for (const ir::Variable& v : derived.graph.variables)
        if (v.kind == ir::Variable::Kind::kState) variables->erase(derived.graph.value(v.value).name);
    };
    const std::vector<Tensor> found = all.run(feeds, how);
    if (!well_behaved({{}, found, ""})) return count("gradient too large to compare");
    const Feeds stopped = stopped_values(derived.graph, numbers, variables, how);
    const auto scalar = [&] {
      forget();
      Feeds read;
      for (const FeedSpec& f : value.program().feeds) {
        const auto held_at = stopped.find(f.name);
        read[f.name] = held_at == stopped.end() ? feeds.at(f.name) : held_at->second;
      }
      return value.run(read, how)[0].at(0);
    };
    for (std::size_t k = 0; k < derived.of.size(); ++k) {
      const std::string& name = derived.of[k];
      const bool is_feed = feeds.count(name) != 0;
      if (!is_feed && !variables->has(name)) continue;
      const Tensor values = is_feed ? feeds.at(name) : variables->at(name);
      const Tensor& gradient = found[k + 1];
      const Tensor before = values.clone();
      tests::Draw draw(seed_ + k);
      std::vector<double> direction;
      double slope = 0;
      for (std::int64_t i = 0; i < values.count(); ++i) {
        direction.push_back(draw.unit() * 2 - 1);
        slope += direction.back() * gradient.at(i);
      }
      const auto at = [&](double h) {
        for (std::int64_t i = 0; i < values.count(); ++i)
          values.data<double>()[i] = before.at(i) + h * direction[static_cast<std::size_t>(i)];
        values.mark_written();
        const double y = scalar();
        for (std::int64_t i = 0; i < values.count(); ++i) values.data<double>()[i] = before.at(i);
        values.mark_written();
        return y;
      };
      bool conditioned = false, agrees = false;
      double shown = 0;
      for (const double h : {1e-4, 1e-5}) {
        const double here = at(0), up = at(h), down = at(-h), half_up = at(h / 2), half_down = at(-h / 2);
        const double size = std::max({1.0, std::abs(slope), std::abs(up - down) / (2 * h)});
        const double wide = (up - down) / (2 * h), narrow = (half_up - half_down) / h;
        const double one_sided = (up - here) / h - (here - down) / h,
                     half_sided = 2 * ((half_up - here) / h - (here - half_down) / h);
        const double better = (4 * narrow - wide) / 3;
        // Away from corners, the difference between the slopes on both sides shrinks with the step size.
        if (std::abs(wide - narrow) > 1e-6 * size ||
            std::abs(half_sided) > 0.75 * std::abs(one_sided) + 1e-4 * size * h / 1e-5 || std::abs(one_sided) > 1e-2 * size)
          continue;
        if (std::abs(here) * 1e-16 / h > 1e-7 * size) continue;
        conditioned = true;
        shown = better;
        agrees = agrees || std::abs(better - slope) <= kSlopeClose * size;
      }
      if (!conditioned) {
        count("tensors ill-conditioned for differences");
      } else {
        count("tensors held to differences");
        if (!agrees) fail("differences", fmt::format("along {}: derived {}, differences {}", name, slope, shown));
      }
    }
    count("gradients against differences");
  }

  // In float32, as in normal use.
  void threads() {
    if (!findings_.failures.empty()) return;
    stage_ = "threads";
    const int before = graphrun::threads();
    const auto plain = with_gradients(run_early_passes(graph_), {});
    const ir::Graph& graph = plain ? plain->graph : graph_;
    const CompileOptions options = compile_options({}, Precision::kFloat32);
    set_threads(1);
    const Results one = run(graph, options, data(0), 1);
    Results two;
    if (core_count() > 1) {
      set_threads(2);
      two = run(graph, options, data(0), 1);
    }
    set_threads(before);
    if (core_count() > 1) {
      const std::string what = difference(one, two, 0);
      if (!what.empty()) fail("threads", what);
      count("1 and 2 threads");
    }
  }

  // With gradients if there are any, and all passes enabled for both.
  void device() {
    if (!findings_.failures.empty()) return;
    const auto derived = with_gradients(run_early_passes(graph_), {});
    const ir::Graph& graph = derived ? derived->graph : graph_;
    some_draw("device", [&](const Data& numbers) {
      const Results cpu = run(graph, compile_options(), numbers);
      if (!well_behaved(cpu)) return std::string();
      return difference(cpu, run(graph, compile_options(), numbers, 2, cuda_device(0)), kClose);
    });
    count("on a device");
  }

  const Generated& made_;
  std::string stage_;
  std::uint64_t seed_;
  OracleOptions options_;
  ir::Graph graph_;
  Findings findings_;
};

}  // namespace

Findings hold(const Generated& graph, std::uint64_t seed, const OracleOptions& options) {
  return Holding(graph, seed, options).findings();
}

}  // namespace graphrun::random_graphs
