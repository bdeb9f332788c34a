// The compiler, top to bottom, in the order in which data flows.
#include "compiler/compile.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "compiler/fetch.h"
#include "compiler/frontend/expand.h"
#include "compiler/frontend/library.h"
#include "compiler/frontend/source.h"
#include "compiler/ir/verifier.h"
#include "compiler/lower.h"
#include "compiler/memory.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/pass.h"
#include "compiler/schedule.h"
#include "compiler/training.h"

namespace graphrun {
namespace {

const std::string kUnread = "E0248 unread-graph";

bool has_errors(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

// Removes repeated diagnostics: a mistake may be found when a file is read and again when it is expanded, and an unreadable
// graph is reported with its cause.
std::vector<Diagnostic> without_repetition(std::vector<Diagnostic> diagnostics) {
  std::set<std::string> causes;
  for (const Diagnostic& d : diagnostics) {
    if (d.severity == Severity::kError && d.code != kUnread) causes.insert(d.at.str());
  }
  std::erase_if(diagnostics, [&](const Diagnostic& d) { return d.code == kUnread && causes.count(d.at.str()) != 0; });
  std::vector<Diagnostic> out;
  std::set<std::string> seen;
  for (const Diagnostic& d : diagnostics) {
    if (seen.insert(d.code.substr(0, 5) + d.at.str() + (d.at.known() ? "" : d.text)).second) out.push_back(d);
  }
  std::stable_sort(out.begin(), out.end(), [](const Diagnostic& a, const Diagnostic& b) {
    if (a.severity != b.severity) return a.severity == Severity::kError;
    if (!a.at.known() || !b.at.known() || *a.at.file != *b.at.file) return false;
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
  return out;
}

class StageObserver {
 public:
  explicit StageObserver(const CompileOptions& options) : options_(options) {}
  ir::Graph done(const char* stage, ir::Graph graph) {
    const auto now = std::chrono::steady_clock::now();
    if (options_.observe) options_.observe(stage, graph, std::chrono::duration<double>(now - begin_).count());
    begin_ = std::chrono::steady_clock::now();
    return graph;
  }

  void restart() { begin_ = std::chrono::steady_clock::now(); }

 private:
  const CompileOptions& options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

ir::Graph expand_graph(const GraphRequest& request, std::vector<Diagnostic>* warnings, GraphSources* sources) {
  std::vector<Diagnostic> diagnostics;
  frontend::Library library(request, diagnostics);
  const frontend::Definition* root =
      request.from_graphs ? library.load(request.path, request.at) : library.load_file(request.path);
  ir::Graph graph;
  // After syntax errors and circular imports, compilation stops; all other mistakes are collected before any is reported.
  const auto stops = [](const Diagnostic& d) { return is_syntax_error(d) || d.code.rfind("E0218", 0) == 0; };
  if (root && std::none_of(diagnostics.begin(), diagnostics.end(), stops)) {
    graph = frontend::expand(library, *root, request, diagnostics);
  }
  diagnostics = without_repetition(std::move(diagnostics));
  limit_syntax_errors(diagnostics);
  if (has_errors(diagnostics)) throw UserError(ExitCode::kInvalidGraph, std::move(diagnostics));
  if (warnings) *warnings = std::move(diagnostics);
  if (sources) *sources = library.sources();
  return graph;
}

ir::Graph check_graph(ir::Graph expanded) {
  ir::verify(expanded, "expand");
  ir::Graph graph = drop_unneeded(std::move(expanded));
  ir::verify(graph, "drop_unneeded");
  return graph;
}

ir::Graph load_graph(const GraphRequest& request, std::vector<Diagnostic>* warnings, GraphSources* sources) {
  return check_graph(with_fetches_kept(expand_graph(request, warnings, sources), request.keep));
}

bool CompileOptions::does(const std::string& name) const {
  return std::find(disabled_passes.begin(), disabled_passes.end(), name) == disabled_passes.end();
}

Program compile(const ir::Graph& checked, const CompileOptions& options, const TrainOptions* train) {
  StageObserver stages(options);
  ir::Graph graph = checked;
  if (train) {
    graph = with_fetches_kept(std::move(graph), options.fetches);
    graph = run_early_passes(std::move(graph), options.disabled_passes, options.observe);
    graph = stages.done("differentiated", add_training(std::move(graph), *train, {options.does(kRecompute), options.tape}));
    ir::verify(graph, "differentiate");
  }
  if (!options.fetches.empty()) graph = with_fetches(std::move(graph), options.fetches);
  graph = stages.done("pruned", drop_unneeded(std::move(graph)));
  graph = run_passes(std::move(graph), options.disabled_passes, options.observe);
  stages.restart();
  graph = stages.done("scheduled", schedule(std::move(graph)));
  const MemoryPlan plan = plan_memory(graph, {.reuse = options.does(kShareMemory)});
  stages.done("planned", graph);
  Program program = lower(graph, plan, options.precision);
  program.recurrent_kernels = options.does(kRecurrentKernels);
  return program;
}

}  // namespace graphrun
