#include <algorithm>
#include <chrono>
#include <map>

#include "compiler/ir/verifier.h"
#include "compiler/passes/common_subexpressions.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/delay_to_shift.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/fuse.h"
#include "compiler/passes/fuse_reductions.h"
#include "compiler/passes/hoist.h"
#include "compiler/passes/logsumexp_to_matmul.h"
#include "compiler/passes/merge.h"
#include "compiler/passes/parallelize_history.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/read_rows.h"
#include "compiler/passes/simplify.h"
#include "compiler/passes/sink.h"
#include "compiler/passes/tabulate.h"
#include "compiler/passes/unmask.h"

namespace graphrun {

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      {"parallelize_history", "divides loops of histories and elementwise recurrences, to compute all steps at once",
       parallelize_history, true},
      {"logsumexp_to_matmul", "turns logsumexps of sums over pairs into matrix products", logsumexp_to_matmul, true},
      {"delay_to_shift", "replaces states that only delay a sequence by the shifted sequence", delay_to_shift, true},
      {"hoist_invariants", "computes what is the same at every step of a loop before it", hoist_invariants, true},
      {"fold_constants", "computes what depends only on constants", fold_constants},
      {"simplify", "drops identities, joins chains of shape changes, folds transposes into products", simplify},
      {"sink", "adds up parameter gradients after loops, as one product over all steps", sink},
      {"hoist", "computes before or after loops, for all steps at once, what does not depend on states or what no state needs",
       hoist},
      {"common_subexpressions", "computes equal expressions once", common_subexpressions},
      {"dead_code", "drops what no output and no variable needs", dead_code},
      {"unmask", "moves selections of whole rows from logits to their losses and gradients", unmask},
      {"merge", "turns matrix products that share a factor, or are summed, into one kernel", merge},
      {"tabulate", "keeps the products of a table's rows with constant matrices", tabulate},
      {"fuse", "turns each group of pointwise ops into one kernel", fuse},
      {"fuse_reductions", "reduces pointwise work as it is computed", fuse_reductions},
      {"read_rows", "lets pointwise work find rows by their numbers, instead of copying them first", read_rows},
  };
  return passes;
}

std::vector<std::string> names_to_disable() {
  std::vector<std::string> names;
  for (const Pass& pass : all_passes()) names.push_back(pass.name);
  names.insert(names.end(), {kRecompute, kShareMemory, kRecurrentKernels});
  return names;
}

std::string pass_hint(const std::string& name, const std::vector<std::string>& known) {
  static const std::map<std::string, std::string> renamed = {
      {"spread", "parallelize_history"}, {"factor", "logsumexp_to_matmul"}, {"shift", "delay_to_shift"}};
  const auto it = renamed.find(name);
  return it == renamed.end() ? did_you_mean(name, known) : "it is now called '" + it->second + "'";
}

namespace {

void check_names(const std::vector<std::string>& disabled) {
  const std::vector<std::string> names = names_to_disable();
  for (const std::string& name : disabled) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string known;
    for (const std::string& n : names) known += (known.empty() ? "" : ", ") + n;
    std::vector<std::string> notes;
    if (std::string hint = pass_hint(name, names); !hint.empty()) notes.push_back("help: " + hint);
    notes.push_back("note: the passes are " + known);
    throw UserError(ExitCode::kUsage, "E0409 unknown-pass", "there is no pass '" + name + "'", std::move(notes));
  }
}

ir::Graph run(const std::vector<const Pass*>& passes, ir::Graph graph, const PassObserver& observer) {
  using Clock = std::chrono::steady_clock;
  for (const Pass* pass : passes) {
    const auto begin = Clock::now();
    PassResult result = pass->run(std::move(graph));
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    graph = std::move(result.graph);
    if (result.changed) ir::verify(graph, pass->name);
    if (observer) observer(pass->name, graph, seconds.count());
  }
  return graph;
}

std::vector<const Pass*> chosen(const std::vector<std::string>& disabled, bool early_only) {
  check_names(disabled);
  std::vector<const Pass*> passes;
  for (const Pass& pass : all_passes()) {
    if (early_only && !pass.early) continue;
    if (std::find(disabled.begin(), disabled.end(), pass.name) == disabled.end()) passes.push_back(&pass);
  }
  return passes;
}

}  // namespace

ir::Graph run_passes(ir::Graph graph, const std::vector<std::string>& disabled, const PassObserver& observer) {
  return run(chosen(disabled, false), std::move(graph), observer);
}

ir::Graph run_early_passes(ir::Graph graph, const std::vector<std::string>& disabled, const PassObserver& observer) {
  return run(chosen(disabled, true), std::move(graph), observer);
}

}  // namespace graphrun
