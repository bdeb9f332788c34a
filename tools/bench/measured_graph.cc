#include "tools/bench/measured_graph.h"

#include "compiler/differentiate.h"
#include "compiler/ir/builder.h"
#include "runtime/execute/profiler.h"
#include "tools/bench/timing.h"

namespace graphrun {
namespace {

void add_gradients(ir::Graph& graph, std::vector<TapeDecision>& tape) {
  std::vector<ir::ValueId> by;
  for (const ir::Variable& v : graph.variables) {
    if (v.trainable && graph.value(v.value).name != "weight") by.push_back(v.value);
  }
  for (const ir::Input& input : graph.inputs) {
    if (graph.value(input.value).name == "x") by.push_back(input.value);
  }
  TapeOptions options;
  options.decisions = &tape;
  const std::vector<ir::ValueId> gradients = differentiate(graph, graph.output("loss")->value, by, options);
  for (std::size_t i = 0; i < by.size(); ++i) {
    if (gradients[i] != ir::kNone) graph.outputs.push_back({"d." + graph.value(by[i]).name, gradients[i]});
  }
}

}  // namespace

MeasuredGraph::MeasuredGraph(ir::Graph graph, const SymbolValues& sizes, const MeasuredPart& part) : sizes_(sizes) {
  if (part.forward) {
    graph.outputs = {*graph.output("h")};
  } else {
    add_gradients(graph, tape_);
  }
  if (part.sums) {
    ir::Builder b(graph);
    for (ir::Output& output : graph.outputs) output.value = b.op("sum", {output.value});
  }
  ProductsOfGraph products;
  CompileOptions options;
  options.observe = products.observer();
  options.disabled_passes = part.disabled_passes;
  const auto variables = std::make_shared<Variables>();
  executable_ = std::make_unique<Executable>(compile(graph, options), variables, part.target);
  initialize(program(), *variables, 1);
  products_ = products.alone(sizes_, part.target);
  feed({});
}

void MeasuredGraph::feed(Feeds feeds) {
  feeds_ = std::move(feeds);
  for (const FeedSpec& f : program().feeds) {
    if (f.dtype == DType::kFloat32 && feeds_.count(f.name) == 0) feeds_[f.name] = random_tensor(evaluate(f.shape, sizes_), 1);
  }
}

double MeasuredGraph::run() {
  const std::int64_t begin = Profiler::now();
  executable_->run(feeds_, options_);
  return milliseconds(begin);
}

std::string MeasuredGraph::profile() {
  Profiler profiler;
  options_.profiler = &profiler;
  for (int i = 0; i < 10; ++i) run();
  options_.profiler = nullptr;
  return profiler.table();
}

}  // namespace graphrun
